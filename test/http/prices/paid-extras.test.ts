/** Reservations for searches, speed and service tiers. */

import { expect } from 'chai';
import anthropicText from 'mediagate/plugins/anthropic_text';
import openaiText from 'mediagate/plugins/openai_text';
import { parseBudget } from '../../../server/budgets/index.js';
import { createPrices } from '../../../server/prices/index.js';
import { type ScriptedVendor, startScriptedVendor } from '../../support/models/scripted-vendor.js';
import { type ListeningApp, startApp } from '../http/listening-app.js';

const PRICES = {
  input: 1,
  output: 1,
  webSearch: 0.01,
  serviceTiers: { priority: { input: 1_000, output: 1_000 }, fast: { input: 1_000, output: 1_000 } },
};
const SEARCH = { type: 'web_search_20250305', name: 'web_search', max_uses: 5 };

describe('extras of a request beside tokens', () => {
  let vendor: ScriptedVendor;
  let app: ListeningApp;

  before(async () => {
    vendor = await startScriptedVendor();
    const upstreams = [{ url: vendor.url }];
    app = await startApp({
      messages: true,
      prices: createPrices({ currency: 'USD', models: { 'vendor-1': PRICES, claude: PRICES } }),
      gateway: {
        plugins: [
          { use: openaiText, options: { models: [{ id: 'vendor-1' }], upstreams } },
          { use: anthropicText, options: { models: [{ id: 'claude' }], upstreams } },
        ],
        services: { http: undefined },
      },
    });
    vendor.answer({ status: 400, type: 'application/json', pieces: ['{"error":{"message":"No."}}'] });
  });
  beforeEach(() => {
    vendor.reset();
    vendor.answer({ status: 400, type: 'application/json', pieces: ['{"error":{"message":"No."}}'] });
  });
  after(() => Promise.all([app.close(), vendor.close()]));

  /** Whether a budget of 2 cents takes the request: the vendor was asked then. */
  async function isTaken(path: string, body: object, grants: readonly string[] = ['paid_tools']): Promise<boolean> {
    const key = await app.makeKey({ grants: ['text', ...grants] as never, rpm: null });
    const amount = parseBudget('0.02 USD/month');
    if (!amount) throw new Error('It is no budget.');
    await app.state.budgets.change({
      scope: 'key',
      subject: key.slice(6, 14),
      budgets: [amount],
      actor: 'operator:ann',
    });
    await app.keys.refresh();
    const before = vendor.requests.length;
    const answer = await app.request(path, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    const asked = vendor.requests.length > before;
    // Errors of messages have no code.
    if (!asked)
      expect([answer.status, answer.json.error.message].join(' ')).to.match(/^429 The budget of this API key/);
    return asked;
  }

  const said = [{ role: 'user', content: 'Hi' }];

  it('reserve money for searches of a response', async () => {
    const ask = (more: object) =>
      isTaken('/v1/responses', { model: 'vendor-1', input: 'Hi', max_output_tokens: 16, ...more });
    expect(await ask({})).to.equal(true);
    expect(await ask({ tools: [{ type: 'web_search' }] })).to.equal(false);
    expect(await ask({ tools: [{ type: 'web_search' }], max_tool_calls: 1 })).to.equal(true);
  });

  it('reserve money for searches of a message, and its speed', async () => {
    const ask = (more: object, grants?: readonly string[]) =>
      isTaken('/v1/messages', { model: 'claude', max_tokens: 16, messages: said, ...more }, grants);
    expect(await ask({ tools: [{ ...SEARCH, max_uses: 1 }] })).to.equal(true);
    expect(await ask({ tools: [SEARCH] })).to.equal(false);
    // Without the grant the tool is left out, and costs nothing.
    expect(await ask({ tools: [SEARCH] }, [])).to.equal(true);
    expect(await ask({ speed: 'fast' })).to.equal(false);
  });

  it('reserve money for a service tier', async () => {
    const ask = (tier: string) =>
      isTaken('/v1/chat/completions', { model: 'vendor-1', messages: said, max_tokens: 16, service_tier: tier });
    expect(await ask('auto')).to.equal(true);
    expect(await ask('priority')).to.equal(false);
  });
});
