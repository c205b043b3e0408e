/** Faults of what nodes share: database, object store, cache and hints. */

import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import type { DatabaseEnd } from '../cluster/database-server.js';
import type { ObjectFault, ObjectRequest } from '../support/storage/object-proxy.js';
import type { LinkFault } from './database-link.js';
import type { Dice } from './scale-dice.js';
import { certain, type Fault, type FaultKinds } from './scale-faults.js';
import type { ScaleNode, ScaleSite } from './scale-site.js';

/** How long harm lasts, in milliseconds. */
const OUTAGE_MS = [50, 1_000] as const;
const LASTS_MS = [300, 3_000] as const;
const DELAY_MS = [50, 400] as const;
/** How long a COMMIT of the right sort is waited for. */
const CHANCE_MS = 6_000;
/** How long a first hint is waited for. */
const HINT_MS = 10_000;
const POLL_MS = 50;
const CHANNEL = 'mediagate_jobs';

/** Of the transactions that accept, begin and end jobs: a statement that none of the others has. */
const ACCEPTS = /insert into "idempotency_keys"/;
const CLAIMS = /"attempts" = attempts \+ 1/;
const ENDS = /insert into "job_charges"/;

/** What can befall what the nodes share, and their ways to it. */
export function sharedFaults(site: ScaleSite, dice: Dice): FaultKinds {
  const { nodes, database, store, cache } = site;
  const all = nodes as [ScaleNode, ...ScaleNode[]];
  const doors = nodes.filter(({ takesRequests }) => takesRequests) as [ScaleNode, ...ScaleNode[]];
  const workers = nodes.filter(({ runsJobs }) => runsJobs) as [ScaleNode, ...ScaleNode[]];

  function endDatabase(signal: DatabaseEnd): Fault {
    const outageMs = dice.between(...OUTAGE_MS);
    return certain(['database'], async () => {
      await database.end(signal);
      await sleep(outageMs);
      await database.start();
    });
  }

  function partition(fault: LinkFault): Fault {
    const { name, link } = dice.pick(all);
    const lastsMs = dice.between(...LASTS_MS);
    return certain([`link of ${name}`], async () => {
      link.setFault(fault);
      await sleep(lastsMs);
      link.setFault();
    });
  }

  function loseCommit(statement: RegExp, of: readonly [ScaleNode, ...ScaleNode[]]): Fault {
    const { name, link } = dice.pick(of);
    return { touches: ['database', name, `link of ${name}`], bringAbout: () => link.loseCommit(statement, CHANCE_MS) };
  }

  function failStore(fault: (request: ObjectRequest) => ObjectFault | undefined): Fault {
    const lastsMs = dice.between(...LASTS_MS);
    return certain(['store'], async () => {
      store.setFault(fault);
      await sleep(lastsMs);
      store.setFault();
    });
  }

  return {
    'kill -9 of the database': () => endDatabase('SIGKILL'),
    'immediate shutdown of the database': () => endDatabase('SIGQUIT'),
    'fast restart of the database': () => endDatabase('SIGINT'),
    'partition, cut': () => partition({ does: 'cut' }),
    'partition, late': () => partition({ does: 'hold', afterwards: 'arrives' }),
    'partition, lost': () => partition({ does: 'hold', afterwards: 'lost' }),
    'slow way to the database': () => partition({ does: 'delay', ms: dice.between(...DELAY_MS) }),
    'lost answer to an accepting COMMIT': () => loseCommit(ACCEPTS, doors),
    'lost answer to a claiming COMMIT': () => loseCommit(CLAIMS, workers),
    'lost answer to an ending COMMIT': () => loseCommit(ENDS, workers),
    'object store down': () => failStore(dice.pick([() => 500, () => 503, () => 'reset' as const])),
    'object store silent': () => failStore(() => 'hang'),
    'object store slow': () => failStore(() => 'slow'),
    'cut uploads': () => failStore(({ method }) => (method === 'PUT' ? 'cut' : undefined)),
    'kill -9 of the cache': () => {
      const outageMs = dice.between(...LASTS_MS);
      return certain(['cache'], async () => {
        await cache.kill();
        await sleep(outageMs);
        await cache.start();
      });
    },
    'silent cache': () => {
      const lastsMs = dice.between(...LASTS_MS);
      return certain(['cache'], async () => {
        process.kill(cache.pid, 'SIGSTOP');
        await sleep(lastsMs);
        process.kill(cache.pid, 'SIGCONT');
      });
    },
    'every hint three times': () => {
      const lastsMs = dice.between(...LASTS_MS);
      return { touches: ['database'], bringAbout: () => repeatHints(database.url, lastsMs) };
    },
  };
}

/** Sends each notification of the nodes about work and ends twice more. False where they sent none. */
async function repeatHints(url: string, lastsMs: number): Promise<boolean> {
  const [listener, sender] = [new pg.Client({ connectionString: url }), new pg.Client({ connectionString: url })];
  await Promise.all([listener.connect(), sender.connect()]);
  const { rows } = await sender.query<{ own: number }>('select pg_backend_pid() as own');
  let sending: Promise<unknown> = Promise.resolve();
  let count = 0;
  listener.on('notification', ({ processId, payload }) => {
    if (processId === rows[0]?.own) return;
    // Each in a transaction of its own: within one, PostgreSQL sends equal notifications once.
    for (let times = 0; times < 2; times += 1) {
      sending = sending.then(() => sender.query('select pg_notify($1, $2)', [CHANNEL, payload]));
      count += 1;
    }
  });
  await listener.query(`listen ${CHANNEL}`);
  await sleep(lastsMs);
  // Nodes that have just had a fault may send nothing for a while.
  for (const end = performance.now() + HINT_MS; count === 0 && performance.now() < end; ) await sleep(POLL_MS);
  await listener.end();
  await sending;
  await sender.end();
  return count > 0;
}
