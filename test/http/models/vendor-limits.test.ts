/** Rate-limit header fields and waits of a model vendor. */

import { expect } from 'chai';
import anthropicText from 'mediagate/plugins/anthropic_text';
import openaiText from 'mediagate/plugins/openai_text';
import { goodScript, type ScriptedVendor, startScriptedVendor } from '../../support/models/scripted-vendor.js';
import { type ListeningApp, startApp } from '../http/listening-app.js';

const JSON_TYPE = 'application/json';
const WEEK_SECONDS = 7 * 86_400;
const LIMITS = {
  'anthropic-ratelimit-unified-status': 'rejected',
  'anthropic-ratelimit-requests-remaining': '0',
  'x-ratelimit-remaining-tokens': '17',
};
const HI = [{ role: 'user', content: 'Hi' }];

describe('limits of a model vendor', () => {
  let vendor: ScriptedVendor;
  let app: ListeningApp;
  let used = 0;

  before(async () => {
    vendor = await startScriptedVendor();
    // A limit belongs to a model, and each test has one of its own.
    const ids = (prefix: string) => Array.from({ length: 20 }, (_, index) => ({ id: `${prefix}-${index}` }));
    const upstreams = [{ url: vendor.url }];
    app = await startApp({
      messages: true,
      gateway: {
        plugins: [
          { use: openaiText, options: { models: ids('chat'), upstreams } },
          { use: anthropicText, options: { models: ids('claude'), upstreams } },
        ],
        services: { http: undefined },
      },
    });
  });
  after(() => Promise.all([app.close(), vendor.close()]));

  async function ask(path: string, key: string, stream = false): Promise<Response> {
    used += 1;
    const model = `${path === '/v1/messages' ? 'claude' : 'chat'}-${used}`;
    return fetch(app.url + path, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': JSON_TYPE },
      body: JSON.stringify({
        model,
        stream,
        max_tokens: 50,
        ...(path === '/v1/responses' ? { input: 'Hi' } : { messages: HI }),
      }),
    });
  }

  function refuse(headers: Readonly<Record<string, string>>): void {
    const error = { type: 'rate_limit_error', message: 'Too many.' };
    vendor.answer({
      status: 429,
      type: JSON_TYPE,
      headers: { ...LIMITS, ...headers },
      pieces: [JSON.stringify({ type: 'error', error })],
    });
  }

  const limitsIn = ({ headers }: Response) =>
    Object.fromEntries([...headers].filter(([name]) => name.includes('ratelimit')));

  it("carry the vendor's wait, at most 7 days", async () => {
    const key = await app.makeKey({ grants: ['text'], rpm: null });
    const date = new Date(Date.now() + 7_200_000).toUTCString();
    const cases = [
      [{ 'retry-after': '7200' }, 7_200, 7_200],
      [{ 'retry-after': date }, 7_190, 7_201],
      [{ 'retry-after-ms': '90500' }, 91, 91],
      [{ 'retry-after': '99999999' }, WEEK_SECONDS, WEEK_SECONDS],
    ] as const;
    for (const [headers, min, max] of cases) {
      for (const path of ['/v1/chat/completions', '/v1/messages']) {
        refuse(headers);
        const answer = await ask(path, key);
        expect(answer.status).to.equal(429);
        expect(Number(answer.headers.get('retry-after')), JSON.stringify(headers)).to.be.within(min, max);
        expect(limitsIn(answer)).to.deep.equal(LIMITS);
      }
    }
  });

  it('appear on whole and streamed answers', async () => {
    const key = await app.makeKey({ grants: ['text'], rpm: null });
    for (const stream of [true, false]) {
      for (const path of ['/v1/chat/completions', '/v1/responses', '/v1/messages']) {
        vendor.answer((request) => ({ ...goodScript('Ahoy.')(request), headers: { ...LIMITS, 'x-secret': '1' } }));
        const answer = await ask(path, key, stream);
        expect(await answer.text()).to.include('Ahoy.');
        expect(limitsIn(answer), path).to.deep.equal(LIMITS);
        expect(answer.headers.get('x-secret')).to.equal(null);
      }
    }
  });

  it("keep the header fields of the key's own limit, and are hidden from keys of a plan", async () => {
    const limited = await app.makeKey({ grants: ['text'], rpm: 60 });
    const planned = await app.makeKey({
      grants: ['text'],
      rpm: null,
      plan: { planId: 'team', budgetId: null, models: null, imageDailyLimit: null },
    });
    refuse({ 'retry-after': '7200' });
    const own = limitsIn(await ask('/v1/chat/completions', limited));
    expect(own).to.include({ 'anthropic-ratelimit-unified-status': 'rejected', 'x-ratelimit-limit-requests': '60' });
    expect(own).not.to.have.property('x-ratelimit-remaining-tokens');
    const answer = await ask('/v1/chat/completions', planned);
    expect(limitsIn(answer)).to.deep.equal({});
    expect(answer.headers.get('retry-after')).to.equal('7200');
  });
});

describe('stream_options that an upstream refuses', () => {
  let vendor: ScriptedVendor;
  let app: ListeningApp;
  let key: string;

  before(async () => {
    vendor = await startScriptedVendor();
    const models = Array.from({ length: 6 }, (_, index) => ({ id: `chat-${index}` }));
    app = await startApp({
      gateway: {
        plugins: [
          {
            use: openaiText,
            options: { models, upstreams: [{ url: vendor.url, routes: ['chat_completions'] }] },
          },
        ],
        services: { http: undefined },
      },
    });
    key = await app.makeKey({ grants: ['text'], rpm: null });
  });
  beforeEach(() => vendor.reset());
  after(() => Promise.all([app.close(), vendor.close()]));

  const stream = (path: string, body: object) =>
    fetch(app.url + path, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': JSON_TYPE },
      body: JSON.stringify({ stream: true, ...body }),
    });

  const REFUSALS = [
    [
      400,
      { error: { message: 'Unrecognized request argument supplied: stream_options', type: 'invalid_request_error' } },
    ],
    [
      422,
      { detail: [{ type: 'extra_forbidden', loc: ['body', 'stream_options'], msg: 'Extra inputs are not permitted' }] },
    ],
    [422, 'Failed to deserialize the JSON body: unknown field `stream_options`'],
    [400, { object: 'error', message: "'stream_options' is not supported", code: 400 }],
  ] as const;

  for (const [index, [status, words]] of REFUSALS.entries()) {
    it(`are left out and remembered: ${status} ${JSON.stringify(words).slice(0, 60)}`, async () => {
      vendor.answer((request) => {
        if (request.body.stream_options === undefined) return goodScript('Ahoy.')(request);
        const isText = typeof words === 'string';
        return { status, type: isText ? 'text/plain' : JSON_TYPE, pieces: [isText ? words : JSON.stringify(words)] };
      });
      const model = `chat-${index}`;
      for (const asked of [2, 3]) {
        const answer = await stream('/v1/chat/completions', { model, messages: HI });
        expect(await answer.text())
          .to.include('Ahoy.')
          .and.to.include('[DONE]');
        expect(vendor.requests).to.have.length(asked);
      }
      const response = await stream('/v1/responses', { model, input: 'Hi' });
      expect(await response.text()).to.include('response.completed');
      expect(vendor.requests).to.have.length(4);
    });
  }

  it('are not retried if something else is refused', async () => {
    vendor.answer({ status: 400, type: JSON_TYPE, pieces: [JSON.stringify({ error: { message: 'No such tool.' } })] });
    expect((await stream('/v1/chat/completions', { model: 'chat-5', messages: HI })).status).to.equal(400);
    expect(vendor.requests).to.have.length(1);
  });
});
