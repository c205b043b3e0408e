/** Both database engines, and an empty place for a state on each. */

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Clock, LogFields, Logger } from '../../../core/contracts/services.js';
import type { Migrations } from '../../../core/database/schema-migration.js';
import { systemClock } from '../../../core/runtime/time.js';
import { migrations } from '../../../server/migrations.js';
import { openState, type State, type StateSettings } from '../../../server/state.js';
import { placeMigratedFile } from './migrated-file.js';
import { sharedPostgres, type TestPostgres } from './postgres.js';
import { postgresDatabases } from './postgres-databases.js';

/** Time that only moves when told to. The wall clock can be set apart from the time that really goes by. */
export class ManualClock implements Clock {
  #elapsed = 0;
  wall: number;

  constructor(wall = Date.UTC(2026, 0, 1)) {
    this.wall = wall;
  }

  now(): number {
    return this.wall;
  }

  monotonic(): number {
    return this.#elapsed;
  }

  async sleep(ms: number): Promise<void> {
    this.advance(ms);
  }

  advance(ms: number): void {
    this.#elapsed += ms;
    this.wall += ms;
  }
}

/** Keeps what was logged. */
export class ListLogger implements Logger {
  readonly lines: { level: string; message: string; fields?: LogFields }[] = [];

  debug(message: string, fields?: LogFields): void {
    this.lines.push({ level: 'debug', message, fields });
  }

  info(message: string, fields?: LogFields): void {
    this.lines.push({ level: 'info', message, fields });
  }

  warn(message: string, fields?: LogFields): void {
    this.lines.push({ level: 'warn', message, fields });
  }

  error(message: string, fields?: LogFields): void {
    this.lines.push({ level: 'error', message, fields });
  }
}

/** One empty state on disk and, for PostgreSQL, in a database; opened as often as a test likes. */
export interface Place {
  dataDir: string;
  databaseUrl?: string;
  /** With which `openDatabase` brings its schema up to date as well. */
  migrations: Migrations;
  open(settings?: Partial<StateSettings>): Promise<State>;
  /** Closes whatever was opened and removes everything. */
  remove(): Promise<void>;
}

export interface Engine {
  name: 'sqlite' | 'postgres';
  /** Leaves the test out, saying why, where the engine cannot be had. */
  place(context: Mocha.Context): Promise<Place>;
  /**
   * The same on a database that has the schema already, which costs a tenth: on SQLite a copied file, on PostgreSQL one that
   * others have used and that was emptied since. For tests that change no table and leave no process behind.
   */
  reusedPlace(context: Mocha.Context): Promise<Place>;
}

let databases: ReturnType<typeof postgresDatabases> | undefined;

export const sqliteEngine: Engine = {
  name: 'sqlite',
  place: () => createPlace(),
  async reusedPlace() {
    const place = await createPlace();
    await placeMigratedFile(place.dataDir);
    return place;
  },
};

/** By itself, it leaves its tests out of a quick run as well. */
export const postgresEngine: Engine = {
  name: 'postgres',
  async place(context) {
    const postgres = await postgresFor(context);
    const databaseUrl = await postgres.createDatabase();
    // A server of this process takes its databases with it.
    return createPlace(databaseUrl, postgres.isCommon ? () => postgres.dropDatabase(databaseUrl) : undefined);
  },
  async reusedPlace(context) {
    databases ??= postgresDatabases(await postgresFor(context));
    const { url, giveBack } = await databases.take();
    return createPlace(url, giveBack);
  },
};

/** A quick run has the first alone. */
export const engines: readonly Engine[] = process.env.TEST_QUICK ? [sqliteEngine] : [sqliteEngine, postgresEngine];

async function postgresFor(context: Mocha.Context): Promise<TestPostgres> {
  if (process.env.TEST_QUICK) return context.skip();
  const postgres = await sharedPostgres();
  if (!('unavailable' in postgres)) return postgres;
  const suite = context.test?.parent;
  if (suite) suite.title += ` (left out: ${postgres.unavailable})`;
  return context.skip();
}

export async function createPlace(databaseUrl?: string, drop?: () => Promise<void>): Promise<Place> {
  const dataDir = await mkdtemp(path.join(tmpdir(), 'mediagate-state-'));
  const opened: State[] = [];
  return {
    dataDir,
    databaseUrl,
    migrations,
    async open(settings) {
      const state = await openState({
        dataDir,
        databaseUrl,
        clock: systemClock,
        logger: new ListLogger(),
        ...settings,
      });
      opened.push(state);
      return state;
    },
    async remove() {
      for (const state of opened) await state.close();
      await drop?.();
      await rm(dataDir, { recursive: true, force: true });
    },
  };
}
