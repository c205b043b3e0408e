import type { PluginStatus } from 'mediagate';
import { renderTable } from './text-table.js';

/** One entry in one line: id, state, and what it serves or why it does not. */
export function describeEntry({ id, state, serves, reason }: PluginStatus): string {
  const detail = state === 'ready' ? serves.join(', ') : (reason ?? '');
  return `${id.padEnd(18)} ${state.padEnd(8)} ${detail}`.trimEnd();
}

/** Entries as a table for a terminal. */
export function renderPluginTable(plugins: readonly PluginStatus[]): string {
  const rows = plugins.map(({ id, state, provides, serves, reason }) => [
    id,
    state,
    provides.join(', '),
    state === 'ready' ? serves.join(', ') : (reason ?? ''),
  ]);
  return renderTable(['ENTRY', 'STATE', 'PROVIDES', 'SERVES'], rows);
}
