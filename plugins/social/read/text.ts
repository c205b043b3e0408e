/** The site cuts long texts for other sites and puts an ellipsis at the end. */
export function isCut(text: string): boolean {
  return /(?:\.\.\.|…)$/.test(text.trim());
}

/** Letters and digits only, to compare two forms of one text. */
export function essence(text: string): string {
  return text
    .normalize('NFC')
    .replace(/[^\p{L}\p{N}]+/gu, '')
    .toLowerCase();
}
