/** Whether the site has cut a text, which then ends with an ellipsis. */
export function isCut(text: string): boolean {
  return /(?:\.\.\.|…)$/.test(text.trim());
}

/** The letters and digits of a text, to compare two forms of it. */
export function essence(text: string): string {
  return text
    .normalize('NFC')
    .replace(/[^\p{L}\p{N}]+/gu, '')
    .toLowerCase();
}
