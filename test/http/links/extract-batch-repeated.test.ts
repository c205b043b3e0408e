/** Repeated batches of links with one idempotency key. */

import { expect } from 'chai';
import { describeOnStacks } from '../../support/databases/stacks.js';
import { inventedExtraction } from '../../support/links/invented-plugin.js';
import { inventedProduct, productLink } from '../../support/links/invented-shop.js';
import { onceIt } from '../../support/runner/variants.js';
import { until } from '../../support/until.js';
import { type Answer, type ListeningApp, startApp } from '../http/listening-app.js';

const itemLink = (id: number) => `https://invented.example/item/${id}`;
const keyed = (key: string) => ({ 'idempotency-key': key });
const isReplayed = ({ headers }: Answer) =>
  headers.get('idempotency-replayed') === 'true' && headers.get('idempotent-replayed') === 'true';

describeOnStacks('repeated batches', (stack) => {
  const once = onceIt(stack);
  let app: ListeningApp;
  let key: string;
  let fetches: string[];
  let held: PromiseWithResolvers<void> | undefined;

  beforeEach(async () => {
    fetches = [];
    held = undefined;
    app = await startApp({
      stack,
      extractor: {
        extract: async ({ link }) => {
          fetches.push(link.id);
          await held?.promise;
          return inventedExtraction(link.id);
        },
      },
      shop: { extract: async ({ link }) => inventedProduct(link.id) },
      jobs: { workers: 1 },
      gateway: { cacheTtlMs: 1 },
    });
    key = await app.makeKey({ rpm: 3 });
  });
  afterEach(() => app.close());

  it('return the first answer, byte for byte, free of charge, with jobs that can be polled', async () => {
    const urls = [itemLink(1), productLink(1)];
    const first = await app.batch(key, { urls, force_async: true }, keyed('one'));
    expect([first.status, isReplayed(first), first.headers.get('x-ratelimit-remaining-requests')]).to.deep.equal([
      200,
      false,
      '1',
    ]);
    const job: string = first.json.items[1].result.data.job.job_id;
    await app.ended(key, job);
    const again = await app.batch(key, { force_async: true, urls }, keyed(' "one" '));
    expect([again.status, again.text, isReplayed(again)]).to.deep.equal([200, first.text, true]);
    expect(again.headers.get('content-type')).to.equal(first.headers.get('content-type'));
    expect(again.headers.get('x-ratelimit-remaining-requests')).to.equal(null);
    expect((await app.ended(key, job)).json.data.job.status).to.equal('completed');
    expect(fetches).to.deep.equal(['1']);
    // Of three slots, the first batch took two.
    expect((await app.batch(key, { urls: [itemLink(2)] })).headers.get('x-ratelimit-remaining-requests')).to.equal('0');
  });

  once('are refused with another body, and start anew with another key', async () => {
    await app.batch(key, { urls: [itemLink(1)] }, keyed('one'));
    const { status, json, headers } = await app.batch(key, { urls: [itemLink(2)] }, keyed('one'));
    expect([status, json.error.code, json.error.param]).to.deep.equal([
      422,
      'idempotency_key_reused',
      'Idempotency-Key',
    ]);
    expect(headers.get('x-should-retry')).to.equal('false');
    expect(isReplayed(await app.batch(key, { urls: [itemLink(1)] }, keyed('two')))).to.equal(false);
    expect(isReplayed(await app.batch(await app.makeKey(), { urls: [itemLink(1)] }, keyed('one')))).to.equal(false);
    const { json: bad } = await app.batch(key, { urls: [itemLink(1)] }, keyed('a b'));
    expect(bad.error.code).to.equal('invalid_idempotency_key');
  });

  once('start anew if the first was refused for its fields or the rate limit', async () => {
    expect((await app.batch(key, { urls: [] }, keyed('one'))).status).to.equal(400);
    const good = await app.batch(key, { urls: [1, 2, 3].map(itemLink) }, keyed('one'));
    expect([good.status, isReplayed(good)]).to.deep.equal([200, false]);
    expect((await app.batch(key, { urls: [itemLink(4)] }, keyed('two'))).status).to.equal(429);
    expect((await app.batch(key, { urls: [itemLink(5)] }, keyed('two'))).status).to.equal(429);
  });

  once('return what the first would have received if it had not disconnected', async () => {
    held = Promise.withResolvers();
    const leaving = new AbortController();
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...keyed('one') };
    const body = JSON.stringify({ urls: [itemLink(1)] });
    const left = fetch(`${app.url}/v1/extract/batch`, { method: 'POST', headers, body, signal: leaving.signal });
    await until(() => fetches.length === 1);
    leaving.abort();
    expect(await left.catch((error: Error) => error.name)).to.equal('AbortError');
    const retry = app.batch(key, { urls: [itemLink(1)] }, keyed('one'));
    held.resolve();
    const answer = await retry;
    expect([answer.json.succeeded, isReplayed(answer), fetches]).to.deep.equal([1, true, ['1']]);
  });

  it('run one batch of twenty simultaneous ones', async () => {
    held = Promise.withResolvers();
    const asked = Array.from({ length: 20 }, () => app.batch(key, { urls: [itemLink(1)] }, keyed('one')));
    await until(() => fetches.length === 1);
    held.resolve();
    const answers = await Promise.all(asked);
    expect(new Set(answers.map(({ status, text }) => `${status} ${text}`)).size).to.equal(1);
    expect(answers.filter(isReplayed)).to.have.length(19);
    expect(fetches).to.deep.equal(['1']);
  });
});
