/** Repeated image requests with one idempotency key. */

import { expect } from 'chai';
import { GatewayError } from 'mediagate';
import { describeOnStacks } from '../../support/databases/stacks.js';
import { createDarkroom } from '../../support/images/invented-image.js';
import { onceIt } from '../../support/runner/variants.js';
import type { ListeningApp } from '../http/listening-app.js';
import { type ImageClient, imageClient, PROMPT, startImageApp } from './client.js';

const keyed = (key: string) => ({ 'idempotency-key': key });

describeOnStacks('repeated image requests', (stack) => {
  const once = onceIt(stack);
  let app: ListeningApp;
  let client: ImageClient;
  let darkroom: ReturnType<typeof createDarkroom>;

  beforeEach(async () => {
    darkroom = createDarkroom();
    app = await startImageApp({ stack, generate: darkroom.generate });
    client = imageClient(app, await app.makeKey({ grants: ['images'], rpm: 2 }));
  });
  afterEach(() => app.close());

  once('return the first answer, before and after the end, free of charge', async () => {
    const first = await client.submit(PROMPT, keyed('one'));
    const again = async () => {
      const answer = await client.submit({ prompt: PROMPT.prompt, model: PROMPT.model }, keyed(' "one" '));
      expect([answer.status, answer.text]).to.deep.equal([202, first.text]);
      expect(answer.headers.get('idempotency-replayed')).to.equal('true');
      expect(answer.headers.get('idempotent-replayed')).to.equal('true');
      expect(answer.headers.get('location')).to.equal(first.json.status_url);
    };
    await again();
    await client.submit(PROMPT);
    expect((await client.submit(PROMPT)).status).to.equal(429);
    await again();
    await darkroom.develop();
    await client.ended(first.json.id);
    await again();
    expect(darkroom.calls).to.have.length(2);
  });

  it('make one job of fifty simultaneous requests', async () => {
    const answers = await Promise.all(Array.from({ length: 50 }, () => client.submit(PROMPT, keyed('fifty'))));
    expect(new Set(answers.map(({ status, json }) => `${status} ${json.id}`)).size).to.equal(1);
    expect(answers.filter(({ headers }) => headers.get('idempotency-replayed') === null)).to.have.length(1);
    expect((await client.submit()).headers.get('x-ratelimit-remaining-requests')).to.equal('0');
  });

  once('are refused if they differ from the first', async () => {
    await client.submit(PROMPT, keyed('one'));
    const { status, json, headers } = await client.submit({ ...PROMPT, prompt: 'Another' }, keyed('one'));
    expect([status, json.error.code, json.error.param]).to.deep.equal([
      422,
      'idempotency_key_reused',
      'Idempotency-Key',
    ]);
    expect(headers.get('x-should-retry')).to.equal('false');
  });

  once('count separately for each key and each route', async () => {
    const { json } = await client.submit(PROMPT, keyed('one'));
    const sibling = imageClient(app, await app.makeKey({ grants: ['images'] }));
    expect((await sibling.submit(PROMPT, keyed('one'))).json.id).not.to.equal(json.id);
    const blocking = client.generate(PROMPT, { ...keyed('one'), prefer: 'respond-async' });
    expect((await blocking).json.id).not.to.equal(json.id);
  });

  once('return a failed job again, until a new key is sent', async () => {
    const { json } = await client.submit(PROMPT, keyed('one'));
    await darkroom.develop(new GatewayError('upstream_error', 'The upstream failed.'));
    expect((await client.ended(json.id)).json.status).to.equal('failed');
    expect((await client.submit(PROMPT, keyed('one'))).json.id).to.equal(json.id);
    expect((await client.submit(PROMPT, keyed('two'))).json.id).not.to.equal(json.id);
  });

  once('start anew if the first was refused', async () => {
    expect((await client.submit({ ...PROMPT, n: 2 }, keyed('one'))).status).to.equal(400);
    const { status, headers } = await client.submit(PROMPT, keyed('one'));
    expect([status, headers.get('idempotency-replayed')]).to.deep.equal([202, null]);
    await client.submit();
    expect((await client.submit(PROMPT, keyed('two'))).status).to.equal(429);
    const later = imageClient(app, await app.makeKey({ grants: ['images'] }));
    expect((await later.submit(PROMPT, keyed('two'))).headers.get('idempotency-replayed')).to.equal(null);
  });

  once('need a key of visible ASCII characters', async () => {
    for (const key of ['', '""', 'a b', 'x'.repeat(256), 'caf\u00e9']) {
      const { status, json } = await client.submit(PROMPT, keyed(key));
      expect([status, json.error.code, json.error.param], key).to.deep.equal([
        400,
        'invalid_idempotency_key',
        'Idempotency-Key',
      ]);
    }
    expect((await client.submit(PROMPT, keyed('x'.repeat(255)))).status).to.equal(202);
  });

  it('wait for the first on the blocking route, and get its image', async () => {
    const both = [client.generate(PROMPT, keyed('one')), client.generate(PROMPT, keyed('one'))];
    await darkroom.develop();
    const [one, other] = await Promise.all(both);
    expect([one?.status, other?.status]).to.deep.equal([200, 200]);
    expect(one?.json.data).to.deep.equal(other?.json.data);
    expect(darkroom.calls).to.have.length(1);
  });

  once('join the first only if an SDK marks a retry', async () => {
    const first = client.generate(PROMPT, { 'x-stainless-retry-count': '0' });
    await darkroom.asked(1);
    const retry = client.generate(PROMPT, { 'x-stainless-retry-count': '1' });
    await darkroom.develop();
    const [one, other] = await Promise.all([first, retry]);
    expect(other.json.data).to.deep.equal(one.json.data);
    expect(other.headers.get('idempotency-replayed')).to.equal('true');

    const later = await client.generate(PROMPT, { 'x-stainless-retry-count': '2' });
    expect(later.json.data).to.deep.equal(one.json.data);
    const another = client.generate(PROMPT, { 'x-stainless-retry-count': '0' });
    await darkroom.develop();
    expect((await another).json.data).not.to.deep.equal(one.json.data);
    expect((await client.generate({ ...PROMPT, prompt: 'New' }, { 'x-stainless-retry-count': '1' })).status).to.equal(
      429,
    );
    expect(darkroom.calls).to.have.length(2);
  });

  it('start anew if the first left the queue with its client', async () => {
    await app.close();
    app = await startImageApp({ stack, generate: darkroom.generate, images: { workers: 1 } });
    client = imageClient(app, await app.makeKey({ grants: ['images'] }));
    const other = await client.submit();
    await darkroom.asked(1);
    const body = { ...PROMPT, prompt: 'Mine' };
    const leaving = new AbortController();
    const left = client.generate(body, {}, leaving.signal).catch((error: Error) => error.name);
    const queued = async () => (await app.state.jobs.active('image')) === 2;
    while (!(await queued())) await new Promise((resolve) => setTimeout(resolve, 5));
    leaving.abort();
    expect(await left).to.equal('AbortError');
    while (await queued()) await new Promise((resolve) => setTimeout(resolve, 5));

    const retry = client.generate(body, { 'x-stainless-retry-count': '1' });
    await darkroom.develop();
    await client.ended(other.json.id);
    await darkroom.develop();
    const { status, headers } = await retry;
    expect([status, headers.get('idempotency-replayed')]).to.deep.equal([200, null]);
    expect(darkroom.calls.map(({ prompt }) => prompt)).to.deep.equal([PROMPT.prompt, 'Mine']);
  });
});
