/** Models of the plugins file: upstreams, weights, routes and refusals. */

import { expect } from 'chai';
import { createGateway } from 'mediagate';
import openaiText from 'mediagate/plugins/openai_text';
import { startTextUpstream, type TextUpstream } from '../../support/models/text-upstream.js';
import { type ListeningApp, startApp } from '../http/listening-app.js';
import { post } from './text-app.js';

const CHATS = '/v1/chat/completions';
const API_KEY = 'key-of-the-upstream-in-this-test';
const MESSAGES = [{ role: 'user', content: 'Say something about Ostend.' }];

/** One provider with several models at two servers. */
describe('models by configuration', () => {
  let fast: TextUpstream;
  let spare: TextUpstream;
  let app: ListeningApp;
  let key: string;

  const upstreamsOf = () => [
    { name: 'fast', url: fast.baseUrl, apiKey: API_KEY },
    { name: 'spare', url: spare.baseUrl, model: 'vendor/secret-name' },
  ];

  before(async () => {
    [fast, spare] = await Promise.all([startTextUpstream(), startTextUpstream()]);
    const models = [
      { id: 'gpt-5.5', upstream: 'fast' },
      { id: 'qwen3:32b', upstream: 'fast', model: 'qwen3-32b-awq', efforts: ['low'], contextLength: 40_960 },
      { id: 'org/both.1', model: 'both-1' },
      { id: 'ordered', upstreams: [{ name: 'spare' }, { name: 'fast', model: 'second-choice' }] },
      {
        id: 'weighted',
        upstreams: [
          { name: 'fast', weight: 3 },
          { name: 'spare', model: 'other-name' },
        ],
      },
      { id: 'vectors', upstream: 'fast', routes: ['embeddings'] },
    ];
    app = await startApp({
      messages: true,
      gateway: {
        plugins: [{ use: openaiText, options: { models, upstreams: upstreamsOf() } }],
        services: { http: undefined },
      },
    });
    key = await app.makeKey({ grants: ['text'] });
  });
  beforeEach(() => {
    fast.reset();
    spare.reset();
  });
  after(() => Promise.all([app.close(), fast.close(), spare.close()]));

  const chat = async (model: string, more = {}) => {
    const { status, json } = await post(app, CHATS, key, { model, messages: MESSAGES, ...more });
    expect(status, JSON.stringify(json)).to.equal(200);
    expect(json.model, 'clients see the public name').to.equal(model);
  };
  const askedOf = (upstream: TextUpstream) => upstream.requests.map(({ members }) => members.model);

  it('are sent to their upstream under its name for them', async () => {
    for (const model of ['gpt-5.5', 'qwen3:32b']) await chat(model);
    expect(askedOf(fast)).to.deep.equal(['gpt-5.5', 'qwen3-32b-awq']);
    for (let count = 0; count < 4; count++) await chat('org/both.1');
    expect(askedOf(fast).slice(2)).to.deep.equal(['both-1', 'both-1']);
    expect(askedOf(spare)).to.deep.equal(['vendor/secret-name', 'vendor/secret-name']);
  });

  it('use the first upstream of the list while it works, and then the next one', async () => {
    for (let count = 0; count < 3; count++) await chat('ordered');
    expect([askedOf(spare).length, askedOf(fast).length]).to.deep.equal([3, 0]);
    spare.behave(() => ({ does: 'error', status: 503 }));
    await chat('ordered');
    expect(askedOf(fast)).to.deep.equal(['second-choice']);
  });

  it('share requests by weight, if the list has weights', async () => {
    for (let count = 0; count < 8; count++) await chat('weighted');
    expect([askedOf(fast).length, askedOf(spare).length]).to.deep.equal([6, 2]);
    expect(askedOf(spare)).to.deep.equal(['other-name', 'other-name']);
  });

  it('have their own routes and efforts', async () => {
    const { json } = await post(app, CHATS, key, { model: 'qwen3:32b', messages: MESSAGES, reasoning_effort: 'high' });
    expect(json.error).to.include({ param: 'reasoning_effort' });
    await chat('qwen3:32b', { reasoning_effort: 'low' });
    const wrong = await post(app, CHATS, key, { model: 'vectors', messages: MESSAGES });
    expect([wrong.status, wrong.json.error.code]).to.deep.equal([400, 'model_not_supported']);
    expect((await post(app, '/v1/embeddings', key, { model: 'vectors', input: 'x' })).status).to.equal(200);
    const { json: listed } = await app.request('/v1/models', { headers: { authorization: `Bearer ${key}` } });
    const routes = new Map(listed.data.map((model: { id: string; routes: string[] }) => [model.id, model.routes]));
    expect(routes.get('vectors')).to.deep.equal(['/v1/embeddings']);
    expect(routes.get('ordered')).to.deep.equal([CHATS, '/v1/responses', '/v1/messages']);
  });

  it('list a configured context length, and nothing otherwise', async () => {
    const headers = { authorization: `Bearer ${key}` };
    const get = async (path: string, more = {}) => (await app.request(path, { headers: { ...headers, ...more } })).json;
    const { data } = await get('/v1/models');
    const known = data.filter((model: object) => 'context_length' in model || 'max_model_len' in model);
    expect(known).to.have.length(1);
    expect(known[0]).to.include({ id: 'qwen3:32b', context_length: 40_960, max_model_len: 40_960 });
    expect(await get('/v1/models/qwen3:32b')).to.deep.equal(known[0]);
    expect(await get(`/v1/models/${encodeURIComponent('org/both.1')}`)).to.have.all.keys(
      'id',
      'object',
      'created',
      'owned_by',
      'routes',
    );
    const anthropic = { 'anthropic-version': '2023-06-01' };
    const page = await get('/v1/models', anthropic);
    const lengths = page.data.map(({ id, max_input_tokens: length }: Record<string, unknown>) => [id, length]);
    expect(Object.fromEntries(lengths)).to.include({ 'qwen3:32b': 40_960, ordered: null });
    expect(await get('/v1/models/qwen3:32b', anthropic)).to.include({ max_input_tokens: 40_960, max_tokens: null });
  });

  it("return the upstream's request id in a header, and log it", async () => {
    const named = async (path: string, body: object, headers: Record<string, string> = {}) => {
      fast.behave(() => ({ does: 'answer', headers }));
      const answer = await post(app, path, key, { model: 'gpt-5.5', ...body });
      expect(answer.status).to.equal(200);
      return answer.headers.get('x-upstream-request-id');
    };
    const chatBody = { messages: MESSAGES };
    const message = { ...chatBody, max_tokens: 9 };
    for (const [path, body] of [
      [CHATS, chatBody],
      [CHATS, { ...chatBody, stream: true }],
      ['/v1/responses', { input: 'x' }],
      ['/v1/responses', { input: 'x', stream: true }],
      ['/v1/messages', message],
      ['/v1/messages', { ...message, stream: true }],
    ] as const) {
      expect(await named(path, body), path).to.equal('req_0a1b2c3d4e5f');
      const lines = app.log.filter(({ message: text }) => text === 'request');
      expect(lines.at(-1)?.fields).to.include({ upstreamRequestId: 'req_0a1b2c3d4e5f' });
    }
    const id = (value: string) => named(CHATS, chatBody, { 'x-request-id': value });
    expect(await id('a b;c"<d>')).to.equal('abcd');
    expect(await id('9'.repeat(500))).to.equal('9'.repeat(128));
    expect(await id('"<>"'), 'nothing is left of it').to.equal(null);
    expect(await named(CHATS, chatBody, { 'x-request-id': '', 'request-id': 'req_other' })).to.equal('req_other');
    expect(await id(`req-${API_KEY}`), 'no secret').to.not.contain(API_KEY);
    fast.behave(() => ({ does: 'error', status: 500, headers: { 'x-request-id': 'req_of-the-failure' } }));
    const broken = await post(app, CHATS, key, { model: 'gpt-5.5', ...chatBody });
    expect([broken.status, broken.headers.get('x-upstream-request-id')]).to.deep.equal([502, 'req_of-the-failure']);
    const refusal = { status: 400, message: 'No.', headers: { 'x-request-id': `req_of-the-refusal-${API_KEY}` } };
    fast.behave([{ does: 'error', ...refusal }]);
    const refused = await post(app, CHATS, key, { model: 'gpt-5.5', ...chatBody, stream: true });
    expect([refused.status, refused.headers.get('x-upstream-request-id')]).to.deep.equal([
      400,
      'req_of-the-refusal-[redacted]',
    ]);
    const failed = app.log.filter(({ message: text }) => text.startsWith('a request to an upstream failed'));
    expect(failed.at(-1)?.fields).to.include({ member: 'fast', upstreamRequestId: 'req_of-the-failure' });
  });

  it('report one state for each upstream, over all models', async () => {
    fast.behave(() => ({ does: 'error', status: 400, message: 'Wrong.' }));
    await post(app, CHATS, key, { model: 'gpt-5.5', messages: MESSAGES });
    const [plugin] = app.gateway.plugins();
    expect(plugin?.upstreams.map(({ name }) => name)).to.deep.equal(['fast', 'spare']);
    expect(plugin?.upstreams.every(({ tries }) => tries > 0)).to.equal(true);
  });

  it('refuse a contradicting configuration at the start', async () => {
    const reasonFor = async (models: unknown, upstreams: unknown = upstreamsOf()) => {
      await using gateway = await createGateway({ plugins: [{ use: openaiText, options: { models, upstreams } }] });
      const [plugin] = gateway.plugins();
      return plugin?.reason;
    };
    const cases: readonly (readonly [unknown, RegExp])[] = [
      [[{ id: 'a' }, { id: 'a' }], /^models\.1 has the "id" of an earlier model$/],
      [[{ id: 'a', upstream: 'gone' }], /^models\.0: no upstream has the "name" that upstream 1 of the model says$/],
      [[{ id: 'a', upstreams: [{ name: 'fast' }, { name: 'gone' }] }], /upstream 2 of the model/],
      [[{ id: 'a', upstream: 'fast', upstreams: [{ name: 'fast' }] }], /^models\.0 has "upstream" beside "upstreams"$/],
      [[{ id: 'a', upstreams: [{ name: 'fast' }, { name: 'fast' }] }], /^models\.0\.upstreams\.1 is listed already$/],
      [[{ id: 'a b' }], /option models\.0\.id must be a name of letters, digits/],
      [[{ id: 'a', contextLength: 0 }], /option models\.0\.contextLength must be >= 1$/],
      [[{ id: 'a', upstreamModel: 'b' }], /option models\.0/],
      [[], /models/],
      [undefined, /models/],
    ];
    for (const [models, reason] of cases) expect(await reasonFor(models), JSON.stringify(models)).to.match(reason);
    const responses = [{ name: 'fast', url: fast.baseUrl, routes: ['responses'] }];
    expect(await reasonFor([{ id: 'a', routes: ['chat_completions'] }], responses)).to.equal(
      'models.0: no upstream of the model has one of its routes',
    );
  });
});
