/* Conversations of coding agents with upstreams of chats and of Anthropic's format: tools, thoughts, order, names, values. */

import { expect } from 'chai';
import anthropicText from 'mediagate/plugins/anthropic_text';
import openaiText from 'mediagate/plugins/openai_text';
import {
  chatChunk,
  dataEvents,
  goodScript,
  messageObject,
  namedEvents,
  responseObject,
  type ScriptedVendor,
  startScriptedVendor,
} from '../../support/models/scripted-vendor.js';
import { type ListeningApp, startApp } from '../http/listening-app.js';

const CHATS = '/v1/chat/completions';
const RESPONSES = '/v1/responses';
const MESSAGES = '/v1/messages';
// biome-ignore lint/suspicious/noExplicitAny: answers of four formats are compared by their fields
type Json = Record<string, any>;

const PARAMETERS = { type: 'object', properties: { a: { type: 'integer' } } };
const LONG = `mcp__an_inventory_of_everything_in_the_harbour__list_all_of_the_tugs_and_their_crews`;
const FUNCTION = { type: 'function', name: 'shell', description: 'Runs a command.', parameters: PARAMETERS };
/** What Codex sends by default. */
const CODEX_TOOLS = [
  FUNCTION,
  { type: 'custom', name: 'apply_patch', format: { type: 'grammar', syntax: 'lark', definition: 'start: "x"' } },
  {
    type: 'namespace',
    name: 'mcp__harbour',
    description: 'Tugs.',
    tools: [
      { type: 'function', name: 'list_tugs', parameters: PARAMETERS, defer_loading: true },
      { type: 'function', name: 'shell', parameters: PARAMETERS },
    ],
  },
  { type: 'web_search', external_web_access: false },
  { type: 'image_generation' },
  { type: 'tool_search' },
  { type: 'local_shell' },
];

const chatAnswer = (message: object, finish = 'stop') => ({
  type: 'application/json',
  pieces: [
    JSON.stringify({
      id: 'chatcmpl-1',
      object: 'chat.completion',
      created: 1,
      model: 'vendor-1',
      choices: [{ index: 0, message: { role: 'assistant', content: null, ...message }, finish_reason: finish }],
      usage: { prompt_tokens: 5, completion_tokens: 5, total_tokens: 10 },
    }),
  ],
});
const called = (name: string, args: unknown = '{"a":1}', id = 'call_1') => ({
  tool_calls: [{ id, type: 'function', function: { name, arguments: args } }],
});

describe('conversations of agents', () => {
  let chats: ScriptedVendor;
  let claude: ScriptedVendor;
  let open: ScriptedVendor;
  let app: ListeningApp;
  let key: string;

  before(async () => {
    [chats, claude, open] = await Promise.all([startScriptedVendor(), startScriptedVendor(), startScriptedVendor()]);
    const local = (id: string, more: object = {}) => ({ id, upstream: 'chats', ...more });
    app = await startApp({
      messages: true,
      gateway: {
        services: { http: undefined },
        plugins: [
          {
            use: openaiText,
            options: {
              models: [
                local('local'),
                local('deepseek', { reasoningField: 'reasoning_content' }),
                local('strict', { reasoningField: 'none', systemMessages: 'first' }),
                local('older', { systemMessages: 'system' }),
                { id: 'open', upstream: 'open' },
              ],
              upstreams: [
                { name: 'chats', url: chats.url, routes: ['chat_completions'] },
                { name: 'open', url: open.url },
              ],
            },
          },
          { use: anthropicText, options: { models: 'claude', upstreams: [{ url: claude.url }] } },
        ],
      },
    });
    key = await app.makeKey({ grants: ['text'] });
  });
  beforeEach(() => {
    for (const vendor of [chats, claude, open]) {
      vendor.reset();
      vendor.answer(goodScript('Aye.'));
    }
  });
  after(() => Promise.all([app.close(), chats.close(), claude.close(), open.close()]));

  async function ask(path: string, body: object) {
    const response = await fetch(`${app.url}${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    const text = await response.text();
    const isStream = response.headers.get('content-type')?.startsWith('text/event-stream') ?? false;
    const events = isStream
      ? [...text.matchAll(/^data: (\{.*)$/gm)].map(([, data]) => JSON.parse(data ?? '') as Json)
      : [];
    const ignored = (response.headers.get('x-ignored-params') ?? '').split(', ');
    return { status: response.status, json: (isStream ? {} : JSON.parse(text)) as Json, events, ignored, text };
  }
  const sent = (vendor: ScriptedVendor): Json => vendor.requests.at(-1)?.body ?? {};
  const user = (content: unknown) => ({ role: 'user', content });

  describe('tools that agents send by default', () => {
    it('are accepted: namespaces become functions, hosted tools are left out and listed', async () => {
      for (const model of ['local', 'claude']) {
        for (const stream of [false, true]) {
          const { status, ignored, text } = await ask(RESPONSES, { model, input: 'Hi', tools: CODEX_TOOLS, stream });
          expect(status, text).to.equal(200);
          expect(ignored).to.include.members(['tools.web_search', 'tools.image_generation', 'tools.local_shell']);
          const tools: Json[] = sent(model === 'local' ? chats : claude).tools;
          const names = tools.map((tool) => tool.name ?? tool.function.name);
          expect(names).to.deep.equal(['shell', 'apply_patch', 'mcp__harbour__list_tugs', 'mcp__harbour__shell']);
        }
      }
    });

    it('are called by their own names, whole and streamed', async () => {
      const names = { mcp__harbour__list_tugs: ['list_tugs', 'mcp__harbour'], shell: ['shell', undefined] };
      for (const [encoded, [name, namespace]] of Object.entries(names)) {
        chats.answer(chatAnswer(called(encoded), 'tool_calls'));
        const { json } = await ask(RESPONSES, { model: 'local', input: 'Hi', tools: CODEX_TOOLS });
        expect([json.output[0].name, json.output[0].namespace]).to.deep.equal([name, namespace]);
        const chunk = chatChunk({ tool_calls: [{ index: 0, ...called(encoded).tool_calls[0] }] });
        chats.answer({ pieces: [dataEvents(chunk, chatChunk({}, 'tool_calls'), '[DONE]')] });
        const { events } = await ask(RESPONSES, { model: 'local', input: 'Hi', tools: CODEX_TOOLS, stream: true });
        const done = events.find(({ type }) => type === 'response.output_item.done');
        expect([done?.item.name, done?.item.namespace]).to.deep.equal([name, namespace]);
      }
    });

    it('keep their names in the next turn, in choices and in calls of hosted tools', async () => {
      const input = [
        user('Go'),
        { type: 'web_search_call', id: 'ws_1', status: 'completed', action: { type: 'search', query: 'tugs' } },
        { type: 'function_call', call_id: 'c1', name: 'list_tugs', namespace: 'mcp__harbour', arguments: '' },
        { type: 'function_call_output', call_id: 'c1', output: 'two' },
        { type: 'local_shell_call', call_id: 'c2', status: 'completed', action: { type: 'exec', command: ['ls'] } },
        { type: 'local_shell_call_output', call_id: 'c2', output: 'a.txt' },
        { type: 'ghost_snapshot', ghost_commit: {} },
      ];
      const tool_choice = { type: 'function', name: 'list_tugs', namespace: 'mcp__harbour' };
      const { status, text } = await ask(RESPONSES, { model: 'local', input, tools: CODEX_TOOLS, tool_choice });
      expect(status, text).to.equal(200);
      expect(sent(chats).tool_choice).to.deep.equal({
        type: 'function',
        function: { name: 'mcp__harbour__list_tugs' },
      });
      expect(sent(chats).messages.slice(1)).to.deep.equal([
        {
          role: 'assistant',
          content: '[web_search_call {"action":{"type":"search","query":"tugs"}}]',
          tool_calls: [{ id: 'c1', type: 'function', function: { name: 'mcp__harbour__list_tugs', arguments: '{}' } }],
        },
        { role: 'tool', tool_call_id: 'c1', content: 'two' },
        {
          role: 'assistant',
          content: null,
          tool_calls: [
            {
              id: 'c2',
              type: 'function',
              function: { name: 'local_shell', arguments: '{"action":{"type":"exec","command":["ls"]}}' },
            },
          ],
        },
        { role: 'tool', tool_call_id: 'c2', content: 'a.txt' },
      ]);
    });

    it('are left out, also as the tool choice', async () => {
      const body = { model: 'local', input: 'Hi', tools: [FUNCTION, { type: 'web_search' }] };
      for (const tool_choice of [{ type: 'web_search' }, { type: 'mcp', server_label: 'x' }]) {
        const { status, ignored } = await ask(RESPONSES, { ...body, tool_choice });
        expect([status, ignored]).to.deep.equal([200, ['tools.web_search', 'tool_choice']]);
        expect(sent(chats)).not.to.have.property('tool_choice');
      }
      const allowed = {
        type: 'allowed_tools',
        mode: 'auto',
        tools: [{ type: 'web_search' }, { type: 'function', name: 'shell' }],
      };
      expect((await ask(RESPONSES, { ...body, tool_choice: allowed })).status).to.equal(200);
      expect(sent(chats).tools).to.have.length(1);
    });

    it('are left out of messages too, with their blocks kept as text', async () => {
      const tools = [
        { name: 'shell', input_schema: PARAMETERS },
        { name: 'tide', description: 'Tides.', input_schema: PARAMETERS, defer_loading: true },
        { type: 'web_search_20260318', name: 'web_search', max_uses: 2 },
        { type: 'bash_20250124', name: 'bash' },
      ];
      const results = [
        { type: 'web_search_result', url: 'https://pier.example/', title: 'Pier', encrypted_content: 'x' },
      ];
      const messages = [
        user('Search'),
        {
          role: 'assistant',
          content: [
            { type: 'server_tool_use', id: 'srv_1', name: 'web_search', input: { query: 'pier' } },
            { type: 'web_search_tool_result', tool_use_id: 'srv_1', content: results },
            { type: 'text', text: 'Found.' },
            { type: 'tool_use', id: 'toolu_1', name: 'shell', input: {} },
          ],
        },
        user([
          { type: 'tool_result', tool_use_id: 'toolu_1', content: [{ type: 'tool_reference', tool_name: 'tide' }] },
          { type: 'search_result', title: 'T', source: 's', content: [{ type: 'text', text: 'Low water.' }] },
        ]),
      ];
      for (const model of ['local', 'open']) {
        const body = { model, max_tokens: 50, messages, tools, tool_choice: { type: 'tool', name: 'web_search' } };
        const { status, ignored, text } = await ask(MESSAGES, body);
        expect(status, text).to.equal(200);
        expect(ignored).to.include.members(['tools.web_search_20260318', 'tools.bash_20250124', 'tool_choice']);
        const all = JSON.stringify(sent(model === 'local' ? chats : open));
        expect(all).to.include('[web_search {\\"query\\":\\"pier\\"}]').and.to.include('Pier: https://pier.example/');
        expect(all).to.include('Low water.').and.to.include('\\"description\\":\\"Tides.\\"');
      }
    });
  });

  describe('thoughts', () => {
    const loop = [
      user('Go'),
      { type: 'reasoning', id: 'rs_1', summary: [], content: [{ type: 'reasoning_text', text: 'First I list.' }] },
      { type: 'function_call', call_id: 'c1', name: 'shell', arguments: '{}' },
      { type: 'function_call_output', call_id: 'c1', output: 'two' },
      { type: 'reasoning', summary: [{ type: 'summary_text', text: 'Then I count.' }] },
      { type: 'function_call', call_id: 'c2', name: 'shell', arguments: '{}' },
      { type: 'function_call_output', call_id: 'c2', output: 'three' },
    ];
    const thoughtsSent = (field = 'reasoning_content') =>
      (sent(chats).messages as Json[]).filter(({ role }) => role === 'assistant').map((message) => message[field]);

    it('return to the upstream within a tool loop of responses and messages', async () => {
      expect((await ask(RESPONSES, { model: 'local', input: loop, tools: [FUNCTION] })).status).to.equal(200);
      expect(thoughtsSent()).to.deep.equal(['First I list.', 'Then I count.']);
      const use = (id: string) => ({ type: 'tool_use', id, name: 'shell', input: {} });
      const messages = [
        user('Go'),
        { role: 'assistant', content: [{ type: 'thinking', thinking: 'First I list.', signature: '' }, use('t1')] },
        user([{ type: 'tool_result', tool_use_id: 't1', content: 'two' }]),
        { role: 'assistant', content: [{ type: 'thinking', thinking: 'Then I count.', signature: '' }, use('t2')] },
        user([{ type: 'tool_result', tool_use_id: 't2', content: 'three' }]),
      ];
      const tools = [{ name: 'shell', input_schema: PARAMETERS }];
      expect((await ask(MESSAGES, { model: 'local', max_tokens: 9, messages, tools })).status).to.equal(200);
      expect(thoughtsSent()).to.deep.equal(['First I list.', 'Then I count.']);
    });

    it('do not return without a tool call, or to an upstream that refuses them', async () => {
      const input = [user('Hi'), loop[1], { role: 'assistant', content: 'Hello.' }, user('And?')];
      await ask(RESPONSES, { model: 'local', input });
      expect(thoughtsSent()).to.deep.equal([undefined]);
      await ask(RESPONSES, { model: 'strict', input: loop });
      expect(thoughtsSent()).to.deep.equal([undefined, undefined]);
    });

    it('are empty if the upstream requires them and the client dropped them', async () => {
      await ask(RESPONSES, { model: 'deepseek', input: loop.filter(({ type }: Json) => type !== 'reasoning') });
      expect(thoughtsSent()).to.deep.equal(['', '']);
    });

    it('of a responses upstream become a thinking block, from text or summary', async () => {
      const item = { id: 'rs_1', type: 'reasoning', summary: [], content: [{ type: 'reasoning_text', text: 'Hm.' }] };
      const body = { model: 'open', max_tokens: 50, messages: [user('Hi')], thinking: { type: 'adaptive' } };
      const done = responseObject('completed', 'Aye.');
      const answered = { ...done, output: [item, ...(done.output as object[])] };
      open.answer({ type: 'application/json', pieces: [JSON.stringify(answered)] });
      expect((await ask(MESSAGES, body)).json.content[0]).to.include({ type: 'thinking', thinking: 'Hm.' });
      open.answer({
        pieces: [
          namedEvents(
            { type: 'response.created', response: responseObject('in_progress') },
            { type: 'response.output_item.done', output_index: 0, item },
            { type: 'response.completed', response: answered },
          ),
        ],
      });
      const { events } = await ask(MESSAGES, { ...body, stream: true });
      expect(events.map(({ delta }) => delta?.thinking).filter(Boolean)).to.deep.equal(['Hm.']);
    });

    it('are left out and listed if another vendor encrypted them', async () => {
      const item = { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'x' };
      const { status, ignored } = await ask(RESPONSES, { model: 'local', input: [user('Hi'), item, user('Go')] });
      expect([status, ignored]).to.deep.equal([200, ['input[1].encrypted_content']]);
    });
  });

  it('names sources of a chat as url_citation of a response', async () => {
    const annotations = [
      { type: 'url_citation', url_citation: { url: 'https://a.example/', title: 'A', start_index: 0, end_index: 3 } },
    ];
    const expected = [{ type: 'url_citation', url: 'https://a.example/', title: 'A', start_index: 0, end_index: 3 }];
    chats.answer(chatAnswer({ content: 'Aye.', annotations }));
    const { json } = await ask(RESPONSES, { model: 'local', input: 'Hi' });
    expect(json.output[0].content[0].annotations).to.deep.equal(expected);
    chats.answer({
      pieces: [dataEvents(chatChunk({ content: 'Aye.' }), chatChunk({ annotations }), chatChunk({}, 'stop'), '[DONE]')],
    });
    const { events } = await ask(RESPONSES, { model: 'local', input: 'Hi', stream: true });
    const added = events.find(({ type }) => type === 'response.output_text.annotation.added');
    expect(added).to.deep.include({ annotation: expected[0], annotation_index: 0, content_index: 0 });
    expect(events.at(-1)?.response.output[0].content[0].annotations).to.deep.equal(expected);
  });

  describe('order, names and ids', () => {
    const steps = [
      { role: 'developer', content: 'Be short.' },
      user('Go'),
      { type: 'function_call', call_id: 'c1', name: 'shell', arguments: '{}' },
      { type: 'function_call', call_id: 'c2', name: 'shell', arguments: '{}' },
      { role: 'developer', content: 'The sandbox is closed.' },
      { type: 'function_call_output', call_id: 'c2', output: 'two' },
      user('Hurry'),
      { type: 'function_call_output', call_id: 'c1', output: 'one' },
    ];

    it('put results directly after their calls, and one system message first', async () => {
      await ask(RESPONSES, { model: 'local', instructions: 'Be kind.', input: steps });
      const { messages } = sent(chats) as { messages: Json[] };
      expect(messages.map(({ role, content, tool_call_id: id }) => [role, id ?? content])).to.deep.equal([
        ['system', 'Be kind.\n\nBe short.\n\nThe sandbox is closed.'],
        ['user', 'Go'],
        ['assistant', null],
        ['tool', 'c1'],
        ['tool', 'c2'],
        ['user', 'Hurry'],
      ]);
    });

    it('write system roles as the option requires', async () => {
      const messages = [
        { role: 'system', content: 'A' },
        user('Hi'),
        { role: 'developer', content: [{ type: 'text', text: 'B' }] },
        { role: 'user', content: 'Go', id: 12345678901234567890n.toString() },
      ];
      await ask(CHATS, { model: 'local', messages });
      expect(sent(chats).messages).to.deep.equal(messages);
      await ask(CHATS, { model: 'older', messages });
      expect(sent(chats).messages.map(({ role }: Json) => role)).to.deep.equal(['system', 'user', 'system', 'user']);
      await ask(CHATS, { model: 'strict', messages });
      expect(sent(chats).messages).to.deep.equal([{ role: 'system', content: 'A\n\nB' }, messages[1], messages[3]]);
    });

    it('shorten names that vendors refuse, and restore them', async () => {
      const names = [LONG, 'files.read', 'größe', 'files_read'];
      const fits = /^[A-Za-z0-9_-]{1,64}$/;
      const vendors = [
        ['local', chats],
        ['claude', claude],
      ] as const;
      for (const [model, vendor] of vendors) {
        const tools = names.map((name) => ({ type: 'function', name, parameters: PARAMETERS }));
        await ask(RESPONSES, { model, input: 'Hi', tools });
        const asked: string[] = sent(vendor).tools.map((tool: Json) => tool.name ?? tool.function.name);
        expect(new Set(asked).size).to.equal(4);
        for (const name of asked) expect(name).to.match(fits);
        expect(asked[3]).to.equal('files_read');
      }
      const tools = names.map((name) => ({ name, input_schema: PARAMETERS }));
      for (const [model, vendor] of [
        ['local', chats],
        ['open', open],
      ] as const) {
        vendor.answer(({ body, path }) => {
          const [tool] = body.tools as Json[];
          const name = tool?.name ?? tool?.function.name;
          const call = { type: 'function_call', id: 'fc_1', call_id: 'functions.now:0', name, arguments: '{"a":1}' };
          return path.endsWith('/responses')
            ? { type: 'application/json', pieces: [JSON.stringify({ ...responseObject('completed'), output: [call] })] }
            : chatAnswer(called(name, '{"a":1}', 'functions.now:0'), 'tool_calls');
        });
        const { json } = await ask(MESSAGES, { model, max_tokens: 50, messages: [user('Hi')], tools });
        const [use] = json.content;
        expect(use).to.include({ type: 'tool_use', name: LONG });
        expect(use.id).to.match(/^[A-Za-z0-9_-]+$/);
        const result = { type: 'tool_result', tool_use_id: use.id, content: 'noon' };
        await ask(MESSAGES, {
          model,
          max_tokens: 50,
          messages: [user('Hi'), { role: 'assistant', content: [use] }, user([result])],
          tools,
        });
        const all = JSON.stringify(sent(vendor));
        expect(all.split(`"${use.id}"`)).to.have.length(3);
        expect(all).not.to.include(`"${LONG}"`);
      }
    });

    it('restore the names in chats of Anthropic models', async () => {
      claude.answer(({ body }) => ({
        type: 'application/json',
        pieces: [
          JSON.stringify({
            ...messageObject(''),
            content: [{ type: 'tool_use', id: 't1', name: (body.tools as Json[])[0]?.name, input: {} }],
            stop_reason: 'tool_use',
          }),
        ],
      }));
      const tools = [{ type: 'function', function: { name: LONG, parameters: PARAMETERS } }];
      const { json } = await ask(CHATS, { model: 'claude', messages: [user('Hi')], tools });
      expect(json.choices[0].message.tool_calls[0].function).to.deep.equal({ name: LONG, arguments: '{}' });
    });
  });

  describe('empty and unusual values', () => {
    const stream = (...chunks: object[]) => ({ pieces: [dataEvents(...chunks, '[DONE]')] });
    const call = (fields: object) => chatChunk({ tool_calls: [{ index: 0, ...fields }] });

    it('keep the arguments of continuations with empty ids and names', async () => {
      chats.answer(
        stream(
          call({ id: 'c1', type: 'function', function: { name: 'shell', arguments: '' } }),
          call({ id: '', function: { name: '', arguments: '{"a"' } }),
          call({ id: '', function: { name: '', arguments: ':1}' } }),
          chatChunk({}, 'tool_calls'),
        ),
      );
      const { events } = await ask(RESPONSES, { model: 'local', input: 'Hi', tools: [FUNCTION], stream: true });
      expect(events.at(-1)?.response.output).to.have.length(1);
      expect(events.at(-1)?.response.output[0]).to.include({ call_id: 'c1', name: 'shell', arguments: '{"a":1}' });
    });

    it('send an empty object for arguments that are empty', async () => {
      chats.answer(chatAnswer(called('shell', ''), 'tool_calls'));
      const { json } = await ask(RESPONSES, { model: 'local', input: 'Hi', tools: [FUNCTION] });
      expect(json.output[0].arguments).to.equal('{}');
      chats.answer(stream(call({ id: 'c1', function: { name: 'shell', arguments: '' } }), chatChunk({}, 'tool_calls')));
      const { events } = await ask(RESPONSES, { model: 'local', input: 'Hi', tools: [FUNCTION], stream: true });
      expect(events.find(({ type }) => type === 'response.function_call_arguments.done')?.arguments).to.equal('{}');
    });

    it('end a turn normally that reports a call without one, and read the older function_call', async () => {
      const tools = [{ name: 'shell', input_schema: PARAMETERS }];
      const body = { model: 'local', max_tokens: 9, messages: [user('Hi')], tools };
      chats.answer(chatAnswer({ content: 'Done.' }, 'tool_calls'));
      expect((await ask(MESSAGES, body)).json.stop_reason).to.equal('end_turn');
      chats.answer(stream(chatChunk({ content: 'Done.' }), chatChunk({}, 'tool_calls')));
      const ended = (await ask(MESSAGES, { ...body, stream: true })).events.find(
        ({ type }) => type === 'message_delta',
      );
      expect(ended?.delta.stop_reason).to.equal('end_turn');
      const older = { function_call: { name: 'shell', arguments: '{"a":1}' } };
      chats.answer(chatAnswer(older, 'function_call'));
      const { json } = await ask(MESSAGES, body);
      expect([json.stop_reason, json.content[0].input]).to.deep.equal(['tool_use', { a: 1 }]);
      const response = await ask(RESPONSES, { model: 'local', input: 'Hi', tools: [FUNCTION] });
      expect(response.json.output[0]).to.include({ type: 'function_call', name: 'shell', arguments: '{"a":1}' });
      const pieces = [{ name: 'shell', arguments: '' }, { arguments: '{"a"' }, { arguments: ':1}' }];
      chats.answer(stream(...pieces.map((one) => chatChunk({ function_call: one })), chatChunk({}, 'function_call')));
      const streamed = await ask(RESPONSES, { model: 'local', input: 'Hi', tools: [FUNCTION], stream: true });
      expect(streamed.events.at(-1)?.response.output[0]).to.include({ name: 'shell', arguments: '{"a":1}' });
    });

    it('treat finish_reason "error" as an error', async () => {
      const body = { model: 'local', max_tokens: 9, messages: [user('Hi')] };
      chats.answer(chatAnswer({ content: 'Half' }, 'error'));
      expect((await ask(MESSAGES, body)).status).to.equal(502);
      expect((await ask(RESPONSES, { model: 'local', input: 'Hi' })).status).to.equal(502);
      chats.answer(stream(chatChunk({ content: 'Half' }), chatChunk({}, 'error')));
      expect((await ask(MESSAGES, { ...body, stream: true })).events.at(-1)?.type).to.equal('error');
      const { events } = await ask(RESPONSES, { model: 'local', input: 'Hi', stream: true });
      expect(events.at(-1)?.type).to.equal('response.failed');
    });

    it('convert tool_use blocks inside of chats, in answers and in requests', async () => {
      const use = { type: 'tool_use', id: 't1', name: 'shell', input: { a: 1 } };
      chats.answer(chatAnswer({ content: [{ type: 'text', text: 'So.' }, use] }, 'tool_calls'));
      const { json } = await ask(RESPONSES, { model: 'local', input: 'Hi', tools: [FUNCTION] });
      expect(json.output.map(({ type }: Json) => type)).to.deep.equal(['message', 'function_call']);
      expect(json.output[1]).to.include({ name: 'shell', arguments: '{"a":1}' });
      const tools = [{ name: 'shell', input_schema: PARAMETERS }];
      const message = await ask(MESSAGES, { model: 'local', max_tokens: 9, messages: [user('Hi')], tools });
      expect(message.json.content[1]).to.include({ type: 'tool_use', name: 'shell' });
      const result = { type: 'tool_result', tool_use_id: 't1', content: 'two' };
      const messages = [user('Hi'), { role: 'assistant', content: [use] }, user([result])];
      expect((await ask(CHATS, { model: 'claude', messages })).status).to.equal(200);
      expect(sent(claude).messages.slice(1)).to.deep.equal([
        { role: 'assistant', content: [use] },
        { role: 'user', content: [result] },
      ]);
    });
  });

  describe('fields that Anthropic refuses', () => {
    const chat = (more: object) => ask(CHATS, { model: 'claude', messages: [user('Hi')], max_tokens: 9_000, ...more });
    const tools = [{ type: 'function', function: { name: 'shell', parameters: PARAMETERS } }];

    it('are left out and listed: sampling beside thinking, and thinking beside a forced tool', async () => {
      const sampled = await chat({ reasoning_effort: 'high', temperature: 0.2, top_p: 0.9, top_k: 4 });
      expect(sampled.ignored).to.deep.equal(['temperature', 'top_p', 'top_k']);
      expect(sent(claude).thinking).to.deep.equal({ type: 'adaptive', display: 'summarized' });
      expect(sent(claude)).not.to.have.any.keys('temperature', 'top_p', 'top_k');
      for (const tool_choice of ['required', { type: 'function', function: { name: 'shell' } }]) {
        const forced = await chat({ reasoning_effort: 'high', tools, tool_choice });
        expect([forced.status, forced.ignored]).to.deep.equal([200, ['reasoning_effort']]);
        expect(sent(claude)).not.to.have.property('thinking');
      }
      const through = await ask(RESPONSES, {
        model: 'claude',
        input: 'Hi',
        reasoning: { effort: 'low' },
        temperature: 0.2,
      });
      expect([through.status, through.ignored]).to.deep.equal([200, ['temperature']]);
      expect((await chat({ temperature: 0.2 })).ignored).to.deep.equal(['']);
      expect(sent(claude).temperature).to.equal(0.2);
      expect((await chat({ temperature: 1.7 })).ignored).to.deep.equal(['temperature']);
    });

    it('are converted: types of images, empty texts, trailing white space', async () => {
      for (const type of ['image/jpg', 'image/JPG', 'image/pjpeg']) {
        const image = { type: 'image_url', image_url: { url: `data:${type};base64,aGk=` } };
        expect((await chat({ messages: [user([image, { type: 'text', text: '' }])] })).status).to.equal(200);
        expect(sent(claude).messages[0].content).to.deep.equal([
          { type: 'image', source: { type: 'base64', media_type: 'image/jpeg', data: 'aGk=' } },
        ]);
        const source = { type: 'base64', media_type: type.toLowerCase(), data: 'aGk=' };
        const messages = [
          user([
            { type: 'image', source },
            { type: 'text', text: '"media_type":"image/jpg"' },
          ]),
        ];
        for (const model of ['claude', 'local']) {
          const { status, text } = await ask(MESSAGES, { model, max_tokens: 9, messages });
          expect(status, text).to.equal(200);
        }
        expect(sent(claude).messages[0].content[0].source.media_type).to.equal('image/jpeg');
        expect(sent(claude).messages[0].content[1].text).to.equal('"media_type":"image/jpg"');
        expect(JSON.stringify(sent(chats))).to.include('data:image/jpeg;base64,aGk=');
      }
      await chat({ messages: [user('Hi'), { role: 'assistant', content: 'Once  \n' }], stop: ['\n', 'END'] });
      expect(sent(claude).messages[1].content).to.deep.equal([{ type: 'text', text: 'Once' }]);
      expect(sent(claude).stop_sequences).to.deep.equal(['END']);
    });
  });
});
