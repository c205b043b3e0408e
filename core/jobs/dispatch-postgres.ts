import { randomUUID } from 'node:crypto';
import { CompiledQuery, type Listening, listenPostgres } from '../database/index.js';
import type { Dispatcher } from './dispatcher.js';
import { createEndWatchers } from './end-watchers.js';
import { JOB_KINDS } from './job-kinds.js';
import { createPumps } from './job-pump.js';

const CHANNEL = 'mediagate_jobs';
/** For hints that were lost. */
const POLL_MS = 5_000;

/**
 * All nodes hear of work through LISTEN and NOTIFY, and whoever has a free slot claims it. No queue beside the jobs table:
 * its rows would have to be kept in step with the jobs over every crash.
 * @param url `postgres://…`; never logged.
 */
export function createPostgresDispatcher(url: string, pollMs = POLL_MS): Dispatcher {
  const self = randomUUID();
  const pumps = createPumps(pollMs);
  const watchers = createEndWatchers();
  let listening: Listening | undefined;

  /** Not before: a process that only accepts jobs needs no connection for this. */
  function listen(): void {
    listening ??= listenPostgres({
      url,
      channel: CHANNEL,
      heard(payload) {
        const [topic = '', speaker] = payload.split(' ');
        if (speaker === self) return;
        const kind = JOB_KINDS.find((each) => each === topic);
        if (kind) pumps.wake(kind);
        else watchers.ended(topic);
      },
      connected() {
        pumps.wake();
        watchers.missed();
      },
      failed: watchers.report,
    });
  }

  return {
    *announce(kind) {
      yield CompiledQuery.raw('select pg_notify($1, $2)', [CHANNEL, `${kind} ${self}`]);
    },
    wake: pumps.wake,
    serve(service) {
      listen();
      return pumps.serve(service);
    },
    *announceEnds(ids) {
      if (ids.length === 0) return;
      const payloads = ids.map((id) => `${id} ${self}`);
      yield CompiledQuery.raw('select pg_notify($1, payload) from unnest($2::text[]) as payload', [CHANNEL, payloads]);
    },
    ended: watchers.ended,
    watchEnds(watcher) {
      listen();
      return watchers.add(watcher);
    },
    async close() {
      await pumps.close();
      await listening?.stop();
    },
  };
}
