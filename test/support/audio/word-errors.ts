/** How far a transcript is from the spoken words. */

/** Words that must be put in, taken out or replaced to make one text of the other; case and punctuation do not count. */
export function countWordErrors(said: string, heard: string): { errors: number; words: number } {
  const [wanted, found] = [wordsOf(said), wordsOf(heard)];
  let row = Array.from({ length: found.length + 1 }, (_, index) => index);
  for (const [index, word] of wanted.entries()) {
    const next = [index + 1];
    for (const [column, other] of found.entries()) {
      const replaced = (row[column] ?? 0) + (word === other ? 0 : 1);
      next.push(Math.min(replaced, (row[column + 1] ?? 0) + 1, (next[column] ?? 0) + 1));
    }
    row = next;
  }
  return { errors: row.at(-1) ?? 0, words: wanted.length };
}

function wordsOf(text: string): string[] {
  return text.toLowerCase().match(/[\p{L}\p{N}']+/gu) ?? [];
}
