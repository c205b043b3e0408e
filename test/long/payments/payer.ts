/** A process that pays orders until it is killed. */

import { AsyncLocalStorage } from 'node:async_hooks';
import Sqlite from 'better-sqlite3';
import pg from 'pg';
import { systemClock } from '../../../core/runtime/time.js';
import type { BankTransaction } from '../../../server/payments/order-records.js';
import { openState } from '../../../server/state.js';
import { ListLogger } from '../../support/databases/engines.js';

/**
 * A process of its own that pays an order, as a gateway does whose bank calls it, and is killed at one of the statements of
 * that. Prints `done` where it was not.
 */
export interface Paying {
  dataDir: string;
  databaseUrl?: string;
  /** Confirmed by an operator, or by money. */
  by: { code: string } | { transaction: BankTransaction };
  /**
   * How many statements of the payment are begun; the process ends before the next one. With `sent`, PostgreSQL has got that
   * one as well, and nobody hears its answer.
   */
  statements: number;
  sent: boolean;
}

const { dataDir, databaseUrl, by, statements, sent } = JSON.parse(process.argv[2] ?? '') as Paying;
const state = await openState({ dataDir, databaseUrl, clock: systemClock, logger: new ListLogger() });

/** Counts what the payment itself asks of the database, not what goes on beside it. */
const payment = new AsyncLocalStorage<{ begun: number }>();

/** Whether it is this statement's turn. */
function isLast(): boolean {
  const counted = payment.getStore();
  if (counted) counted.begun += 1;
  return counted !== undefined && counted.begun > statements;
}

function kill(): never {
  process.kill(process.pid, 'SIGKILL');
  // The signal is on its way, and nothing else is to happen until then.
  for (;;);
}

const { prepare } = Sqlite.prototype;
Sqlite.prototype.prepare = function (this: Sqlite.Database, source: string) {
  const statement = prepare.call(this, source);
  for (const name of ['run', 'all'] as const) {
    const method = statement[name];
    statement[name] = ((...parameters: unknown[]) => {
      if (isLast()) kill();
      try {
        return Reflect.apply(method, statement, parameters);
      } catch (error) {
        // Another process writes, so that it is said again: two attempts are one statement of the payment.
        const counted = payment.getStore();
        if (counted && (error as { code?: string }).code === 'SQLITE_BUSY') counted.begun -= 1;
        throw error;
      }
    }) as never;
  }
  return statement;
} as typeof prepare;

const { query } = pg.Client.prototype;
pg.Client.prototype.query = function (this: pg.Client, ...parameters: unknown[]) {
  const last = isLast();
  if (last && !sent) kill();
  const answer = Reflect.apply(query, this, parameters);
  // What was written goes out before anything is read.
  if (last) setImmediate(kill);
  return answer;
} as typeof query;

await payment.run({ begun: 0 }, async () => {
  if ('code' in by) await state.orders.confirm({ code: by.code, actor: 'operator:bob' });
  else await state.orders.record(by.transaction);
});
process.stdout.write('done\n');
await state.close();
