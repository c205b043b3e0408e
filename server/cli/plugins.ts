import type { PluginStatus } from 'mediagate';
import { type EntryGroup, groupEntries } from '../entry-groups.js';
import { renderTable } from '../format/index.js';
import type { Settings } from '../settings/index.js';
import { openCommandLogger, print, printJson, withGateway } from './command.js';

/** Loads every entry of the plugins file and prints how it fares. */
export async function pluginsCommand(settings: Settings, { json }: { json?: boolean }): Promise<number> {
  const logger = openCommandLogger(settings);
  try {
    return await withGateway(settings, logger, async (gateway) => {
      if (json) printJson(gateway.plugins());
      else print(`${renderPluginTable(gateway.plugins())}\n`);
      return 0;
    });
  } finally {
    await logger.close();
  }
}

/** As many are named in a line of the start; of more there is the number. */
const MOST_NAMED = 3;

/**
 * Entries in one line each, those that fare alike in one: id, state, and, in brief, what they serve or why they failed. Why one is
 * disabled is in the table.
 */
export function describeEntries(plugins: readonly PluginStatus[]): string[] {
  const alike = plugins.map((one) => (one.state === 'disabled' ? { ...one, reason: undefined } : one));
  return groupEntries(alike).map((group) =>
    `${group.id.padEnd(18)} ${group.state.padEnd(8)} ${group.state === 'disabled' ? '' : detailOf(group, inBrief)}`.trimEnd(),
  );
}

function detailOf({ state, serves, standIn, reason, entries }: EntryGroup, list: (names: readonly string[]) => string) {
  if (state !== 'ready') {
    const which = entries.length > 1 ? list(entries) : '';
    return [which, reason ?? ''].filter((part) => part !== '').join(': ');
  }
  return standIn ? `${list(serves)} (stand-in)` : list(serves);
}

function inFull(names: readonly string[]): string {
  return names.join(', ');
}

function inBrief(names: readonly string[]): string {
  return names.length > MOST_NAMED ? `${names.length} models` : inFull(names);
}

/** Entries as a table for a terminal. */
export function renderPluginTable(plugins: readonly PluginStatus[]): string {
  const rows = groupEntries(plugins).map((group) => [
    group.id,
    group.state,
    group.provides.join(', '),
    detailOf(group, inFull),
  ]);
  return renderTable(['ENTRY', 'STATE', 'PROVIDES', 'SERVES'], rows);
}
