/**
 * Text of strangers as both engines keep it: PostgreSQL has no U+0000 and no lone surrogates. Control characters become
 * blanks.
 * @param most Characters.
 */
export function storable(text: string, most: number): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is being removed
  const plain = text.replace(/[\u0000-\u001f\u007f-\u009f\u2028\u2029]+/g, ' ').trim();
  return plain.slice(0, most).toWellFormed();
}

/** Whether a name may be there at all: PostgreSQL does not even look for a text with U+0000 in it. */
export function isKept(name: string): boolean {
  return !name.includes('\u0000');
}
