/** Responses in the background over HTTP. */

import { expect } from 'chai';
import { type Clock, GatewayError, systemClock, type TextReply } from 'mediagate';
import type { UsageEntry } from '../../../server/usage/usage-log.js';
import { describeOnStacks } from '../../support/databases/stacks.js';
import { startTextUpstream, type TextUpstream } from '../../support/models/text-upstream.js';
import { onceIt } from '../../support/runner/variants.js';
import { untilDayHasRoom } from '../../support/same-day.js';
import { until } from '../../support/until.js';
import { untilAborted } from '../../support/until-aborted.js';
import type { ListeningApp } from '../http/listening-app.js';
import { post, startScriptedApp, startUpstreamApp } from './text-app.js';

const RESPONSES = '/v1/responses';
const ACCOUNT = 'local';
const QUESTION = { model: 'm-5.5', input: 'Say something about Ostend.', background: true };
/** Longer than what is reserved where no limit is given. */
const LONG = { does: 'answer', text: 'Ostend is by the sea. '.repeat(500) } as const;
/** No look comes in a test. */
const NEVER_MS = 3_600_000;

const today = () => new Date().toISOString().slice(0, 10);

describeOnStacks('responses in the background over HTTP', (stack) => {
  const once = onceIt(stack);
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
      const all = await app.state.usage.entries({ from: today(), to: today() }, 100);
      const [only, ...more] = all.filter(({ keyId }) => key.includes(keyId));
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

  it('are stored before the client has the id, and counted when it polls their end', async () => {
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

  once('are counted without a poll of the client, however often they are polled', async () => {
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

  once('are counted when they are deleted before their end was polled', async () => {
    await start();
    const { json: made } = await post(app, RESPONSES, key, QUESTION);
    upstream.endBackground('completed');
    expect((await ask(made.id, 'DELETE')).json).to.include({ deleted: true });
    await isReal();
  });

  once('stay counted by an estimate if the end has no usage, or they are gone', async () => {
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

  once('stay counted by an estimate if they run for more than a day', async () => {
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

  it('are all counted, however many there are', async () => {
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

  once('are counted by their stream, and by polls if it ends early', async () => {
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

  once('are counted by a resumed stream', async () => {
    await start();
    const { json: made } = await post(app, RESPONSES, key, QUESTION);
    const resumed = await ask(`${made.id}?stream=true&starting_after=2`);
    expect(resumed.text).to.include('response.completed');
    await isReal();
  });
});

describe('responses in the background, of a scripted upstream', () => {
  let app: ListeningApp;
  let made = 0;
  /** What the next look gets, by the response that is asked for. */
  let look: (id: string, signal: AbortSignal) => TextReply;
  afterEach(() => app.close());

  const USED = { input_tokens: 11, output_tokens: 7_000, total_tokens: 7_011 };
  const OPEN = { object: 'response', status: 'in_progress', output: [] };

  function reply(body: AsyncIterable<Uint8Array>, status = 200): TextReply {
    return {
      status,
      headers: { 'content-type': 'application/json' },
      body,
      upstream: 'first',
      upstreamModel: 'vendor/secret-name',
    };
  }
  async function* bytesOf(text: string): AsyncGenerator<Uint8Array> {
    yield Buffer.from(text);
  }
  const telling = (value: object) => reply(bytesOf(JSON.stringify(value)));
  const ended = (id: string) => telling({ ...OPEN, id, status: 'completed', usage: USED });
  /** A body that goes on with nothing until it is given up. */
  async function* silent(signal: AbortSignal): AsyncGenerator<Uint8Array> {
    yield Buffer.from('{"id":');
    await untilAborted(signal);
  }

  async function start(count: number, clock?: Clock): Promise<void> {
    made = 0;
    app = await startScriptedApp(
      () => ({
        contentType: 'application/json',
        pieces: [Buffer.from(JSON.stringify({ ...OPEN, id: `resp_${++made}`, status: 'queued' }))],
      }),
      { stored: async ({ responseId, signal }) => look(responseId, signal) },
      { backgroundMs: 50, ...(clock && { clock }) },
    );
    const key = await app.makeKey({ grants: ['text'] });
    for (let at = 0; at < count; at += 1) await post(app, RESPONSES, key, QUESTION);
  }

  async function entries(): Promise<readonly UsageEntry[]> {
    await app.state.admissions.flush();
    const dates = { from: '2000-01-01', to: '2999-12-31' };
    return app.state.usage.entries(dates, 100);
  }

  it('are polled again after every kind of failure', async () => {
    const failures = [
      new GatewayError('upstream_unavailable', 'Not now.'),
      new GatewayError('upstream_error', 'It failed.'),
      new GatewayError('upstream_timeout', 'Too late.'),
      new GatewayError('upstream_rate_limited', 'Slow down.', { retryAfterSeconds: 86_400 }),
      new Error('not even an error of ours'),
    ];
    let looks = 0;
    let openAfter = 0;
    look = (id) => {
      const failure = failures[looks++];
      if (failure) throw failure;
      // Neither is an answer that cannot be read the end of it.
      if (looks === failures.length + 1) return reply(bytesOf('<html>'));
      openAfter += 1;
      return openAfter === 1 ? telling({ ...OPEN, id }) : ended(id);
    };
    // Looks become rare: time goes by faster than the clock on the wall.
    let elapsed = 0;
    await start(1, { ...systemClock, now: () => systemClock.now() + elapsed });
    const [entry] = await until(async () => {
      elapsed += 1_000;
      const found = await entries();
      return found.some(({ estimated }) => !estimated) && found;
    });
    expect(entry).to.include({ outputTokens: 7_000, inputTokens: 11, estimated: false });
    expect(looks).to.equal(failures.length + 3);
    expect(app.log.some(({ message }) => message.includes('its estimated usage stays counted'))).to.equal(false);
  });

  it('end with an estimate if the upstream does not know them', async () => {
    look = () => {
      throw new GatewayError('response_not_found', 'There is no such response.');
    };
    await start(1);
    await until(async () => !(await app.state.backgroundResponses.isOpen('resp_1', ACCOUNT)));
    expect(await entries()).to.have.length(1);
    expect((await entries())[0]).to.include({ estimated: true, outputTokens: 1_024 });
  });

  it('stay open and estimated while they run, regardless of reported usage', async () => {
    let status = 'in_progress';
    let looks = 0;
    look = (id) => {
      looks += 1;
      const usage = status === 'completed' ? USED : { input_tokens: 11, output_tokens: 2_000, total_tokens: 2_011 };
      return telling({ ...OPEN, id, status, usage });
    };
    await start(1);
    await until(() => looks >= 2);
    await until(async () => (await entries())[0]?.outputTokens === 2_000);
    expect((await entries())[0]).to.include({ estimated: true });
    expect(await app.state.backgroundResponses.isOpen('resp_1', ACCOUNT)).to.equal(true);
    status = 'completed';
    const last = await until(async () => {
      const [only] = await entries();
      return only && !only.estimated && only;
    });
    expect(last).to.include({ inputTokens: 11, outputTokens: 7_000 });
    expect(await app.state.backgroundResponses.isOpen('resp_1', ACCOUNT)).to.equal(false);
  });

  it('do not delay others when they hang', async () => {
    // As many as are asked for at once.
    const hanging = new Set(['resp_1', 'resp_2', 'resp_3', 'resp_4']);
    const given = new Set<string>();
    look = (id, signal) => {
      if (!hanging.has(id)) return ended(id);
      signal.addEventListener('abort', () => given.add(id), { once: true });
      return reply(silent(signal));
    };
    await start(6);
    await until(async () => (await entries()).filter(({ estimated }) => !estimated).length === 2);
    await until(() => given.size === hanging.size);
    for (const id of hanging) expect(await app.state.backgroundResponses.isOpen(id, ACCOUNT)).to.equal(true);
    hanging.clear();
    await until(async () => (await entries()).every(({ estimated }) => !estimated));
  });
});
