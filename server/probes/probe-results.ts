/*
 * The results of live probes: one row for each platform, of its last probe. `mediagate probe` writes them, and each
 * process on the same database shows them in its health and its metrics.
 */

import { type Database, type Migrations, sqlMigration } from '../../core/database/index.js';

/** The last probe of a platform. */
export interface ProbeResult {
  /** Platform key. */
  platform: string;
  /** When it ended, in milliseconds since 1970. */
  at: number;
  /** Checks that gave what was expected: of methods, documents and media files. */
  passed: number;
  failed: number;
}

declare module '../../core/database/tables.js' {
  interface Tables {
    probe_results: ProbeResult;
  }
}

export const probeMigrations: Migrations = {
  '0001-probe-results': sqlMigration(
    `create table probe_results (platform text not null primary key, at bigint not null, passed integer not null,
    failed integer not null)`,
  ),
};

/** Throws GatewayError `upstream_unavailable` if the database does not answer. */
export class ProbeResults {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /** Replaces the earlier results of these platforms. */
  async record(results: readonly ProbeResult[]): Promise<void> {
    await this.#database.transaction(async (transaction) => {
      for (const { platform, ...result } of results) {
        await transaction
          .insertInto('probe_results')
          .values({ platform, ...result })
          .onConflict((conflict) => conflict.column('platform').doUpdateSet(result))
          .execute();
      }
    });
  }

  /** By platform key. */
  latest(): Promise<readonly ProbeResult[]> {
    return this.#database.run((queries) =>
      queries.selectFrom('probe_results').selectAll().orderBy('platform').execute(),
    );
  }
}
