/** Messages of models with their own format. */

import { expect } from 'chai';
import type { TextCall } from 'mediagate';
import { demandOf, limitOutput } from '../../../core/text/requests.js';
import { readEvents } from '../../support/models/event-reading.js';
import type { Piece, Script } from '../../support/models/scripted-text.js';
import { untilDayHasRoom } from '../../support/same-day.js';
import { until } from '../../support/until.js';
import { startScriptedApp } from './text-app.js';

type App = Awaited<ReturnType<typeof startScriptedApp>>;

const MODEL = { id: 'm-native', routes: ['messages'], efforts: [], maxOutputTokens: 4_000 } as const;
/** Nothing of it has an equivalent in the other formats; no serializer would write it like this. */
const BODY = `{ "model":"m-native","max_tokens" : 900, "x_big":12345678901234567890.10,
  "system":[{"type":"text","text":"You sail.","cache_control":{"type":"ephemeral","ttl":"1h"}}],
  "thinking":{"type":"enabled","budget_tokens":600}, "container":"box_1",
  "tools":[{"type":"web_search_20260318","name":"web_search","max_uses":2}],
  "messages":[{"role":"user","content":"Which tugs lie here?"},
    {"role":"assistant","content":[{"type":"thinking","thinking":"Hm.","signature":"c2ln"},
      {"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{"query":"tugs"}}]},
    {"role":"user","content":"Go on."}]STREAM }`;
const WHOLE = BODY.replace('STREAM', '');
const STREAMED = BODY.replace('STREAM', ', "stream":true');
const USAGE =
  '"usage":{"input_tokens":7,"cache_creation_input_tokens":20,"cache_read_input_tokens":100,"output_tokens":1,"service_tier":"standard"}';
const event = (type: string, fields: string) => `event: ${type}\ndata: {"type":"${type}"${fields}}\n\n`;
const START = event(
  'message_start',
  `,"message":{"id":"msg_1","type":"message","role":"assistant","model":"vendor/secret-name","content":[],"x_new":[1 ,2],${USAGE}}`,
);
const BLOCKS = [
  event('content_block_start', ',"index":0,"content_block":{"type":"thinking","thinking":"","signature":""}'),
  event('ping', ''),
  event('content_block_delta', ',"index":0,"delta":{"type":"thinking_delta","thinking":"Hm."}'),
  event('content_block_delta', ',"index":0,"delta":{"type":"signature_delta","signature":"c2lnbmF0dXJl"}'),
  event('content_block_stop', ',"index":0'),
  event('content_block_start', ',"index":1,"content_block":{"type":"text","text":""}'),
  event('content_block_delta', ',"index":1,"delta":{"type":"text_delta","text":"Two tugs \\ud83d\\ude00"}'),
  event('content_block_stop', ',"index":1'),
];
const DELTA = event(
  'message_delta',
  ',"delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":{"output_tokens":40}',
);
const STOP = event('message_stop', '');
const events = (...texts: string[]): Script => ({ pieces: texts.map((text) => Buffer.from(text)) });

describe('messages of a model with their format', () => {
  let app: App;
  let key: string;
  let script: (call: TextCall) => Script;

  beforeEach(untilDayHasRoom);
  before(async () => {
    app = await startScriptedApp((call) => script(call), { models: [MODEL] }, { messages: true });
    key = await app.makeKey({ grants: ['text'] });
  });
  after(() => app.close());

  const send = (body: string, { path = '/v1/messages', headers = {}, by = key } = {}) =>
    fetch(app.url + path, {
      method: 'POST',
      headers: { 'x-api-key': by, 'content-type': 'application/json', ...headers },
      body,
    });
  /** What a key is counted for its one request, which is estimated after its answer. */
  const used = (by: string) =>
    until(async () => {
      await app.state.admissions.flush();
      const today = new Date().toISOString().slice(0, 10);
      const all = await app.state.usage.entries({ from: today, to: today }, 100);
      return all.find(({ accountId }) => accountId === accountOf.get(by));
    });
  const accountOf = new Map<string, string>();
  async function newAccount(): Promise<string> {
    const accountId = `acct_${accountOf.size}`;
    const made = await app.makeKey({ grants: ['text', 'vendor_ids', 'paid_tools'], accountId });
    accountOf.set(made, accountId);
    return made;
  }
  const whole = (text: string): Script => ({ contentType: 'application/json', pieces: [Buffer.from(text)] });

  it('reach it byte by byte, with the version and betas of the client', async () => {
    script = () => whole(`{"type":"message","content":[],${USAGE}}`);
    const headers = {
      'anthropic-version': '2023-06-01',
      'anthropic-beta': 'a-2026-01-01,b-2026-02-02',
      'x-other': '1',
    };
    const answer = await send(WHOLE, { path: '/v1/messages?beta=true', headers });
    expect([answer.status, await answer.text()][0]).to.equal(200);
    const call = app.model.calls.at(-1);
    expect(Buffer.from(call?.body ?? []).toString()).to.equal(WHOLE);
    expect(call).to.include({ route: 'messages', model: 'm-native', stream: false });
    expect(call?.headers).to.deep.equal({
      'anthropic-version': '2023-06-01',
      'anthropic-beta': 'a-2026-01-01,b-2026-02-02',
    });
  });

  it("are answered byte for byte but for the model's name, with every token counted", async () => {
    const by = await newAccount();
    const message = `{ "id":"msg_1","type":"message", "model" : "vendor/secret-name","content":[{"type":"x_new","y":1.0}],"stop_reason":"pause_turn",${USAGE} }`;
    script = () => whole(message);
    const answer = await send(WHOLE, { by });
    expect(await answer.text()).to.equal(message.replace('vendor/secret-name', 'm-native'));
    expect(await used(by)).to.include({
      inputTokens: 127,
      cachedTokens: 100,
      outputTokens: 1,
      estimated: false,
    });
  });

  for (const cut of ['event', 1, 7] as const) {
    it(`are streamed byte for byte in pieces (${cut}), with every token counted`, async () => {
      const by = await newAccount();
      const sent = [START, ...BLOCKS, DELTA, STOP];
      const bytes = Buffer.from(sent.join(''));
      const pieces: Piece[] =
        cut === 'event'
          ? sent.map((text) => Buffer.from(text))
          : Array.from({ length: Math.ceil(bytes.length / cut) }, (_, index) =>
              bytes.subarray(index * cut, (index + 1) * cut),
            );
      script = () => ({ pieces });
      const answer = await send(STREAMED, { by });
      expect(answer.headers.get('content-type')).to.match(/^text\/event-stream/);
      expect(await answer.text()).to.equal(sent.join('').replace('vendor/secret-name', 'm-native'));
      expect(await used(by)).to.include({
        inputTokens: 127,
        cachedTokens: 100,
        outputTokens: 40,
        estimated: false,
      });
    });
  }

  it('end with an error of their format if a stream breaks, with the exact input tokens', async () => {
    const by = await newAccount();
    script = () => ({ pieces: [START, ...BLOCKS].map((text): Piece => Buffer.from(text)).concat(new Error('reset')) });
    const { events: read } = await readEvents(await send(STREAMED, { by }));
    const last = read.at(-1);
    expect(last?.event).to.equal('error');
    const { type, error, request_id: id } = JSON.parse(last?.data ?? '');
    expect([type, error.type]).to.deep.equal(['error', 'api_error']);
    expect(id).to.match(/^req_/);
    const total = await used(by);
    expect(total).to.include({ inputTokens: 127, cachedTokens: 100, estimated: true });
    expect(total.outputTokens).to.be.within(5, 12);
  });

  it('forward the error of a stream', async () => {
    const error = event('error', ',"error":{"type":"overloaded_error","message":"Full."}');
    script = () => events(START, error);
    const { events: read } = await readEvents(await send(STREAMED));
    expect(read.map(({ event: name }) => name)).to.deep.equal(['message_start', 'error']);
    expect(JSON.parse(read.at(-1)?.data ?? '').error).to.deep.equal({ type: 'overloaded_error', message: 'Full.' });
  });

  it('get the last event if only that is missing', async () => {
    script = () => events(START, ...BLOCKS, DELTA);
    const { events: read } = await readEvents(await send(STREAMED));
    expect(read.at(-1)?.event).to.equal('message_stop');
  });

  it('are limited to the rest of a budget, but not below their thinking budget', async () => {
    const parsed = JSON.parse(WHOLE);
    const demand = demandOf(parsed, 'messages', MODEL, { input: 50, namesFiles: false });
    expect(demand).to.include({ output: 900, minOutput: 601, choices: 1 });
    const plain = demandOf({ max_tokens: 900 }, 'messages', MODEL, { input: 50, namesFiles: false });
    expect(plain).to.include({ output: 900, minOutput: 256 });
    const { body } = limitOutput(Buffer.from(WHOLE), parsed, { route: 'messages', output: 700 });
    expect(Buffer.from(body).toString()).to.equal(WHOLE.replace('900', '700'));
  });

  it('count tokens by the upstream, or by an estimate', async () => {
    const path = '/v1/messages/count_tokens';
    const answer = await send(WHOLE, { path });
    const { input_tokens: tokens } = (await answer.json()) as { input_tokens: number };
    expect(tokens).to.be.within(5, 60);
  });

  it("are refused to keys of a plan if they use paid extras or the vendor's own features", async () => {
    const plan = await app.makeKey({ grants: ['text'] }, { planId: 'token_30m', accountId: 'acct_plan' });
    const refusal = async (body: string) => {
      const answer = await send(body, { by: plan });
      const { error } = (await answer.json()) as { error: { message: string } };
      return `${answer.status} ${error.message}`;
    };
    const plain = { model: 'm-native', max_tokens: 9, messages: [{ role: 'user', content: 'Hi' }] };
    const say = (more: object) => refusal(JSON.stringify({ ...plain, ...more }));
    const hosted = { type: 'web_search_20260318', name: 'web_search' };
    const forced = { tools: [hosted], tool_choice: { type: 'tool', name: 'web_search' } };
    expect(await say(forced)).to.match(/^403 .*web_search_20/);
    expect(await say({ container: 'box_1' })).to.match(/^403 container/);
    expect(await say({ speed: 'fast' })).to.match(/^403 fast/);
    expect(await say({ mcp_servers: [{ type: 'url', url: 'https://x.example', name: 'x' }] })).to.match(/^403 mcp_/);
    const asked = app.model.calls.length;
    script = () => whole(`{"type":"message","content":[],${USAGE}}`);
    const call = { type: 'tool_use', id: 't', name: 'find', input: { file_id: 'mine', container: 'mine' } };
    const schema = { type: 'object', properties: { file_id: { type: 'string' } } };
    const tools = [
      { name: 'find', input_schema: schema },
      { type: 'bash_20250124', name: 'bash' },
    ];
    const messages = [...plain.messages, { role: 'assistant', content: [call] }];
    expect((await send(JSON.stringify({ ...plain, tools, messages }), { by: plan })).status).to.equal(200);
    expect(app.model.calls).to.have.length(asked + 1);
  });
});
