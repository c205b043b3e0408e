import type { Database } from '../../core/database/index.js';
import { type CompiledQuery, lockNamed, rowsOf, type Script, sql } from '../../core/database/index.js';
import { type KeyHash, keyReused } from './idempotency-keys.js';
import type { AnswerWork } from './kept-answers.js';
import type { IdempotencyKeysTable } from './tables.js';

/** Answers of one account that are remembered at the same time, those at work included. */
const MOST_ANSWERS = 10_000;
/** Their bytes. */
const MOST_BYTES = 256 * 1024 * 1024;
/** Milliseconds that those who wait have for hearing of a failure. */
const TOLD_MS = 60_000;
const FREE = sql<boolean>`(idempotency_keys.answer_id is not null and idempotency_keys.runner is null
  and idempotency_keys.head is null)`;
/** A key that somebody frees again and again while it is asked for is in more hands than its client can have. */
const TRIES = 5;

/** What is known of a key whose work is not the caller's. */
export type AnswerRow = Pick<IdempotencyKeysTable, 'answer_id' | 'runner' | 'head'>;

export interface NewAnswer {
  key: KeyHash;
  id: string;
  accountId: string;
  runner: string;
  at: number;
}

/** Work as others see it. */
export type WorkSeen = { id: string; runner: string; beat: number };

export type AnswerTable = ReturnType<typeof createAnswerTable>;

/** The statements on keys whose answer is no job. Each that ends work names it, so that it ends once. */
export function createAnswerTable({ engine, queries, run }: Database) {
  /** A row that is free, or whose time is over, is as good as none: the one statement that takes a key decides who does the work. */
  function insert({ key, id, accountId, runner, at }: NewAnswer): CompiledQuery<{ hash: string }> {
    const row = {
      fingerprint: key.fingerprint,
      job_id: '',
      expires_at: at + key.keptMs,
      account_id: accountId,
      answer_id: id,
      runner,
      beat: 0,
      head: null,
      failure: null,
      bytes: 0,
    };
    return queries
      .insertInto('idempotency_keys')
      .values({ hash: key.hash, ...row })
      .onConflict((conflict) =>
        conflict
          .column('hash')
          .doUpdateSet(row)
          .where(({ eb, or }) => or([eb('idempotency_keys.expires_at', '<=', at), FREE])),
      )
      .returning('hash')
      .compile();
  }

  function select(hash: string): CompiledQuery<AnswerRow & { fingerprint: string }> {
    return queries
      .selectFrom('idempotency_keys')
      .select(['fingerprint', 'answer_id', 'runner', 'head'])
      .where('hash', '=', hash)
      .compile();
  }

  /** Bytes that are free for one more answer of the account. */
  function* room(accountId: string, at: number): Script<number> {
    const [kept] = yield* rowsOf(
      queries
        .selectFrom('idempotency_keys')
        .select(({ fn }) => [
          fn.countAll<number>().as('count'),
          sql<number>`cast(coalesce(sum(bytes), 0) as bigint)`.as('bytes'),
        ])
        .where('account_id', '=', accountId)
        .where('expires_at', '>', at)
        .compile(),
    );
    const { count, bytes } = kept as { count: number; bytes: number };
    return count > MOST_ANSWERS ? 0 : Math.max(0, MOST_BYTES - bytes);
  }

  function* isEnded(end: CompiledQuery<{ hash: string }>): Script<boolean> {
    return (yield* rowsOf(end)).length > 0;
  }

  const update = ({ hash, id }: AnswerWork, set: Partial<IdempotencyKeysTable>) =>
    queries
      .updateTable('idempotency_keys')
      .set({ runner: null, ...set })
      .where('hash', '=', hash)
      .where('answer_id', '=', id)
      .where('runner', 'is not', null)
      .returning('hash')
      .compile();

  return {
    /**
     * Takes the key, with the room that there is for its answer; or what is known of it.
     * @throws GatewayError `idempotency_key_reused`.
     */
    *take(wanted: NewAnswer): Script<{ room: number } | AnswerRow> {
      for (let tries = 0; tries < TRIES; tries += 1) {
        if (yield* isEnded(insert(wanted))) return { room: yield* room(wanted.accountId, wanted.at) };
        const [row] = yield* rowsOf(select(wanted.key.hash));
        if (row && row.fingerprint !== wanted.key.fingerprint) throw keyReused();
        if (row) return row;
        // It was freed between the two.
      }
      throw new Error('an idempotency key was taken and freed again and again');
    },

    /** Where there is still room: others may have been kept meanwhile. */
    *keep(work: AnswerWork, { head, bytes, at }: { head: string; bytes: number; at: number }): Script<boolean> {
      if (engine === 'postgres') yield lockNamed(`mediagate answers ${work.accountId}`);
      const isRoom = bytes <= (yield* room(work.accountId, at));
      return isRoom && (yield* isEnded(update(work, { head, bytes })));
    },

    /** The key is free at once. The failure stays for those who wait, unless somebody takes the key before. */
    *release(work: AnswerWork, { failure, at }: { failure: string | null; at: number }): Script<void> {
      yield update(work, { failure, expires_at: at + TOLD_MS });
    },

    async failureOf(id: string): Promise<string | null> {
      const row = await run((runner) =>
        runner.selectFrom('idempotency_keys').select('failure').where('answer_id', '=', id).executeTakeFirst(),
      );
      return row?.failure ?? null;
    },

    /** Those of them that are under way. */
    async running(ids: readonly string[]): Promise<WorkSeen[]> {
      const rows = await run((runner) =>
        runner
          .selectFrom('idempotency_keys')
          .select(['answer_id', 'runner', 'beat'])
          .where('answer_id', 'in', ids)
          .where('runner', 'is not', null)
          .execute(),
      );
      return rows.map(({ answer_id, runner, beat }) => ({ id: answer_id as string, runner: runner as string, beat }));
    },

    /** Unless it has shown life meanwhile. */
    free: ({ id, beat }: WorkSeen): Promise<unknown> =>
      run((runner) =>
        runner
          .deleteFrom('idempotency_keys')
          .where('answer_id', '=', id)
          .where('beat', '=', beat)
          .where('runner', 'is not', null)
          .execute(),
      ),

    beat: (ids: readonly string[]): Promise<unknown> =>
      run((runner) =>
        runner
          .updateTable('idempotency_keys')
          .set(({ eb }) => ({ beat: eb('beat', '+', 1) }))
          .where('answer_id', 'in', ids)
          .execute(),
      ),
  };
}
