/*
 * `mediagate usage` prints the usage by day, key, route or model, as a table, JSON or CSV, with costs once there were
 * prices. CSV has the field names of the JSON in its first line, so that both can be read by the same programs. Days
 * are ordered newest first, all else by the number of requests. Keys that were deleted have no name in the report.
 */

import { systemClock } from '../../../core/runtime/index.js';
import { describeCounts } from '../../admin/index.js';
import { csvCell, renderTable, sanitizeForTerminal } from '../../format/index.js';
import type { ApiKeyRecord } from '../../keys/index.js';
import { suggestName } from '../../names/index.js';
import type { Settings } from '../../settings/index.js';
import { addUp, grouped, readDayRange, renderCost, type UsageCounts, type UsageTotal } from '../../usage/index.js';
import { withState } from '../command.js';
import type { OptionsOf } from '../define-command.js';
import { CommandMistake } from '../mistakes.js';
import type { Outcome } from '../output.js';
import type { showUsage } from './access-commands.js';
import { findKey, readKeyId } from './keys.js';

type UsageOptions = OptionsOf<typeof showUsage>;
type Column = 'day' | 'key' | 'name' | 'account' | 'group' | 'route' | 'model';

/** Columns of each report; `name` is the name of the key. */
const COLUMNS: Readonly<Record<NonNullable<UsageOptions['by']> | 'all', readonly Column[]>> = {
  all: ['day', 'key', 'name', 'account', 'route', 'model'],
  key: ['key', 'name', 'account'],
  group: ['group'],
  model: ['model'],
  day: ['day'],
  route: ['route'],
};
const COUNTS_HEAD = ['REQUESTS', 'FAILED', 'TOKENS IN', 'TOKENS OUT', 'OTHER', 'ESTIMATED'];

interface Row {
  names: Readonly<Record<Column, string | null>>;
  counts: UsageCounts;
}

/** The usage by day, key, route and model, or by one of them. */
export async function usageCommand(settings: Settings, options: UsageOptions): Promise<Outcome<'UsageRows'>> {
  const { key, group, from, to, by, csv } = options;
  const keyId = key === undefined ? undefined : readKeyId(key);
  const range = readDayRange({ from, to }, systemClock.now());
  if ('problem' in range) throw new CommandMistake(`--${range.field} ${range.problem}.`);
  const { rows, currency } = await withState(settings, async (state) => {
    const totals = await state.usage.totals({ ...range, keyId });
    if (keyId !== undefined && totals.length === 0) await findKey(state, keyId);
    const groups = group === undefined ? [] : (await state.budgets.groups()).map(({ name }) => name);
    if (group !== undefined && !groups.includes(group)) {
      const message = `--group: there is no group ${sanitizeForTerminal(group)}; "mediagate groups list" shows them.`;
      throw new CommandMistake(`${message}${suggestName(group, groups)}`);
    }
    const found = keyId === undefined ? await state.keys.list() : [await state.keys.find(keyId)];
    const records = new Map(found.flatMap((record) => (record ? [[record.id, record] as const] : [])));
    const ofGroup = totals.filter((total) => group === undefined || records.get(total.keyId)?.groupName === group);
    return { rows: rowsOf(ofGroup, records, by), currency: await state.usage.currency() };
  });
  const columns = COLUMNS[by ?? 'all'];
  const none = `There is no usage from ${range.from} to ${range.to}.`;
  const table = rows.length === 0 ? none : renderReport(rows, columns, currency);
  const json = rows.map((row) => describe(row, columns, currency));
  return { json, text: csv ? renderCsv(rows, columns, currency) : table };
}

/** Days newest first; keys, models and routes with the most requests first. A deleted key has no name. */
function rowsOf(totals: readonly UsageTotal[], keys: ReadonlyMap<string, ApiKeyRecord>, by: UsageOptions['by']): Row[] {
  const all = totals.map(({ day, keyId, accountId, route, model, ...counts }): Row => {
    const { name = null, groupName: group = null } = keys.get(keyId) ?? {};
    const ofKey = { key: keyId || null, name, account: accountId, group };
    return { names: { day, ...ofKey, route, model }, counts };
  });
  if (by === undefined) return all;
  const groups = [...Map.groupBy(all, (row) => row.names[by]).values()].map(
    ([first, ...rest]): Row => ({
      names: (first as Row).names,
      counts: addUp([first as Row, ...rest].map(({ counts }) => counts)),
    }),
  );
  return by === 'day' ? groups : groups.sort((one, other) => other.counts.requests - one.counts.requests);
}

/** @param currency Of the costs. Undefined: there never were prices, and no costs are shown. */
function describe({ names, counts }: Row, columns: readonly Column[], currency: string | undefined) {
  const ofRow = Object.fromEntries(columns.map((column) => [column, names[column]]));
  return { ...ofRow, ...describeCounts(counts, currency) };
}

function renderReport(rows: readonly Row[], columns: readonly Column[], currency: string | undefined): string {
  const cells = (counts: UsageCounts) => [
    ...countCells(counts),
    ...(currency === undefined ? [] : [renderCost(counts)]),
  ];
  const shown = columns.length === COLUMNS.all.length ? columns.filter((column) => column !== 'account') : columns;
  const ofCost = currency === undefined ? [] : [`COST (${currency})`];
  const head = [...shown.map((column) => column.toUpperCase()), ...COUNTS_HEAD, ...ofCost];
  const lines = rows.map(({ names, counts }) => [
    ...shown.map((column) => sanitizeForTerminal(names[column] ?? '-')),
    ...cells(counts),
  ]);
  const sum = [
    ...shown.map((_, index) => (index === 0 ? 'all' : '')),
    ...cells(addUp(rows.map(({ counts }) => counts))),
  ];
  return renderTable(head, [...lines, sum]);
}

/** With the names of the `--json` output in the first line. */
function renderCsv(rows: readonly Row[], columns: readonly Column[], currency: string | undefined): string {
  const head = [...columns, ...Object.keys(describeCounts(addUp([]), currency))];
  const lines = rows.map((row) => Object.values(describe(row, columns, currency)).map(csvCell));
  return [head, ...lines].map((line) => line.join(',')).join('\n');
}

function countCells(counts: UsageCounts): string[] {
  const { requests, failed, inputTokens, outputTokens, estimated } = counts;
  const numbers = [requests, failed, inputTokens, outputTokens].map(grouped);
  return [...numbers, otherCounts(counts).join(', ') || '-', grouped(estimated)];
}

function otherCounts({ seconds, characters, images }: UsageCounts): string[] {
  return [
    ...(images > 0 ? [images === 1 ? '1 image' : `${grouped(images)} images`] : []),
    ...(seconds > 0 ? [`${grouped(seconds)} s`] : []),
    ...(characters > 0 ? [`${grouped(characters)} characters`] : []),
  ];
}

/** In one line: `12 requests (1 failed), 3,400 tokens in, 210 out, 2 images`. */
export function renderCounts(counts: UsageCounts, currency?: string): string {
  const { requests, failed, inputTokens, outputTokens } = counts;
  const all = requests === 1 ? '1 request' : `${grouped(requests)} requests`;
  const tokens = inputTokens + outputTokens > 0;
  return [
    failed > 0 ? `${all} (${grouped(failed)} failed)` : all,
    ...(tokens ? [`${grouped(inputTokens)} tokens in`, `${grouped(outputTokens)} out`] : []),
    ...otherCounts(counts),
    ...(currency !== undefined && counts.priced > 0 ? [`${renderCost(counts)} ${currency}`] : []),
  ].join(', ');
}
