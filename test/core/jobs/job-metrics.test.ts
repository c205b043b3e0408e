/** Metrics and log lines of jobs. */

import { expect } from 'chai';
import type { Meter } from '../../../core/contracts/services.js';
import { GatewayError } from '../../../core/runtime/errors.js';
import type { State } from '../../../server/state.js';
import { engines, ListLogger, type Place } from '../../support/databases/engines.js';
import { ownPostgres } from '../../support/databases/postgres-outage.js';
import { until } from '../../support/until.js';
import { untilAborted } from '../../support/until-aborted.js';

const kind = 'extraction' as const;

interface Told {
  event: keyof Meter;
  kind?: string;
  outcome?: string;
  code?: string;
  attempt?: number;
  jobs?: number;
  waitedMs?: number;
}

/** Keeps what it is told. */
function recordingMeter(): { meter: Meter; told: readonly Told[]; of(event: keyof Meter): Told[] } {
  const told: Told[] = [];
  const record = (event: keyof Meter) => (fields: object) => void told.push({ event, ...fields });
  const meter: Meter = {
    jobsAccepted: record('jobsAccepted'),
    jobBegun: record('jobBegun'),
    jobRunEnded: record('jobRunEnded'),
    leaseLost: record('leaseLost'),
    jobCutOff: record('jobCutOff'),
    upstreamAnswered: record('upstreamAnswered'),
    extractionAnswered: record('extractionAnswered'),
  };
  return { meter, told, of: (event) => told.filter((one) => one.event === event) };
}

const jobOf = (input: string) => ({ kind, owner: 'one', requestId: `req_${input}`, input, maxActive: 100 });

for (const engine of engines) {
  describe(`metrics and log lines of jobs, ${engine.name}`, () => {
    let place: Place;
    let state: State;
    let logger: ListLogger;
    let figures: ReturnType<typeof recordingMeter>;

    before(async function () {
      place = await engine.reusedPlace(this);
    });
    after(() => place?.remove());
    beforeEach(async () => {
      figures = recordingMeter();
      logger = new ListLogger();
      state = await place.open({ logger, meter: figures.meter });
    });
    afterEach(() => state.close());

    const ends = () => figures.of('jobRunEnded').map(({ outcome, code }) => [outcome, code]);

    it('count each acceptance, each run and its outcome', async () => {
      const { job } = await state.jobs.accept({ job: jobOf('good') });
      await state.jobs.accept({ job: jobOf('bad') });
      expect(figures.of('jobsAccepted').reduce((sum, { jobs = 0 }) => sum + jobs, 0)).to.equal(2);
      const counted = await state.jobs.counts();
      expect(counted.extraction).to.include({ queued: 2, running: 0 });
      expect(counted.extraction.oldestQueuedMs).to.be.at.least(0);
      expect(counted.image).to.deep.equal({ queued: 0, running: 0, oldestQueuedMs: 0 });
      state.jobs.work({
        kind,
        concurrency: 1,
        async run({ input }) {
          if (input === 'bad') throw new GatewayError('removed', 'It is gone.');
          return input;
        },
      });
      await until(() => ends().length === 2);
      expect(ends()).to.deep.equal([
        ['completed', undefined],
        ['failed', 'removed'],
      ]);
      expect(figures.of('jobBegun').map(({ attempt, waitedMs = -1 }) => [attempt, waitedMs >= 0])).to.deep.equal([
        [1, true],
        [1, true],
      ]);
      expect((await state.jobs.find(job?.id ?? '', 'one'))?.state).to.equal('completed');
    });

    it('separate cancelled from returned runs, and second from first attempts', async () => {
      const { job: cancelled } = await state.jobs.accept({ job: jobOf('cancelled') });
      const { job: given } = await state.jobs.accept({ job: jobOf('given back') });
      const workers = state.jobs.work({ kind, concurrency: 2, run: (_job, signal) => untilAborted(signal) });
      await until(() => figures.of('jobBegun').length === 2);
      await state.jobs.cancel(cancelled?.id ?? '', 'one');
      await until(() => ends().length === 1);
      await workers.stop();
      expect(ends()).to.deep.equal([
        ['cancelled', undefined],
        ['given_back', undefined],
      ]);
      state.jobs.work({ kind, concurrency: 1, run: async () => 'done' });
      await state.jobs.waitFor(given?.id ?? '', 'one', { timeoutMs: 10_000 });
      await until(() => ends().length === 3);
      expect(figures.of('jobBegun').at(-1)).to.include({ attempt: 2, waitedMs: undefined });
    });

    it('name the request that accepted a job', async () => {
      const { job } = await state.jobs.accept({ job: jobOf('late') });
      let end: () => void = () => undefined;
      state.jobs.work({
        kind,
        concurrency: 1,
        // Deaf to its signal: what it brings is refused.
        run: () => new Promise((resolve) => (end = () => resolve('too late'))),
      });
      await until(() => figures.of('jobBegun').length === 1);
      await state.jobs.cancel(job?.id ?? '', 'one');
      end();
      const line = await until(() => logger.lines.find(({ message }) => message.includes('this result is refused')));
      expect(line.fields).to.deep.equal({ jobId: job?.id, requestId: 'req_late', attempt: 1 });
    });
  });
}

describe('metrics of jobs with a lost lease', () => {
  const postgres = ownPostgres();

  it('count it, in a log line with the request id', async () => {
    const { meter, of } = recordingMeter();
    const logger = new ListLogger();
    const node = await postgres.place.open({ logger, meter, processLeaseMs: 600 });
    const { job } = await node.jobs.accept({ job: jobOf('lost') });
    let runs = 0;
    node.jobs.work({
      kind,
      concurrency: 1,
      run(_job, signal) {
        runs += 1;
        if (runs > 1) return Promise.resolve('done');
        return untilAborted(signal);
      },
    });
    await until(() => runs === 1);
    await postgres.restart({ awayMs: 1_500 });
    await until(() => of('leaseLost').length === 1);
    const line = logger.lines.find(({ message }) => message.includes('lost its lease'));
    expect(line?.fields).to.deep.equal({ jobId: job?.id, requestId: 'req_lost', attempt: 1 });
    await until(() => runs === 2);
    await until(() => of('jobRunEnded').some(({ outcome }) => outcome === 'completed'));
  });
});
