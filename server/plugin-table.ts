import type { PluginStatus } from 'mediagate';
import { type EntryGroup, groupEntries } from './entry-groups.js';
import { renderTable } from './text-table.js';

/** Entries in one line each, those that fare alike in one: id, state, and what they serve or why they do not. */
export function describeEntries(plugins: readonly PluginStatus[]): string[] {
  return groupEntries(plugins).map((group) =>
    `${group.id.padEnd(18)} ${group.state.padEnd(8)} ${detailOf(group)}`.trimEnd(),
  );
}

function detailOf({ state, serves, standIn, reason, entries }: EntryGroup): string {
  if (state !== 'ready') {
    const which = entries.length > 1 ? entries.join(', ') : '';
    return [which, reason ?? ''].filter((part) => part !== '').join(': ');
  }
  return standIn ? `${serves.join(', ')} (stand-in)` : serves.join(', ');
}

/** Entries as a table for a terminal. */
export function renderPluginTable(plugins: readonly PluginStatus[]): string {
  const rows = groupEntries(plugins).map((group) => [
    group.id,
    group.state,
    group.provides.join(', '),
    detailOf(group),
  ]);
  return renderTable(['ENTRY', 'STATE', 'PROVIDES', 'SERVES'], rows);
}
