/** A process that moves money of prepaid balances at random, many at once, and prints what it did until it is killed. */

import { randomInt } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { isGatewayError, systemClock } from '../../core/runtime/index.js';
import { payersOf } from '../../server/keys/index.js';
import type { TopUpTerms } from '../../server/plans/index.js';
import { createPrices } from '../../server/prices/index.js';
import { openState } from '../../server/state.js';
import { order, transfer } from '../support/accounts/people.js';
import { codeOf } from '../support/code-of.js';
import { ListLogger } from '../support/databases/engines.js';
import { CHAT, settlement } from '../support/models/model-requests.js';

export interface LedgerNodeOptions {
  dataDir: string;
  databaseUrl?: string;
  /** Accounts with a key each. */
  accounts: readonly { accountId: string; keyId: string }[];
}

/** A token of input costs 1 millionth, one of output 2. */
export const LEDGER_PRICES = createPrices({ currency: 'EUR', models: { [CHAT.model]: { input: 1, output: 2 } } });
export const TOP_UP: TopUpTerms = {
  ...{ planId: 'topup', currency: 'EUR', credit: 5_000, lowBelow: null },
  ...{ grants: ['text'], rpm: 60, models: null },
};
export const LEASE_MS = 3_000;
const TASKS = 12;
const MIN_OUTPUT = 4;
/** Refusals that are part of the game. */
const EXPECTED = ['insufficient_quota', 'upstream_unavailable', 'too_many_open_orders', 'order_state_conflict'];

if (process.argv[2]?.startsWith('{')) await run(JSON.parse(process.argv[2]) as LedgerNodeOptions);

async function run({ dataDir, databaseUrl, accounts }: LedgerNodeOptions): Promise<void> {
  const settings = { clock: systemClock, logger: new ListLogger(), prices: LEDGER_PRICES, processLeaseMs: LEASE_MS };
  const state = await openState({ dataDir, databaseUrl, ...settings });
  const by = { actor: 'operator:bob' };
  const chance = (percent: number) => randomInt(100) < percent;

  async function request(accountId: string, keyId: string): Promise<void> {
    const key = await state.keys.find(keyId);
    if (!key) throw new Error('the key is gone');
    const input = randomInt(1, 300);
    const demand = async () => ({
      input,
      hiddenInput: 0,
      output: randomInt(8, 600),
      minOutput: MIN_OUTPUT,
      choices: 1,
    });
    const who = { ...CHAT, accountId, keyId };
    const reserve = { ...payersOf(key, { grant: 'text' }), tokens: input, demand };
    const { reservation, reserved } = await state.admissions.admit({ ...who, reserve });
    await sleep(randomInt(20));
    const output = reserved?.output ?? 0;
    // Now and then an upstream does not keep to its limit, or fails.
    const outputTokens = chance(3) ? output + 50 : randomInt(output + 1);
    const usage = chance(10) ? undefined : { inputTokens: input, outputTokens };
    const end = { reservation, usage, status: usage ? 200 : 502, at: Date.now() };
    state.admissions.settle(settlement({ ...end, accountId, keyId }));
  }

  async function change(): Promise<void> {
    const { accountId, keyId } = accounts[randomInt(accounts.length)] ?? { accountId: '', keyId: '' };
    if (chance(75)) return request(accountId, keyId);
    if (chance(50)) {
      const { code } = await order(state, accountId, { terms: TOP_UP, amount: 5 });
      await state.orders.record(transfer(code, { amount: 5 }));
    } else if (chance(40)) await state.balances.resume({ accountId, ...by });
    else if (chance(55)) await state.balances.adjust({ accountId, ...by }, randomInt(-3_000, 3_000));
    else {
      const [latest] = await state.orders.list({ accountId, limit: 1, state: 'paid' });
      if (latest) await state.orders.refund({ code: latest.code, ...by });
    }
  }

  let done = 0;
  async function work(): Promise<never> {
    for (;;) {
      const code = await codeOf(change());
      if (code !== 'ok' && !EXPECTED.includes(code)) process.stdout.write(`wrong ${code}\n`);
      done += 1;
      if (done % 100 === 0) process.stdout.write('hundred\n');
    }
  }
  await Promise.all(Array.from({ length: TASKS }, work)).catch((error: unknown) => {
    process.stdout.write(`wrong ${isGatewayError(error) ? error.code : String(error)}\n`);
  });
}
