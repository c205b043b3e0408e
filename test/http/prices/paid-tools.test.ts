/* What costs more than tokens at a vendor: hosted tools and tiers, for keys of a plan, keys with a budget, and operators' keys. */

import { expect } from 'chai';
import anthropicText from 'mediagate/plugins/anthropic_text';
import openaiText from 'mediagate/plugins/openai_text';
import { parseBudget } from '../../../server/budgets/index.js';
import { goodScript, type ScriptedVendor, startScriptedVendor } from '../../support/models/scripted-vendor.js';
import { type ListeningApp, startApp } from '../http/listening-app.js';

const CHATS = '/v1/chat/completions';
const RESPONSES = '/v1/responses';
const MESSAGES = '/v1/messages';
const FUNCTION = {
  type: 'function',
  name: 'f',
  parameters: { type: 'object', maximum: 12345678901234567890n.toString() },
};
const HI = [{ role: 'user', content: 'Hi' }];

describe('tools and tiers that cost more than tokens', () => {
  let vendor: ScriptedVendor;
  let claude: ScriptedVendor;
  let app: ListeningApp;
  const keys: Record<string, string> = {};

  before(async () => {
    [vendor, claude] = await Promise.all([startScriptedVendor(), startScriptedVendor()]);
    app = await startApp({
      messages: true,
      gateway: {
        services: { http: undefined },
        plugins: [
          { use: openaiText, options: { models: 'm-5.5', upstreams: [{ url: vendor.url }] } },
          { use: anthropicText, options: { models: 'claude', upstreams: [{ url: claude.url }] } },
        ],
      },
    });
    const budget = parseBudget('5M tokens/month');
    if (!budget) throw new Error('no budget');
    const first = { budgets: [budget], actor: 'operator:ann' };
    const furtherBudgets = (await app.state.budgets.createGroup('research', first)).map(({ id }) => id);
    expect(furtherBudgets).to.have.length(1);
    const text = { grants: ['text'] as const };
    const paid = { grants: ['text', 'paid_tools'] as const };
    keys.plan = await app.makeKey({ grants: [...text.grants] }, { planId: 'token_30m', accountId: 'acct_1' });
    keys.group = await app.makeKey({ grants: [...text.grants] }, { furtherBudgets, groupName: 'research' });
    keys.granted = await app.makeKey({ grants: [...paid.grants] }, { furtherBudgets, groupName: 'research' });
    keys.operator = await app.makeKey({ grants: [...text.grants] });
  });
  beforeEach(() => {
    for (const one of [vendor, claude]) {
      one.reset();
      one.answer(goodScript('Aye.'));
    }
  });
  after(() => Promise.all([app.close(), vendor.close(), claude.close()]));

  async function ask(path: string, by: string, body: object) {
    const response = await fetch(`${app.url}${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${keys[by]}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    const { error } = (await response.json()) as { error?: { code: string; param: string; message: string } };
    return { status: response.status, error, ignored: response.headers.get('x-ignored-params') };
  }
  const sent = (from = vendor) => from.requests.at(-1)?.body ?? {};
  const HOSTED = ['web_search', 'file_search', 'code_interpreter', 'image_generation', 'computer_use_preview', 'mcp'];

  for (const by of ['plan', 'group']) {
    it(`are left out and listed for a key with a budget of its ${by}, for any size of request`, async () => {
      for (const type of HOSTED) {
        const more = type === 'mcp' ? { server_url: 'https://x.example/' } : {};
        for (const input of ['Hi', 'word '.repeat(60_000)]) {
          const body = { model: 'm-5.5', input, tools: [{ type, ...more }, FUNCTION, { type, ...more }] };
          const { status, ignored, error } = await ask(RESPONSES, by, { ...body, tool_choice: 'auto' });
          expect([status, ignored], JSON.stringify(error)).to.deep.equal([200, `tools.${type}`]);
          expect(sent().tools).to.deep.equal([FUNCTION]);
          expect(sent().input).to.equal(input);
        }
      }
      const alone = { model: 'm-5.5', input: 'Hi', tools: [{ type: 'web_search' }], tool_choice: 'required' };
      expect(await ask(RESPONSES, by, { ...alone, parallel_tool_calls: true })).to.include({
        status: 200,
        ignored: 'tools.web_search, tool_choice',
      });
      expect(sent()).not.to.have.any.keys('tools', 'tool_choice', 'parallel_tool_calls');
      const chat = { model: 'm-5.5', messages: HI, web_search_options: {} };
      expect(await ask(CHATS, by, chat)).to.include({ status: 200, ignored: 'web_search_options' });
      expect(sent()).not.to.have.property('web_search_options');
      const tools = [
        { type: 'web_search_20260318', name: 'web_search' },
        { name: 'f', input_schema: { type: 'object' } },
      ];
      const message = { model: 'claude', max_tokens: 9, messages: HI, tools };
      expect(await ask(MESSAGES, by, message)).to.include({ status: 200, ignored: 'tools.web_search_20260318' });
      expect(sent(claude).tools).to.deep.equal([tools[1]]);
    });

    it(`are refused for a key with a budget of its ${by} if they are forced, like tiers`, async () => {
      const tools = [FUNCTION, { type: 'web_search' }];
      const response = { model: 'm-5.5', input: 'Hi', tools };
      const hosted = [{ type: 'web_search_20260318', name: 'web_search' }];
      const message = { model: 'claude', max_tokens: 9, messages: HI };
      for (const [path, body, param] of [
        [RESPONSES, { ...response, tool_choice: { type: 'web_search' } }, 'tool_choice'],
        [RESPONSES, { ...response, tool_choice: { type: 'mcp', server_label: 'x' } }, 'tool_choice'],
        [
          RESPONSES,
          { ...response, tool_choice: { type: 'allowed_tools', mode: 'auto', tools: [{ type: 'web_search' }] } },
          'tool_choice',
        ],
        [RESPONSES, { model: 'm-5.5', input: 'Hi', service_tier: 'flex' }, 'service_tier'],
        [CHATS, { model: 'm-5.5', messages: HI, service_tier: 'priority' }, 'service_tier'],
        [MESSAGES, { ...message, tools: hosted, tool_choice: { type: 'tool', name: 'web_search' } }, 'tool_choice'],
        [MESSAGES, { ...message, speed: 'fast' }, 'speed'],
      ] as const) {
        const { status, error } = await ask(path, by, body);
        const expected = [403, path === MESSAGES ? undefined : 'paid_tool_not_allowed'];
        expect([status, error?.code], JSON.stringify(body)).to.deep.equal(expected);
        expect(error?.message).to.include('paid_tools');
        if (path !== MESSAGES) expect(error?.param).to.equal(param);
      }
      expect([...vendor.requests, ...claude.requests]).to.deep.equal([]);
    });
  }

  it('are passed on for keys with the grant, and for operators without a budget', async () => {
    for (const by of ['granted', 'operator']) {
      const tools = [{ type: 'web_search' }, FUNCTION];
      const body = { model: 'm-5.5', input: 'Hi', tools, tool_choice: { type: 'web_search' }, service_tier: 'flex' };
      expect(await ask(RESPONSES, by, body)).to.include({ status: 200, ignored: null });
      expect(sent()).to.deep.include({ tools, tool_choice: { type: 'web_search' }, service_tier: 'flex' });
    }
  });
});
