/** Words behind `#` in a text, in their order, each once. */
export function hashtagsIn(text: string | undefined): string[] | undefined {
  if (!text?.includes('#')) return undefined;
  const found = Array.from(
    text.matchAll(/(?:^|[^\p{L}\p{N}_&/])#([\p{L}\p{M}\p{N}_]{1,100})/gu),
    ([, tag]) => tag as string,
  );
  const tags = [...new Set(found)].filter((tag) => /\p{L}/u.test(tag));
  return tags.length > 0 ? tags : undefined;
}

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
