/** Image jobs while the wall clock jumps. */

import { renameSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { packageRoot } from '../support/package-root.js';
import { until } from '../support/until.js';
import { type ImageFindings, judge } from './image-findings.js';
import { drain, newOrder, type OrderLedger, replayUntold, submit } from './image-orders.js';
import { drawSlowly, type ImageSite, openImageSite } from './image-site.js';

const HOUR_MS = 3_600_000;
/**
 * By how much the clock is wrong, one after the other. Every other time it is set while no process runs, and then never
 * forward: a gateway without a time server of its own cannot tell that from having been off for so long.
 */
const OFFSETS_MS = [HOUR_MS, 0, 5_000, -5_000, -HOUR_MS, -HOUR_MS - 5_000, HOUR_MS, -HOUR_MS, 0] as const;
const BETWEEN_MS = 400;
const KEYS = 4;
const RPM = 6;
const WINDOW_MS = 60_000;
const TIMEOUT_MS = 120_000;

export interface ClockReport extends ImageFindings {
  jumps: number;
  restarts: number;
  /** Most seconds that a refusal told a client to wait. At most 60. */
  longestRetryAfter: number;
  /** Keys that were still refused 60 s after their last acceptance. Must be 0; undefined if the run did not wait so long. */
  blockedKeys?: number;
}

export interface ClockPlan {
  /** Whether to wait until all slots must be free again, which takes a minute. */
  waitsForSlots: boolean;
  databaseUrl?: string;
}

/** Sets the clock of a gateway forth and back while clients use up their slots, also while it is down. */
export async function runClockFaults({ waitsForSlots, databaseUrl }: ClockPlan): Promise<ClockReport> {
  const site = await openImageSite({ keys: KEYS, rpm: RPM, databaseUrl });
  const clockFile = path.join(site.folder, 'clock');
  const setClock = (ms: number) => {
    writeFileSync(`${clockFile}.new`, String(ms));
    renameSync(`${clockFile}.new`, clockFile);
  };
  const preload = pathToFileURL(path.join(packageRoot, 'dist', 'test', 'chaos', 'faked-clock.js')).href;
  const start = () => site.start({ CLOCK_FILE: clockFile, NODE_OPTIONS: `--import=${preload}` });
  try {
    setClock(0);
    drawSlowly(site, 80);
    await start();
    const ledger: OrderLedger = [];
    const over = new AbortController();
    const clients = site.keys.map((key) => exhaust(site, ledger, key, over.signal));
    let restarts = 0;
    for (const [index, offsetMs] of OFFSETS_MS.entries()) {
      await sleep(BETWEEN_MS);
      if (index % 2 === 0) setClock(offsetMs);
      else {
        await site.kill();
        setClock(offsetMs);
        await start();
        await everyKeyAnswered(site, ledger);
        restarts += 1;
      }
    }
    over.abort();
    const waits = await Promise.all(clients);
    await replayUntold(site, ledger, performance.now() + TIMEOUT_MS);
    const blockedKeys = waitsForSlots ? await countBlocked(site, ledger) : undefined;
    await drain(site, ledger, performance.now() + TIMEOUT_MS);
    const findings = await judge(site, ledger, { wallClock: false });
    const found = { jumps: OFFSETS_MS.length, restarts, longestRetryAfter: Math.max(...waits), ...findings };
    return blockedKeys === undefined ? found : { ...found, blockedKeys };
  } finally {
    await site.remove();
  }
}

/**
 * Waits until the new process has read the window of each key by its clock. If the clock went forward before, the process
 * could not tell that from having been off for so long, and a slow machine would seem to have slot errors.
 */
async function everyKeyAnswered({ keys }: ImageSite, ledger: OrderLedger): Promise<void> {
  const first = ledger.length;
  const answered = ({ acceptedAt, refusal }: OrderLedger[number]) => acceptedAt !== undefined || refusal !== undefined;
  await until(() => {
    const later = ledger.slice(first).filter(answered);
    return keys.every((key) => later.some((order) => order.key === key));
  });
}

/** Asks faster than it may, and gives the most seconds that it was told to wait. */
async function exhaust(site: ImageSite, ledger: OrderLedger, key: string, over: AbortSignal): Promise<number> {
  let longest = 0;
  while (!over.aborted) {
    await sleep(100);
    if (!site.gateway) continue;
    const order = newOrder(key, { prompt: `picture ${ledger.length}` });
    ledger.push(order);
    longest = Math.max(longest, Number((await submit(site, order))?.headers.get('retry-after') ?? 0));
  }
  return longest;
}

async function countBlocked(site: ImageSite, ledger: OrderLedger): Promise<number> {
  await sleep(WINDOW_MS);
  const orders = site.keys.map((key) => newOrder(key, { prompt: 'after a minute' }));
  ledger.push(...orders);
  await Promise.all(orders.map((order) => submit(site, order)));
  return orders.filter(({ refusal }) => refusal !== undefined).length;
}
