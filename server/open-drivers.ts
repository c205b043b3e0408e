/*
 * Builds the whole state from its settings. It is the one place that decides what changes when the gateway is scaled
 * out: SQLite or PostgreSQL, local files or an object store, the cache in SQL or in Redis, the clock of this process or
 * of the database. All parts share one database, one table of rate limits and one process id, so their transactions can
 * combine. Closing runs in order: jobs, settlements, counts, cache and database. If a part fails to open, what was
 * opened before is closed.
 */

// Both declare their kinds of jobs, which this process reads and runs.
import '../core/extraction/index.js';
import '../core/images/index.js';

import { DatabaseClock, Instances, openDatabase } from '../core/database/index.js';
import { createJobs, openDispatcher } from '../core/jobs/index.js';
import { makeFolder } from '../core/runtime/index.js';
import { openCache, openFiles } from '../core/storage/index.js';
import {
  createAccounts,
  createDeviceGrants,
  createKeyOwners,
  createSessions,
  createSignIns,
  createUsers,
  type UsersOptions,
} from './accounts/index.js';
import { createAudit } from './audit/index.js';
import { createAlertTable, createBudgetAlerts, createBudgetOwners, createBudgets } from './budgets/index.js';
import { IdempotentResponses } from './idempotency/index.js';
import { ApiKeys } from './keys/index.js';
import { RateLimits, RateLimitTable } from './limits/index.js';
import { migrations } from './migrations.js';
import { createBackgroundResponses, createStoredResponses } from './models/index.js';
import { createOrders } from './payments/index.js';
import { createErasures, createPersonalExport } from './personal-data/index.js';
import { loadIdentitySecrets } from './settings/index.js';
import type { AccountState, Records, State, StateSettings } from './state.js';
import {
  createJobCosts,
  createUsageLog,
  ENTRIES_RETENTION_MS,
  JobAdmission,
  RequestCounts,
  SqlAdmissions,
} from './usage/index.js';
import { Webhooks } from './webhooks/index.js';

/** From settings to drivers: the one place that decides what changes when the gateway is scaled out. */
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
        // Running jobs still write files.
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
  const { databaseTimeoutMs: timeoutMs, prices } = settings;
  const { identitySecrets = () => loadIdentitySecrets({ keyPeppers: [], dataDir }) } = settings;
  const database = await openDatabase({ dataDir, databaseUrl, connections, timeoutMs, migrations, logger });
  try {
    const cache = await openCache({ database, cacheUrl, clock, logger });
    const { engine, queries } = database;
    const sharedClock = settings.rateLimitClock ?? (engine === 'sqlite' ? clock : undefined);
    const rateLimitTable = new RateLimitTable({ engine, queries, clock: sharedClock });
    const { jobPollMs: pollMs } = settings;
    const dispatcher = openDispatcher({ databaseUrl, pollMs, siblings: settings.siblings });
    const alertTable = settings.budgetAlerts ? createAlertTable(queries) : undefined;
    const tables = { engine, queries, clock: sharedClock, rateLimitTable, prices, alertTable };
    const admission = {
      extraction: new JobAdmission({ ...tables, kind: 'extraction' }),
      image: new JobAdmission({ ...tables, kind: 'image' }),
    };
    const times = new DatabaseClock(sharedClock);
    const instances = new Instances({ database, times, leaseMs: settings.processLeaseMs, logger });
    const notified = { database, dispatcher, instances, pollMs, logger };
    const jobs = createJobs({ ...notified, admission, clock: sharedClock, tracer, meter });
    const admissions = new SqlAdmissions({
      database,
      instances,
      rateLimitTable,
      clock: sharedClock,
      prices,
      chargesReserved: settings.abortCharge === 'reserved',
      alertTable,
      logger,
    });
    const requestCounts = new RequestCounts({ database, logger });
    const storedResponses = createStoredResponses(database, logger);
    const idempotentResponses = new IdempotentResponses({ ...notified, clock: times });
    const writers = [jobs, admissions, requestCounts, storedResponses, idempotentResponses];
    const closing = [...writers, instances, dispatcher, cache, database];
    instances.watch();
    return {
      engine,
      ...createAccountState({ database, times, jobs, identitySecrets }),
      keys: new ApiKeys({
        database,
        times,
        jobs,
        owners: createKeyOwners(engine),
        entriesRetentionMs: ENTRIES_RETENTION_MS,
      }),
      rateLimits: new RateLimits({ database, rateLimitTable }),
      admissions,
      budgets: { ...createBudgets(database, times), ...createBudgetOwners(database, times) },
      budgetAlerts: createBudgetAlerts(database, times),
      usage: {
        ...createUsageLog(database),
        count: (requests) => requestCounts.count(requests),
        flushCounts: () => requestCounts.flushCounts(),
      },
      storedResponses,
      backgroundResponses: createBackgroundResponses({ database, times, admissions }),
      idempotentResponses,
      jobs: { ...jobs, ...createJobCosts({ database, times, jobs }) },
      webhooks: new Webhooks(database, times),
      erasures: createErasures({ database, times, jobs, identitySecrets }),
      personalExport: createPersonalExport({ database, times }),
      cache,
      instances,
      ping: () => database.ping(),
      pingCache: () => cache.ping(),
      async close() {
        for (const part of closing) await part.close();
      },
    };
  } catch (error) {
    await database.close();
    throw error;
  }
}

/** Accounts, sessions, orders and the audit log, in SQL. */
export function createAccountState(options: UsersOptions): AccountState {
  const { database, times } = options;
  return {
    users: createUsers(options),
    accounts: createAccounts(options),
    sessions: createSessions(database, times),
    signIns: createSignIns(database, times),
    deviceGrants: createDeviceGrants(database, times),
    orders: createOrders(options),
    audit: createAudit(database),
  };
}
