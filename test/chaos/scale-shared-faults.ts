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
const AWAY_MS = [50, 1_000] as const;
const LASTS_MS = [300, 3_000] as const;
const DELAY_MS = [50, 400] as const;
/** How long a COMMIT of the right sort is waited for. */
const CHANCE_MS = 6_000;
/** How long a first hint is waited for. */
const HINT_MS = 10_000;
const LOOK_MS = 50;
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
    const awayMs = dice.between(...AWAY_MS);
    return certain(['database'], async () => {
      await database.end(signal);
      await sleep(awayMs);
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
      const awayMs = dice.between(...LASTS_MS);
      return certain(['cache'], async () => {
        await cache.kill();
        await sleep(awayMs);
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

/** Says twice more what nodes say to each other of work and ends. False where they said nothing. */
async function repeatHints(url: string, lastsMs: number): Promise<boolean> {
  const [listener, speaker] = [new pg.Client({ connectionString: url }), new pg.Client({ connectionString: url })];
  await Promise.all([listener.connect(), speaker.connect()]);
  const { rows } = await speaker.query<{ own: number }>('select pg_backend_pid() as own');
  let saying: Promise<unknown> = Promise.resolve();
  let said = 0;
  listener.on('notification', ({ processId, payload }) => {
    if (processId === rows[0]?.own) return;
    // Each in a transaction of its own: within one, the same is said once.
    for (let times = 0; times < 2; times += 1) {
      saying = saying.then(() => speaker.query('select pg_notify($1, $2)', [CHANNEL, payload]));
      said += 1;
    }
  });
  await listener.query(`listen ${CHANNEL}`);
  await sleep(lastsMs);
  // Nodes that were done harm a moment ago may have nothing to say for a while.
  for (const end = performance.now() + HINT_MS; said === 0 && performance.now() < end; ) await sleep(LOOK_MS);
  await listener.end();
  await saying;
  await speaker.end();
  return said > 0;
}
