/** Incidents and the history of states in the database. */

import { expect } from 'chai';
import type { State } from '../../../server/state.js';
import { CELL_MS, CELLS, type IncidentState, stateOfIncident } from '../../../server/status/index.js';
import { codeOf } from '../../support/code-of.js';
import { engines, type Place } from '../../support/databases/engines.js';

const ACTOR = 'operator:ann';
const SLOT_MS = 5 * 60_000;
const NOW = Date.parse('2026-11-29T10:44:00Z');

for (const engine of engines) {
  describe(`status on ${engine.name}`, () => {
    let place: Place;
    let state: State;

    before(async function () {
      place = await engine.reusedPlace(this);
      state = await place.open();
    });
    after(() => place?.remove());

    it('keeps incidents open until they are closed, once, with both in the audit log', async () => {
      const { incidents } = state;
      const wanted = {
        title: ' Images are slow ',
        kind: 'degraded',
        message: null,
        startedAt: NOW,
        actor: ACTOR,
      } as const;
      const { id } = await incidents.add(wanted);
      const [open] = await incidents.list({ since: NOW + 1e12, limit: 10 });
      expect(open).to.deep.equal({
        ...{ id, kind: 'degraded', title: 'Images are slow', message: null, outcome: null },
        ...{ startedAt: NOW, endedAt: null, updates: [] },
      });
      const closed = await incidents.close(id, { outcome: 'Solved.', actor: ACTOR });
      expect(closed).to.include({ id, outcome: 'Solved.' });
      expect(await incidents.close(id, { outcome: 'Again.', actor: ACTOR })).to.deep.equal(closed);
      expect(await incidents.close('inc_00000000', { outcome: null, actor: ACTOR })).to.equal(undefined);
      const audit = await state.audit.list({ subject: id, limit: 10 });
      expect(audit.map(({ action, actor, note }) => [action, actor, note])).to.deep.equal([
        ['incident.closed', ACTOR, 'Solved.'],
        ['incident.added', ACTOR, 'Images are slow'],
      ]);
      expect(await incidents.list({ since: Date.now() + 60_000, limit: 10 })).to.deep.equal([]);
    });

    it('posts updates of open incidents, of which the last may end them, and renames', async () => {
      const { incidents } = state;
      const begun = { title: 'Slow', kind: 'degraded', message: 'Wait.', startedAt: NOW, actor: ACTOR } as const;
      const { id } = await incidents.add(begun);
      const post = (known: IncidentState | null, text: string) =>
        incidents.update(id, { state: known, text, actor: ACTOR });
      const find = async () => (await incidents.list({ since: NOW, limit: 10 })).find((one) => one.id === id);
      const added = await find();
      expect(added && stateOfIncident(added)).to.equal('investigating');
      await post('identified', ' A disk. ');
      const second = await post(null, 'Ordered.');
      expect(second?.updates.map(({ state: known, text }) => [known, text])).to.deep.equal([
        [null, 'Ordered.'],
        ['identified', 'A disk.'],
      ]);
      expect(second && stateOfIncident(second)).to.equal('identified');
      expect((await incidents.rename(id, { title: 'Very slow', actor: ACTOR }))?.title).to.equal('Very slow');
      const ended = await post('resolved', 'Replaced.');
      expect(ended).to.include({ outcome: 'Replaced.', title: 'Very slow' });
      expect(ended && stateOfIncident(ended)).to.equal('resolved');
      expect(await find()).to.deep.equal(ended);
      expect(await codeOf(post(null, 'Once more.'))).to.equal('invalid_value');
      expect(await incidents.update('inc_00000000', { state: null, text: 'x', actor: ACTOR })).to.equal(undefined);
      expect(await incidents.rename('inc_00000000', { title: 'x', actor: ACTOR })).to.equal(undefined);
      for (const text of [' ', 'a'.repeat(2_001), 'a\0b'])
        expect(await codeOf(post(null, text))).to.equal('invalid_value');
      const audit = await state.audit.list({ subject: id, limit: 10 });
      expect(audit.map(({ action, from, to, note }) => [action, from, to, note])).to.deep.equal([
        ['incident.closed', null, null, 'Replaced.'],
        ['incident.renamed', 'Slow', 'Very slow', null],
        ['incident.updated', null, null, 'Ordered.'],
        ['incident.updated', null, 'identified', 'A disk.'],
        ['incident.added', null, 'degraded', 'Slow'],
      ]);
      expect(await incidents.titlesOf([id, 'inc_00000000'])).to.deep.equal(new Map([[id, 'Very slow']]));
    });

    it('numbers updates of one incident that come at once, and refuses more than it may have', async () => {
      const { incidents } = state;
      const begun = { title: 'Busy', kind: 'outage', message: null, startedAt: NOW, actor: ACTOR } as const;
      const { id } = await incidents.add(begun);
      const post = (index: number) => incidents.update(id, { state: null, text: `No. ${index}`, actor: ACTOR });
      await Promise.all(Array.from({ length: 50 }, (_, index) => post(index)));
      expect(await codeOf(post(50))).to.equal('invalid_value');
      const audit = await state.audit.list({ subject: id, limit: 100 });
      expect(audit.map(({ number }) => number)).to.deep.equal(Array.from({ length: 51 }, (_, index) => 51 - index));
    });

    it('refuses texts that are empty, too long, or cannot be stored', async () => {
      const add = (change: { title?: string; message?: string }) =>
        state.incidents.add({ title: 'x', message: null, kind: 'outage', startedAt: 0, actor: ACTOR, ...change });
      for (const change of [
        { title: ' ' },
        { title: 'a'.repeat(201) },
        { title: 'a\0b' },
        { message: 'a'.repeat(2_001) },
      ]) {
        expect(await codeOf(add(change))).to.equal('invalid_value');
      }
    });

    it('remembers the worst state of five minutes, from several processes at once', async () => {
      const { statusHistory: history } = state;
      const states = ['ok', 'down', 'degraded', 'ok'] as const;
      await Promise.all(
        states.map((one) =>
          history.record(
            [
              { id: 'database', state: one },
              { id: 'jobs', state: 'ok' },
            ],
            NOW,
          ),
        ),
      );
      await history.record([{ id: 'database', state: 'ok' }], NOW - SLOT_MS);
      const cells = await history.read(NOW);
      const cell = Math.floor(NOW / CELL_MS);
      expect(cells.get('database')).to.deep.equal([{ part: 'database', cell, state: 'down', noted: 2, fine: 1 }]);
      expect(cells.get('jobs')).to.deep.equal([{ part: 'jobs', cell, state: 'ok', noted: 1, fine: 1 }]);
    });

    it('forgets what is older than the spans of a day', async () => {
      const { statusHistory: history } = state;
      const later = NOW + CELLS * CELL_MS;
      await history.record([{ id: 'gateway', state: 'ok' }], later);
      expect([...(await history.read(NOW)).keys()]).to.deep.equal(['gateway']);
      expect([...(await history.read(later)).keys()]).to.deep.equal(['gateway']);
    });
  });
}
