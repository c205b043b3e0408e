/** Uses after which a statement is worth keeping at the server. */
const USES = 5;
/** Each costs every connection some kilobytes at the server. */
const MAX_NAMES = 256;
/** Texts whose uses are counted; those with lists of any length in them come in ever new forms. */
const MAX_COUNTED = 2_000;
const KEPT = /^(select|insert|update|delete|with)\b/;
/** What gives all columns of a table gives others once a migration has added one, which the server refuses to do. */
const ALL_COLUMNS = /(\.|\breturning |\bselect )"?\*/;

export type StatementNames = (text: string) => string | undefined;

/**
 * Names under which PostgreSQL keeps a statement, parsed and planned, once it has been used a few times: the same name for
 * the same text on every connection of this process. Undefined for what is not kept.
 */
export function createStatementNames(): StatementNames {
  const names = new Map<string, string>();
  const uses = new Map<string, number>();
  let named = 0;

  return (text) => {
    const known = names.get(text);
    if (known !== undefined) return known;
    const count = (uses.get(text) ?? 0) + 1;
    if (uses.size >= MAX_COUNTED) uses.clear();
    uses.set(text, count);
    if (count < USES || named >= MAX_NAMES || !KEPT.test(text) || ALL_COLUMNS.test(text)) return undefined;
    named += 1;
    uses.delete(text);
    const name = `mediagate_${named}`;
    names.set(text, name);
    return name;
  };
}
