/*
 * What commands return and how it looks: a result for `--json` and one for people, tables, lists of facts, and the
 * history of a key, user, job or order.
 */

import type { Static } from '../../core/contracts/index.js';
import type { AuditEntry } from '../audit/index.js';
import { groupedDecimal, isoTime, renderTable, sanitizeForTerminal } from '../format/index.js';

type Shapes = typeof import('./json-shapes.js');
/** The names of what commands print with `--json`. */
export type ShapeName = keyof Shapes;
type Unchanged<Value> = { readonly [Name in keyof Value]: Unchanged<Value[Name]> };
/** What a command prints with `--json`, by its declared shape. */
export type Printed<Shape extends ShapeName> = Unchanged<Static<Shapes[Shape]>>;

/** Standard output contains only the result of a command; remarks for people go to standard error. */
export interface Outcome<Shape extends ShapeName = never> {
  /** Printed with `--json`. */
  json?: [Shape] extends [never] ? unknown : Printed<Shape>;
  /** Printed without it; the last line end is added. */
  text?: string;
  remarks?: readonly string[];
  /** Default 0. */
  exitCode?: number;
}

/** Prints a result, and sets the exit code. */
export function printOutcome({ json, text, remarks = [], exitCode = 0 }: Outcome, asJson: boolean): void {
  if (asJson) process.stdout.write(`${JSON.stringify(json, null, 2)}\n`);
  else if (text !== undefined) process.stdout.write(`${text}\n`);
  if (!asJson) process.stderr.write(remarks.map((remark) => `${remark}\n`).join(''));
  process.exitCode = exitCode;
}

/** Facts in lines, with their names in a column. A fact without a value is left out. */
export function renderFacts(facts: readonly (readonly [name: string, value: string | null | undefined])[]): string {
  const width = Math.max(...facts.map(([name]) => name.length)) + 2;
  return facts.flatMap(([name, value]) => (value == null ? [] : [`${name.padEnd(width)}${value}`])).join('\n');
}

/** Parts with an empty line between them; empty ones are left out. */
export function joinParts(...parts: readonly string[]): string {
  return parts.filter((part) => part !== '').join('\n\n');
}

/** A table; an empty text without rows. */
export function renderRows(head: readonly string[], rows: readonly (readonly string[])[]): string {
  return rows.length === 0 ? '' : renderTable(head, rows);
}

/** The history as a table. @param changes Head of the column of changes. Default: the new state is in the action. */
export function renderAudit(audit: readonly AuditEntry[], changes?: string): string {
  const rows = audit.map(({ at, actor, action, from, to, amount, currency, note }) => {
    const money = amount === null ? [] : [`${groupedDecimal(amount)} ${currency}`];
    const states = [from, to].filter((state) => state !== null).map(sanitizeForTerminal);
    const now = [...states.slice(-1), ...money].join(', ');
    const what =
      changes === undefined
        ? [now === '' ? action : `${action} (${now})`]
        : [action, [states.join(' → '), ...money].filter(Boolean).join(', ')];
    return [isoTime(at), sanitizeForTerminal(actor), ...what, sanitizeForTerminal(note ?? '')];
  });
  return renderRows(['AT', 'WHO', 'WHAT', ...(changes === undefined ? [] : [changes]), 'NOTE'], rows);
}
