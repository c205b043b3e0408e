/*
 * What a folder that stores something of a person exports, so that server/personal-data erases and exports a person
 * without knowing any table. `erase` runs in the one transaction that begins an erasure; `eraseWork` deletes what may
 * be much, in batches, and is repeated until nothing is left, also after a crash. `exported` names fields of the
 * exported document, whose lists are read in pages while they are sent. A folder declares each table with a column of a
 * person, an account or a key; a test compares this with the schema.
 */

import type { Storage } from '../../core/contracts/index.js';
import type { Database, DatabaseClock, Engine, Kysely, Tables, Transaction } from '../../core/database/index.js';
import { isoTime } from '../format/index.js';

/** A user, as an identity provider describes them. */
export interface Person {
  /** `user_` and 128 random bits. */
  id: string;
  /** Account that owns their keys, jobs, orders and budgets. */
  accountId: string;
  /** The identity provider, exactly as in its tokens. */
  issuer: string;
  /** Id at the provider; unique with the issuer. */
  subject: string;
  /** As the provider stated it at the latest sign-in; not an identity. At most 320 characters. */
  email: string | null;
  /** At most 200 characters. */
  name: string | null;
}

/** A person whose erasure begins. The row of the user and that of the account are locked. */
export interface ErasedPerson extends Person {
  engine: Engine;
  /** Milliseconds since 1970. */
  at: number;
  /** The database's time, for marks of change. */
  changedAt: DatabaseClock['now'];
  /** Keyed hashes of the identity, newest first. */
  identityHashes: readonly string[];
}

export interface OwnedResponse {
  id: string;
  owner: string;
  /** Whether the upstream may still be making it, in the background. */
  isOpen: boolean;
}

export interface ErasureWork {
  files: Pick<Storage, 'delete'>;
  /**
   * Deletes a stored response at its upstream. Undefined without plugins: then these rows stay for a server.
   * @throws any error if it has to be tried again.
   */
  deleteResponse?(response: OwnedResponse): Promise<void>;
  /** Ends the work between two batches. */
  signal?: AbortSignal;
  /** Whether rows of what an upstream does not delete are deleted too. Default: they stay for the next time. */
  givesUp?: boolean;
}

/** Readers of fields of the exported document: a value, or the items of a list. */
export type ExportedFields = Readonly<Record<string, () => Promise<unknown> | AsyncIterable<unknown>>>;

export interface PersonalRecords {
  /**
   * What an erasure does with the rows of each table: `deleted`; `deleted with jobs`, by a foreign key of the jobs that
   * another folder deletes; `cleared`, where what names or describes the person goes; or `retained`, which is
   * bookkeeping under random ids, or ends by itself.
   */
  tables: Readonly<Partial<Record<keyof Tables, 'deleted' | 'deleted with jobs' | 'cleared' | 'retained'>>>;
  erase?(transaction: Transaction<Tables>, person: ErasedPerson): Promise<void>;
  /** Deletes files first and rows last. May be repeated. @throws What deleting a file throws; the reason of the signal. */
  eraseWork?(database: Database, accountId: string, work: ErasureWork): Promise<void>;
  /** Whether an upstream has not deleted everything yet, so that the work has to be repeated. */
  isWaiting?(database: Database, accountId: string): Promise<boolean>;
  /** @param at Time of the export. */
  exported?(database: Database, person: Person, at: number): ExportedFields;
}

type Read<Row> = (queries: Kysely<Tables>) => Promise<readonly Row[]>;

/** All rows of a list, each page after the last row of the one before. */
export async function* pages<Row>(
  database: Database,
  rows: number,
  read: (after: Row | undefined) => Read<Row>,
): AsyncGenerator<Row> {
  for (let after: Row | undefined, full = true; full; ) {
    const page = await database.run(read(after));
    yield* page;
    after = page.at(-1);
    full = page.length === rows;
  }
}

/** The rows of one query. */
export function rowsOf<Row>(database: Database, read: Read<Row>): AsyncGenerator<Row> {
  return pages<Row>(database, Number.POSITIVE_INFINITY, () => read);
}

export function parseJson(text: string | null): unknown {
  return text === null ? null : JSON.parse(text);
}

/** Numbers of fields that are times, as ISO 8601. */
export function withTimes<Row extends object>(row: Row): object {
  return Object.fromEntries(
    Object.entries(row).map(([name, value]) =>
      typeof value === 'number' && (name === 'at' || name.endsWith('At')) ? [name, isoTime(value)] : [name, value],
    ),
  );
}
