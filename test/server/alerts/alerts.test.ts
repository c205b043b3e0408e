/** The state of alerts: they open once, close when they are quiet, repeat daily, and are acknowledged. */

import { expect } from 'chai';
import type { Alerts, Condition } from '../../../server/alerts/index.js';
import { openState, type State } from '../../../server/state.js';
import { engines, ListLogger, ManualClock, type Place } from '../../support/databases/engines.js';
import { budget, CHAT, settlement } from '../../support/models/model-requests.js';

const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;
const DISK: Condition = { kind: 'disk_low', subject: 'node-1', detail: { percent: 4 } };
const PROBE: Condition = { kind: 'probe_failed', subject: 'vidsite', detail: { failed: 2 } };
const CHANNELS = { channels: ['webhook', 'email'] as const };

for (const engine of engines) {
  describe(`alerts on ${engine.name}`, () => {
    let place: Place;
    let clock: ManualClock;
    let state: State;
    let alerts: Alerts;

    beforeEach(async function () {
      place = await engine.reusedPlace(this);
      clock = new ManualClock(Date.UTC(2026, 5, 15, 12));
      state = await place.open({ clock, rateLimitClock: clock });
      alerts = state.alerts;
    });
    afterEach(() => place?.remove());

    const active = () => alerts.list({ state: 'active', limit: 50 });
    const messages = async () => {
      const due = await alerts.takeDue({ max: 50, leaseMs: MINUTE_MS });
      for (const one of due) await alerts.finish(one);
      return due.map(({ event, channel, alert }) => `${event} ${channel} ${alert.kind}`).sort();
    };

    it('open once, whichever process notes them, with one message for each channel', async () => {
      const other = await place.open({ clock, rateLimitClock: clock });
      const noted = await Promise.all(
        Array.from({ length: 8 }, (_, index) => (index % 2 === 0 ? state : other).alerts.note([DISK, PROBE], CHANNELS)),
      );
      expect(noted.flat().map(({ kind }) => kind)).to.have.members(['disk_low', 'probe_failed']);
      clock.advance(MINUTE_MS);
      expect(await alerts.note([{ ...DISK, detail: { percent: 3 } }], CHANNELS)).to.deep.equal([]);
      const [disk] = (await active()).filter(({ kind }) => kind === 'disk_low');
      expect(disk).to.deep.include({ state: 'open', times: 1, detail: { percent: 3 }, seenAt: clock.now() });
      expect(disk?.openedAt).to.equal(clock.now() - MINUTE_MS);
      const of = (kind: string) => [`opened email ${kind}`, `opened webhook ${kind}`];
      expect(await messages()).to.deep.equal([...of('disk_low'), ...of('probe_failed')].sort());
      expect(await alerts.counts()).to.deep.equal([
        { kind: 'disk_low', open: 1, acknowledged: 0 },
        { kind: 'probe_failed', open: 1, acknowledged: 0 },
      ]);
    });

    it('close when no process has met the condition for ten minutes, and open again as the same', async () => {
      await alerts.note([DISK], CHANNELS);
      await messages();
      for (let minute = 0; minute < 30; minute += 1) {
        clock.advance(MINUTE_MS);
        // It comes and goes: one alert, no message.
        if (minute % 9 === 8) await alerts.note([DISK], CHANNELS);
        expect((await alerts.settle(CHANNELS)).closed, `minute ${minute}`).to.deep.equal([]);
      }
      expect(await messages()).to.deep.equal([]);
      clock.advance(10 * MINUTE_MS);
      const { closed } = await alerts.settle(CHANNELS);
      expect(closed.map(({ state, endedAt }) => [state, endedAt])).to.deep.equal([['closed', clock.now()]]);
      expect(await messages()).to.deep.equal(['closed email disk_low', 'closed webhook disk_low']);
      expect(await active()).to.deep.equal([]);
      clock.advance(DAY_MS);
      const [again] = await alerts.note([DISK], CHANNELS);
      expect(again).to.include({ id: closed[0]?.id, times: 2, state: 'open', endedAt: null, openedAt: clock.now() });
      expect(await messages()).to.deep.equal(['opened email disk_low', 'opened webhook disk_low']);
    });

    it('repeat after a day at most, and not once they are acknowledged', async () => {
      await alerts.note([DISK], { channels: ['webhook'] });
      const [{ id = '' } = {}] = await active();
      await messages();
      const found: string[] = [];
      const watch = async (hours: number) => {
        for (let hour = 0; hour < hours; hour += 1) {
          clock.advance(60 * MINUTE_MS);
          await alerts.note([DISK], { channels: ['webhook'] });
          await alerts.settle({ channels: ['webhook'] });
          found.push(...(await messages()));
        }
      };
      await watch(23);
      expect(found).to.deep.equal([]);
      await watch(25);
      expect(found).to.deep.equal(['repeated webhook disk_low', 'repeated webhook disk_low']);
      const by = { actor: 'operator:ann', note: 'a new disk comes tomorrow' };
      expect(await alerts.acknowledge(id, by)).to.include({ state: 'acknowledged', acknowledgedBy: 'operator:ann' });
      expect(await alerts.acknowledge(id, by)).to.include({ state: 'acknowledged' });
      expect(await alerts.acknowledge('alr_none', by)).to.equal(undefined);
      expect(await alerts.acknowledge('\0', by)).to.equal(undefined);
      const audit = await state.audit.list({ subject: id, limit: 5 });
      expect(audit.map(({ action, actor, note }) => [action, actor, note])).to.deep.equal([
        ['alert.acknowledged', by.actor, by.note],
      ]);
      await watch(50);
      expect(found).to.have.length(2);
      expect(await alerts.counts()).to.deep.equal([{ kind: 'disk_low', open: 0, acknowledged: 1 }]);
      clock.advance(11 * MINUTE_MS);
      await alerts.settle({ channels: ['webhook'] });
      await alerts.note([DISK], { channels: ['webhook'] });
      expect(await messages()).to.deep.equal(['closed webhook disk_low', 'opened webhook disk_low']);
      expect((await active())[0]).to.include({ state: 'open', acknowledgedAt: null, acknowledgedBy: null });
    });

    it('give the turn to one process at a time', async () => {
      const other = await place.open({ clock, rateLimitClock: clock });
      const turns = async () => {
        const taken = await Promise.all(
          [state, other, state, other].map((each) => each.alerts.takeTurn(MINUTE_MS - 1)),
        );
        return taken.filter((one) => one).length;
      };
      expect(await turns()).to.equal(1);
      expect(await turns()).to.equal(0);
      clock.advance(MINUTE_MS);
      expect(await turns()).to.equal(1);
    });

    it('are listed in pages, by state and kind, and forgotten after 90 days', async () => {
      for (let index = 0; index < 7; index += 1) {
        await alerts.note([{ ...PROBE, subject: `platform-${index}` }]);
        if (index % 2 === 0) clock.advance(1);
      }
      const found: string[] = [];
      for (let after: { at: number; id: string } | undefined; ; ) {
        const page = await alerts.list({ limit: 3, ...(after && { after }) });
        found.push(...page.map(({ id }) => id));
        const last = page.at(-1);
        if (!last || page.length < 3) break;
        after = { at: last.openedAt, id: last.id };
      }
      expect(new Set(found).size).to.equal(7);
      expect(await alerts.list({ kind: 'disk_low', limit: 3 })).to.deep.equal([]);
      clock.advance(11 * MINUTE_MS);
      await alerts.settle();
      expect(await alerts.list({ state: 'closed', limit: 50 })).to.have.length(7);
      clock.advance(91 * DAY_MS);
      await alerts.settle();
      expect(await alerts.list({ limit: 50 })).to.deep.equal([]);
    });

    it('find budgets of which 80 % and all is used, in their period alone', async () => {
      const made = budget({ scope: 'group', subject: 'research', planId: null, tokenLimit: 100, resets: 'day' });
      const ofPlan = budget({ tokenLimit: 10, accountId: 'acct_1' });
      for (const each of [made, ofPlan]) await state.budgets.create(each);
      const use = async (id: string, tokens: number) => {
        const reserve = { budgetId: null, furtherBudgets: [id], tokens };
        const { reservation } = await state.admissions.admit({ ...CHAT, reserve });
        state.admissions.settle(settlement({ reservation, usage: { totalTokens: tokens }, at: clock.now() }));
        await state.admissions.flush();
      };
      const found = async () =>
        (await state.budgets.nearlyUsed(10)).map(({ subject, percent, used, limit }) => [
          subject,
          percent,
          used,
          limit,
        ]);
      await use(made.id, 79);
      await use(ofPlan.id, 10);
      expect(await found()).to.deep.equal([]);
      await use(made.id, 1);
      expect(await found()).to.deep.equal([['research', 80, 80, 100]]);
      await use(made.id, 20);
      expect(await found()).to.deep.equal([
        ['research', 80, 100, 100],
        ['research', 100, 100, 100],
      ]);
      clock.advance(DAY_MS);
      expect(await state.budgets.nearlyUsed(10)).to.deep.equal([]);
    });
  });
}

describe('the SQL of alerts', () => {
  it('reads budgets by their own index', async function () {
    const [sqlite] = engines;
    const place = await sqlite!.reusedPlace(this);
    const { default: Sqlite } = await import('better-sqlite3');
    const { prepare } = Sqlite.prototype;
    const texts: string[] = [];
    Sqlite.prototype.prepare = function (this: InstanceType<typeof Sqlite>, text: string) {
      texts.push(text);
      return prepare.call(this, text);
    } as typeof prepare;
    const state = await openState({ dataDir: place.dataDir, clock: new ManualClock(), logger: new ListLogger() });
    texts.length = 0;
    await state.budgets.nearlyUsed(10);
    await state.alerts.list({ state: 'active', limit: 5 });
    await state.requestLog.latestFailures(0, 100);
    Sqlite.prototype.prepare = prepare;
    await state.close();
    const database = new Sqlite(`${place.dataDir}/state.sqlite`, { readonly: true });
    const plans = texts
      .filter((text) => /^\s*select/i.test(text))
      .map((text) => {
        const rows = database.prepare(`explain query plan ${text}`).all(...(text.match(/\?/g) ?? []).map(() => null));
        return (rows as { detail: string }[]).map(({ detail }) => detail).join('\n');
      });
    database.close();
    await place.remove();
    expect(plans.join('\n')).to.contain('budgets_shared').and.contain('alerts_active').and.contain('usage_entries_at');
  });
});
