/** Embeddings and moderations over HTTP: usage, budgets, refusals. */

import Anthropic from '@anthropic-ai/sdk';
import { expect } from 'chai';
import openaiText from 'mediagate/plugins/openai_text';
import OpenAI from 'openai';
import type { UsageEntry } from '../../../server/usage/usage-log.js';
import { startTextUpstream, type TextUpstream } from '../../support/models/text-upstream.js';
import { vectorOf } from '../../support/models/text-upstream-embeddings.js';
import { rejection } from '../../support/rejection.js';
import { untilDayHasRoom } from '../../support/same-day.js';
import { until } from '../../support/until.js';
import { type ListeningApp, startApp } from '../http/listening-app.js';
import { CHAT, post, startUpstreamApp } from './text-app.js';

const EMBEDDINGS = '/v1/embeddings';
const MODERATIONS = '/v1/moderations';
const TEXT = { grants: ['text'] } as const;
const model = 'embed-small';

describe('embeddings and moderations', () => {
  let upstream: TextUpstream;
  let app: ListeningApp;
  let key: string;

  before(async () => {
    upstream = await startTextUpstream();
  });
  beforeEach(untilDayHasRoom);
  beforeEach(async () => {
    upstream.reset();
    const upstreams = [{ url: upstream.baseUrl }];
    const models = [
      { id: model, model: 'vendor/embedding-x9' },
      { id: 'rate-1', routes: ['moderations'] },
    ];
    app = await startApp({
      messages: true,
      gateway: {
        plugins: [
          { use: openaiText, options: { models: 'm-5.5', upstreams } },
          { id: 'readers', use: openaiText, options: { models, routes: ['embeddings'], upstreams } },
        ],
        services: { http: undefined },
      },
    });
    key = await app.makeKey({ ...TEXT });
  });
  afterEach(() => app.close());
  after(() => upstream.close());

  const client = () => new OpenAI({ apiKey: key, baseURL: `${app.url}/v1`, maxRetries: 0 });
  const today = () => new Date().toISOString().slice(0, 10);
  const ledgerOf = (count: number): Promise<readonly UsageEntry[]> =>
    until(async () => {
      await app.state.admissions.flush();
      const entries = await app.state.usage.entries({ from: today(), to: today() }, 100);
      return entries.length >= count && entries;
    });

  it('accept each form of input and vectors, and record the reported usage', async () => {
    const openai = client();
    const texts = ['a tug', 'a lighthouse in the fog'];
    const tokens = [[1, 2, 3], [4]];
    let sent = 0;
    for (const input of ['a tug', texts, tokens[0] ?? [], tokens]) {
      const inputs = (Array.isArray(input) && typeof input[0] !== 'number' ? input : [input]) as (string | number[])[];
      for (const encoding_format of [undefined, 'float', 'base64'] as const) {
        const { data, response } = await openai.embeddings
          .create({ model, input, dimensions: 6, ...(encoding_format && { encoding_format }) })
          .withResponse();
        sent += 1;
        expect(response.headers.get('x-mediagate-stand-in')).to.equal(null);
        expect(data.model).to.equal(model);
        const vectors = data.data.map(({ embedding }) => {
          const given: unknown = embedding;
          return typeof given === 'string'
            ? [...new Float32Array(Uint8Array.from(Buffer.from(given, 'base64')).buffer)]
            : given;
        });
        expect(vectors).to.deep.equal(inputs.map((one) => vectorOf(one, 6)));
        expect(upstream.requests.at(-1)?.members).to.deep.include({
          model: 'vendor/embedding-x9',
          input,
          dimensions: 6,
        });
        expect(data.usage.prompt_tokens).to.equal(upstream.requests.at(-1)?.usage?.input);
      }
    }
    const entries = await ledgerOf(sent);
    expect(entries).to.have.length(sent);
    for (const entry of entries) {
      expect(entry).to.include({ route: EMBEDDINGS, model, status: 200, outputTokens: 0, estimated: false });
    }
    const asked = upstream.requests.map(({ usage }) => usage?.input ?? 0).reduce((sum, each) => sum + each);
    expect(entries.reduce((sum, { inputTokens }) => sum + (inputTokens ?? 0), 0)).to.equal(asked);
  });

  it('rate texts, and record an estimate if the upstream reports nothing', async () => {
    const rated = await client().moderations.create({ model: 'rate-1', input: ['a tug', 'a cannon'] });
    expect(rated.model).to.equal('rate-1');
    expect(rated.results.map(({ flagged }) => flagged)).to.deep.equal([false, true]);
    const [entry] = await ledgerOf(1);
    expect(entry).to.include({ route: MODERATIONS, model: 'rate-1', outputTokens: 0, estimated: true });
    expect(entry?.inputTokens).to.be.within(3, 9);
  });

  it('estimate an input of tokens by their number', async () => {
    const answer = {
      object: 'list',
      model: 'x',
      data: [{ object: 'embedding', index: 0, embedding: Array(40_000).fill(0.25) }],
    };
    upstream.behave([{ does: 'bytes', bytes: JSON.stringify(answer), contentType: 'application/json' }]);
    const { status, json } = await post(app, EMBEDDINGS, key, { model, input: Array(900).fill(7) });
    expect([status, json.model]).to.deep.equal([200, model]);
    const [entry] = await ledgerOf(1);
    expect(entry).to.include({ inputTokens: 900, outputTokens: 0, estimated: true });
  });

  it('forward the body byte by byte, except for the name of the model', async () => {
    const body = `{ "x_new":{"model":"${model}"}, "input":"Hi",\n"stream":"no", "n":12345678901234567890,"model":"${model}" }`;
    expect((await post(app, EMBEDDINGS, key, body)).status).to.equal(200);
    const [request] = upstream.requests;
    expect(request?.bytes.toString()).to.equal(body.replace(`"model":"${model}" }`, '"model":"vendor/embedding-x9" }'));
    expect([request?.path, request?.headers.accept]).to.deep.equal([EMBEDDINGS, 'application/json']);
  });

  it('refuse models that are missing, of another route, or not allowed', async () => {
    const limited = await app.makeKey({ ...TEXT }, { models: ['m-5.5'] });
    const cases: [key: string, path: string, body: object, status: number, code: string][] = [
      [key, EMBEDDINGS, { model: 'none', input: 'x' }, 404, 'model_not_found'],
      [key, EMBEDDINGS, { model: 'm-5.5', input: 'x' }, 400, 'model_not_supported'],
      [key, EMBEDDINGS, { model: 'rate-1', input: 'x' }, 400, 'model_not_supported'],
      [key, MODERATIONS, { model, input: 'x' }, 400, 'model_not_supported'],
      [key, '/v1/chat/completions', { ...CHAT, model }, 400, 'model_not_supported'],
      [key, '/v1/responses', { model, input: 'x' }, 400, 'model_not_supported'],
      [key, EMBEDDINGS, { input: 'x' }, 400, 'missing_required_parameter'],
      [limited, EMBEDDINGS, { model, input: 'x' }, 403, 'model_not_allowed'],
      [await app.makeKey({ grants: ['images'] }), EMBEDDINGS, { model, input: 'x' }, 403, 'route_not_allowed'],
    ];
    for (const [caller, path, body, status, code] of cases) {
      const answer = await post(app, path, caller, body);
      expect([answer.status, answer.json.error.code], JSON.stringify([path, body])).to.deep.equal([status, code]);
    }
    expect(upstream.requests).to.have.length(0);
  });

  it('stay within a budget of tokens, and within the rate limit', async () => {
    const terms = { requestLimit: null, expiresAt: null, resets: 'never' as const, createdAt: Date.now() };
    const budget = { id: 'b', accountId: 'local', planId: 'free', tokenLimit: 100, dailyTokenLimit: null };
    await app.state.budgets.create({ ...budget, ...terms });
    const bounded = await app.makeKey({ ...TEXT }, { budgetId: 'b' });
    const ask = (count: number) => post(app, EMBEDDINGS, bounded, { model, input: Array(count).fill(7) });
    const tooMany = await ask(150);
    expect([tooMany.status, tooMany.json.error.code]).to.deep.equal([429, 'insufficient_quota']);
    expect((await ask(60)).status).to.equal(200);
    // A refused request is no entry of the log.
    await ledgerOf(1);
    expect((await ask(60)).json.error.code).to.equal('insufficient_quota');
    expect(upstream.requests).to.have.length(1);
    const slow = await app.makeKey({ ...TEXT, rpm: 1 });
    const statuses = [];
    for (let count = 0; count < 2; count += 1) {
      statuses.push((await post(app, EMBEDDINGS, slow, { model, input: 'x' })).status);
    }
    expect(statuses).to.deep.equal([200, 429]);
  });

  it('forward refusals and missing models of the upstream', async () => {
    upstream.behave([
      { does: 'error', status: 400, message: "This model's maximum context length is 9 tokens.", param: 'input' },
      { does: 'error', status: 404, message: 'Not Found' },
    ]);
    const tooLong = await post(app, EMBEDDINGS, key, { model, input: 'x' });
    expect([tooLong.status, tooLong.json.error.code]).to.deep.equal([400, 'context_length_exceeded']);
    const absent = await post(app, EMBEDDINGS, key, { model, input: 'x' });
    expect([absent.status, absent.json.error.code]).to.deep.equal([400, 'model_not_supported']);
  });

  it('have their own routes in the list of models, and none of chats', async () => {
    const { json } = await app.request('/v1/models', { headers: { authorization: `Bearer ${key}` } });
    const routes = Object.fromEntries(
      json.data.map((each: { id: string; routes: string[] }) => [each.id, each.routes]),
    );
    expect(routes).to.deep.equal({
      'm-5.5': ['/v1/chat/completions', '/v1/responses', '/v1/messages'],
      [model]: [EMBEDDINGS],
      'rate-1': [MODERATIONS],
    });
    const anthropic = new Anthropic({ apiKey: key, baseURL: app.url, maxRetries: 0 });
    expect((await anthropic.models.list()).data.map(({ id }) => id)).to.deep.equal(['m-5.5']);
    const messages = [{ role: 'user' as const, content: 'Hi' }];
    const refused = await rejection(anthropic.messages.create({ model, max_tokens: 9, messages }));
    expect(refused).to.be.instanceOf(Anthropic.BadRequestError);
  });

  it('answer 503 and name the settings if no model has them', async () => {
    const plain = await startUpstreamApp(upstream);
    try {
      const own = await plain.makeKey({ ...TEXT });
      for (const [path, setting] of [
        [EMBEDDINGS, 'EMBEDDING_MODELS'],
        [MODERATIONS, 'MODERATION_MODELS'],
      ] as const) {
        const { status, headers, json } = await post(plain, path, own, { model: 'm-5.5', input: 'x' });
        expect([status, json.error.code]).to.deep.equal([503, 'plugin_unavailable']);
        expect(json.error.message).to.include('TEXT_UPSTREAM_URL').and.to.include(setting);
        expect(headers.get('x-should-retry')).to.equal('false');
      }
    } finally {
      await plain.close();
    }
  });
});
