/*
 * Prints what the admin API answered: rows as a table, an object as facts, a value as a cell.
 */

import { sanitizeForTerminal } from '../../format/index.js';
import { renderFacts, renderRows } from '../output.js';
import type { Json } from './admin-client.js';

export function tableOf(rows: readonly Json[], columns: readonly string[]): string {
  const head = columns.map((column) => column.toUpperCase().replaceAll('_', ' '));
  return (
    renderRows(
      head,
      rows.map((row) => columns.map((column) => cell(row[column]))),
    ) || 'There are none.'
  );
}

export function factsOf(json: Json): string {
  const simple = Object.entries(json).filter(([, value]) => typeof value !== 'object' || Array.isArray(value));
  return renderFacts(
    simple.flatMap(([name, value]) => (isTable(value) ? [] : [[name.replaceAll('_', ' '), cell(value)] as const])),
  );
}

function isTable(value: unknown): boolean {
  return Array.isArray(value) && typeof value[0] === 'object';
}

export function cell(value: unknown): string {
  if (value === null || value === undefined || value === '') return '-';
  return sanitizeForTerminal(Array.isArray(value) ? value.join(',') || '-' : String(value));
}
