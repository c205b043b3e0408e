/** Durable jobs while PostgreSQL is unavailable. */

import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import { isGatewayError } from '../../../core/runtime/errors.js';
import type { State } from '../../../server/state.js';
import { ListLogger } from '../../support/databases/engines.js';
import { ownPostgres } from '../../support/databases/postgres-outage.js';
import { until } from '../../support/until.js';

const kind = 'extraction' as const;

describe('durable jobs on a PostgreSQL that becomes unavailable', () => {
  const postgres = ownPostgres();

  it('are refused in time during the outage, then continue, and none is lost or doubled', async () => {
    const logger = new ListLogger();
    const nodes: State[] = [await postgres.place.open({ logger }), await postgres.place.open({ logger })];
    const runs = new Map<string, number>();
    const atOnce = new Map<string, number>();
    let overlapping = 0;
    for (const node of nodes) {
      node.jobs.work({
        kind,
        concurrency: 4,
        async run({ id }) {
          runs.set(id, (runs.get(id) ?? 0) + 1);
          const others = atOnce.get(id) ?? 0;
          if (others > 0) overlapping += 1;
          atOnce.set(id, others + 1);
          await sleep(20);
          atOnce.set(id, others);
          return 'done';
        },
      });
    }
    const accepted: string[] = [];
    const refusals: unknown[] = [];
    let over = false;
    async function submit(node: State): Promise<void> {
      while (!over) {
        const job = { kind, owner: 'one', dedupeKey: `${Math.random()}`, input: null, maxActive: 10_000 };
        await node.jobs.accept({ job }).then(
          ({ job: record }) => accepted.push(record?.id ?? ''),
          (error: unknown) => refusals.push(error),
        );
        await sleep(5);
      }
    }
    const submitting = nodes.map((node) => submit(node));
    await sleep(200);
    for (let round = 0; round < 2; round += 1) {
      await postgres.restart({ awayMs: 700 });
      const before = accepted.length;
      await until(() => accepted.length >= before + 10);
    }
    over = true;
    await Promise.all(submitting);

    expect(refusals).not.to.deep.equal([]);
    for (const error of refusals) {
      expect(isGatewayError(error) && error.code, String(error)).to.equal('upstream_unavailable');
    }
    const [node] = nodes as [State];
    for (const id of accepted) {
      const job = await until(async () => {
        const found = await node.jobs.find(id, 'one');
        return found?.state === 'completed' && found;
      });
      expect(job).to.include({ result: 'done' });
    }
    expect(overlapping).to.equal(0);
    // A claim whose answer was lost is found by its lease; such a job has begun no run yet, so none ran twice.
    expect([...runs.values()].filter((count) => count > 1)).to.deep.equal([]);
    const said = logger.lines.filter(({ message }) => message === 'background jobs wait for the database');
    expect(said.length).to.be.within(1, nodes.length);
  });
});
