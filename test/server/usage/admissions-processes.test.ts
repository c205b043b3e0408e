/** Admissions over processes that are killed. */

import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { engines, type Place } from '../../support/databases/engines.js';
import { budget, CHAT, settlement } from '../../support/models/model-requests.js';
import { until } from '../../support/until.js';
import type { Admitting } from './admitter.js';

const script = fileURLToPath(new URL('admitter.js', import.meta.url));

interface Admitter {
  child: ChildProcessByStdio<Writable, Readable, null>;
  /** Lines so far. */
  said: string[];
}

for (const engine of engines) {
  describe(`admissions of several processes on ${engine.name}`, () => {
    let place: Place;
    const started: Admitter[] = [];

    beforeEach(async function () {
      place = await engine.place(this);
    });

    afterEach(async () => {
      for (const { child } of started.splice(0)) child.kill('SIGKILL');
      await place?.remove();
    });

    function start(admitting: Omit<Admitting, 'dataDir' | 'databaseUrl'>): Admitter {
      const { dataDir, databaseUrl } = place;
      const parameters = [script, JSON.stringify({ dataDir, databaseUrl, ...admitting })];
      const child = spawn(process.execPath, parameters, { stdio: ['pipe', 'pipe', 'inherit'] });
      const said: string[] = [];
      createInterface({ input: child.stdout }).on('line', (line) => said.push(line));
      const admitter = { child, said };
      started.push(admitter);
      return admitter;
    }

    const countOf = ({ said }: Admitter, line: string) => said.filter((each) => each === line).length;
    const done = (admitter: Admitter) => until(() => admitter.said.includes('done'), 20);

    it('admit exactly sixty of a hundred requests over two processes', async () => {
      const state = await place.open();
      const made = budget({ tokenLimit: 60 * 50 });
      await state.budgets.create(made);
      const nodes = [1, 2].map(() => start({ budgetId: made.id, tokens: 50, count: 50, settled: 0 }));
      for (const node of nodes) await done(node);
      const admitted = nodes.map((node) => countOf(node, 'admitted')).reduce((sum, count) => sum + count);
      expect(admitted).to.equal(60);
      expect(nodes.map((node) => countOf(node, 'refused')).reduce((sum, count) => sum + count)).to.equal(40);
      expect(await state.budgets.find(made.id)).to.include({ tokensReserved: 3_000, requestsUsed: 60 });
    });

    it('settle the reservations of a killed process once, as completely used', async () => {
      const before = await place.open();
      const made = budget({ tokenLimit: 1_000_000 });
      await before.budgets.create(made);
      const live = await before.admissions.admit({ ...CHAT, reserve: { budgetId: made.id, tokens: 7 } });
      const node = start({ budgetId: made.id, tokens: 100, count: 20, settled: 8 });
      await done(node);
      expect(countOf(node, 'admitted')).to.equal(20);
      expect(await before.budgets.find(made.id)).to.include({ tokensReserved: 1_207, tokensUsed: 240 });
      const exited = once(node.child, 'exit');
      node.child.kill('SIGKILL');
      await exited;

      // Several come after it at once.
      const [after] = await Promise.all([place.open(), place.open(), place.open()]);
      await until(async () => (await after.budgets.find(made.id))?.tokensReserved === 7);
      // 8 of 30 tokens each that were told, 12 of 100 each that were not.
      expect(await after.budgets.find(made.id)).to.include({ tokensUsed: 1_440, requestsUsed: 21 });
      const today = new Date().toISOString().slice(0, 10);
      const totals = await after.usage.totals({ from: '2026-01-01', to: today });
      const sum = (member: 'requests' | 'estimated' | 'failed') => totals.reduce((all, each) => all + each[member], 0);
      expect([sum('requests'), sum('estimated'), sum('failed')]).to.deep.equal([20, 12, 12]);

      before.admissions.settle(settlement({ reservation: live.reservation, usage: { totalTokens: 5 } }));
      await before.admissions.flush();
      expect(await after.budgets.find(made.id)).to.include({ tokensReserved: 0, tokensUsed: 1_445 });
    });

    it('settle the reservations of a silent process after its lease, and ignore its later changes', async () => {
      const silent = await place.open({ processLeaseMs: 1_000_000 });
      const made = budget({ tokenLimit: 1_000 });
      await silent.budgets.create(made);
      const { reservation } = await silent.admissions.admit({ ...CHAT, reserve: { budgetId: made.id, tokens: 100 } });
      const watching = await place.open({ processLeaseMs: 2_000 });
      const lively = await place.open({ processLeaseMs: 2_000 });
      const kept = await lively.admissions.admit({ ...CHAT, reserve: { budgetId: made.id, tokens: 10 } });
      await until(async () => (await watching.budgets.find(made.id))?.tokensReserved === 10);
      silent.admissions.settle(settlement({ reservation, usage: { totalTokens: 3 } }));
      await silent.admissions.flush();
      const left = { tokensUsed: 100, requestsUsed: 2, tokensReserved: 10 };
      expect(await watching.budgets.find(made.id)).to.include(left);
      // With its next heartbeat it finds that it was declared dead, and goes on under a new id.
      const firstId = silent.instances.id;
      await silent.instances.beat();
      expect(silent.instances.id).not.to.equal(firstId);
      const next = await silent.admissions.admit({ ...CHAT, reserve: { budgetId: made.id, tokens: 100 } });
      for (const [node, held] of [
        [silent, next],
        [lively, kept],
      ] as const) {
        node.admissions.settle(settlement({ reservation: held.reservation, usage: { totalTokens: 1 } }));
        await node.admissions.flush();
      }
      expect(await watching.budgets.find(made.id)).to.include({ tokensUsed: 102, tokensReserved: 0 });
    });
  });
}
