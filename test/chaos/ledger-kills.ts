/**
 * Two processes move money of the same prepaid balances at random while each is killed again and again. Afterwards the
 * ledger has to sum up to zero and to agree with each balance, with the orders that were paid, and with the usage log.
 */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { FREE, newKey, order, signUp, transfer } from '../support/accounts/people.js';
import type { Place } from '../support/databases/engines.js';
import { LEASE_MS, LEDGER_PRICES, type LedgerNodeOptions, TOP_UP } from './ledger-node.js';

const SCRIPT = fileURLToPath(new URL('ledger-node.js', import.meta.url));
const NODES = 2;
const ACCOUNTS = 12;
/** Everything is paid from the balance. */
const NO_PLAN = {
  ...FREE,
  budget: { tokenLimit: null, dailyTokenLimit: null, requestLimit: 0, resets: 'never' },
} as const;

export interface LedgerKillReport {
  changes: number;
  kills: number;
  /** Refusals that nothing explains, and failures. */
  wrong: number;
  /** Movements whose rows do not sum up to 0. */
  unbalanced: number;
  /** Balances that differ from the ledger, are below zero, or keep a reservation. */
  differentBalances: number;
  /** Millionths by which usage in the ledger differs from the costs of the usage log. */
  usageOff: number;
  /** The sum of all rows. */
  sum: number;
  seconds: number;
}

/** @param changes Changes after which it ends; about. */
export async function runLedgerKills(
  place: Place,
  { changes, kills }: { changes: number; kills: number },
): Promise<LedgerKillReport> {
  const begun = performance.now();
  const state = await place.open({ prices: LEDGER_PRICES, processLeaseMs: LEASE_MS });
  const accounts: { accountId: string; keyId: string }[] = [];
  for (let index = 0; index < ACCOUNTS; index += 1) {
    const { accountId } = await signUp(state);
    const key = newKey();
    await state.keys.issue({ accountId, key, otherwise: NO_PLAN, maxKeys: 1 });
    const { code } = await order(state, accountId, { terms: TOP_UP, amount: 5 });
    await state.orders.record(transfer(code, { amount: 5 }));
    accounts.push({ accountId, keyId: key.id });
  }
  const { dataDir, databaseUrl } = place;
  let [done, wrong, killed] = [0, 0, 0];

  /** Runs a node until it has been killed. */
  async function runNode(): Promise<void> {
    const options: LedgerNodeOptions = { dataDir, databaseUrl, accounts };
    const child = spawn(process.execPath, [SCRIPT, JSON.stringify(options)], { stdio: ['ignore', 'pipe', 'inherit'] });
    const exited = once(child, 'exit');
    const until = changes * Math.min(1, (killed + 1) / Math.max(1, kills));
    createInterface({ input: child.stdout }).on('line', (line) => {
      if (line === 'hundred') done += 100;
      else {
        wrong += 1;
        console.error(line);
      }
      if (done >= until) child.kill('SIGKILL');
    });
    await exited;
    killed += 1;
  }

  async function keepRunning(): Promise<void> {
    while (done < changes) await runNode();
  }

  await Promise.all(Array.from({ length: NODES }, keepRunning));
  // Then the reservations of the killed ones are settled.
  await sleep(LEASE_MS * 3);
  const { accounts: sums, unbalanced, different } = await state.ledger.sums();
  const balances = await Promise.all(accounts.map(({ accountId }) => state.balances.find(accountId)));
  const bad = balances.filter((balance) => !balance || balance.amount < 0 || balance.reserved !== 0);
  const [from, to] = ['2000-01-01', '2100-01-01'];
  const logged = (await state.usage.totals({ from, to })).reduce((sum, { cost }) => sum + cost, 0);
  const usage = sums.find(({ account }) => account === 'usage')?.amount ?? 0;
  return {
    changes: done,
    kills: killed,
    wrong,
    unbalanced: unbalanced.length,
    differentBalances: different.length + bad.length,
    usageOff: usage - logged,
    sum: sums.reduce((total, { amount }) => total + amount, 0),
    seconds: Math.round((performance.now() - begun) / 1_000),
  };
}

export function isSound(report: LedgerKillReport): boolean {
  const { wrong, unbalanced, differentBalances, usageOff, sum } = report;
  return [wrong, unbalanced, differentBalances, usageOff, sum].every((count) => count === 0);
}
