/** One side of the growth benchmark: the state of a gateway with a given number of jobs and keys. */

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createLogger, systemClock } from 'mediagate';
import { type Database, type Engine, openDatabase } from '../../core/database/database.js';
import { createKeyRecord, createPepper, KeyTable } from '../../server/keys/index.js';
import { migrations } from '../../server/migrations.js';
import { openState, type State } from '../../server/state.js';
import { PEPPER } from '../chaos/image-site.js';
import { fill, filledKeyId } from './growth-fill.js';

/** Keys whose texts are known. */
const KNOWN_KEYS = 200;

/** One gateway's state, with so many jobs behind it. */
export interface GrowthSide {
  readonly engine: Engine;
  readonly jobs: number;
  readonly keys: number;
  readonly dataDir: string;
  readonly databaseUrl?: string;
  readonly state: State;
  /** The same rows, to be asked directly. */
  readonly database: Database;
  /** Texts of some good keys. */
  readonly known: readonly string[];
  /** Ids of jobs that are there, with the accounts that they belong to. */
  readonly finished: readonly { id: string; accountId: string }[];
  readonly peppers: readonly [ReturnType<typeof createPepper>];
  /** Any of the keys, and the account it belongs to. */
  randomKey(): { keyId: string; accountId: string };
  openKeys(): Promise<KeyTable>;
  remove(): Promise<void>;
}

export interface SideOptions {
  jobs: number;
  keys: number;
  /** Default: SQLite. */
  databaseUrl?: string;
}

export async function openSide({ jobs, keys, databaseUrl }: SideOptions): Promise<GrowthSide> {
  const dataDir = await mkdtemp(path.join(tmpdir(), 'mediagate-growth-'));
  const pepper = createPepper(Buffer.from(PEPPER));
  const logger = createLogger({ level: 'warn' });
  // The schema, before it is filled.
  await (await openDatabase({ dataDir, databaseUrl, migrations })).close();
  const engine = databaseUrl === undefined ? 'sqlite' : 'postgres';
  const target = databaseUrl ?? path.join(dataDir, 'state.sqlite');
  await fill({ engine, database: target, jobs, keys, pepperVersion: pepper.version });
  const state = await openState({ dataDir, databaseUrl, clock: systemClock, logger });
  const database = await openDatabase({ dataDir, databaseUrl });

  const known: string[] = [];
  for (let index = 0; index < KNOWN_KEYS; index += 1) {
    const wanted = { name: `known ${index}`, grants: ['images'] as const, rpm: 1_000_000, expiresAt: null };
    const { key, record } = createKeyRecord(wanted, pepper, Date.now());
    await state.keys.insert(record);
    known.push(key);
  }
  const rows = await database.run((queries) =>
    queries.selectFrom('jobs').select(['id', 'owner']).orderBy('id').limit(2_000).execute(),
  );
  return {
    ...{ engine, jobs, keys, dataDir, databaseUrl, state, database, known, peppers: [pepper] },
    finished: rows.map((row) => ({ id: row.id, accountId: row.owner })),
    randomKey() {
      const number = 1 + Math.floor(Math.random() * keys);
      return { keyId: filledKeyId(number), accountId: `acct_${number}` };
    },
    openKeys: () => KeyTable.open({ keys: state.keys, peppers: [pepper], clock: systemClock, logger }),
    async remove() {
      await state.close();
      await database.close();
      await rm(dataDir, { recursive: true, force: true });
    },
  };
}
