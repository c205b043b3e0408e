/** The end of a revoked key and a suspended account. */

import { expect } from 'chai';
import type { EventSourceMessage } from 'eventsource-parser';
import type { UserRecord } from '../../../server/accounts/index.js';
import { newKey, signUp } from '../../support/accounts/people.js';
import { describeOnStacks } from '../../support/databases/stacks.js';
import { createDarkroom, inventedModel } from '../../support/images/invented-image.js';
import { type ReadEvents, readEvents } from '../../support/models/event-reading.js';
import { type ScriptedText, scriptedText } from '../../support/models/scripted-text.js';
import { onceIt } from '../../support/runner/variants.js';
import { until } from '../../support/until.js';
import { type Answer, type ListeningApp, startApp } from '../http/listening-app.js';
import { type ImageClient, imageClient, PROMPT } from '../images/client.js';
import { CHAT, post } from '../models/text-app.js';

/** What is promised: a node reads of an end within two seconds, and streams end at once then. */
const WITHIN_MS = 5_000;
const ROUTES = [
  ['/v1/chat/completions', CHAT],
  ['/v1/responses', { model: 'm-5.5', input: 'Say something about Ostend.' }],
  ['/v1/messages', { ...CHAT, max_tokens: 100 }],
] as const;

// The state is changed as another node, or a command, changes it: this node learns of it by its own refresh.
describeOnStacks('a revoked key and a suspended account', (stack) => {
  const once = onceIt(stack);
  let app: ListeningApp;
  let user: UserRecord;
  let key: string;
  let client: ImageClient;
  let darkroom: ReturnType<typeof createDarkroom>;
  let model: ScriptedText;

  beforeEach(async () => {
    darkroom = createDarkroom();
    const chat = Buffer.from('data: {"choices":[{"index":0,"delta":{"content":"Ostend"}}]}\n\n');
    const response = Buffer.from(
      'event: response.output_text.delta\ndata: {"type":"response.output_text.delta","sequence_number":3,"item_id":"msg_1","output_index":0,"content_index":0,"delta":"Ostend"}\n\n',
    );
    model = scriptedText(({ route, stream }) =>
      stream
        ? { pieces: [route === 'responses' ? response : chat, 'stall'] }
        : { contentType: 'application/json', pieces: ['stall'] },
    );
    app = await startApp({
      stack,
      messages: true,
      imageDailyLimit: 100,
      gateway: {
        plugins: [{ use: inventedModel(darkroom.generate) }, { use: model.plugin, timeoutMs: 120_000 }],
        images: { workers: 1 },
      },
    });
    user = await signUp(app.state);
    key = await makeKey();
    client = imageClient(app, key);
  });
  afterEach(() => app.close());

  const makeKey = (accountId = user.accountId) => app.makeKey({ grants: ['images', 'text'] }, { accountId });
  const idOf = (text: string) => text.slice('sk-mg-'.length, 'sk-mg-'.length + 8);
  const suspend = () => app.state.users.suspend({ userId: user.id, actor: 'operator:test' });
  const revoke = (keepsJobs?: boolean, text = key) =>
    app.state.keys.revoke(idOf(text), Date.now(), undefined, keepsJobs);
  const stateOf = async (id: string, owner = user.accountId) => (await app.state.jobs.find(id, owner))?.state;
  const usedToday = (owner = user.accountId) => app.state.jobs.usedToday('image', owner);

  async function submit(count: number, from = client): Promise<string[]> {
    const ids: string[] = [];
    for (let index = 0; index < count; index += 1) {
      const { status, json, text } = await from.submit({ ...PROMPT, prompt: `A tug at dawn, number ${index}` });
      expect(status, text).to.equal(202);
      ids.push(json.id);
    }
    return ids;
  }

  /** Resolves with how the stream ended; it has sent something by then. */
  async function stream(path: string, body: object): Promise<{ ended: Promise<ReadEvents> }> {
    const answer = await fetch(app.url + path, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ ...body, stream: true }),
    });
    expect(answer.status).to.equal(200);
    const events: EventSourceMessage[] = [];
    const ended = readEvents(answer, events);
    await until(() => events.length > 0);
    return { ended };
  }

  async function inTime<Result>(work: Promise<Result>): Promise<Result> {
    const startedAt = performance.now();
    const result = await work;
    expect(performance.now() - startedAt).to.be.lessThan(WITHIN_MS);
    return result;
  }

  it('cancel queued and running jobs of a suspended account, and return unused images', async () => {
    const stranger = imageClient(app, await makeKey('acct_other'));
    const second = imageClient(app, await makeKey());
    const [running = '', ...queued] = await submit(4);
    queued.push(...(await submit(2, second)));
    const [strange = ''] = await submit(1, stranger);
    const hooked = await app.gateway.images.submit({
      ...PROMPT,
      ...({ size: 'auto', references: [], options: {}, delivery: 'url' } as const),
      owner: user.accountId,
      webhookUrl: 'https://hooks.example/',
    });
    if (!('job' in hooked)) throw new Error('not accepted');
    await darkroom.asked(1);
    expect(await usedToday()).to.equal(6);

    expect(await suspend()).to.equal(true);
    for (const id of [running, ...queued, hooked.job.id]) expect(await stateOf(id)).to.equal('cancelled');
    // The upstream was asked for the first one, and bills it.
    expect(await usedToday()).to.equal(1);
    expect(await app.state.webhooks.waiting()).to.equal(1);
    await inTime(until(() => darkroom.calls[0]?.signal.aborted));
    // The worker is free for others.
    await darkroom.asked(2);
    await darkroom.develop(new Error('of the first job'));
    await darkroom.develop();
    await until(async () => (await stateOf(strange, 'acct_other')) === 'completed');
    expect(darkroom.calls).to.have.length(2);
    expect(await suspend()).to.equal(false);
  });

  once('cancel queued jobs of a revoked key, and no others of its account', async () => {
    const other = await makeKey();
    await submit(1, imageClient(app, await makeKey('acct_other')));
    await darkroom.asked(1);
    const mine = await submit(3);
    const kept = await submit(2, imageClient(app, other));
    expect(await revoke()).to.equal(true);
    for (const id of mine) expect(await stateOf(id)).to.equal('cancelled');
    for (const id of kept) expect(await stateOf(id)).to.equal('queued');
    expect(await usedToday()).to.equal(2);
    expect(await revoke()).to.equal(false);
  });

  once('leave jobs to the account if the key is revoked with that option, or was rotated', async () => {
    await submit(1, imageClient(app, await makeKey('acct_other')));
    await darkroom.asked(1);
    const mine = await submit(2);
    expect(await revoke(true)).to.equal(true);
    const rotated = await makeKey();
    const more = await submit(2, imageClient(app, rotated));
    const { name: _name, ...successor } = newKey();
    await app.state.keys.rotate({ accountId: user.accountId, id: idOf(rotated), successor, overlapMs: 0 });
    await app.keys.refresh();
    for (const id of [...mine, ...more]) expect(await stateOf(id)).to.equal('queued');
    expect(await usedToday()).to.equal(4);

    await suspend();
    for (const id of [...mine, ...more]) expect(await stateOf(id)).to.equal('cancelled');
  });

  it('cancel jobs that a node accepts before it knows of the end', async () => {
    await submit(1, imageClient(app, await makeKey('acct_other')));
    await darkroom.asked(1);
    await submit(1);
    await app.keys.refresh();
    await revoke();
    const late: Answer[] = [];
    for (let count = 0; count < 3; count += 1) late.push(await client.submit({ ...PROMPT, prompt: `Late ${count}` }));
    const accepted = late.filter(({ status }) => status === 202);
    expect(accepted).not.to.have.length(0);
    const isOver = async ({ json }: Answer) => (await stateOf(json.id)) === 'cancelled';
    await inTime(until(async () => (await Promise.all(accepted.map(isOver))).every(Boolean)));
    expect(await usedToday()).to.equal(0);
  });

  for (const [end, code, act] of [
    ['suspended', 'account_suspended', suspend],
    ['revoked', 'revoked_api_key', revoke],
  ] as const) {
    once(`end streams of models with an error event, and abort their upstreams: ${end}`, async () => {
      const open: { ended: Promise<ReadEvents> }[] = [];
      for (const [path, body] of ROUTES) open.push(await stream(path, body));
      const whole = post(app, ROUTES[0][0], key, CHAT);
      await until(() => model.calls.length === ROUTES.length + 1);
      await act();
      const [chat, response, message] = await inTime(Promise.all(open.map(({ ended }) => ended)));
      for (const { broken } of [chat!, response!, message!]) expect(broken).to.equal(undefined);
      const [failure, done] = chat!.events.slice(-2);
      expect([JSON.parse(failure!.data).error.code, done?.data]).to.deep.equal([code, '[DONE]']);
      const failed = response!.events.at(-1)!;
      expect(failed.event).to.equal('response.failed');
      expect(JSON.parse(failed.data).response).to.deep.include({ status: 'failed' });
      expect(JSON.parse(failed.data).response.error.code).to.equal(code);
      const error = message!.events.at(-1)!;
      expect([error.event, JSON.parse(error.data).error.type]).to.deep.equal([
        'error',
        code === 'revoked_api_key' ? 'authentication_error' : 'permission_error',
      ]);
      const { status, json } = await inTime(whole);
      expect([status, json.error.code]).to.deep.equal([code === 'revoked_api_key' ? 401 : 403, code]);
      for (const { signal } of model.calls) expect(signal.aborted).to.equal(true);
      // What the upstreams have done is counted.
      await until(async () => {
        await app.state.admissions.flush();
        const day = new Date().toISOString().slice(0, 10);
        const entries = await app.state.usage.entries({ from: day, to: day }, 100);
        return entries.length === 4 && entries.every(({ inputTokens }) => (inputTokens ?? 0) > 0);
      });
    });
  }

  once('end events of a job, and requests that wait for it', async () => {
    const [id = ''] = await submit(1);
    await darkroom.asked(1);
    const authorization = `Bearer ${key}`;
    const events = fetch(`${app.url}/v1/images/jobs/${id}/events`, { headers: { authorization } }).then((answer) =>
      readEvents(answer),
    );
    const polled = client.poll(id, '?wait=60');
    const generated = client.generate({ ...PROMPT, prompt: 'Another' });
    await until(async () => (await app.state.jobs.counts()).image.queued === 1);
    await revoke(true);
    const told = await inTime(events);
    expect(told.broken).to.equal(undefined);
    expect([told.events.at(-1)?.event, JSON.parse(told.events.at(-1)!.data).error.code]).to.deep.equal([
      'error',
      'revoked_api_key',
    ]);
    for (const { status, json } of await inTime(Promise.all([polled, generated]))) {
      expect([status, json.error.code]).to.deep.equal([401, 'revoked_api_key']);
    }
    expect(await stateOf(id)).to.equal('running');
  });
});
