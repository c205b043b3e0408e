/** Admissions during outages of the database. */

import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import Sqlite from 'better-sqlite3';
import { expect } from 'chai';
import type { State } from '../../../server/state.js';
import { createPlace, ListLogger, type Place } from '../../support/databases/engines.js';
import { ownPostgres } from '../../support/databases/postgres-outage.js';
import { budget, CHAT, settlement } from '../../support/models/model-requests.js';
import { rejection } from '../../support/rejection.js';
import { until } from '../../support/until.js';

const ALL = { from: '2025-01-01', to: '2100-01-01' };

async function requestsIn(state: State): Promise<number> {
  const totals = await state.usage.totals(ALL);
  return totals.reduce((sum, { requests }) => sum + requests, 0);
}

describe('admissions on a PostgreSQL that becomes unavailable', () => {
  const postgres = ownPostgres();

  it('refuse in time during the outage, then continue, and lose or duplicate nothing', async () => {
    const logger = new ListLogger();
    const nodes: State[] = [];
    for (let count = 0; count < 2; count += 1) nodes.push(await postgres.place.open({ logger, processLeaseMs: 3_000 }));
    const [node] = nodes as [State];
    const made = budget({ tokenLimit: 100_000_000 });
    await node.budgets.create(made);
    const refusals: unknown[] = [];
    let settled = 0;
    let over = false;
    async function ask(from: State, reserve: { budgetId: string; tokens: number } | undefined): Promise<void> {
      while (!over) {
        try {
          const { reservation } = await from.admissions.admit({ ...CHAT, ...(reserve && { reserve }) });
          await sleep(Math.random() * 20);
          from.admissions.settle(settlement({ reservation, at: Date.now() }));
          settled += 1;
        } catch (error) {
          refusals.push(error);
        }
        await sleep(2);
      }
    }
    const reserve = { budgetId: made.id, tokens: 500 };
    const asking = nodes.flatMap((from) => [undefined, reserve, reserve, reserve].map((each) => ask(from, each)));
    await sleep(200);
    for (let round = 0; round < 2; round += 1) {
      await postgres.restart({ awayMs: 700 });
      const before = settled;
      await until(() => settled >= before + 50);
    }
    over = true;
    await Promise.all(asking);
    for (const each of nodes) await each.admissions.flush();

    expect(refusals).not.to.deep.equal([]);
    for (const error of refusals) expect(error).to.include({ code: 'upstream_unavailable' });
    expect(await requestsIn(node)).to.equal(settled);
    expect(await node.usage.entries(ALL, 100_000)).to.have.length(settled);
    // What was committed although its caller was told otherwise is found and given back.
    await until(async () => (await node.budgets.find(made.id))?.tokensReserved === 0);
    const found = await node.budgets.find(made.id);
    expect(found?.tokensUsed).to.equal((found?.requestsUsed ?? 0) * 30);
    const said = logger.lines.filter(({ message }) => message === 'settlements of requests wait for the database');
    expect(said.length).to.be.within(1, 4);
  });
});

describe('admissions on a SQLite that another process holds', () => {
  let place: Place;

  beforeEach(async () => {
    place = await createPlace();
  });

  afterEach(() => place.remove());

  it('keep settlements, and add up the oldest if there are too many', async () => {
    const logger = new ListLogger();
    const state = await place.open({ logger });
    const made = budget({ tokenLimit: 1_000 });
    await state.budgets.create(made);
    const wish = { ...CHAT, reserve: { budgetId: made.id, tokens: 100 } };
    const { reservation } = await state.admissions.admit(wish);
    const other = new Sqlite(path.join(place.dataDir, 'state.sqlite'));
    other.exec('begin immediate');
    const refused = rejection(state.admissions.admit(wish));
    state.admissions.settle(settlement({ reservation }));
    const count = 120_000;
    for (let index = 0; index < count; index += 1) {
      const status = index % 2 === 0 ? 200 : 500;
      state.admissions.settle(settlement({ requestId: `${index}`, status, keyId: `key${index % 3}` }));
    }
    expect(await refused).to.include({ code: 'upstream_unavailable' });
    await until(() => logger.lines.some(({ message }) => message.startsWith('settlements')));
    other.exec('rollback');
    other.close();
    await state.admissions.flush();

    expect(await requestsIn(state)).to.equal(count + 1);
    const totals = await state.usage.totals(ALL);
    const sum = (member: 'inputTokens' | 'failed') => totals.reduce((all, each) => all + each[member], 0);
    expect(sum('inputTokens')).to.equal((count + 1) * 10);
    expect(sum('failed')).to.equal(count / 2);
    const entries = (await state.usage.entries(ALL, count * 2)).length;
    expect(entries).to.be.within(count / 2, count - 10_000);
    expect(await state.budgets.find(made.id)).to.include({ tokensReserved: 0, tokensUsed: 30, requestsUsed: 1 });
    const said = logger.lines.map(({ message }) => message).filter((message) => message.startsWith('settlements'));
    expect(said).to.deep.equal([
      'settlements of requests wait for the database',
      'settlements of requests are written again',
    ]);
  });

  it('report how many could not be written at the end, without waiting forever', async () => {
    const logger = new ListLogger();
    const state = await place.open({ logger });
    const other = new Sqlite(path.join(place.dataDir, 'state.sqlite'));
    other.exec('begin immediate');
    for (let index = 0; index < 5; index += 1) state.admissions.settle(settlement());
    await state.close();
    other.exec('rollback');
    other.close();
    const lost = logger.lines.find(
      ({ message }) => message === 'settlements of requests could not be written before shutdown',
    );
    expect(lost).to.deep.include({ level: 'error', fields: { count: 5 } });
  });
});
