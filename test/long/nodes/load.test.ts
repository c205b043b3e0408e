/** Nodes under load, and their rolling restart. */

import { expect } from 'chai';
import { restartUnderLoad } from '../../chaos/rolling-restart.js';
import { runSharedLimitChaos } from '../../chaos/shared-limits.js';
import { type Place, postgresEngine } from '../../support/databases/engines.js';

describe('nodes under load', () => {
  let place: Place;

  beforeEach(async function () {
    place = await postgresEngine.place(this);
  });
  afterEach(() => place?.remove());

  it('accept exactly 15 of 200 simultaneous requests to two of them, for every kind of limit', async () => {
    const reports = await runSharedLimitChaos({ databaseUrl: place.databaseUrl ?? '', rounds: 1 });
    for (const report of reports) expect(report).to.include({ exact: 1, fewest: 15, most: 15 });
    expect(reports).to.have.length(6);
  });

  it('restart one after the other without a failed request, a cut stream or a lost job', async () => {
    const report = await restartUnderLoad({
      databaseUrl: place.databaseUrl ?? '',
      apiNodes: 2,
      workerNodes: 1,
      rounds: 1,
      requestsPerSecond: 30,
      streams: 4,
      streamMs: 2_000,
      environment: { DRAIN_SECONDS: '2' },
    });
    expect(report).to.deep.include({ restarts: 3, badExits: 0, failed: {}, cutStreams: 0, lostJobs: 0 });
    expect(report.streams).to.be.above(0);
    expect(report.jobs).to.be.above(0);
  }).timeout(180_000);
});
