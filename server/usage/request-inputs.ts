/*
 * What requests asked: the last message of a chat, the prompt of an image, the text of speech, the address of a link.
 * Nothing of it is stored unless an account turns it on, for 1 to 30 days; then the first 1,000 characters are stored
 * in a table of its own, beside the usage log. They are read for the account alone, and never by operators.
 *
 * Which accounts have it on is in the memory of each process, so it costs the requests of others one lookup in a set.
 * Changes are effective at once in the workers of this machine and within 5 s on other nodes. Turning it off deletes
 * every text before it is answered: each write locks the setting of its account and writes only while it is on, so none
 * follows. Texts are written a moment after the request; a process that is killed loses those of that moment. While
 * the database is unavailable at most 2,000 wait, and older ones are dropped.
 */

import {
  type Database,
  type DatabaseClock,
  type Kysely,
  rowsOf,
  type Script,
  sql,
  storable,
  type Tables,
  WriteBehind,
} from '../../core/database/index.js';
import { type Logger, noSiblings, type Siblings } from '../../core/runtime/index.js';
import type { RequestInputsTable } from './tables.js';
import { createUsageTable } from './usage-table.js';

/** Longest time for which an account may keep them. */
export const MAX_INPUT_DAYS = 30;
/** Characters of a stored text. */
export const MAX_INPUT = 1_000;

const DAY_MS = 24 * 60 * 60 * 1000;
const REFRESH_MS = 5_000;
/** Read again at each refresh, so that a slow commit hides no change. */
const OVERLAP_MS = 60_000;
/** Texts that wait for the database. */
const CAPACITY = 2_000;
/** Rows of one statement that deletes. */
const ROWS = 1_000;
/** Texts of one account, about: more may be there until the next sweep. */
const ROWS_PER_ACCOUNT = 100_000;
/** Accounts whose texts are counted in one sweep. */
const ACCOUNTS = 200;
/** Statements that delete in one sweep. */
const PIECES = 20;
/** Topic of siblings: a setting has changed. */
const CHANGED = 'request_inputs_changed';

/** What a request of an account asked. */
export type RequestInput = RequestInputsTable;

interface RequestInputsOptions {
  database: Database;
  times: DatabaseClock;
  logger: Logger;
  /** Default: none. */
  siblings?: Siblings | undefined;
}

/** Throws GatewayError `upstream_unavailable` if the database does not answer. */
export class RequestInputs {
  readonly #options: RequestInputsOptions;
  /** Accounts that keep them. */
  readonly #keeping = new Set<string>();
  readonly #table: ReturnType<typeof createUsageTable>;
  readonly #writing: WriteBehind<RequestInput>;
  #timer: NodeJS.Timeout | undefined;
  #refreshedAt = 0;

  constructor(options: RequestInputsOptions) {
    this.#options = options;
    this.#table = createUsageTable(options.database.queries);
    this.#writing = new WriteBehind({
      database: options.database,
      name: 'inputs of requests',
      capacity: CAPACITY,
      evict: (waiting) => waiting.slice(-CAPACITY),
      write: (rows) => this.write(rows),
      logger: options.logger,
    });
  }

  /** Reads which accounts keep them, and follows changes until it is closed. Without it none is kept. */
  async watch(): Promise<void> {
    const { siblings = noSiblings } = this.#options;
    await this.#refresh();
    siblings.on(CHANGED, () => void this.#tryRefresh());
    this.#timer = setInterval(() => void this.#tryRefresh(), REFRESH_MS).unref();
  }

  /** As in the memory of this process. */
  isStored(accountId: string): boolean {
    return this.#keeping.size > 0 && this.#keeping.has(accountId);
  }

  /** Writes a text soon, if the account keeps them. Never throws and never waits. */
  keep({ text, ...row }: RequestInput): void {
    if (this.isStored(row.accountId) && text !== '') this.#writing.push({ ...row, text: cutInput(text) });
  }

  /** Writes texts of accounts that keep them, within a transaction. */
  *write(rows: readonly RequestInput[]): Script<void> {
    const wanted = rows.filter(({ accountId, text }) => text !== '' && this.isStored(accountId));
    if (wanted.length === 0) return;
    const { engine, queries } = this.#options.database;
    // A setting that is being turned off is waited for, and one that is in use is turned off afterwards.
    const on = queries
      .selectFrom('request_input_settings')
      .select('accountId')
      .where('accountId', 'in', [...new Set(wanted.map(({ accountId }) => accountId))])
      .where('days', 'is not', null)
      .orderBy('accountId');
    const found = yield* rowsOf((engine === 'postgres' ? on.forShare() : on).compile());
    const keeping = new Set(found.map(({ accountId }) => accountId));
    const stored = wanted.filter(({ accountId }) => keeping.has(accountId));
    if (stored.length > 0) yield* this.#table.insertInputs(stored.map(toRow));
  }

  /** Resolves when everything is written, or the database has been unavailable for 2.4 s. */
  flush(): Promise<void> {
    return this.#writing.flushInTime();
  }

  /** For how many days an account keeps them; null if it does not. */
  async daysOf(accountId: string): Promise<number | null> {
    const row = await this.#options.database.run((queries) => selectDays(queries, accountId));
    return row?.days ?? null;
  }

  /**
   * Turns them on or off for an account. Off deletes all texts before it resolves.
   * @param days 1 to 30, or null for off.
   */
  async setDays(accountId: string, days: number | null): Promise<void> {
    const { database, times, siblings = noSiblings } = this.#options;
    await database.transaction(async (transaction) => {
      const changedAt = await times.read(transaction);
      await transaction
        .insertInto('request_input_settings')
        .values({ accountId, days, changedAt })
        .onConflict((conflict) => conflict.column('accountId').doUpdateSet({ days, changedAt }))
        .execute();
    });
    if (days === null) this.#keeping.delete(accountId);
    else this.#keeping.add(accountId);
    siblings.post(CHANGED);
    if (days === null) await deleteInputs(database, { accountId });
  }

  /** Texts by the id of their row in the usage log; undefined if the account does not keep them. */
  async textsOf(accountId: string, requestIds: readonly string[]): Promise<ReadonlyMap<string, string> | undefined> {
    const { database, times } = this.#options;
    return database.run(async (queries) => {
      const days = (await selectDays(queries, accountId))?.days ?? null;
      if (days === null) return undefined;
      if (requestIds.length === 0) return new Map();
      const rows = await queries
        .selectFrom('request_inputs')
        .select(['requestId', 'text'])
        .where('accountId', '=', accountId)
        .where('requestId', 'in', requestIds)
        .where('at', '>=', (await times.read(queries)) - days * DAY_MS)
        .execute();
      return new Map(rows.map(({ requestId, text }) => [requestId, text]));
    });
  }

  /** Deletes texts of keys of an account that are older than a time. */
  async delete(part: { accountId: string; keyIds: readonly string[]; before: number }): Promise<void> {
    await deleteInputs(this.#options.database, part);
  }

  /** Writes what waits, once. */
  async close(): Promise<void> {
    clearInterval(this.#timer);
    await this.#writing.close();
  }

  async #tryRefresh(): Promise<void> {
    // The next one reads the same changes; while the database is unavailable its other users report that.
    await this.#refresh().catch(() => undefined);
  }

  async #refresh(): Promise<void> {
    const { database, times } = this.#options;
    await database.run(async (queries) => {
      const now = await times.read(queries);
      const rows = await queries
        .selectFrom('request_input_settings')
        .select(['accountId', 'days'])
        .where('changedAt', '>=', this.#refreshedAt - OVERLAP_MS)
        .execute();
      for (const { accountId, days } of rows) {
        if (days === null) this.#keeping.delete(accountId);
        else this.#keeping.add(accountId);
      }
      this.#refreshedAt = now;
    });
  }
}

function toRow({ text, at, ...row }: RequestInput): RequestInput {
  return { ...row, at: Math.floor(at), text: cutInput(text) };
}

/** The beginning of a text, in one line. */
export function cutInput(text: string): string {
  return text.length <= MAX_INPUT ? storable(text, MAX_INPUT) : `${storable(text.slice(0, MAX_INPUT - 1), MAX_INPUT)}…`;
}

function selectDays(queries: Kysely<Tables>, accountId: string) {
  return queries
    .selectFrom('request_input_settings')
    .select('days')
    .where('accountId', '=', accountId)
    .executeTakeFirst();
}

/** Deletes texts of an account, in batches. Default: all of them. */
export async function deleteInputs(
  database: Database,
  { accountId, keyIds, before }: { accountId: string; keyIds?: readonly string[]; before?: number },
  signal?: AbortSignal,
): Promise<void> {
  if (keyIds?.length === 0) return;
  for (let isFull = true; isFull; ) {
    signal?.throwIfAborted();
    const deleted = await database.run((queries) => {
      let old = queries
        .selectFrom('request_inputs')
        .select('requestId')
        .where('accountId', '=', accountId)
        .orderBy('at')
        .limit(ROWS);
      if (before !== undefined) old = old.where('at', '<', Math.floor(before));
      if (keyIds !== undefined) old = old.where('keyId', 'in', keyIds);
      return queries
        .deleteFrom('request_inputs')
        .where('accountId', '=', accountId)
        .where('requestId', 'in', old)
        .executeTakeFirstOrThrow();
    });
    isFull = Number(deleted.numDeletedRows) === ROWS;
  }
}

/** Deletes texts that have expired, and the oldest of accounts with very many. */
export class InputSweeper {
  readonly #database: Database;
  /** Id of the last account that was counted. */
  #reached = '';

  constructor(database: Database) {
    this.#database = database;
  }

  /** Whether nothing is left. */
  async sweep(now: number): Promise<boolean> {
    let pieces = 0;
    for (let isFull = true; isFull; pieces += 1) {
      if (pieces === PIECES) return false;
      isFull = (await this.#database.run((queries) => deleteExpired(queries, now))) === ROWS;
    }
    const accounts = await this.#database.run((queries) => nextAccounts(queries, this.#reached));
    for (const { accountId } of accounts) {
      const oldest = await this.#database.run((queries) => oldestWithin(queries, accountId));
      if (oldest) await deleteInputs(this.#database, { accountId, before: oldest.at });
    }
    const isLast = accounts.length < ACCOUNTS;
    this.#reached = isLast ? '' : (accounts.at(-1)?.accountId ?? '');
    return isLast;
  }
}

/** Of accounts that keep none everything has expired. Returns the number of deleted rows. */
async function deleteExpired(queries: Kysely<Tables>, now: number): Promise<number> {
  const { numAffectedRows = 0n } = await sql`
    delete from request_inputs where ("accountId", "requestId") in (
      select old."accountId", old."requestId" from request_input_settings as setting
      inner join request_inputs as old on old."accountId" = setting."accountId"
        and old.at < cast(${Math.floor(now)} as bigint) - cast(coalesce(setting.days, 0) as bigint) * ${sql.lit(DAY_MS)}
      limit ${sql.lit(ROWS)})`.execute(queries);
  return Number(numAffectedRows);
}

function nextAccounts(queries: Kysely<Tables>, reached: string) {
  return queries
    .selectFrom('request_input_settings')
    .select('accountId')
    .where('accountId', '>', reached)
    .where('days', 'is not', null)
    .orderBy('accountId')
    .limit(ACCOUNTS)
    .execute();
}

function oldestWithin(queries: Kysely<Tables>, accountId: string) {
  return queries
    .selectFrom('request_inputs')
    .select('at')
    .where('accountId', '=', accountId)
    .orderBy('at', 'desc')
    .limit(1)
    .offset(ROWS_PER_ACCOUNT - 1)
    .executeTakeFirst();
}
