/*
 * The last sign-in of each user at each application of `SIGN_IN_APPS`: one row each, written once a sign-in. Operators
 * see who used an application last; a row ends with its user. An application that is no longer named keeps its rows
 * until their users are erased, and shows them again if it comes back.
 */

import type { Database, DatabaseClock } from '../../core/database/index.js';

declare module '../../core/database/tables.js' {
  interface Tables {
    application_sign_ins: ApplicationSignInsTable;
  }
}

export interface ApplicationSignInsTable {
  /** Its client id. */
  application: string;
  userId: string;
  /** Milliseconds since 1970. */
  signedInAt: number;
}

export type ApplicationSignIn = Pick<ApplicationSignInsTable, 'userId' | 'signedInAt'>;

/** Every method throws GatewayError `upstream_unavailable` within 2.5 s if the database does not answer. */
export class ApplicationSignIns {
  readonly #database: Database;
  readonly #times: DatabaseClock;

  constructor(database: Database, times: DatabaseClock) {
    this.#database = database;
    this.#times = times;
  }

  /** The time by which sessions begin, in milliseconds since 1970. */
  now(): Promise<number> {
    return this.#database.run((queries) => this.#times.read(queries));
  }

  async signedIn(application: string, userId: string): Promise<void> {
    await this.#database.run(async (queries) => {
      const signedInAt = await this.#times.read(queries);
      await queries
        .insertInto('application_sign_ins')
        .values({ application, userId, signedInAt })
        .onConflict((conflict) => conflict.columns(['application', 'userId']).doUpdateSet({ signedInAt }))
        .execute();
    });
  }

  /** Latest first. */
  latest(application: string, limit: number): Promise<readonly ApplicationSignIn[]> {
    return this.#database.run((queries) =>
      queries
        .selectFrom('application_sign_ins')
        .select(['userId', 'signedInAt'])
        .where('application', '=', application)
        .orderBy('signedInAt', 'desc')
        .orderBy('userId', 'desc')
        .limit(limit)
        .execute(),
    );
  }
}
