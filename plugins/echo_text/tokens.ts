/** The tokens of an echo: words with the space before them, digits, signs. A model's own would take 80 MB to load. */
const TOKEN = / ?\p{L}{1,16}| ?\p{N}{1,3}| ?[^\s\p{L}\p{N}]{1,4}|\s+/gu;

/** In the order of the text; together they are the text. */
export function tokensOf(text: string): string[] {
  return text.match(TOKEN) ?? [];
}

export function countTokens(text: string): number {
  let count = 0;
  TOKEN.lastIndex = 0;
  while (TOKEN.test(text)) count++;
  return count;
}
