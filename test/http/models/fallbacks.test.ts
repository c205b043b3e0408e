/** Fallbacks of a model to models of any format: order, price, restrictions. */

import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import anthropicText from 'mediagate/plugins/anthropic_text';
import openaiText from 'mediagate/plugins/openai_text';
import { dearestOf } from '../../../server/prices/dearest.js';
import { createPrices } from '../../../server/prices/index.js';
import {
  dataEvents,
  goodScript,
  type ScriptedVendor,
  startScriptedVendor,
} from '../../support/models/scripted-vendor.js';
import { until } from '../../support/until.js';
import { type ListeningApp, startApp } from '../http/listening-app.js';

const JSON_TYPE = 'application/json';
const HI = [{ role: 'user', content: 'Hi' }];
const PRICES = createPrices({
  currency: 'USD',
  models: { first: { input: 1, output: 1 }, claude: { input: 100, output: 1_000 }, second: { input: 2, output: 500 } },
});

describe('fallbacks of a model', () => {
  let openai: ScriptedVendor;
  let anthropic: ScriptedVendor;
  let app: ListeningApp;
  let key: string;

  before(async () => {
    [openai, anthropic] = await Promise.all([startScriptedVendor(), startScriptedVendor()]);
    const upstreams = [{ url: openai.url }];
    const other = [{ url: anthropic.url }];
    app = await startApp({
      messages: true,
      prices: PRICES,
      gateway: {
        plugins: [
          {
            id: 'openai',
            use: openaiText,
            options: {
              models: [
                { id: 'first', fallbacks: ['claude', 'second'], firstByteSeconds: 0.3 },
                { id: 'lonely' },
                { id: 'astray', fallbacks: ['not-there'] },
              ],
              upstreams,
              restMs: 1,
            },
          },
          { id: 'more', use: openaiText, options: { models: [{ id: 'second' }], upstreams: other, restMs: 1 } },
          {
            id: 'anthropic',
            use: anthropicText,
            options: { models: [{ id: 'claude', fallbacks: ['first-claude'] }], upstreams: other, restMs: 1 },
          },
          {
            id: 'self',
            use: openaiText,
            options: { models: [{ id: 'self', fallbacks: ['self'] }], upstreams },
          },
          {
            id: 'loop',
            use: openaiText,
            options: {
              models: [
                { id: 'one', fallbacks: ['other'] },
                { id: 'other', fallbacks: ['one'] },
              ],
              upstreams,
            },
          },
        ],
        services: { http: undefined },
      },
    });
    key = await app.makeKey({ grants: ['text'], rpm: null });
  });
  beforeEach(() => {
    openai.reset();
    anthropic.reset();
    anthropic.answer(goodScript('The other one.'));
  });
  after(() => Promise.all([app.close(), openai.close(), anthropic.close()]));

  function ask(path: string, body: object, by = key): Promise<Response> {
    return fetch(app.url + path, {
      method: 'POST',
      headers: { authorization: `Bearer ${by}`, 'content-type': JSON_TYPE },
      body: JSON.stringify({ model: 'first', ...body }),
    });
  }

  const failing = { status: 500, type: JSON_TYPE, pieces: ['{"error":{"message":"Boom"}}'] };

  for (const stream of [true, false]) {
    for (const [path, said] of [
      ['/v1/chat/completions', { messages: HI }],
      ['/v1/responses', { input: 'Hi' }],
      ['/v1/messages', { messages: HI, max_tokens: 50 }],
    ] as const) {
      it(`${path} is answered by a model of another format, ${stream ? 'streamed' : 'whole'}`, async () => {
        openai.answer({ ...failing, status: 401 });
        const answer = await ask(path, { ...said, stream });
        const text = await answer.text();
        expect(answer.status, text).to.equal(200);
        expect(text).to.include('The other one.').and.to.include('"first"').and.not.include('claude');
        expect(anthropic.requests.map((request) => [request.path, request.body.model])).to.deep.equal([
          ['/v1/messages', 'claude'],
        ]);
        expect(answer.headers.get('x-mediagate-attempts')).to.equal('2');
      });
    }
  }

  it('answer if an upstream fails after status 200, or is silent', async () => {
    for (const script of [
      { pieces: [dataEvents({ error: { message: 'Boom' } })] },
      { pieces: [], ends: 'silent' as const },
    ]) {
      openai.answer(script);
      const answer = await ask('/v1/chat/completions', { messages: HI, stream: true });
      expect(await answer.text()).to.include('The other one.');
    }
  });

  it('are asked in their order, and the last error is returned', async () => {
    openai.answer({ ...failing, status: 401 });
    anthropic.answer(({ path, body, ...rest }) =>
      path === '/v1/messages'
        ? { status: 403, type: JSON_TYPE, pieces: ['{"type":"error","error":{"type":"permission_error"}}'] }
        : goodScript('The third one.')({ path, body, ...rest }),
    );
    const answer = await ask('/v1/chat/completions', { messages: HI });
    expect(await answer.text()).to.include('The third one.');
    expect(answer.headers.get('x-mediagate-attempts')).to.equal('3');
    anthropic.answer({ ...failing, status: 401 });
    const failed = await ask('/v1/chat/completions', { messages: HI });
    expect([failed.status, failed.headers.get('x-mediagate-attempts')]).to.deep.equal([502, '3']);
  });

  it('cost what the answering model costs', async () => {
    openai.answer({ ...failing, status: 401 });
    const answer = await ask('/v1/chat/completions', { messages: HI });
    // 11 tokens of input at 100, and 5 of output at 1000, for a million each.
    expect(answer.headers.get('x-mediagate-cost')).to.include('0.0061');
    // A cool-down has passed by then.
    await sleep(100);
    openai.answer(goodScript('Ahoy.'));
    const cheap = await ask('/v1/chat/completions', { messages: HI });
    expect(cheap.headers.get('x-mediagate-cost')).to.include('0.000016');
    expect(cheap.headers.get('x-mediagate-attempts')).to.equal(null);
  });

  it('are reserved at the highest price', () => {
    const dearest = dearestOf(PRICES, ['claude', 'second']);
    expect(dearest.highestCostOf({ model: 'first', inputTokens: 1_000_000, outputTokens: 0 })).to.equal(100_000_000);
    expect(dearest.outputTokensWithin(1_000_000, { model: 'first', inputTokens: 0 })).to.equal(1_000);
    expect(dearestOf(PRICES, ['unpriced']).highestCostOf({ model: 'first', inputTokens: 1 })).to.equal(null);
  });

  it("are not asked after the caller's own fault", async () => {
    for (const [status, code] of [
      [400, 'context_length_exceeded'],
      [422, 'invalid_value'],
      [403, 'content_policy_violation'],
    ] as const) {
      openai.answer({ status, type: JSON_TYPE, pieces: [JSON.stringify({ error: { code, message: 'No.' } })] });
      const answer = await ask('/v1/chat/completions', { messages: HI });
      expect(answer.status, code).to.be.oneOf([400, 422]);
    }
    const wrong = await ask('/v1/chat/completions', { messages: HI }, 'sk-mg-wrong');
    expect(wrong.status).to.equal(401);
    expect(anthropic.requests).to.have.length(0);
  });

  it('are skipped if the key may not use them', async () => {
    const narrow = await app.makeKey({
      grants: ['text'],
      rpm: null,
      plan: { planId: 'team', budgetId: null, models: ['first', 'second'], imageDailyLimit: null },
    });
    openai.answer({ ...failing, status: 401 });
    const answer = await ask('/v1/chat/completions', { messages: HI }, narrow);
    expect(await answer.text()).to.include('The other one.');
    expect(anthropic.requests.map(({ path }) => path)).to.deep.equal(['/v1/chat/completions']);
    const alone = await app.makeKey({
      grants: ['text'],
      rpm: null,
      plan: { planId: 'team', budgetId: null, models: ['first'], imageDailyLimit: null },
    });
    expect((await ask('/v1/chat/completions', { messages: HI }, alone)).status).to.equal(502);
  });

  it('never lead back to a model: a loop is refused at the start', () => {
    const failed = app.gateway.plugins().filter(({ state }) => state === 'failed');
    expect(failed.map(({ id }) => id)).to.deep.equal(['self', 'loop']);
    expect(failed[1]?.reason).to.include('one, other, one');
  });

  it('are logged, and so are missing ones', async () => {
    openai.answer({ ...failing, status: 401 });
    await (await ask('/v1/chat/completions', { messages: HI })).text();
    await until(async () => app.log.some(({ message }) => message.includes('its fallback claude is asked')));
    expect(app.log.some(({ message }) => message.includes('not-there'))).to.equal(true);
  });
});
