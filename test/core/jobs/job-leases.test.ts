/** Leases of jobs while PostgreSQL is unreachable, slow or locked. */

import { expect } from 'chai';
import pg from 'pg';
import type { WorkOptions } from '../../../core/jobs/jobs.js';
import type { JobRecord } from '../../../core/jobs/records.js';
import type { State } from '../../../server/state.js';
import { type DatabaseLink, startDatabaseLink } from '../../chaos/database-link.js';
import { ListLogger, type Place, postgresEngine } from '../../support/databases/engines.js';
import { inTime } from '../../support/in-time.js';
import { until } from '../../support/until.js';
import { untilAborted } from '../../support/until-aborted.js';

const kind = 'extraction' as const;
const DAY_MS = 24 * 3_600_000;
const LEASE_MS = 900;
const LOST = 'a background job lost its lease and is aborted';
const CUT_OFF = /^a background job was interrupted/;

describe('leases of jobs on an unreachable, slow or locked PostgreSQL', () => {
  let place: Place;
  let link: DatabaseLink;
  let logger: ListLogger;
  /** A node whose way to the database can be broken, and one whose way cannot. */
  let far: State;
  let near: State;
  let observer: pg.Client;

  beforeEach(async function () {
    place = await postgresEngine.reusedPlace(this);
    const url = new URL(place.databaseUrl ?? '');
    const folder = url.searchParams.get('host');
    // A server that the tests were given has no socket here.
    if (!folder) return this.skip();
    link = await startDatabaseLink(`${folder}/.s.PGSQL.5432`);
    logger = new ListLogger();
    observer = new pg.Client({ connectionString: place.databaseUrl });
    await observer.connect();
  });
  afterEach(async () => {
    link?.setFault();
    await observer?.end();
    await place?.remove();
    await link?.close();
  });

  async function open(processLeaseMs: number, jobPollMs?: number): Promise<void> {
    const url = new URL(place.databaseUrl ?? '');
    const databaseUrl = new URL(link.url);
    databaseUrl.pathname = url.pathname;
    far = await place.open({ databaseUrl: databaseUrl.href, logger, processLeaseMs, jobPollMs });
    near = await place.open({ logger: new ListLogger(), processLeaseMs: DAY_MS, jobPollMs });
  }

  async function accept(name = 'job', from = near): Promise<JobRecord> {
    const { job } = await from.jobs.accept({
      job: { kind, owner: 'one', dedupeKey: name, summary: { name }, input: null, maxActive: 100 },
    });
    return job as JobRecord;
  }

  const work = (run: WorkOptions['run'], from = far) => from.jobs.work({ kind, concurrency: 1, run });
  const look = ({ id }: JobRecord) => near.jobs.find(id, 'one');
  const ended = (job: JobRecord) =>
    until(async () => {
      const found = await look(job);
      return found?.finishedAt != null && found;
    });
  const said = (message: string | RegExp) =>
    logger.lines.filter((line) =>
      typeof message === 'string' ? line.message === message : message.test(line.message),
    );

  /** Resolves when a statement that matches waits for a lock of another. */
  const untilLocked = (statement: string) =>
    until(async () => {
      const { rowCount } = await observer.query(
        `select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock' and query ilike $1`,
        [statement],
      );
      return rowCount;
    });

  it('abort a run whose node does not reach the database for a whole lease, during the outage', async () => {
    await open(LEASE_MS);
    const signals: AbortSignal[] = [];
    work((_job, signal) => {
      signals.push(signal);
      if (signals.length > 1) return Promise.resolve('in the second run');
      return untilAborted(signal);
    });
    const job = await accept();
    const first = await until(() => signals[0]);
    link.setFault({ does: 'cut' });
    await until(() => first.aborted);
    expect(first.reason).to.be.an('error').with.property('message', 'The lease of the job was lost.');
    expect(said(LOST)).to.have.length(1);
    expect(said(LOST)[0]?.fields).to.include({ attempt: 1 });
    expect(await look(job)).to.include({ state: 'running', attempts: 1 });
    link.setFault();
    expect(await ended(job)).to.include({ state: 'completed', result: 'in the second run', attempts: 2 });
    expect(signals).to.have.length(2);
  });

  it('abort a run whose node gets no answer of the database for a whole lease', async () => {
    await open(LEASE_MS);
    let signal: AbortSignal | undefined;
    work((_job, given) => {
      signal = given;
      return new Promise((_resolve, reject) => given.addEventListener('abort', () => reject(given.reason)));
    });
    await accept();
    await until(() => signal);
    link.setFault({ does: 'hold', afterwards: 'lost' });
    await until(() => signal?.aborted);
    expect(said(LOST)).to.have.length(1);
  });

  it('keep a run whose node does not reach the database for less than a lease', async () => {
    await open(60_000);
    const gate = Promise.withResolvers<string>();
    let signal: AbortSignal | undefined;
    work((_job, given) => {
      signal = given;
      return gate.promise;
    });
    const job = await accept();
    await until(() => signal);
    link.setFault({ does: 'cut' });
    gate.resolve('over while the database was away');
    await until(() => said('background jobs wait for the database').length > 0);
    link.setFault();
    expect(await ended(job)).to.include({
      state: 'completed',
      attempts: 1,
      result: 'over while the database was away',
    });
    expect(signal?.aborted).to.equal(false);
    expect(said(LOST)).to.deep.equal([]);
  });

  it('keep a run whose process writes its heartbeat between the check and the abort', async () => {
    await open(LEASE_MS);
    const job = await accept();
    await observer.query(
      `insert into instances (id, "startedAt", "beatAt", beat, fingerprints) values ('["elsewhere",1,"",""]', 0, 0, 1, '[]')`,
    );
    await observer.query(`update jobs set state = 'running', attempts = 1, "processId" = '["elsewhere",1,"",""]'`);
    const alive = new pg.Client({ connectionString: place.databaseUrl });
    await alive.connect();
    try {
      // Others see the old beat, and declaring the process dead has to wait for this.
      await alive.query('begin');
      await alive.query(`update instances set beat = beat + 1 where id like '["elsewhere"%'`);
      work(async () => 'run twice');
      await untilLocked('update "instances"%');
      await alive.query('commit');
      await untilLooked();
      expect(await look(job)).to.include({ state: 'running', attempts: 1 });
      expect(said(CUT_OFF)).to.deep.equal([]);
      // There are no heartbeats from here on.
      expect(await ended(job)).to.include({ state: 'completed', attempts: 2, result: 'run twice' });
      expect(said(CUT_OFF)).to.have.length(1);
    } finally {
      await alive.end();
    }
  });

  /** Resolves when nothing waits for a lock any more, and what waited has been answered. */
  async function untilLooked(): Promise<void> {
    await until(async () => {
      const { rowCount } = await observer.query(
        `select 1 from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()
          and (wait_event_type = 'Lock' or state in ('active', 'idle in transaction'))`,
      );
      return rowCount === 0;
    });
  }

  it('report no job as lost while its end is being written', async () => {
    await open(LEASE_MS);
    const gate = Promise.withResolvers<string>();
    let signal: AbortSignal | undefined;
    work((_job, given) => {
      signal = given;
      return gate.promise;
    });
    const job = await accept();
    await until(() => signal);
    const holder = new pg.Client({ connectionString: place.databaseUrl });
    await holder.connect();
    try {
      await holder.query('begin');
      await holder.query('select 1 from jobs for update');
      gate.resolve('written in the end');
      await untilLocked('update "jobs" set "result"%');
      // Longer than the lease: neither the end nor a sign of life gets through. The clock of this process is the one in question.
      const begun = performance.now();
      await until(() => performance.now() - begun > 3 * LEASE_MS, 50);
      expect(signal?.aborted).to.equal(false);
      await holder.query('commit');
      expect(await ended(job)).to.include({ state: 'completed', attempts: 1, result: 'written in the end' });
      expect(signal?.aborted).to.equal(false);
      expect(said(LOST)).to.deep.equal([]);
    } finally {
      await holder.end();
    }
  });

  it('requeue a job at once if its claim may not have committed', async () => {
    // Neither a lease nor a look ends before the test does.
    await open(DAY_MS, DAY_MS);
    const runs: string[] = [];
    work(async ({ summary }) => {
      runs.push((summary as { name: string }).name);
      return 'ran';
    });
    await ended(await accept('before'));
    const lost = link.loseCommit(/update "jobs" set .*"processId"/, 60_000);
    const job = await accept('claimed');
    expect(await lost).to.equal(true);
    expect(await inTime(near.jobs.waitFor(job.id, 'one', { timeoutMs: DAY_MS }))).to.include({
      state: 'completed',
      attempts: 2,
      result: 'ran',
    });
    expect(runs).to.deep.equal(['before', 'claimed']);
  });

  it('requeue a job that was claimed in the transaction of its acceptance', async () => {
    await open(DAY_MS, DAY_MS);
    const runs: string[] = [];
    work(async ({ summary }) => {
      runs.push((summary as { name: string }).name);
      return 'ran';
    });
    await ended(await accept('before', far));
    const lost = link.loseCommit(/insert into "jobs"/, 60_000);
    // Whoever asked is told that it failed, and it was accepted all the same.
    await accept('claimed', far).catch(() => undefined);
    expect(await lost).to.equal(true);
    const [job] = await near.jobs.latest('one', 1);
    expect(job?.summary).to.deep.equal({ name: 'claimed' });
    expect(await inTime(near.jobs.waitFor(job?.id ?? '', 'one', { timeoutMs: DAY_MS }))).to.include({
      state: 'completed',
      result: 'ran',
    });
    expect(runs).to.deep.equal(['before', 'claimed']);
  });
});
