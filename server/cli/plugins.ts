/*
 * The commands `plugins` and `doctor`, and the lines about plugins in the banner. Long lists of names are cut to a
 * number there.
 */

import type { PlatformInfo, PluginStatus } from '../../core/contracts/index.js';
import type { Finding } from '../doctor/index.js';
import { renderTable } from '../format/index.js';
import { groupEntries, type PluginGroup } from '../plugin-groups.js';
import type { Settings } from '../settings/index.js';
import { openCommandLogger, openQuietLogger, print, printJson, withGateway } from './command.js';

/** Loads every entry of the plugins file and prints its status. */
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

/** Names listed in a line of the banner; beyond that, only their number. */
const MAX_NAMED = 3;

/**
 * One line per entry or group of entries with the same status: id, state, and, in short, what they serve or why they
 * failed; a platform has its name for people. The table states why an entry is disabled, and lists those that are disabled beside others of their plugin.
 */
export function describeEntries(
  plugins: readonly PluginStatus[],
  platforms: readonly Pick<PlatformInfo, 'key' | 'name'>[] = [],
): string[] {
  const names = new Map(platforms.map(({ key, name }) => [key, name]));
  const inWords = (served: readonly string[]) => inBrief(served.map((one) => names.get(one) ?? one));
  const inUse = new Set(plugins.flatMap(({ plugin, state }) => (state === 'disabled' ? [] : [plugin])));
  const shown = plugins.filter(({ plugin, state }) => state !== 'disabled' || !inUse.has(plugin));
  const alike = shown.map((one) => (one.state === 'disabled' ? { ...one, reason: undefined } : one));
  return groupEntries(alike).map((group) =>
    `${group.id.padEnd(18)} ${group.state.padEnd(8)} ${group.state === 'disabled' ? '' : detailOf(group, inWords)}`.trimEnd(),
  );
}

function detailOf(
  { state, serves, standIn, reason, entries }: PluginGroup,
  list: (names: readonly string[]) => string,
) {
  if (state !== 'ready') {
    const which = entries.length > 1 ? list(entries) : '';
    return [which, reason ?? ''].filter((part) => part !== '').join(': ');
  }
  return standIn ? `${list(serves)} (mock)` : list(serves);
}

function inFull(names: readonly string[]): string {
  return names.join(', ');
}

function inBrief(names: readonly string[]): string {
  return names.length > MAX_NAMED ? `${names.length} models` : inFull(names);
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

/** Reports what works and what to install. Exit code 1 if the gateway would not work. */
export async function doctorCommand(settings: Settings, { json }: { json?: boolean }): Promise<number> {
  const { runChecks } = await import('../doctor/index.js');
  const logger = openQuietLogger(settings);
  try {
    const findings = await runChecks(settings, process.env, logger);
    if (json) printJson(findings);
    else print(findings.map(render).join(''));
    return findings.some(({ level }) => level === 'fail') ? 1 : 0;
  } finally {
    await logger.close();
  }
}

function render({ name, level, detail, advice }: Finding): string {
  const line = `${level.padEnd(4)}  ${name.padEnd(12)}  ${detail}\n`;
  return advice ? `${line}${' '.repeat(20)}${advice}\n` : line;
}
