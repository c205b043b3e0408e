/** What breaks a line, steers a terminal or is not seen. */
const INVISIBLE = /[\p{C}\p{Zl}\p{Zp}]/u;
/** Where such a character does its work: in emoji of several parts, and between letters of scripts that join theirs. */
const JOINED =
  '\\p{RGI_Emoji}|(?<=[[\\p{L}\\p{M}]--[\\p{scx=Latn}\\p{scx=Grek}\\p{scx=Cyrl}]])[\\u200c\\u200d](?=[\\p{L}\\p{M}])';

/** Made at its first use: the table of all emoji takes as long as loading a large library. */
let joinedOrInvisible: RegExp | undefined;

/** The text with a question mark for whatever is not seen: what others wrote, such as a bank, must not steer the terminal. */
export function shown(text: string): string {
  if (!INVISIBLE.test(text)) return text;
  joinedOrInvisible ??= new RegExp(`(?<joined>${JOINED})|${INVISIBLE.source}`, 'gv');
  return text.replace(joinedOrInvisible, (found, joined?: string) => (joined === undefined ? '?' : found));
}

/** Whether there is a text, and all of it is seen. */
export function isVisible(text: string): boolean {
  return text !== '' && shown(text) === text;
}

/** Columns as wide as their widest cell, two spaces apart. */
export function renderTable(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const lines = [head, ...rows];
  const widths = head.map((_, column) => Math.max(...lines.map((line) => line[column]?.length ?? 0)));
  return lines
    .map((line) =>
      line
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

/** A text as one word for a POSIX shell. */
export function shellWord(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
