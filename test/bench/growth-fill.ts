/** Fills a database with ended jobs and keys, as a gateway has them after years. */

import Sqlite from 'better-sqlite3';
import pg from 'pg';
import type { Engine } from '../../core/database/database.js';

export interface FillOptions {
  engine: Engine;
  /** `postgres://…`, or the file of SQLite. */
  database: string;
  jobs: number;
  keys: number;
  /** Version of the pepper under which the keys were hashed. */
  pepperVersion: number;
}

const DAY_MS = 24 * 60 * 60 * 1000;
const RETENTION_DAYS = 7;
/** Days on which an account makes pictures, of those that are remembered. */
const ACTIVE_DAYS = 3;

/** As long as those of a picture that was asked for and made. */
const SUMMARY = JSON.stringify({
  model: 'gen-img-2',
  delivery: 'url',
  requestId: 'req_0123456789abcdef0123456789abcdef',
  accountId: 'acct_00001',
  files: [],
});
const RESULT = JSON.stringify({
  image: {
    name: 'img_0123456789abcdef0123456789abcdef.png',
    rawName: 'img_fedcba9876543210fedcba9876543210.png',
    contentType: 'image/png',
    width: 1024,
    height: 1536,
    bytes: 832_273,
    source: 'local_cache',
  },
});
const HASH = '0123456789abcdef'.repeat(4);

/**
 * Writes down what a gateway has that has made so many pictures in a week for so many keys: jobs with what they brought,
 * the bills, idempotency keys of a day, quotas, windows, usage. In bulk; then the tables are analysed as they are in time.
 */
export async function fill(options: FillOptions): Promise<void> {
  const { engine, database } = options;
  const statements = statementsOf(options);
  if (engine === 'sqlite') {
    const sqlite = new Sqlite(database);
    sqlite.pragma('synchronous = OFF');
    sqlite.pragma('cache_size = -400000');
    for (const statement of statements) sqlite.exec(statement);
    sqlite.pragma('wal_checkpoint(TRUNCATE)');
    sqlite.close();
    return;
  }
  const client = new pg.Client({ connectionString: database });
  await client.connect();
  // What is measured is the database that comes of it.
  await client.query("set synchronous_commit = off; set maintenance_work_mem = '256MB'");
  for (const statement of statements) await client.query(statement);
  await client.query('vacuum analyze');
  await client.query('checkpoint');
  await client.end();
}

/** Alike on both engines but for how numbers are counted up and ids drawn. */
function statementsOf({ engine, jobs, keys, pepperVersion }: FillOptions): string[] {
  const postgres = engine === 'postgres';
  const now = Date.now();
  const count = (most: number) =>
    postgres
      ? `(select generate_series(1, ${most}) as i) n`
      : `(with recursive n(i) as (select 1 union all select i + 1 from n where i < ${most}) select i from n) n`;
  const random = postgres ? "replace(gen_random_uuid()::text, '-', '')" : 'lower(hex(randomblob(16)))';
  const keyId = (i: string) => (postgres ? `'gk' || lpad((${i})::text, 6, '0')` : `printf('gk%06d', ${i})`);
  const account = (i: string) => `'acct_' || (${i})`;
  const keyOfJob = `1 + n.i % ${keys}`;
  const dayOf = (ago: number) => `'${new Date(now - ago * DAY_MS).toISOString().slice(0, 10)}'`;
  const counts = 'estimated, "inputTokens", "cachedTokens", "outputTokens", "reasoningTokens", characters, seconds';
  const days = Array.from({ length: ACTIVE_DAYS }, (_, ago) => dayOf(ago));
  return [
    `insert into api_keys (id, name, hash, "pepperVersion", grants, rpm, "accountId", "createdAt", "changedAt")
      select ${keyId('n.i')}, 'key ' || n.i, '${HASH}', ${pepperVersion},
        '["images","extract","text","audio"]', 1000000, ${account('n.i')}, ${now - 30 * DAY_MS} + n.i, ${now - 30 * DAY_MS} + n.i
      from ${count(keys)}`,
    `insert into accounts (id, "createdAt") select ${account('n.i')}, ${now - 30 * DAY_MS} from ${count(keys)}`,
    `insert into rate_windows ("keyId", family, time, "clockSource", "wallTime", "monotonicTime", "nextSeq", "tailSeq", "tailAt", "lastAt", recent)
      select ${keyId('n.i')}, 'image', ${now - DAY_MS}, 'database', ${now - DAY_MS}, ${now - DAY_MS}, 40, 39,
        ${now - DAY_MS}, ${now - DAY_MS}, ''
      from ${count(keys)}`,
    `insert into rate_slots ("keyId", family, seq, at) select "keyId", family, 39, "lastAt" from rate_windows`,
    `insert into jobs (id, kind, "dedupeHash", state, priority, summary, input, "keyId", "queueGroup", owner, admission, attempts, "crashCount",
        "processId", "createdAt", "startedAt", "finishedAt", result, error, "webhookTries")
      select 'imgjob_' || ${random}, 'image', '', 'completed', n.i, '${SUMMARY}', 'null',
        ${keyId(keyOfJob)}, ${account(keyOfJob)}, ${account(keyOfJob)}, '{"quotaDay":"' || ${dayOf(1)} || '"}', 1, 0, null,
        ${now - RETENTION_DAYS * DAY_MS} + n.i * ${(RETENTION_DAYS * DAY_MS * 0.99) / jobs} + 600000,
        ${now - RETENTION_DAYS * DAY_MS} + n.i * ${(RETENTION_DAYS * DAY_MS * 0.99) / jobs} + 601000,
        ${now - RETENTION_DAYS * DAY_MS} + n.i * ${(RETENTION_DAYS * DAY_MS * 0.99) / jobs} + 608000, '${RESULT}', null, 0
      from ${count(jobs)}`,
    `insert into job_charges ("jobId", kind, "accountId", "keyId", model, units, usage, at)
      select id, kind, owner, "keyId", 'gen-img-2', 1, null, "finishedAt" from jobs`,
    `insert into idempotency_keys (hash, fingerprint, "jobId", "expiresAt", bytes)
      select substr(id, 8) || substr(id, 8), substr(id, 8) || substr(id, 8), id, "finishedAt" + ${DAY_MS}, 0
      from jobs where "finishedAt" > ${now - DAY_MS}`,
    ...days.flatMap((day) => [
      `insert into daily_quotas ("accountId", kind, day, used) select ${account('n.i')}, 'image', ${day}, 4 from ${count(keys)}`,
      `insert into usage_totals ("keyId", day, "accountId", route, model, requests, failed, images, "latencyMsSum", priced, cost, ${counts})
        select ${keyId('n.i')}, ${day}, ${account('n.i')}, '/v1/images/jobs', 'gen-img-2', 4, 0, 4, 32000, 0, 0, 0, 0, 0, 0, 0, 0, 0
        from ${count(keys)}`,
    ]),
    `insert into usage_entries ("keyId", at, "requestId", "accountId", route, model, status, "latencyMs", estimated)
      select ${keyId(keyOfJob)}, ${now - DAY_MS} + n.i, ${random}, ${account(keyOfJob)},
        '/v1/chat/completions', 'm-5.5', 200, 800, 0
      from ${count(3 * keys)}`,
  ];
}

/** Id of one of the keys, by its number, 1 being the first. */
export function filledKeyId(number: number): string {
  return `gk${String(number).padStart(6, '0')}`;
}
