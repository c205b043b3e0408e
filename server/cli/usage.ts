import { systemClock } from '../../core/runtime/index.js';
import { renderTable } from '../format/index.js';
import type { Settings } from '../settings/index.js';
import { addUp, encodeCounts, grouped, readDayRange, type UsageCounts, type UsageTotal } from '../usage/index.js';
import { CommandFailure, CommandMistake, print, printJson, withState } from './command.js';
import { readKeyId } from './keys.js';

const HEAD = ['DAY', 'KEY', 'ROUTE', 'MODEL', 'REQUESTS', 'FAILED', 'TOKENS IN', 'TOKENS OUT', 'OTHER', 'ESTIMATED'];

export interface UsageOptions {
  /** See {@link readKeyId}. */
  key?: string;
  from?: string;
  to?: string;
  json?: boolean;
}

/** Prints the usage by day, key, route and model. */
export async function usageCommand(settings: Settings, { key, from, to, json }: UsageOptions): Promise<number> {
  const keyId = key === undefined ? undefined : readKeyId(key);
  const range = readDayRange({ from, to }, systemClock.now());
  if ('problem' in range) throw new CommandMistake(`--${range.field} ${range.problem}.`);
  const totals = await withState(settings, async (state) => {
    const found = await state.usage.totals({ ...range, keyId });
    if (keyId !== undefined && found.length === 0 && !(await state.keys.find(keyId)))
      throw new CommandFailure(`There is no key with the id ${keyId}.`);
    return found;
  });
  if (json) printJson(totals.map(describe));
  else if (totals.length === 0) print(`There is no usage from ${range.from} to ${range.to}.\n`);
  else print(`${renderTable(HEAD, [...totals.map(row), sumRow(totals)])}\n`);
  return 0;
}

function describe(total: UsageTotal) {
  const { day, keyId, accountId, route, model } = total;
  return { day, key: keyId, account: accountId, route, model, ...encodeCounts(total) };
}

function row(total: UsageTotal): string[] {
  return [total.day, total.keyId || '-', total.route, total.model, ...cells(total)];
}

function sumRow(totals: readonly UsageTotal[]): string[] {
  return ['all', '', '', '', ...cells(addUp(totals))];
}

function cells(counts: UsageCounts): string[] {
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
export function renderCounts(counts: UsageCounts): string {
  const { requests, failed, inputTokens, outputTokens } = counts;
  const all = requests === 1 ? '1 request' : `${grouped(requests)} requests`;
  const tokens = inputTokens + outputTokens > 0;
  return [
    failed > 0 ? `${all} (${grouped(failed)} failed)` : all,
    ...(tokens ? [`${grouped(inputTokens)} tokens in`, `${grouped(outputTokens)} out`] : []),
    ...otherCounts(counts),
  ].join(', ');
}
