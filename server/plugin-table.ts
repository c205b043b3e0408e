import type { PluginStatus } from 'mediagate';

/** One entry in one line: id, state, and what it serves or why it does not. */
export function describeEntry(status: PluginStatus): string {
  return `${status.id.padEnd(18)} ${status.state.padEnd(8)} ${detailOf(status)}`.trimEnd();
}

function detailOf({ state, serves, standIn, reason }: PluginStatus): string {
  if (state !== 'ready') return reason ?? '';
  return standIn ? `${serves.join(', ')} (stand-in)` : serves.join(', ');
}

/** Entries as a table for a terminal. */
export function renderPluginTable(plugins: readonly PluginStatus[]): string {
  const rows = plugins.map((status) => [status.id, status.state, status.provides.join(', '), detailOf(status)]);
  return renderTable(['ENTRY', 'STATE', 'PROVIDES', 'SERVES'], rows);
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
