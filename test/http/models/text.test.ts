/** Chats and responses over HTTP: limits, usage, refusals, streams and the end. */

import { once } from 'node:events';
import { connect } from 'node:net';
import { expect } from 'chai';
import { GatewayError } from 'mediagate';
import openaiText from 'mediagate/plugins/openai_text';
import { drain } from '../../../server/http/http-server.js';
import type { UsageEntry } from '../../../server/usage/usage-log.js';
import { describeOnStacks } from '../../support/databases/stacks.js';
import type { Piece } from '../../support/models/scripted-text.js';
import { startTextUpstream, type TextUpstream } from '../../support/models/text-upstream.js';
import { onceIt } from '../../support/runner/variants.js';
import { untilDayHasRoom } from '../../support/same-day.js';
import { until } from '../../support/until.js';
import type { ListeningApp } from '../http/listening-app.js';
import { CHAT, post, startScriptedApp, startUpstreamApp } from './text-app.js';

const CHATS = '/v1/chat/completions';
const RESPONSES = '/v1/responses';
const QUESTION = { model: 'm-5.5', input: 'Say something about Ostend.' };
const TEXT = { grants: ['text'] } as const;
const json = (value: unknown) => ({ contentType: 'application/json', pieces: [Buffer.from(JSON.stringify(value))] });

const today = () => new Date().toISOString().slice(0, 10);
/** What the ledger has of everybody, once there are so many. */
function ledgerOf(app: ListeningApp, count: number): Promise<readonly UsageEntry[]> {
  return until(async () => {
    await app.state.admissions.flush();
    const entries = await app.state.usage.entries({ from: today(), to: today() }, 100);
    return entries.length >= count && entries;
  });
}

/** What the report has of the only key, route and model. */
async function totalOf(app: ListeningApp) {
  const [total] = await app.state.usage.totals({ from: today(), to: today() });
  return total;
}

describeOnStacks('text routes', (stack) => {
  const once = onceIt(stack);
  let upstream: TextUpstream;
  let app: ListeningApp;
  let key: string;
  beforeEach(untilDayHasRoom);
  before(async () => {
    upstream = await startTextUpstream();
  });
  beforeEach(async () => {
    upstream.reset();
    app = await startUpstreamApp(upstream, { stack });
    key = await app.makeKey({ ...TEXT });
  });
  afterEach(() => app.close());
  after(() => upstream.close());

  once("pass a body through unchanged except for the model's name", async () => {
    const body = `{ "x_new":{"model":"m-5.5"}, "seed":12345678901234567890,\n"model":"m-5.5","messages":[{"role":"user","content":"Hi"}] }`;
    const { status, headers, json: answer } = await post(app, CHATS, key, body);
    expect(status).to.equal(200);
    expect(upstream.requests[0]?.bytes.toString()).to.equal(
      body.replace('"model":"m-5.5","m', '"model":"vendor/secret-name","m'),
    );
    expect(upstream.requests[0]?.headers['user-agent']).to.equal('mediagate');
    expect(answer).to.include({ object: 'chat.completion', model: 'm-5.5' });
    expect(answer.choices[0].message.content).to.equal('You said: Hi');
    expect(headers.get('content-type')).to.match(/^application\/json/);
    expect(headers.get('set-cookie')).to.equal(null);
    expect(headers.get('x-request-id')).to.match(/^req_/);
  });

  it('answer 30 of 100 chats of ten keys of a site account with 30 a minute', async () => {
    const wanted = { ...TEXT, rpm: 30, accountId: `acct_${'0'.repeat(32)}` };
    const keys = await Promise.all(Array.from({ length: 10 }, () => app.makeKey(wanted)));
    const answers = await Promise.all(
      Array.from({ length: 100 }, (_, index) => post(app, CHATS, keys[index % 10] as string, CHAT)),
    );
    const count = (status: number) => answers.filter((answer) => answer.status === status).length;
    expect([count(200), count(429)]).to.deep.equal([30, 70]);
  });

  once('stream with header fields that keep proxies from buffering or changing it', async () => {
    for (const [path, body] of [
      [CHATS, CHAT],
      [RESPONSES, QUESTION],
    ] as const) {
      const { status, headers, text } = await post(app, path, key, { ...body, stream: true });
      expect(status).to.equal(200);
      expect(Object.fromEntries(headers)).to.include({
        'content-type': 'text/event-stream; charset=utf-8',
        'cache-control': 'no-store, no-transform',
        'x-accel-buffering': 'no',
      });
      expect(text).to.contain('"model":"m-5.5"').and.not.contain('vendor/secret-name');
      expect(text).to.contain(path === CHATS ? 'data: [DONE]' : 'event: response.completed');
    }
  });

  it('record each request once, with the reported usage', async () => {
    await post(app, CHATS, key, CHAT);
    await post(app, CHATS, key, { ...CHAT, stream: true });
    await post(app, RESPONSES, key, { ...QUESTION, stream: true });
    const entries = await ledgerOf(app, 3);
    expect(entries).to.have.length(3);
    for (const entry of entries) {
      const { usage } = upstream.requests.find(({ path }) => path === entry.route) ?? {};
      expect(entry).to.include({ model: 'm-5.5', status: 200, estimated: false, accountId: 'local' });
      expect([entry.inputTokens, entry.outputTokens]).to.deep.equal([usage?.input, usage?.output]);
      expect(entry.latencyMs).to.be.greaterThan(0);
    }
    expect(entries.map(({ route }) => route)).to.have.members([CHATS, CHATS, RESPONSES]);
  });

  once('count each of several requests with the same client id', async () => {
    for (let count = 0; count < 3; count += 1) await post(app, CHATS, key, CHAT, { 'x-request-id': 'mine' });
    const entries = await ledgerOf(app, 3);
    expect(entries).to.have.length(3);
    for (const { requestId } of entries) expect(requestId).to.match(/^mine\/req_/);
  });

  once('abort the upstream when the client disconnects, and record the usage', async () => {
    for (const [place, most] of [
      [{ events: 4 }, 200],
      ['before_headers', 499],
    ] as const) {
      upstream.reset();
      upstream.behave([{ does: 'answer', stall: place }]);
      const asked = upstream.next();
      const gone = new AbortController();
      const body = JSON.stringify({ ...CHAT, stream: true });
      const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
      const answer = fetch(app.url + CHATS, { method: 'POST', headers, body, signal: gone.signal });
      answer.catch(() => undefined);
      const { ended } = await asked;
      if (most === 200) {
        const reader = (await answer).body?.getReader();
        await reader?.read();
      }
      gone.abort();
      expect((await ended).whole).to.equal(false);
      const [entry] = (
        await until(async () => {
          const entries = await ledgerOf(app, 1);
          return entries.find(({ status }) => status === most) && entries;
        })
      ).filter(({ status }) => status === most);
      // A stream that never began has used nothing.
      expect(entry).to.include({ status: most, estimated: most === 200 });
      if (most === 200) expect(entry?.inputTokens).to.be.greaterThan(3);
      else expect(entry?.inputTokens).to.equal(null);
    }
  });

  once('answer 502 if a whole answer breaks off, and count it', async () => {
    upstream.behave([{ does: 'answer', cut: { bytes: 300 } }]);
    const { status, headers, json: answer } = await post(app, CHATS, key, CHAT);
    expect(status).to.equal(502);
    expect(headers.get('content-type')).to.match(/^application\/json/);
    expect(answer.error).to.include({ type: 'server_error', code: 'upstream_error', param: null });
    const [entry] = await ledgerOf(app, 1);
    expect(entry).to.include({ status: 502, estimated: true });
    expect(entry?.inputTokens).to.be.greaterThan(3);
    expect(entry?.outputTokens).to.be.greaterThan(3);
  });

  once('refuse invalid requests before anything is counted or sent', async () => {
    const cases: [path: string, body: unknown, status: number, code: string, param: string | null][] = [
      [CHATS, '{', 400, 'invalid_json', null],
      [CHATS, {}, 400, 'missing_required_parameter', 'model'],
      [CHATS, { ...CHAT, model: 5 }, 400, 'invalid_value', 'model'],
      [CHATS, { ...CHAT, model: 'm-99' }, 404, 'model_not_found', 'model'],
      [CHATS, { ...CHAT, stream: 'yes' }, 400, 'invalid_value', 'stream'],
      [CHATS, { ...CHAT, reasoning_effort: 'extreme' }, 400, 'unsupported_value', 'reasoning_effort'],
      [RESPONSES, { ...QUESTION, reasoning: { effort: 'extreme' } }, 400, 'unsupported_value', 'reasoning.effort'],
      [RESPONSES, { ...QUESTION, previous_response_id: 7 }, 400, 'invalid_value', 'previous_response_id'],
      [
        RESPONSES,
        { ...QUESTION, previous_response_id: 'resp_0' },
        400,
        'previous_response_not_found',
        'previous_response_id',
      ],
    ];
    const limited = await app.makeKey({ ...TEXT, rpm: 2 });
    for (const [path, body, status, code, param] of cases) {
      const answer = await post(app, path, limited, body);
      expect([answer.status, answer.json.error.code, answer.json.error.param], code).to.deep.equal([
        status,
        code,
        param,
      ]);
    }
    const { json: effort } = await post(app, CHATS, limited, { ...CHAT, reasoning_effort: 'extreme' });
    expect(effort.error.message).to.contain('none, minimal, low, medium, high, xhigh, max');
    const { json: unknown } = await post(app, CHATS, limited, { ...CHAT, model: 'gpt-5' });
    expect(unknown.error.message).to.match(/^There is no model "gpt-5"\. Available: .*\bm-5\.5\b/);
    expect(upstream.requests).to.have.length(0);
    const { headers } = await post(app, CHATS, limited, CHAT);
    expect(headers.get('x-ratelimit-remaining-requests')).to.equal('1');
  });

  once('forward every effort, and refuse those that a model does not list', async () => {
    const narrow = await startUpstreamApp(upstream, {
      messages: true,
      gateway: {
        plugins: [
          {
            use: openaiText,
            options: {
              models: [{ id: 'm-5.5' }, { id: 'm-low', efforts: ['low', 'high'] }],
              upstreams: [{ url: upstream.baseUrl }],
            },
          },
        ],
        services: { http: undefined },
      },
    });
    try {
      const own = await narrow.makeKey({ ...TEXT });
      const asked = async (path: string, body: object) => (await post(narrow, path, own, body)).status;
      for (const effort of ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max']) {
        expect(await asked(CHATS, { ...CHAT, reasoning_effort: effort }), effort).to.equal(200);
        expect(upstream.requests.at(-1)?.members.reasoning_effort).to.equal(effort);
        expect(await asked(RESPONSES, { ...QUESTION, reasoning: { effort } }), effort).to.equal(200);
        expect(upstream.requests.at(-1)?.members.reasoning).to.deep.equal({ effort });
        const message = { model: 'm-5.5', max_tokens: 99, messages: CHAT.messages, output_config: { effort } };
        expect(await asked('/v1/messages', message), effort).to.equal(200);
        expect(upstream.requests.at(-1)?.members.reasoning).to.deep.equal({ effort });
        const isListed = effort === 'low' || effort === 'high';
        expect(await asked(CHATS, { ...CHAT, model: 'm-low', reasoning_effort: effort })).to.equal(
          isListed ? 200 : 400,
        );
      }
    } finally {
      await narrow.close();
    }
  });

  once("take a slot of the key's minute, and send the state of the window", async () => {
    const limited = await app.makeKey({ ...TEXT, rpm: 2 });
    const statuses = [];
    for (let count = 0; count < 3; count += 1) statuses.push((await post(app, CHATS, limited, CHAT)).status);
    expect(statuses).to.deep.equal([200, 200, 429]);
    const { status, headers, json: answer } = await post(app, RESPONSES, limited, QUESTION);
    expect([status, answer.error.code, answer.error.type]).to.deep.equal([
      429,
      'rate_limit_exceeded',
      'rate_limit_error',
    ]);
    expect(Number(headers.get('retry-after'))).to.be.within(1, 60);
    expect(upstream.requests).to.have.length(2);
  });

  it('admit no more parallel requests than the budget holds', async () => {
    const sent = JSON.stringify({ ...CHAT, max_completion_tokens: 950 });
    const tokenLimit = 60 * (Math.ceil(sent.length / 4) + 950);
    const budget = { id: 'budget', accountId: 'local', planId: 'free', tokenLimit, dailyTokenLimit: null };
    const terms = { requestLimit: null, resets: 'never', expiresAt: null, createdAt: Date.now() } as const;
    await app.state.budgets.create({ ...budget, ...terms });
    const bounded = await app.makeKey({ ...TEXT }, { budgetId: 'budget' });
    upstream.behave(() => ({ does: 'answer', stall: 'before_headers' }));
    const gone = new AbortController();
    const refused: unknown[] = [];
    for (let count = 0; count < 100; count += 1) {
      const headers = { authorization: `Bearer ${bounded}`, 'content-type': 'application/json' };
      fetch(app.url + CHATS, { method: 'POST', headers, body: sent, signal: gone.signal })
        .then(async (response) => refused.push({ status: response.status, ...(await response.json()).error }))
        .catch(() => undefined);
    }
    await until(() => refused.length + upstream.requests.length === 100);
    expect(upstream.requests).to.have.length(60);
    for (const one of refused)
      expect(one).to.include({ status: 429, code: 'insufficient_quota', type: 'insufficient_quota' });
    gone.abort();
  });

  once('limit keys to their models and routes', async () => {
    const narrow = await app.makeKey({ ...TEXT }, { models: ['m-5.4'] });
    const { status, json: answer } = await post(app, CHATS, narrow, CHAT);
    expect([status, answer.error.code, answer.error.param]).to.deep.equal([403, 'model_not_allowed', 'model']);
    const images = await app.makeKey({ grants: ['images'] });
    expect((await post(app, CHATS, images, CHAT)).json.error.code).to.equal('route_not_allowed');
    const unsent = await app.request(CHATS, { method: 'POST', headers: { 'x-api-key': key }, body: '{}' });
    expect([unsent.status, unsent.json.error.code]).to.deep.equal([401, 'missing_api_key']);
    expect(upstream.requests).to.have.length(0);
  });

  once("refuse a plan's keys the vendor's ids and paid extras, and name the field", async () => {
    const plan = { planId: 'token_30m', accountId: 'acct_1' };
    const refused = [
      [
        RESPONSES,
        {
          input: [
            { role: 'user', content: 'x' },
            { type: 'item_reference', id: 'msg_1' },
          ],
        },
        'input[1].id',
      ],
      [RESPONSES, { input: [{ id: 'msg_1' }] }, 'input[0].id'],
      [RESPONSES, { input: [{ type: 'reasoning', id: 'rs_1', summary: [] }] }, 'input[0].id'],
      [RESPONSES, { input: [{ type: 'image_generation_call', id: 'ig_1' }] }, 'input[0].id'],
      [
        RESPONSES,
        { input: [{ role: 'user', content: [{ type: 'input_file', file_id: 'file-1' }] }] },
        'input[0].content[0].file_id',
      ],
      [RESPONSES, { ...QUESTION, conversation: 'conv_1' }, 'conversation'],
      [RESPONSES, { ...QUESTION, conversation: { id: 'conv_1' } }, 'conversation.id'],
      [RESPONSES, { ...QUESTION, prompt: { id: 'pmpt_1' } }, 'prompt.id'],
      [RESPONSES, { ...QUESTION, tools: [{ vector_store_ids: ['vs_1'] }] }, 'tools[0].vector_store_ids[0]'],
      [
        CHATS,
        { messages: [{ role: 'user', content: [{ file: { file_id: 'file-1' } }] }] },
        'messages[0].content[0].file.file_id',
      ],
      [CHATS, { messages: [{ role: 'assistant', audio: { id: 'audio_1' } }] }, 'messages[0].audio.id'],
    ] as const;
    const paid = [[CHATS, { ...CHAT, service_tier: 'priority' }, 'service_tier']] as const;
    const plain = await app.makeKey({ ...TEXT }, plan);
    const granted = await app.makeKey({ grants: ['text', 'vendor_ids', 'paid_tools'] }, plan);
    for (const [code, cases] of [
      ['vendor_id_not_allowed', refused],
      ['paid_tool_not_allowed', paid],
    ] as const) {
      for (const [path, body, param] of cases) {
        const sent = { model: 'm-5.5', ...body };
        const answer = await post(app, path, plain, sent);
        const { error } = answer.json;
        expect([answer.status, error.code, error.param], JSON.stringify(body)).to.deep.equal([403, code, param]);
        for (const able of [key, granted]) expect((await post(app, path, able, sent)).status, param).to.equal(200);
      }
    }
    const sent = upstream.requests.length;
    // Above 256 KiB, the gateway itself reads only a part of the body.
    const long = 'word '.repeat(60_000);
    const hidden = [
      { role: 'user', content: long },
      { role: 'user', content: [{ type: 'input_image', file_id: 'file-1' }] },
    ];
    const answer = await post(app, RESPONSES, plain, { ...QUESTION, input: hidden });
    expect([answer.status, answer.json.error.param]).to.deep.equal([403, 'input[1].content[0].file_id']);
    expect(upstream.requests, 'refused before the upstream').to.have.length(sent);
    const harmless = {
      model: 'm-5.5',
      service_tier: 'auto',
      metadata: { file_id: 'mine' },
      tools: [{ type: 'function', name: 'f', parameters: { properties: { file_id: { type: 'string' } } } }],
      input: [
        { type: 'message', id: 'msg_1', role: 'assistant', content: 'Hi' },
        { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'gAAA' },
        { type: 'function_call', id: 'fc_1', call_id: 'call_1', name: 'f', arguments: '{"file_id":"x"}' },
        { role: 'user', content: long },
      ],
    };
    expect((await post(app, RESPONSES, plain, harmless)).status).to.equal(200);
  });

  once("let a plan key name output items of its account's responses", async () => {
    const plan = (accountId: string) => app.makeKey({ ...TEXT }, { planId: 'token_30m', accountId });
    const [maker, sameAccount, other] = [await plan('acct_2'), await plan('acct_2'), await plan('acct_3')];
    const follow = async (by: string, id: string) => {
      const input = [
        { type: 'item_reference', id },
        { role: 'user', content: 'And then?' },
      ];
      const { status, json } = await post(app, RESPONSES, by, { ...QUESTION, input });
      return status === 200 ? status : [status, json.error.code, json.error.param];
    };
    const refused = [403, 'vendor_id_not_allowed', 'input[0].id'];
    for (const stream of [false, true]) {
      const made = await post(app, RESPONSES, maker, { ...QUESTION, stream });
      const [, id = ''] = /"output":\s*\[\{[^}]*?"id":\s*"([^"]+)"/.exec(made.text) ?? [];
      expect(id, made.text).to.match(/^(?:msg|rs)_/);
      expect(await follow(maker, id)).to.equal(200);
      expect(await follow(sameAccount, id)).to.equal(200);
      expect(await follow(other, id)).to.deep.equal(refused);
    }
    const unstored = await post(app, RESPONSES, maker, { ...QUESTION, store: false });
    expect(await follow(maker, unstored.json.output[0].id)).to.deep.equal(refused);
  });

  once('forward failures of the upstream in the error classes of clients', async () => {
    for (const [behaviour, status, code, type] of [
      [{ status: 401, message: 'Wrong key.' }, 502, 'upstream_auth_error', 'server_error'],
      [
        { status: 429, message: 'Slow down.', headers: { 'retry-after': '9' } },
        429,
        'upstream_rate_limited',
        'rate_limit_error',
      ],
    ] as const) {
      upstream.behave(() => ({ does: 'error', ...behaviour }));
      const answer = await post(app, CHATS, key, CHAT);
      expect([answer.status, answer.json.error.code, answer.json.error.type]).to.deep.equal([status, code, type]);
    }
    const entries = await ledgerOf(app, 2);
    for (const entry of entries) expect(entry.inputTokens).to.equal(null);
  });

  once('find a response at its upstream, only for its own account', async () => {
    const { json: made } = await post(app, RESPONSES, key, QUESTION);
    const headers = { authorization: `Bearer ${key}` };
    const { status, json: found } = await app.request(`${RESPONSES}/${made.id}`, { headers });
    expect([status, found.id, found.model]).to.deep.equal([200, made.id, 'm-5.5']);
    const items = await app.request(`${RESPONSES}/${made.id}/input_items?limit=1`, { headers });
    expect(items.json.data).to.have.length(1);
    const next = await post(app, RESPONSES, key, { ...QUESTION, previous_response_id: made.id });
    expect(next.status).to.equal(200);

    const stranger = await app.makeKey({ ...TEXT }, { accountId: 'another' });
    for (const [method, path] of [
      ['GET', made.id],
      ['DELETE', made.id],
      ['POST', `${made.id}/cancel`],
      ['GET', `${made.id}/input_items`],
    ]) {
      const foreign = { method, headers: { authorization: `Bearer ${stranger}` } };
      const refused = await app.request(`${RESPONSES}/${path}`, foreign);
      expect([refused.status, refused.json.error.code]).to.deep.equal([404, 'response_not_found']);
    }
    const stolen = await post(app, RESPONSES, stranger, { ...QUESTION, previous_response_id: made.id });
    expect([stolen.status, stolen.json.error.code]).to.deep.equal([400, 'previous_response_not_found']);

    const deleted = await app.request(`${RESPONSES}/${made.id}`, { method: 'DELETE', headers });
    expect(deleted.json).to.include({ id: made.id, deleted: true });
    expect((await app.request(`${RESPONSES}/${made.id}`, { headers })).status).to.equal(404);
  });

  once('make responses in the background, which are counted as estimated and can be cancelled', async () => {
    const { json: made } = await post(app, RESPONSES, key, { ...QUESTION, background: true, max_output_tokens: 321 });
    expect(made.status).to.equal('queued');
    const [entry] = await ledgerOf(app, 1);
    expect(entry).to.include({ estimated: true, outputTokens: 321 });
    const headers = { authorization: `Bearer ${key}` };
    const cancelled = await app.request(`${RESPONSES}/${made.id}/cancel`, { method: 'POST', headers });
    expect(cancelled.json).to.include({ id: made.id, status: 'cancelled', model: 'm-5.5' });
  });

  once('name the response id when a resumed stream breaks off', async () => {
    const { id } = (await post(app, RESPONSES, key, QUESTION)).json;
    upstream.behave([{ does: 'answer', cut: { events: 1 } }]);
    const headers = { authorization: `Bearer ${key}` };
    const { text } = await app.request(`${RESPONSES}/${id}?stream=true&starting_after=3`, { headers });
    expect(text.match(/^event: .+/gm)?.slice(1), text).to.deep.equal(['event: response.failed']);
    expect(text).to.contain(`"response":{"id":"${id}"`);
  });

  once('compact a conversation for its usage, and count tokens free of charge', async () => {
    const short = await post(app, `${RESPONSES}/compact`, key, QUESTION);
    expect(short.json).to.include({ object: 'response.compaction' });
    const used = upstream.requests[0]?.usage;
    const count = await post(app, `${RESPONSES}/input_tokens`, key, QUESTION);
    expect(count.json).to.deep.equal({ object: 'response.input_tokens', input_tokens: used?.input });
    expect(upstream.requests.map(({ path }) => path)).to.deep.equal([
      `${RESPONSES}/compact`,
      `${RESPONSES}/input_tokens`,
    ]);
    const again = await app.request(`${RESPONSES}/${short.json.id}`, { headers: { authorization: `Bearer ${key}` } });
    expect(again.json.error.code, 'it is no response').to.equal('response_not_found');
    const entries = await ledgerOf(app, 2);
    const counted = entries.map(({ route, inputTokens, outputTokens, estimated }) => [
      route,
      inputTokens,
      outputTokens,
      estimated,
    ]);
    expect(counted).to.have.deep.members([
      [`${RESPONSES}/compact`, used?.input, used?.output, false],
      [`${RESPONSES}/input_tokens`, null, null, false],
    ]);
    const unknown = await post(app, `${RESPONSES}/compact`, key, { ...QUESTION, previous_response_id: 'resp_nobodys' });
    expect([unknown.status, unknown.json.error.code]).to.deep.equal([400, 'previous_response_not_found']);
  });

  once('count a background response by its maximum if its client leaves the stream', async () => {
    let counted: (number | null)[] = [];
    for (const background of [true, false]) {
      upstream.reset();
      upstream.behave([{ does: 'answer', stall: { events: 2 } }]);
      const left = new AbortController();
      const response = await fetch(app.url + RESPONSES, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
        body: JSON.stringify({ ...QUESTION, stream: true, background, max_output_tokens: 321 }),
        signal: left.signal,
      });
      await response.body?.getReader().read();
      left.abort();
      counted = (await ledgerOf(app, counted.length + 1)).map(({ outputTokens }) => outputTokens);
      // Later the upstream says what the response really used.
      if (background) expect(counted).to.deep.equal([321]);
    }
    // The other one is charged for its time, since no word of it was received.
    expect(Math.min(...counted.map(Number))).to.be.below(321);
  });

  once('read bodies up to 32 MiB', async () => {
    const long = { ...CHAT, messages: [{ role: 'user', content: 'x'.repeat(16 * 1024 * 1024) }] };
    upstream.behave([{ does: 'answer', text: 'Long.' }]);
    expect((await post(app, CHATS, key, long)).status).to.equal(200);
    const longer = { ...CHAT, messages: [{ role: 'user', content: 'x'.repeat(32 * 1024 * 1024) }] };
    const { status, json: refused } = await post(app, CHATS, key, longer);
    expect([status, refused.error.code]).to.deep.equal([413, 'request_too_large']);
    expect(refused.error.message).to.equal(
      'The body is larger than 33554432 bytes. The operator sets this limit with TEXT_MAX_BYTES.',
    );
  });
});

describe('text routes with a scripted model', () => {
  let app: Awaited<ReturnType<typeof startScriptedApp>>;
  afterEach(() => app.close());

  it('answer 502 if the model sends no JSON, or only an error', async () => {
    const errors = ['{"error":{"message":"Sorry."}}', '{"error":"vendor/secret-name is out."}'];
    const bodies = ['<html></html>', '{"id":', '{"id":"1"} {"id":"2"}', '[]', '', ...errors];
    let at = 0;
    app = await startScriptedApp(() => ({
      contentType: 'application/json',
      pieces: [Buffer.from(bodies[at++] ?? '')],
    }));
    const key = await app.makeKey({ ...TEXT });
    for (const body of bodies) {
      const { status, json: answer } = await post(app, CHATS, key, CHAT);
      expect([status, answer.error?.code], body).to.deep.equal([502, 'upstream_error']);
    }
  });

  it('send Retry-After if a retry helps, and advise against it otherwise', async () => {
    const failures = [
      [new GatewayError('upstream_rate_limited', 'Slow down.'), 429, '5', null],
      [new GatewayError('upstream_rate_limited', 'Slow down.', { retryAfterSeconds: 8.2 }), 429, '9', null],
      [new GatewayError('upstream_rate_limited', 'Slow down.', { retryAfterSeconds: 60 }), 429, '60', null],
      [
        new GatewayError('upstream_rate_limited', 'Slow down.', { retryAfterSeconds: 251_606_812_563 }),
        429,
        '604800',
        null,
      ],
      [new GatewayError('upstream_error', 'It failed.', { retryAfterSeconds: 86_400 }), 502, '60', null],
      [new GatewayError('upstream_rate_limited', 'Slow down.', { retryAfterSeconds: -5 }), 429, '1', null],
      [new GatewayError('upstream_rate_limited', 'Slow down.', { retryAfterSeconds: Number.NaN }), 429, '1', null],
      [new GatewayError('upstream_unavailable', 'Later.'), 503, '1', null],
      [new GatewayError('upstream_unavailable', 'Never.', { retryable: false }), 503, null, 'false'],
    ] as const;
    let at = 0;
    app = await startScriptedApp(() => {
      throw failures[at++]?.[0];
    });
    const key = await app.makeKey({ ...TEXT });
    for (const [failure, status, wait, again] of failures) {
      const { status: told, headers } = await post(app, CHATS, key, CHAT);
      const said = [told, headers.get('retry-after'), headers.get('x-should-retry')];
      expect(said, failure.code).to.deep.equal([status, wait, again]);
    }
  });

  it('send events for a stream if the upstream sends none', async () => {
    app = await startScriptedApp(() => json({ id: '1', model: 'vendor/x', choices: [{ message: { content: 'Hi' } }] }));
    const answer = await post(app, CHATS, await app.makeKey({ ...TEXT }), { ...CHAT, stream: true });
    expect(answer.text).to.include('"model":"m-5.5"').and.to.include('"content":"Hi"').and.to.include('[DONE]');
    const [entry] = await ledgerOf(app, 1);
    expect(entry).to.include({ estimated: true });
  });

  it('name the plugin that replaces a model', async () => {
    app = await startScriptedApp(() => json({ id: '1', choices: [] }), { standIn: true });
    const { headers } = await post(app, CHATS, await app.makeKey({ ...TEXT }), CHAT);
    expect(headers.get('x-mediagate-stand-in')).to.equal('scripted_text');
  });

  it('remove hop-by-hop fields, and forward others', async () => {
    const headers = {
      'set-cookie': 'session=of-the-vendor',
      'x-request-id': 'of-the-vendor',
      connection: 'x-vendor-hop',
      'keep-alive': 'timeout=7',
      'content-length': '3',
      'x-vendor-fact': 'kept',
    };
    for (const stream of [true, false]) {
      const body = stream ? 'data: [DONE]\n\n' : '{"id":"1","choices":[]}';
      const contentType = stream ? 'text/event-stream' : 'application/json';
      app = await startScriptedApp(() => ({ headers, contentType, pieces: [Buffer.from(body)] }));
      const answer = await post(app, CHATS, await app.makeKey({ ...TEXT }), { ...CHAT, stream });
      expect([answer.status, answer.text]).to.deep.equal([200, body]);
      expect(answer.headers.get('set-cookie')).to.equal(null);
      expect(answer.headers.get('x-vendor-fact')).to.equal('kept');
      const sent = JSON.stringify([...answer.headers]);
      expect(sent).to.not.include('of-the-vendor').and.not.include('x-vendor-hop').and.not.include('timeout=7');
      if (stream) await app.close();
    }
  });

  it('count a client that disconnects as no fault of the upstream', async () => {
    for (const cut of [false, true]) {
      const last: Piece = cut ? new GatewayError('upstream_error', 'The connection broke off.') : 'stall';
      const pieces: Piece[] = [Buffer.from('data: {"choices":[{"index":0,"delta":{"content":"Hi"}}]}\n\n'), last];
      app = await startScriptedApp(() => ({ pieces }));
      const key = await app.makeKey({ ...TEXT });
      const left = new AbortController();
      const response = await fetch(app.url + CHATS, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
        body: JSON.stringify({ ...CHAT, stream: true }),
        signal: left.signal,
      });
      const reader = response.body?.getReader();
      await reader?.read();
      if (cut) await reader?.read();
      left.abort();
      const [entry] = await ledgerOf(app, 1);
      expect(entry).to.include({ estimated: true });
      expect(app.model.calls[0]?.signal.aborted).to.equal(true);
      expect(await totalOf(app)).to.include({ requests: 1, failed: cut ? 1 : 0 });
      const told = app.log.filter(({ message }) => message === 'an answer was interrupted');
      expect(told).to.have.length(cut ? 1 : 0);
      if (!cut) await app.close();
    }
  });

  it('refuse a model on a route of other models', async () => {
    app = await startScriptedApp(() => json({}));
    const { status, json: answer } = await post(app, RESPONSES, await app.makeKey({ ...TEXT }), {
      ...QUESTION,
      model: 'm-chat',
    });
    expect([status, answer.error.code, answer.error.param]).to.deep.equal([400, 'model_not_supported', 'model']);
  });

  it('report a broken stream to the client, and its reason to the log', async () => {
    const pieces: Piece[] = [
      Buffer.from('data: {"choices":[{"delta":{"content":"He"}}]}\n\ndata: {"cho'),
      new GatewayError('upstream_error', 'The connection broke off.'),
    ];
    app = await startScriptedApp(() => ({ pieces }));
    const { status, text } = await post(app, CHATS, await app.makeKey({ ...TEXT }), { ...CHAT, stream: true });
    expect(status).to.equal(200);
    const [, failure, done] = text.split('\n\n');
    expect(JSON.parse(failure?.slice(6) ?? '').error).to.include({ code: 'upstream_error', type: 'server_error' });
    expect(done).to.equal('data: [DONE]');
    expect(app.log.find(({ message }) => message === 'an answer was interrupted')?.fields).to.include({
      code: 'upstream_error',
    });
    const [entry] = await ledgerOf(app, 1);
    expect(entry).to.include({ status: 200, estimated: true, outputTokens: 1 });
    expect(await totalOf(app)).to.include({ requests: 1, failed: 1, outputTokens: 1 });
  });

  it('count a stream as failed if the upstream ends it with an error, in each format', async () => {
    const end = 'data: {"error":{"message":"It broke.","type":"server_error"}}\n\n';
    app = await startScriptedApp(() => ({ pieces: [Buffer.from(end)] }), {}, { messages: true });
    const key = await app.makeKey({ ...TEXT });
    await post(app, CHATS, key, { ...CHAT, stream: true });
    await post(app, RESPONSES, key, { ...QUESTION, stream: true });
    await post(app, '/v1/messages', key, { ...CHAT, max_tokens: 9, stream: true });
    const statuses = (await ledgerOf(app, 3)).map(({ status }) => status);
    expect(statuses).to.deep.equal([200, 200, 200]);
    const totals = await app.state.usage.totals({ from: today(), to: today() });
    expect(totals.map(({ failed }) => failed)).to.deep.equal([1, 1, 1]);
  });

  it('read from a model only as fast as the client reads', async () => {
    const piece = Buffer.from(`data: ${JSON.stringify({ choices: [{ delta: { content: 'x'.repeat(60_000) } }] })}\n\n`);
    let taken = 0;
    function* endless() {
      for (; taken < 5_000; taken += 1) yield piece;
    }
    app = await startScriptedApp(() => ({ pieces: endless() }));
    const body = JSON.stringify({ ...CHAT, stream: true });
    const socket = connect(app.port, '127.0.0.1');
    await once(socket, 'connect');
    socket.pause();
    socket.write(
      `POST ${CHATS} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${await app.makeKey({ ...TEXT })}\r\n` +
        `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
    );
    let before = -1;
    await until(() => {
      const stands = taken > 0 && taken === before;
      before = taken;
      return stands;
    }, 250);
    expect(taken).to.be.lessThan(1_000);
    socket.destroy();
    await until(() => app.model.closed === 1);
    expect(app.model.calls[0]?.signal.aborted).to.equal(true);
  });

  it('finish streams while the gateway drains', async () => {
    const event = (content: string) => Buffer.from(`data: {"choices":[{"delta":{"content":"${content}"}}]}\n\n`);
    const asked = Promise.withResolvers<void>();
    const ending = Promise.withResolvers<void>();
    app = await startScriptedApp(async () => {
      asked.resolve();
      await ending.promise;
      return { pieces: [event('a'), event('b'), Buffer.from('data: [DONE]\n\n')] };
    });
    const answer = post(app, CHATS, await app.makeKey({ ...TEXT }), { ...CHAT, stream: true });
    await asked.promise;
    app.health.startDraining();
    const drained = drain(app.server, { acceptMs: 0, timeoutMs: 20_000, cutOff: () => undefined });
    ending.resolve();
    expect((await answer).text).to.contain('[DONE]');
    expect(await drained).to.equal(true);
  });

  it('end late streams in the format of their route, and count them as estimated', async () => {
    const started = 'data: {"choices":[{"delta":{"content":"one two three"}}]}\n\n';
    app = await startScriptedApp(({ stream }) => ({
      pieces: stream ? [Buffer.from(started), 'stall'] : ['stall'],
      contentType: stream ? 'text/event-stream' : 'application/json',
    }));
    const key = await app.makeKey({ ...TEXT });
    const asked = [
      post(app, CHATS, key, { ...CHAT, stream: true }),
      post(app, RESPONSES, key, { ...QUESTION, stream: true }),
      post(app, CHATS, key, CHAT),
    ];
    await until(() => app.model.calls.length === asked.length);
    app.health.startDraining();
    expect(await drain(app.server, { acceptMs: 0, timeoutMs: 300, cutOff: () => app.gateway.text.cutOff() })).to.equal(
      false,
    );
    const [chat, response, whole] = await Promise.all(asked);
    expect(chat?.text.startsWith(started)).to.equal(true);
    expect(chat?.text).to.match(
      /data: {"error":.*"type":"overloaded_error".*"code":"shutting_down".*\n\ndata: \[DONE\]\n\n$/,
    );
    expect(response?.text).to.match(/event: response\.failed\ndata: .*"status":"failed".*\n\n$/);
    expect([whole?.status, whole?.json.error.code]).to.deep.equal([503, 'shutting_down']);
    const entries = await ledgerOf(app, asked.length);
    expect(entries.map(({ status }) => status).sort()).to.deep.equal([200, 200, 503]);
    for (const { estimated, inputTokens } of entries) {
      expect([estimated, (inputTokens ?? 0) > 0]).to.deep.equal([true, true]);
    }
  });
});
