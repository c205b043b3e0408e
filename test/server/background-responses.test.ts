import { expect } from 'chai';
import { type Clock, systemClock, type UsageEntry } from 'mediagate';
import { untilDayHasRoom } from '../support/same-day.js';
import { describeOnStacks } from '../support/stacks.js';
import { startTextUpstream, type TextUpstream } from '../support/text-upstream.js';
import { until } from '../support/until.js';
import type { ListeningApp } from './listening-app.js';
import { post, startUpstreamApp } from './text-app.js';

const RESPONSES = '/v1/responses';
const ACCOUNT = 'local';
const QUESTION = { model: 'm-5.5', input: 'Say something about Ostend.', background: true };
/** Longer than what is reserved where no limit is given. */
const LONG = { does: 'answer', text: 'Ostend is by the sea. '.repeat(2_000) } as const;
/** No look comes in a test. */
const NEVER_MS = 3_600_000;

const today = () => new Date().toISOString().slice(0, 10);

describeOnStacks('responses in the background over HTTP', (stack) => {
  let upstream: TextUpstream;
  let app: ListeningApp;
  let key: string;
  beforeEach(untilDayHasRoom);
  before(async () => {
    upstream = await startTextUpstream();
  });
  afterEach(() => app.close());
  after(() => upstream.close());

  async function start(backgroundMs = NEVER_MS, clock?: Clock): Promise<void> {
    upstream.reset();
    upstream.behave(() => LONG);
    app = await startUpstreamApp(upstream, { stack, backgroundMs, ...(clock && { clock }) });
    key = await app.makeKey({ grants: ['text'] });
  }

  const headers = () => ({ authorization: `Bearer ${key}` });
  const ask = (target: string, method = 'GET') => app.request(`${RESPONSES}/${target}`, { method, headers: headers() });

  /** The one entry, once it is as wanted. */
  function entry(wanted: (entry: UsageEntry) => boolean): Promise<UsageEntry> {
    return until(async () => {
      await app.state.admissions.flush();
      const [only, ...more] = await app.state.usage.entries({ from: today(), to: today() }, 100);
      expect(more).to.deep.equal([]);
      return only && wanted(only) && only;
    });
  }

  async function isReal(): Promise<void> {
    const { usage } = upstream.requests[0] ?? {};
    const found = await entry(({ estimated }) => !estimated);
    expect([found.inputTokens, found.outputTokens]).to.deep.equal([usage?.input, usage?.output]);
    expect(found.outputTokens).to.be.greaterThan(2_000);
    const [total] = await app.state.usage.totals({ from: today(), to: today() });
    expect(total).to.include({ requests: 1, estimated: 0, outputTokens: usage?.output });
  }

  const asksFor = () => upstream.requests.filter(({ method }) => method === 'GET').length;

  it('are written down before their client is told, and counted when it sees them ended', async () => {
    await start();
    const { json: made } = await post(app, RESPONSES, key, QUESTION);
    expect(made.status).to.equal('queued');
    expect(await app.state.backgroundResponses.isOpen(made.id, ACCOUNT)).to.equal(true);
    expect(await entry(() => true)).to.include({ estimated: true, outputTokens: 1_024, status: 200 });
    expect((await ask(made.id)).json.status).to.equal('in_progress');
    await entry(({ estimated }) => estimated);
    upstream.endBackground('completed');
    const seen = await Promise.all(Array.from({ length: 5 }, () => ask(made.id)));
    expect(seen.map(({ json }) => json.status)).to.deep.equal(Array(5).fill('completed'));
    await isReal();
  });

  it('are counted without their client, however often they have to be asked for', async () => {
    await start(50);
    await post(app, RESPONSES, key, QUESTION);
    await until(() => asksFor() >= 3);
    expect(await entry(() => true)).to.include({ estimated: true });
    upstream.endBackground('incomplete');
    await isReal();
    const asked = asksFor();
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect(asksFor()).to.equal(asked);
  });

  it('are counted when they are deleted before anybody saw their end', async () => {
    await start();
    const { json: made } = await post(app, RESPONSES, key, QUESTION);
    upstream.endBackground('completed');
    expect((await ask(made.id, 'DELETE')).json).to.include({ deleted: true });
    await isReal();
  });

  it('stay counted by an estimate where an end tells nothing, and where they are not there any more', async () => {
    for (const end of [() => upstream.endBackground('failed'), () => upstream.reset()]) {
      await start(50);
      const { json: made } = await post(app, RESPONSES, key, QUESTION);
      end();
      await until(async () => !(await app.state.backgroundResponses.isOpen(made.id, ACCOUNT)));
      expect(await entry(() => true)).to.include({ estimated: true, outputTokens: 1_024 });
      await app.close();
    }
    await start(50);
    const { json: made } = await post(app, RESPONSES, key, QUESTION);
    expect((await ask(`${made.id}/cancel`, 'POST')).json.status).to.equal('cancelled');
    await until(async () => !(await app.state.backgroundResponses.isOpen(made.id, ACCOUNT)));
    expect(await entry(() => true)).to.include({ estimated: true, outputTokens: 1_024 });
  });

  it('stay counted by an estimate where they do not end for a day', async () => {
    let elapsed = 0;
    await start(50, { ...systemClock, now: () => systemClock.now() + elapsed });
    const { json: made } = await post(app, RESPONSES, key, QUESTION);
    elapsed = 23 * 3_600_000;
    const asked = asksFor();
    await until(() => asksFor() >= asked + 2);
    expect(await app.state.backgroundResponses.isOpen(made.id, ACCOUNT)).to.equal(true);
    elapsed = 25 * 3_600_000;
    await until(async () => !(await app.state.backgroundResponses.isOpen(made.id, ACCOUNT)));
    expect(await entry(() => true)).to.include({ estimated: true, outputTokens: 1_024 });
    expect(app.log.some(({ message }) => message.includes('has not ended for a day'))).to.equal(true);
  });

  it('are counted however many there are at once', async () => {
    await start(50);
    const count = 40;
    await Promise.all(Array.from({ length: count }, () => post(app, RESPONSES, key, QUESTION)));
    upstream.endBackground('completed');
    const total = await until(async () => {
      await app.state.admissions.flush();
      const [only] = await app.state.usage.totals({ from: today(), to: today() });
      return only?.requests === count && only.estimated === 0 && only;
    });
    const output = upstream.requests.reduce((sum, { usage }) => sum + (usage?.output ?? 0), 0);
    expect(total).to.include({ outputTokens: output });
  });

  it('are counted by their stream, and by looks where that was left or broke off', async () => {
    await start();
    const whole = await post(app, RESPONSES, key, { ...QUESTION, stream: true });
    expect(whole.text).to.include('response.completed');
    await isReal();
    expect(await app.state.backgroundResponses.takeDue(9, { firstMs: 1, lastMs: 1 })).to.deep.equal([]);
    await app.close();

    for (const cut of [false, true]) {
      await start(50);
      upstream.behave(() => ({ ...LONG, ...(cut ? { cut: { events: 3 } } : { stall: { events: 3 } }) }));
      const left = new AbortController();
      const response = await fetch(app.url + RESPONSES, {
        method: 'POST',
        headers: { ...headers(), 'content-type': 'application/json' },
        body: JSON.stringify({ ...QUESTION, stream: true }),
        signal: left.signal,
      });
      await response.body?.getReader().read();
      // While it is still open: who is killed now leaves it to others.
      await entry(({ estimated, outputTokens }) => estimated && outputTokens === 1_024);
      left.abort();
      await until(() => asksFor() >= 2);
      upstream.endBackground('completed');
      await isReal();
      if (!cut) await app.close();
    }
  });

  it('are counted by a resumed stream', async () => {
    await start();
    const { json: made } = await post(app, RESPONSES, key, QUESTION);
    const resumed = await ask(`${made.id}?stream=true&starting_after=2`);
    expect(resumed.text).to.include('response.completed');
    await isReal();
  });
});
