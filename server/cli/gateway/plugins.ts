/*
 * The commands `plugins` and `doctor`, and the lines about plugins in the banner. Long lists of names are cut to a
 * number there.
 */

import type { PlatformInfo, PluginStatus } from '../../../core/contracts/index.js';
import type { Finding } from '../../doctor/index.js';
import { renderTable } from '../../format/index.js';
import { groupEntries, type PluginGroup } from '../../plugin-groups.js';
import type { Settings } from '../../settings/index.js';
import { withGateway, withLogger } from '../command.js';
import type { Outcome } from '../output.js';

/** Loads every entry of the plugins file, for its status. */
export async function pluginsCommand(settings: Settings): Promise<Outcome<'Plugins'>> {
  const plugins = await withGateway(settings, async (gateway) => gateway.plugins());
  return { json: plugins, text: renderPluginTable(plugins) };
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
function renderPluginTable(plugins: readonly PluginStatus[]): string {
  const rows = groupEntries(plugins).map((group) => [
    group.id,
    group.state,
    group.provides.join(', '),
    detailOf(group, inFull),
  ]);
  return renderTable(['ENTRY', 'STATE', 'PROVIDES', 'SERVES'], rows);
}

/** Reports what works and what to install. Exit code 1 if the gateway would not work. */
export async function doctorCommand(settings: Settings): Promise<Outcome<'Findings'>> {
  const { runChecks } = await import('../../doctor/index.js');
  const findings = await withLogger(settings, (logger) => runChecks(settings, process.env, logger), { quiet: true });
  const exitCode = findings.some(({ level }) => level === 'fail') ? 1 : 0;
  return { json: findings, text: findings.map(render).join('\n'), exitCode };
}

function render({ name, level, detail, advice }: Finding): string {
  const line = `${level.padEnd(4)}  ${name.padEnd(12)}  ${detail}`;
  return advice ? `${line}\n${' '.repeat(20)}${advice}` : line;
}
