/*
 * The table of idempotency keys whose answer is no job, and its statements. One insert decides which request does the
 * work: a free or expired row counts as missing. Statements that end work name it, so it ends once. An account may have
 * 10,000 answers with 256 MiB together, under a named lock.
 */

import {
  type CompiledQuery,
  type Database,
  lockNamed,
  type Migrations,
  rowsOf,
  type Script,
  sql,
  sqlMigration,
} from '../../core/database/index.js';
import { type KeyHash, keyReused } from './idempotency-keys.js';

/** The work of the one request that runs for a key. */
export interface AnswerWork {
  /** `answer_` and 128 random bits in hex; also names the file of the body, {@link answerFileOf}. */
  readonly id: string;
  /** Hash of scope and key. */
  readonly hash: string;
  readonly accountId: string;
  /** Milliseconds since 1970: until then the answer is repeated. */
  readonly expiresAt: number;
  /** Maximum bytes of its body, by what the account has stored already; 0 if nothing more can be stored. */
  readonly room: number;
}

/** File name of a work's answer. */
export function answerFileOf({ id }: Pick<AnswerWork, 'id'>): string {
  return `${id}.bin`;
}

/** Maximum answers of one account, including running ones. */
const MAX_ANSWERS = 10_000;
/** Their maximum bytes. */
const MAX_BYTES = 256 * 1024 * 1024;
/** Milliseconds in which waiting requests can read a failure. */
const FAILURE_RETENTION_MS = 60_000;
const FREE = sql<boolean>`(idempotency_keys."answerId" is not null and idempotency_keys."processId" is null
  and idempotency_keys.head is null)`;
/** A key that is freed again and again while it is requested is used by too many clients. */
const TRIES = 5;

/** The state of a key that another request runs. */
export type AnswerRow = Pick<IdempotencyKeysTable, 'answerId' | 'processId' | 'head'>;

export interface NewAnswer {
  key: KeyHash;
  id: string;
  accountId: string;
  processId: string;
  at: number;
}

/** Running work as other processes see it. */
export type WorkSeen = { id: string; processId: string };

/** The statements for keys with an answer that is no job. Each that ends work names it, so that it ends once. */
export class AnswerTable {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /**
   * Takes the key, with the room for its answer; or returns its state.
   * @throws GatewayError `idempotency_key_reused`.
   */
  *take(wanted: NewAnswer): Script<{ room: number } | AnswerRow> {
    for (let tries = 0; tries < TRIES; tries += 1) {
      if (yield* isEnded(this.#insert(wanted))) return { room: yield* this.#room(wanted.accountId, wanted.at) };
      const [row] = yield* rowsOf(this.#select(wanted.key.hash));
      if (row && row.fingerprint !== wanted.key.fingerprint) throw keyReused();
      if (row) return row;
      // It was freed between the two statements.
    }
    throw new Error('an idempotency key was taken and freed again and again');
  }

  /** If there is still room: others may have stored answers meanwhile. */
  *keep(work: AnswerWork, { head, bytes, at }: { head: string; bytes: number; at: number }): Script<boolean> {
    if (this.#database.engine === 'postgres') yield lockNamed(`mediagate answers ${work.accountId}`);
    const isRoom = bytes <= (yield* this.#room(work.accountId, at));
    return isRoom && (yield* isEnded(this.#update(work, { head, bytes })));
  }

  /** The key is free at once. The failure stays for waiting requests, unless the key is taken before. */
  *release(work: AnswerWork, { failure, at }: { failure: string | null; at: number }): Script<void> {
    yield this.#update(work, { failure, expiresAt: at + FAILURE_RETENTION_MS });
  }

  async failureOf(id: string): Promise<string | null> {
    const row = await this.#database.run((queries) =>
      queries.selectFrom('idempotency_keys').select('failure').where('answerId', '=', id).executeTakeFirst(),
    );
    return row?.failure ?? null;
  }

  /** Those that are still running. */
  async running(ids: readonly string[]): Promise<WorkSeen[]> {
    const rows = await this.#database.run((queries) =>
      queries
        .selectFrom('idempotency_keys')
        .select(['answerId', 'processId'])
        .where('answerId', 'in', ids)
        .where('processId', 'is not', null)
        .execute(),
    );
    return rows.map(({ answerId, processId }) => ({ id: answerId as string, processId: processId as string }));
  }

  /** The processes that run work. */
  *holders(): Script<readonly string[]> {
    const rows = yield* rowsOf(
      this.#database.queries
        .selectFrom('idempotency_keys')
        .select('processId')
        .distinct()
        .where('processId', 'is not', null)
        .compile(),
    );
    return rows.map(({ processId }) => processId as string);
  }

  /** Frees the keys of all work of the process. @returns The ids of that work. */
  *freeAllOf(processId: string): Script<string[]> {
    const freed = this.#database.queries
      .deleteFrom('idempotency_keys')
      .where('processId', '=', processId)
      .returning('answerId');
    return (yield* rowsOf(freed.compile())).map(({ answerId }) => answerId as string);
  }

  /** Frees the keys of this work, unless it has ended. */
  free(ids: readonly string[]): Promise<unknown> {
    return this.#database.run((queries) =>
      queries.deleteFrom('idempotency_keys').where('answerId', 'in', ids).where('processId', 'is not', null).execute(),
    );
  }

  /** A free or expired row counts as missing: the one statement that takes a key decides who does the work. */
  #insert({ key, id, accountId, processId, at }: NewAnswer): CompiledQuery<{ hash: string }> {
    const row = {
      fingerprint: key.fingerprint,
      jobId: '',
      expiresAt: at + key.retentionMs,
      accountId,
      answerId: id,
      processId,
      head: null,
      failure: null,
      bytes: 0,
    };
    return this.#database.queries
      .insertInto('idempotency_keys')
      .values({ hash: key.hash, ...row })
      .onConflict((conflict) =>
        conflict
          .column('hash')
          .doUpdateSet(row)
          .where(({ eb, or }) => or([eb('idempotency_keys.expiresAt', '<=', at), FREE])),
      )
      .returning('hash')
      .compile();
  }

  #select(hash: string): CompiledQuery<AnswerRow & { fingerprint: string }> {
    return this.#database.queries
      .selectFrom('idempotency_keys')
      .select(['fingerprint', 'answerId', 'processId', 'head'])
      .where('hash', '=', hash)
      .compile();
  }

  /** Free bytes for one more answer of the account. */
  *#room(accountId: string, at: number): Script<number> {
    const [existing] = yield* rowsOf(
      this.#database.queries
        .selectFrom('idempotency_keys')
        .select(({ fn }) => [
          fn.countAll<number>().as('count'),
          sql<number>`cast(coalesce(sum(bytes), 0) as bigint)`.as('bytes'),
        ])
        .where('accountId', '=', accountId)
        .where('expiresAt', '>', at)
        .compile(),
    );
    const { count, bytes } = existing as { count: number; bytes: number };
    return count > MAX_ANSWERS ? 0 : Math.max(0, MAX_BYTES - bytes);
  }

  #update({ hash, id }: AnswerWork, set: Partial<IdempotencyKeysTable>): CompiledQuery<{ hash: string }> {
    return this.#database.queries
      .updateTable('idempotency_keys')
      .set({ processId: null, ...set })
      .where('hash', '=', hash)
      .where('answerId', '=', id)
      .where('processId', 'is not', null)
      .returning('hash')
      .compile();
  }
}

function* isEnded(end: CompiledQuery<{ hash: string }>): Script<boolean> {
  return (yield* rowsOf(end)).length > 0;
}

declare module '../../core/database/tables.js' {
  interface Tables {
    idempotency_keys: IdempotencyKeysTable;
  }
}

export interface IdempotencyKeysTable {
  /** SHA-256 of scope and key in lower-case hex. */
  hash: string;
  /** SHA-256, too. */
  fingerprint: string;
  /** Id of the job that was the answer; empty if there is none. */
  jobId: string;
  expiresAt: number;
  /** The other columns belong to answers that are no jobs; see idempotent-responses.ts. Null, or 0, for a job. */
  accountId: string | null;
  /** Names the work, and the file of its answer. */
  answerId: string | null;
  /** Id of the process that runs the work; see heartbeat.ts. Null once it has ended. */
  processId: string | null;
  /** JSON: status and headers of the answer. Null in a row of ended work: it was not stored, and the key is free. */
  head: string | null;
  /** JSON: the failure, for requests that wait. */
  failure: string | null;
  /** Bytes of the answer's body. */
  bytes: number;
}

/** The table of the idempotency keys. */
export const idempotencyMigrations: Migrations = {
  '0001-idempotency': sqlMigration(
    `create table idempotency_keys (
      hash text primary key, fingerprint text not null, "jobId" text not null, "expiresAt" bigint not null, "accountId" text,
      "answerId" text, "processId" text, head text, failure text, bytes bigint not null)`,
    `create index idempotency_keys_expires_at on idempotency_keys ("expiresAt")`,
    `create unique index idempotency_keys_answer on idempotency_keys ("answerId") where "answerId" is not null`,
    `create index idempotency_keys_account on idempotency_keys ("accountId", "expiresAt", bytes) where "accountId" is not null`,
    // Polls read what processes hold.
    `create index idempotency_keys_process on idempotency_keys ("processId") where "processId" is not null`,
  ),
};
