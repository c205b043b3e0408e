/** A node that runs image jobs and is killed at a given point. */

import { appendFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { isGatewayError } from '../../../core/runtime/errors.js';
import { systemClock } from '../../../core/runtime/time.js';
import { openState } from '../../../server/state.js';
import { ListLogger } from '../../support/databases/engines.js';
import { acceptJob } from '../../support/jobs/job-acceptance.js';

/*
 * A process of its own that accepts, runs and cancels image jobs, as a gateway with clients does, until it is killed or
 * kills itself. It notes what each client asked and was told.
 */

export interface NodeOrder {
  dataDir: string;
  databaseUrl?: string;
  notes: string;
  /** Tells this process's requests from those of others. */
  name: string;
  clients: number;
  /** API keys that the clients share. */
  keys: number;
  /** Requests of a key in 60 seconds. */
  rpm: number;
  /** Milliseconds that a job takes at most. */
  jobMs: number;
  /** Where the process kills itself, after so many times there. Default: nowhere. */
  killAt?: { point: KillPoint; after: number };
}

/** Accepted but not told; run begun; run over but not written down; written down but nobody told. */
export const KILL_POINTS = ['accepted', 'begun', 'over', 'written'] as const;
export type KillPoint = (typeof KILL_POINTS)[number];

export type Note =
  | { event: 'ask'; request: string; keyId: string }
  | { event: 'answer'; request: string; job: string; replayed: boolean }
  | { event: 'refusal'; request: string; code: string };

export function acceptanceOf(request: string, keyId: string, rpm: number) {
  return {
    rateLimit: { keyId, family: 'image', count: 1, limit: rpm },
    idempotency: { scope: keyId, key: request, fingerprint: request },
    quota: { limit: 1_000_000 },
    job: { kind: 'image', owner: keyId, keyId, summary: request, input: null, maxActive: 10_000 },
  } as const;
}

async function runNode(order: NodeOrder): Promise<void> {
  const { dataDir, databaseUrl, notes, name, clients, keys, rpm, jobMs, killAt } = order;
  const state = await openState({ dataDir, databaseUrl, clock: systemClock, logger: new ListLogger() });
  let left = killAt?.after ?? 0;

  function pass(point: KillPoint): void {
    if (killAt?.point !== point) return;
    left -= 1;
    if (left < 0) process.kill(process.pid, 'SIGKILL');
  }

  function note(line: Note): void {
    appendFileSync(notes, `${JSON.stringify(line)}\n`);
  }

  async function runClient(client: number): Promise<void> {
    const keyId = `key${client % keys}`;
    for (let index = 0; ; index += 1) {
      const request = `${name} ${client} ${index}`;
      const repeats = Math.random() < 0.2 ? 2 : 1;
      for (let repeat = 0; repeat < repeats; repeat += 1) {
        note({ event: 'ask', request, keyId });
        try {
          const { job, replayed } = await acceptJob(state.jobs, acceptanceOf(request, keyId, rpm));
          pass('accepted');
          if (!job) note({ event: 'refusal', request, code: 'rate_limit_exceeded' });
          else note({ event: 'answer', request, job: job.id, replayed });
          if (job && Math.random() < 0.2) {
            await sleep(Math.random() * jobMs);
            await state.jobs.cancel(job.id, keyId);
          }
        } catch (error) {
          if (!isGatewayError(error)) throw error;
          if (error.code !== 'job_already_terminal') note({ event: 'refusal', request, code: error.code });
        }
      }
      await sleep(Math.random() * 40);
    }
  }

  state.jobs.work({
    kind: 'image',
    concurrency: 8,
    maxPerKey: 4,
    maxAttempts: 2,
    charge: () => ({ model: 'gen-img-2', units: 1 }),
    async run({ id }, signal) {
      pass('begun');
      await sleep(Math.random() * jobMs, undefined, { signal });
      pass('over');
      if (killAt?.point === 'written') {
        state.jobs.waitFor(id, 'key0', { timeoutMs: 1_000 }).then(
          () => pass('written'),
          () => undefined,
        );
      }
      return 'picture';
    },
  });
  process.stdout.write('working\n');
  await Promise.all(Array.from({ length: clients }, (_, client) => runClient(client)));
}

const order = process.argv[2];
if (order?.startsWith('{')) await runNode(JSON.parse(order) as NodeOrder);
