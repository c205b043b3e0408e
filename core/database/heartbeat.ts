import { randomUUID } from 'node:crypto';
import { readFileSync, readlinkSync } from 'node:fs';
import { hostname } from 'node:os';
import type { Logger } from '../contracts/index.js';
import { GatewayError, isProcessRunning } from '../runtime/index.js';
import type { Database } from './database.js';
import type { Kysely } from './kysely.js';
import { type Migrations, sqlMigration } from './schema-migration.js';
import type { DatabaseClock } from './statements.js';
import type { Tables } from './tables.js';

/** Says of another's beat, as it was just read, whether it has been the same for a whole lease. */
export type SilenceCheck = (id: string, beat: string) => boolean;

export interface Heartbeat {
  /** One look at all others: asked once of each, before the next look. Who is no longer there is forgotten. */
  look(): SilenceCheck;
}

/** How long others have shown no life, by this process's own steady clock and while it could look. */
export function createHeartbeat(leaseMs: number): Heartbeat {
  /** Since when they have been the same. */
  let seen = new Map<string, { beat: string; since: number }>();
  let lookedAt = Number.NEGATIVE_INFINITY;

  return {
    look() {
      const now = performance.now();
      // Where this process could not look for so long (it was stopped, the database away), others may not have been able to
      // show life either.
      if (now - lookedAt >= leaseMs) seen.clear();
      lookedAt = now;
      const before = seen;
      seen = new Map();
      return (id, beat) => {
        const known = before.get(id);
        const since = known?.beat === beat ? known.since : now;
        if (now - since >= leaseMs) return true;
        seen.set(id, { beat, since });
        return false;
      };
    },
  };
}

/*
 * Who runs a job, as text: the machine, the process on it, and which of the process's workers. A run whose process is
 * certainly gone is given to another at once; in any doubt its lease decides.
 */

/** One for each start of a process: a process id is used again, this is not. */
const BOOT = randomUUID();
const MACHINE = describeMachine();

/** A name for one set of workers of this process. */
export function processId(): string {
  return JSON.stringify([MACHINE, process.pid, BOOT, randomUUID()]);
}

/** Whether the process is known to have ended. False where that cannot be told from here. */
export function hasEnded(runner: string): boolean {
  const [machine, pid, boot] = JSON.parse(runner) as [string, number, string];
  if (machine !== MACHINE) return false;
  if (pid === process.pid) return boot !== BOOT;
  return !isProcessRunning(pid);
}

/** In words for people: the machine, which may be a container, and the process on it. */
export function describeProcess(runner: string): { host: string; pid: number } {
  const [machine, pid] = JSON.parse(runner) as [string, number];
  return { host: machine.split(' ', 1)[0] ?? '', pid };
}

/**
 * Two containers may have the same host name and the same process ids; where the system tells them apart, so does this.
 */
function describeMachine(): string {
  const parts = [hostname()];
  try {
    parts.push(readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim(), readlinkSync('/proc/self/ns/pid'));
  } catch {
    // Not Linux, which has containers of this sort.
  }
  return parts.join(' ');
}

declare module './tables.js' {
  interface Tables {
    instances: InstancesTable;
  }
}

export interface InstancesTable {
  id: string;
  startedAt: number;
  beatAt: number;
  /** JSON array of Fingerprint. */
  fingerprints: string;
}

const BEAT_MS = 5_000;
/** A process that wrote nothing for this long has ended, or cannot reach the database. */
const LIVE_MS = 20_000;
const FORGET_MS = 60 * 60 * 1000;
const PATIENCE_MS = 2_000;

/** Keyed hashes, never the values themselves, of one setting; several while a secret is rotated. */
export interface Fingerprint {
  /** As the operator sets it. */
  setting: string;
  /** The newest first. Two processes agree where one hash is in both lists. */
  hashes: readonly string[];
  /** Whether a process that differs must not start. */
  required: boolean;
}

/** The processes that use this state. */
export interface Instances {
  /**
   * Adds this process, which writes its heartbeat from then on.
   * @throws GatewayError `invalid_value` where a living process differs in a required setting; `upstream_unavailable`.
   */
  join(fingerprints: readonly Fingerprint[]): Promise<void>;
  /**
   * Writes the heartbeat of this process. Before {@link join} it writes nothing.
   * @throws GatewayError `upstream_unavailable` where the database takes no writes.
   */
  beat(): Promise<void>;
  /** Settings in which a living process differs from this one. */
  differing(): Promise<string[]>;
  /** Removes this process. Idempotent. */
  close(): Promise<void>;
}

interface Living {
  id: string;
  startedAt: number;
  fingerprints: string;
}

export function createInstances({
  database,
  times,
  logger,
}: {
  database: Database;
  times: DatabaseClock;
  logger: Logger;
}): Instances {
  const id = randomUUID();
  let own: readonly Fingerprint[] | undefined;
  let beating: Promise<void> | undefined;
  let warned = '';
  let timer: NodeJS.Timeout | undefined;

  const patience = { patienceMs: PATIENCE_MS };

  async function write(fingerprints: readonly Fingerprint[]): Promise<void> {
    await database.transaction(
      (queries) =>
        queries
          .insertInto('instances')
          .values({ id, startedAt: times.now, beatAt: times.now, fingerprints: JSON.stringify(fingerprints) })
          .onConflict((conflict) => conflict.column('id').doUpdateSet((eb) => ({ beatAt: eb.ref('excluded.beatAt') })))
          .execute(),
      // A heartbeat that a power cut takes is no loss.
      { ...patience, survives: 'process-end' },
    );
  }

  /** One write at a time, however many ask. */
  function beat(): Promise<void> {
    if (!own) return database.ping();
    beating ??= write(own).finally(() => {
      beating = undefined;
    });
    return beating;
  }

  function living(): Promise<Living[]> {
    return database.run(async (queries) => {
      const since = (await times.read(queries)) - LIVE_MS;
      return queries
        .selectFrom('instances')
        .select(['id', 'startedAt', 'fingerprints'])
        .where('beatAt', '>', since)
        .execute();
    }, patience);
  }

  async function differing(): Promise<string[]> {
    const others = (await living()).filter((one) => one.id !== id);
    return [...new Set(others.flatMap((other) => differences(own ?? [], other).map(({ setting }) => setting)))];
  }

  /** Also removes the rows of processes that ended long ago. */
  async function round(): Promise<void> {
    await beat();
    await database.run(async (queries) => {
      const before = (await times.read(queries)) - FORGET_MS;
      await queries.deleteFrom('instances').where('beatAt', '<', before).execute();
    }, patience);
    await warn();
  }

  async function warn(): Promise<void> {
    const settings = await differing();
    const text = settings.join(', ');
    if (text !== warned && text !== '') logger.warn(`another gateway process on this database has another ${text}`);
    if (text !== warned && text === '') logger.info('all gateway processes have the same settings again');
    warned = text;
  }

  async function leave(): Promise<void> {
    clearInterval(timer);
    if (!own) return;
    await beating?.catch(() => undefined);
    own = undefined;
    // Where the database is away, the row ends by its age.
    await database
      .run((queries) => queries.deleteFrom('instances').where('id', '=', id).execute(), patience)
      .catch(() => undefined);
  }

  return {
    async join(fingerprints) {
      own = fingerprints;
      await beat();
      const all = await living();
      const started = all.find((one) => one.id === id)?.startedAt ?? Number.POSITIVE_INFINITY;
      // Of two that start at the same time, one goes on.
      const earlier = all.filter(
        (one) => one.id !== id && (one.startedAt < started || (one.startedAt === started && one.id < id)),
      );
      const refused = earlier.flatMap((other) => differences(fingerprints, other)).find(({ required }) => required);
      if (refused) {
        await leave();
        const { setting } = refused;
        const message = `${setting} differs from that of another gateway process on this database. Give all of them the same ${setting}; to change it, give each the new and the old one, separated by a comma, the new one first. A process that was killed counts for ${LIVE_MS / 1000} s.`;
        throw new GatewayError('invalid_value', message, { param: setting });
      }
      await warn();
      timer = setInterval(() => void round().catch(() => undefined), BEAT_MS).unref();
    },
    beat,
    differing,
    close: leave,
  };
}

/**
 * Settings in which the living processes on a database differ. Changes nothing. A process is living if it wrote within 20 s
 * of the newest heartbeat, so that no clock is needed.
 */
export async function differencesAmong(queries: Kysely<Tables>): Promise<string[]> {
  const rows = await queries.selectFrom('instances').select(['id', 'startedAt', 'fingerprints', 'beatAt']).execute();
  const newest = Math.max(...rows.map(({ beatAt }) => beatAt));
  const living = rows.filter(({ beatAt }) => beatAt > newest - LIVE_MS);
  const different = living.flatMap((one) =>
    living.flatMap((other) => differences(JSON.parse(one.fingerprints) as Fingerprint[], other)),
  );
  return [...new Set(different.map(({ setting }) => setting))];
}

function differences(own: readonly Fingerprint[], other: Living): Fingerprint[] {
  const theirs = JSON.parse(other.fingerprints) as readonly Fingerprint[];
  return own.filter(({ setting, hashes }) => {
    const found = theirs.find((one) => one.setting === setting);
    return found !== undefined && !found.hashes.some((hash) => hashes.includes(hash));
  });
}

/** The table of the running processes. */
export const processMigrations: Migrations = {
  '0001-processes': sqlMigration(
    `create table instances (
      id text primary key, "startedAt" bigint not null, "beatAt" bigint not null, fingerprints text not null)`,
  ),
};
