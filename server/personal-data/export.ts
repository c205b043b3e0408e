/*
 * A copy of everything that is stored about a user, as one JSON document. Each folder reads its own lists, in pages,
 * while they are sent, so an account of any size needs little memory. The document contains no secret, no hash of one,
 * and no name or note of an operator. Times are written as ISO 8601.
 */

import type { Database, DatabaseClock } from '../../core/database/index.js';
import type { UserRecord } from '../accounts/index.js';
import { isoTime } from '../format/index.js';
import { type PersonalRecords, withTimes } from '../personal-records/index.js';

const CHUNK = 64 * 1024;

export interface PersonalExportOptions {
  database: Database;
  times: DatabaseClock;
  /** Of all folders, in the order of the document. */
  records: readonly PersonalRecords[];
}

/** Reads everything stored about a user. */
export class PersonalExport {
  readonly #database: Database;
  readonly #times: DatabaseClock;
  readonly #records: readonly PersonalRecords[];

  constructor({ database, times, records }: PersonalExportOptions) {
    this.#database = database;
    this.#times = times;
    this.#records = records;
  }

  /** One JSON document, read in pages while it is sent. It contains no secret and no hash of one. */
  async *read(user: UserRecord): AsyncGenerator<Uint8Array> {
    let text = '';
    for await (const part of this.#parts(user)) {
      text += part;
      if (text.length < CHUNK) continue;
      yield Buffer.from(text);
      text = '';
    }
    yield Buffer.from(text);
  }

  async *#parts(user: UserRecord): AsyncGenerator<string> {
    const now = await this.#database.run((queries) => this.#times.read(queries));
    yield `{"exportedAt":${json(isoTime(now))},\n"user":${json(withTimes(user))}`;
    for (const { exported } of this.#records) {
      for (const [name, read] of Object.entries(exported?.(this.#database, user, now) ?? {})) {
        const field = await read();
        yield `,\n${json(name)}:`;
        if (isList(field)) yield* listOf(field);
        else yield json(field);
      }
    }
    yield '}\n';
  }
}

function isList(field: unknown): field is AsyncIterable<unknown> {
  return typeof field === 'object' && field !== null && Symbol.asyncIterator in field;
}

async function* listOf(items: AsyncIterable<unknown>): AsyncGenerator<string> {
  yield '[';
  let separator = '\n';
  for await (const item of items) {
    yield separator + json(item);
    separator = ',\n';
  }
  yield ']';
}

function json(value: unknown): string {
  return JSON.stringify(value) ?? 'null';
}
