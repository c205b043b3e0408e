/*
 * Where processes add up how long models take: each writes its own counts, one row per model and half hour, every 5 s if a
 * model answered meanwhile. Readers add the rows of all processes of all nodes, also of those that have ended. Rows of
 * half hours before the last two are deleted with each write, so there are at most 1,000 of a process.
 */

import { type Database, type Migrations, sql, sqlMigration } from '../../core/database/index.js';

interface ModelLatenciesTable {
  /** Half hours since 1970. */
  span: number;
  /** Random id of the process. */
  process: string;
  model: string;
  /** JSON: answers by bucket, until the end and until the first bytes. */
  counts: string;
}

declare module '../../core/database/tables.js' {
  interface Tables {
    model_latencies: ModelLatenciesTable;
  }
}

export const latencyMigrations: Migrations = {
  '0014-model-latencies': sqlMigration(
    `create table model_latencies (span integer not null, process text not null, model text not null, counts text not null,
    primary key (span, process, model))`,
  ),
};

/** Throws GatewayError `upstream_unavailable` if the database does not answer. */
export class StoredLatencies {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /** Writes or replaces, and deletes what is older than `since`. */
  async write(rows: readonly ModelLatenciesTable[], since: number): Promise<void> {
    await this.#database.transaction(async (transaction) => {
      await transaction
        .insertInto('model_latencies')
        .values(rows)
        .onConflict((conflict) =>
          conflict.columns(['span', 'process', 'model']).doUpdateSet({ counts: sql<string>`excluded.counts` }),
        )
        .execute();
      await transaction.deleteFrom('model_latencies').where('span', '<', since).execute();
    });
  }

  /** Of all processes. @param since The first half hour. */
  read(since: number): Promise<readonly ModelLatenciesTable[]> {
    return this.#database.run((queries) =>
      queries.selectFrom('model_latencies').selectAll().where('span', '>=', since).execute(),
    );
  }
}
