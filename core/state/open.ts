import { createInstances, openDatabase } from '../database/index.js';
import type { Dispatcher } from '../jobs/index.js';
import { createEmbeddedDispatcher, createJobClock, createJobs } from '../jobs/index.js';
import { makeFolder, openCache } from '../storage/index.js';
import { createAccountState } from './account-state-sql.js';
import { createKeptAnswers } from './idempotency/index.js';
import { openFiles, type Records, type State, type StateSettings } from './index.js';
import { createApiKeys } from './keys/index.js';
import { createSlotTable, createWindows } from './limits/index.js';
import { createBackgroundResponses, createStoredResponses } from './models/index.js';
import {
  createAdmissions,
  createBudgets,
  createJobAdmission,
  createJobCosts,
  createUsageLedger,
} from './usage/index.js';
import { createWebhooks } from './webhooks/index.js';

/** Settings to drivers: the one place that says what changes when the gateway is scaled out. */
export async function openDrivers(settings: StateSettings): Promise<State> {
  await makeFolder(settings.dataDir);
  const files = await openFiles(settings);
  try {
    const records = await openRecordDrivers(settings);
    return {
      ...records,
      files,
      pingFiles: () => files.ping(),
      filesAwaiting: () => files.awaiting(),
      async close() {
        // Jobs that are being finished write files.
        await records.close();
        await files.close();
      },
    };
  } catch (error) {
    await files.close();
    throw error;
  }
}

export async function openRecordDrivers(settings: Omit<StateSettings, 'filesUrl'>): Promise<Records> {
  const { dataDir, databaseUrl, databaseConnections: connections, cacheUrl, clock, logger, tracer, meter } = settings;
  const { databasePatienceMs: patienceMs } = settings;
  const database = await openDatabase({ dataDir, databaseUrl, connections, patienceMs, logger });
  try {
    const cache = await openCache({ database, cacheUrl, clock, logger });
    const { engine, queries } = database;
    const sharedClock = settings.windowClock ?? (engine === 'sqlite' ? clock : undefined);
    const slots = createSlotTable({ engine, queries, clock: sharedClock });
    const { jobPollMs: pollMs } = settings;
    const dispatcher =
      databaseUrl === undefined ? createEmbeddedDispatcher(pollMs) : await openPostgresDispatcher(databaseUrl, pollMs);
    const admission = {
      extraction: createJobAdmission({ queries, kind: 'extraction', slots }),
      image: createJobAdmission({ queries, kind: 'image', slots }),
    };
    const options = { database, dispatcher, admission, clock: sharedClock, leaseMs: settings.jobLeaseMs, pollMs };
    const jobs = createJobs({ ...options, logger, tracer, meter });
    const { reservationLeaseMs: leaseMs } = settings;
    const admissions = createAdmissions({ database, slots, clock: sharedClock, leaseMs, logger });
    const storedResponses = createStoredResponses(database, logger);
    const times = createJobClock(sharedClock);
    const instances = createInstances({ database, times, logger });
    const { jobLeaseMs } = settings;
    const keptAnswers = createKeptAnswers({ database, dispatcher, clock: times, leaseMs: jobLeaseMs, pollMs, logger });
    return {
      engine,
      ...createAccountState({ database, times }),
      keys: createApiKeys(database, times),
      windows: createWindows({ database, slots }),
      admissions,
      budgets: createBudgets(database, times),
      usage: createUsageLedger(database),
      storedResponses,
      backgroundResponses: createBackgroundResponses({ database, times, admissions }),
      keptAnswers,
      jobs: { ...jobs, ...createJobCosts({ database, times, jobs }) },
      webhooks: createWebhooks(database, times),
      cache,
      instances,
      ping: () => database.ping(),
      pingCache: () => cache.ping(),
      async close() {
        await jobs.close();
        await admissions.close();
        await storedResponses.close();
        await keptAnswers.close();
        await dispatcher.close();
        await instances.close();
        await cache.close();
        await database.close();
      },
    };
  } catch (error) {
    await database.close();
    throw error;
  }
}

async function openPostgresDispatcher(databaseUrl: string, pollMs: number | undefined): Promise<Dispatcher> {
  const { createPostgresDispatcher } = await import('../jobs/dispatch-postgres.js');
  return createPostgresDispatcher(databaseUrl, pollMs);
}
