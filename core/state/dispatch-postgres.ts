import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import { type Listening, listenPostgres } from './database-postgres.js';
import type { Dispatcher } from './dispatcher.js';
import { createPumps } from './job-pump.js';
import type { JobKind } from './jobs.js';

const CHANNEL = 'mediagate_jobs';
/** For hints that were lost. */
const POLL_MS = 5_000;

/**
 * All nodes hear of work through LISTEN and NOTIFY, and whoever has a free slot claims it. No queue beside the jobs table:
 * its rows would have to be kept in step with the jobs over every crash.
 * @param url `postgres://…`; never logged.
 */
export function createPostgresDispatcher(url: string): Dispatcher {
  const self = randomUUID();
  const pumps = createPumps(POLL_MS);
  let listening: Listening | undefined;

  return {
    async announce(transaction, kind) {
      await sql`select pg_notify(${CHANNEL}, ${`${kind} ${self}`})`.execute(transaction);
    },
    wake: pumps.wake,
    serve(service) {
      // Not before: a process that only accepts jobs needs no connection for this.
      listening ??= listenPostgres({
        url,
        channel: CHANNEL,
        heard(payload) {
          const [kind, speaker] = payload.split(' ');
          if (speaker !== self) pumps.wake(kind as JobKind);
        },
        connected: pumps.wake,
        failed: service.report,
      });
      return pumps.serve(service);
    },
    async close() {
      await pumps.close();
      await listening?.stop();
    },
  };
}
