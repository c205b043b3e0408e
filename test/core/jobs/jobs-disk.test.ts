/** Durable jobs on a full disk, and beside a locked database. */

import path from 'node:path';
import Sqlite from 'better-sqlite3';
import { expect } from 'chai';
import { type Database, openDatabase } from '../../../core/database/database.js';
import { Instances } from '../../../core/database/heartbeat.js';
import { sql } from '../../../core/database/kysely.js';
import { DatabaseClock } from '../../../core/database/statements.js';
import { createEmbeddedDispatcher } from '../../../core/jobs/dispatcher.js';
import type { NewJob } from '../../../core/jobs/jobs.js';
import { createJobs } from '../../../core/jobs/service.js';
import { systemClock } from '../../../core/runtime/time.js';
import { RateLimitTable } from '../../../server/limits/rate-limit.js';
import { JobAdmission } from '../../../server/usage/job-admission.js';
import { createPlace, ListLogger, type Place } from '../../support/databases/engines.js';
import { acceptJob } from '../../support/jobs/job-acceptance.js';
import { rejection } from '../../support/rejection.js';
import { until } from '../../support/until.js';
import '../../../core/extraction/index.js';

const rateLimit = { keyId: 'key', family: 'link_data', count: 1, limit: 10 } as const;

describe('durable jobs in a folder under faults', () => {
  let place: Place;
  let database: Database;
  let logger: ListLogger;
  let jobs: ReturnType<typeof createJobs>;

  beforeEach(async () => {
    place = await createPlace();
    database = await openDatabase(place);
    logger = new ListLogger();
    const { queries } = database;
    const rateLimitTable = new RateLimitTable({ engine: 'sqlite', queries, clock: systemClock });
    jobs = createJobs({
      database,
      dispatcher: createEmbeddedDispatcher(),
      instances: new Instances({ database, times: new DatabaseClock(systemClock), logger }),
      admission: { extraction: new JobAdmission({ engine: 'sqlite', queries, kind: 'extraction', rateLimitTable }) },
      clock: systemClock,
      logger,
    });
  });

  afterEach(async () => {
    await jobs.close();
    await database.close();
    await place.remove();
  });

  function newJob(dedupeKey: string, input: unknown = null): NewJob {
    return { kind: 'extraction', owner: 'one', dedupeKey, input, maxActive: 100 };
  }

  function ended(id: string) {
    return until(async () => {
      const job = await jobs.find(id, 'one');
      return (job?.state === 'completed' || job?.state === 'failed') && job;
    });
  }

  it('are refused on a full disk free of charge, and keep a result until it can be stored', async () => {
    let finish: (() => void) | undefined;
    jobs.work({
      kind: 'extraction',
      concurrency: 1,
      run: () =>
        new Promise((resolve) => {
          finish = () => resolve('x'.repeat(100_000));
        }),
    });
    const { job } = await acceptJob(jobs, { rateLimit, job: newJob('runs') });
    const end = await until(() => finish);
    await sql`pragma max_page_count = 1`.execute(database.queries);
    const refusal = acceptJob(jobs, { rateLimit, job: newJob('large', 'x'.repeat(100_000)) });
    expect(await rejection(refusal)).to.include({ code: 'upstream_unavailable' });
    end();
    const waits = () => logger.lines.filter(({ message }) => message === 'background jobs wait for the database');
    await until(() => waits().length);
    expect(await jobs.find(job?.id ?? '', 'one')).to.include({ state: 'running' });

    await sql`pragma max_page_count = 1000000`.execute(database.queries);
    expect(await ended(job?.id ?? '')).to.include({ state: 'completed', attempts: 1 });
    expect(waits()).to.have.length(1);
    const accepted = await acceptJob(jobs, { rateLimit, job: newJob('later') });
    expect(accepted.slot).to.include({ accepted: true, remaining: 8 });
  });

  it('are refused in time while another process holds the lock, and then accepted again', async () => {
    const other = new Sqlite(path.join(place.dataDir, 'state.sqlite'));
    try {
      other.exec('begin immediate');
      const attempts = Array.from({ length: 50 }, (_, index) => rejection(jobs.accept({ job: newJob(`${index}`) })));
      for (const error of await Promise.all(attempts)) expect(error).to.include({ code: 'upstream_unavailable' });
      other.exec('rollback');
    } finally {
      other.close();
    }
    expect(await jobs.active('extraction')).to.equal(0);
    expect((await acceptJob(jobs, { rateLimit, job: newJob('a') })).slot).to.include({ remaining: 9 });
  });
});
