/*
 * Builds the whole state from its settings. It is the one place that decides what changes when the gateway is scaled
 * out: SQLite or PostgreSQL, local files or an object store, the cache in SQL or in Redis, the clock of this process or
 * of the database. All parts share one database, one table of rate limits and one process id, so their transactions can
 * combine. Closing runs in order: jobs, settlements, counts, cache and database. If a part fails to open, what was
 * opened before is closed.
 */

// They declare their kinds of jobs, which this process reads and runs.
import '../core/extraction/index.js';
import '../core/images/index.js';
import './transcripts/index.js';

import type { Clock, Logger, Meter, Tracer } from '../core/contracts/index.js';
import { DatabaseClock, Instances, openDatabase } from '../core/database/index.js';
import { createJobs, openDispatcher } from '../core/jobs/index.js';
import { makeFolder, type Siblings } from '../core/runtime/index.js';
import { openCache, openFiles } from '../core/storage/index.js';
import {
  Accounts,
  Balances,
  createKeyOwners,
  DeviceGrants,
  type IdentitySecrets,
  Sessions,
  SignIns,
  Users,
} from './accounts/index.js';
import { Alerts } from './alerts/index.js';
import { Audit } from './audit/index.js';
import { BatchLinks, createBatchAdmission } from './batches/index.js';
import { AlertTable, BudgetAlerts, Budgets } from './budgets/index.js';
import { IdempotentResponses } from './idempotency/index.js';
import { ApplicationSignIns, Artifacts, Connections, Programs } from './identity/index.js';
import { ApiKeys } from './keys/index.js';
import { Ledger } from './ledger/index.js';
import { RateLimits, RateLimitTable } from './limits/index.js';
import { BlockedLinks } from './links/blocked-links.js';
import { migrations } from './migrations.js';
import { ChangedModels } from './model-changes/changed-models.js';
import { createBackgroundResponses, createStoredResponses } from './models/index.js';
import { Challenges, Invitations, Passkeys } from './passkeys/index.js';
import { Orders } from './payments/index.js';
import { Erasures, PersonalExport, personalRecords } from './personal-data/index.js';
import type { Prices } from './prices/index.js';
import { ProbeResults } from './probes/index.js';
import { loadIdentitySecrets } from './settings/index.js';
import { StatusHistory } from './status/history.js';
import { Incidents } from './status/incidents.js';
import {
  Admissions,
  createJobCosts,
  JobAdmission,
  LinkCharges,
  type LogRetention,
  RequestCounts,
  RequestInputs,
  RequestLog,
  retentionMs,
  StoredLatencies,
  UsageDays,
  UsageLog,
  UsageSums,
} from './usage/index.js';
import { Webhooks } from './webhooks/index.js';

export interface StateSettings {
  /** Folder of all local state: the SQLite file, files, secrets. Created (0700) if missing. */
  dataDir: string;
  /** `postgres://…` stores the SQL state there. Default: SQLite in dataDir. */
  databaseUrl?: string;
  /** Maximum connections to PostgreSQL, besides the listening one. Default 10. */
  databaseConnections?: number;
  /**
   * `s3://KEY:SECRET@host[:port]/bucket[/prefix][?region=…&tls=off]` stores files there; `dataDir/files` holds those
   * that are not uploaded yet. Default: all of them are in `dataDir/files`.
   */
  filesUrl?: string;
  /** `redis://…` or `rediss://…` stores the cache there. Default: the SQL database. */
  cacheUrl?: string;
  clock: Clock;
  /**
   * Clock of the rate limits and of job times. Default: `clock` on SQLite; on PostgreSQL the clock of the database,
   * which all nodes share. Set by tests, which move it.
   */
  rateLimitClock?: Clock;
  /**
   * Milliseconds without a heartbeat after which a process counts as dead: then its jobs, reservations and idempotency
   * keys are released. Default 15,000. Set by tests.
   */
  processLeaseMs?: number;
  /**
   * Milliseconds between two polls for jobs and for completed jobs, in case of lost notifications. Default: 1,000 on
   * SQLite, where other processes send none; on PostgreSQL 5,000, and 1,000 for completed jobs. Set by tests.
   */
  jobPollMs?: number;
  /** What a request of a dead process costs. Default `used`. */
  abortCharge?: 'used' | 'reserved';
  /** What is kept of the usage log. Default: 30 days, and 100,000 rows of each key. */
  logRetention?: LogRetention;
  /** Milliseconds until a caller gets an error because the database did not answer. Default 2,400. Set by tests. */
  databaseTimeoutMs?: number;
  /** Prices of what this process settles. Default: none, and no cost is known. */
  prices?: Prices;
  /** Secrets of the hashes of erased identities, newest first. Default: the one of key hashes in `dataDir`. */
  identitySecrets?: IdentitySecrets;
  /** Whether alerts of budgets are written, for a process that delivers them. Default false. */
  budgetAlerts?: boolean;
  logger: Logger;
  /** Other processes of this machine on the same state. Default: none that can be told anything. */
  siblings?: Siblings;
  /** Default: no tracing. */
  tracer?: Tracer;
  /** Default: no metrics. */
  meter?: Meter;
}

/** From settings to drivers: the one place that decides what changes when the gateway is scaled out. */
export async function openDrivers(settings: StateSettings) {
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

export async function openRecordDrivers(settings: Omit<StateSettings, 'filesUrl'>) {
  const { dataDir, databaseUrl, databaseConnections: connections, cacheUrl, clock, logger, tracer, meter } = settings;
  const { databaseTimeoutMs: timeoutMs, prices, logRetention } = settings;
  const { identitySecrets = () => loadIdentitySecrets({ keyPeppers: [], dataDir }) } = settings;
  const database = await openDatabase({ dataDir, databaseUrl, connections, timeoutMs, migrations, logger });
  try {
    const cache = await openCache({ database, cacheUrl, clock, logger });
    const { engine, queries } = database;
    const sharedClock = settings.rateLimitClock ?? (engine === 'sqlite' ? clock : undefined);
    const rateLimitTable = new RateLimitTable({ engine, queries, clock: sharedClock });
    const { jobPollMs: pollMs } = settings;
    const dispatcher = openDispatcher({ databaseUrl, pollMs, siblings: settings.siblings });
    const alertTable = settings.budgetAlerts ? new AlertTable(queries) : undefined;
    const tables = { engine, queries, clock: sharedClock, rateLimitTable, prices, alertTable };
    const times = new DatabaseClock(sharedClock);
    const inputs = new RequestInputs({ database, times, logger, siblings: settings.siblings });
    const batchLinks = new BatchLinks({ database, times, charges: new LinkCharges({ ...tables, inputs }) });
    const admission = {
      batch: createBatchAdmission(new JobAdmission({ ...tables, kind: 'batch' }), batchLinks),
      extraction: new JobAdmission({ ...tables, kind: 'extraction' }),
      image: new JobAdmission({ ...tables, kind: 'image' }),
      transcript: new JobAdmission({ ...tables, kind: 'transcript' }),
    };
    const instances = new Instances({ database, times, leaseMs: settings.processLeaseMs, logger });
    const notified = { database, dispatcher, instances, pollMs, logger };
    const jobs = createJobs({ ...notified, admission, clock: sharedClock, tracer, meter });
    const admissions = new Admissions({
      database,
      instances,
      rateLimitTable,
      clock: sharedClock,
      prices,
      chargesReserved: settings.abortCharge === 'reserved',
      logRetention,
      alertTable,
      logger,
    });
    const requestCounts = new RequestCounts({ database, logger });
    const storedResponses = createStoredResponses(database, logger);
    const idempotentResponses = new IdempotentResponses({ ...notified, clock: times });
    const writers = [jobs, admissions, requestCounts, inputs, storedResponses, idempotentResponses];
    const closing = [...writers, instances, dispatcher, cache, database];
    const personal = personalRecords(jobs);
    const accounts = { database, times, jobs, identitySecrets };
    const owners = createKeyOwners(engine);
    const keys = new ApiKeys({ database, times, jobs, owners, entriesRetentionMs: retentionMs(logRetention) });
    instances.watch();
    return {
      engine,
      users: new Users(accounts),
      accounts: new Accounts(accounts),
      balances: new Balances(accounts),
      ledger: new Ledger(database),
      sessions: new Sessions(database, times),
      signIns: new SignIns(database, times),
      deviceGrants: new DeviceGrants(database, times),
      invitations: new Invitations(database, times),
      passkeys: new Passkeys(database, times),
      passkeyChallenges: new Challenges(database, times),
      agentSignIn: {
        artifacts: new Artifacts(database, times),
        programs: new Programs(database, times),
        connections: new Connections({ database, times, keys }),
        applications: new ApplicationSignIns(database, times),
      },
      orders: new Orders(accounts),
      alerts: new Alerts(database, times),
      audit: new Audit(database),
      keys,
      rateLimits: new RateLimits({ database, rateLimitTable }),
      admissions,
      budgets: new Budgets(database, times),
      budgetAlerts: new BudgetAlerts(database, times),
      blockedLinks: new BlockedLinks(database),
      probes: new ProbeResults(database),
      incidents: new Incidents(database),
      changedModels: new ChangedModels(database, times),
      statusHistory: new StatusHistory(database),
      usage: new UsageLog(database, requestCounts),
      usageSums: new UsageSums(database),
      modelLatencies: new StoredLatencies(database),
      usageDays: new UsageDays(database),
      requestLog: new RequestLog(database, inputs),
      storedResponses,
      backgroundResponses: createBackgroundResponses({ database, times, admissions }),
      idempotentResponses,
      batchLinks,
      jobs: { ...jobs, ...createJobCosts({ database, times, jobs }) },
      webhooks: new Webhooks(database, times),
      erasures: new Erasures({ database, times, records: personal, identitySecrets }),
      personalExport: new PersonalExport({ database, times, records: personal }),
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
