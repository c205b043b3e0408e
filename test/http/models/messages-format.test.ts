/** Messages converted to the formats of other models. */

import Anthropic from '@anthropic-ai/sdk';
import { expect } from 'chai';
import type { TextCall } from 'mediagate';
import { GatewayError } from '../../../core/runtime/index.js';
import { ToolNames } from '../../../core/text/chats/tool-names.js';
import { messageEvents } from '../../../server/models/messages/answer.js';
import { eventsOfBytes, readEvents } from '../../support/models/event-reading.js';
import { inPieces, type Piece, type Script } from '../../support/models/scripted-text.js';
import { answerTo } from '../../support/models/text-answer.js';
import { chatEvents, type StreamEvent } from '../../support/models/text-chat-format.js';
import { type Oddity, streamContent } from '../../support/models/text-delivery.js';
import { responsesEvents } from '../../support/models/text-responses-format.js';
import { variants } from '../../support/runner/variants.js';
import { untilDayHasRoom } from '../../support/same-day.js';
import { until } from '../../support/until.js';
import type { ListeningApp } from '../http/listening-app.js';
import { startScriptedApp } from './text-app.js';

type WritingRoute = 'responses' | 'chat_completions';
type Members = Record<string, unknown>;
type App = Awaited<ReturnType<typeof startScriptedApp>>;

const MESSAGES = '/v1/messages';
const TEXT = { grants: ['text'] } as const;
const QUESTION = 'Smile \u{1f600} at "Ostend"';
const MODELS: Readonly<Record<WritingRoute, string>> = { responses: 'm-5.5', chat_completions: 'm-chat' };
const ROUTES = Object.keys(MODELS) as WritingRoute[];
/** Of the largest pieces that a stream comes in: together they are cut at every byte, in many ways. */
const MOST_BYTES = 64;
const ODDITIES: readonly (readonly Oddity[])[] = [
  ['crlf', 'comments'],
  ['cr', 'fields'],
  ['no_space', 'loose_json', 'bom'],
  ['comments', 'unknown_events', 'keepalive', 'done'],
];
const TOOL = { name: 'weather', input_schema: { type: 'object', properties: {} } };
/** Has members of the names that make a text of an object, and no text. */
const UNTEXTUAL = { toString: 1, valueOf: 1 };
const imageOf = (mediaType: unknown) => {
  const source = { type: 'base64', media_type: mediaType, data: 'aGk=' };
  return { messages: [{ role: 'user', content: [{ type: 'image', source }] }] };
};
/** As a parser that knows nothing of messages finds it in the README of the format. */
const ORDER =
  /^message_start( ping| content_block_start( ping| content_block_delta)* content_block_stop)* message_delta message_stop$/;

describe('messages in the formats of the models', () => {
  let app: App;
  let key: string;
  let script: (call: TextCall) => Script;

  beforeEach(untilDayHasRoom);
  before(async () => {
    const gateway = { text: { keepAliveMs: 60 } };
    app = await startScriptedApp((call) => script(call), {}, { messages: true, gateway });
  });
  // Requests of the test before may still be settled.
  beforeEach(async () => {
    key = await app.makeKey({ ...TEXT });
  });
  after(() => app.close());

  const send = (body: object, path = MESSAGES) => sendText(JSON.stringify(body), path);
  const sendText = (body: string, path = MESSAGES) =>
    fetch(app.url + path, {
      method: 'POST',
      headers: { 'x-api-key': key, 'content-type': 'application/json' },
      body,
    });
  const bodyOn = (route: WritingRoute, more: object = {}) => ({
    model: MODELS[route],
    max_tokens: 500,
    messages: [{ role: 'user', content: QUESTION }],
    ...more,
  });
  const wholly = (value: unknown): Script => ({
    contentType: 'application/json',
    pieces: [Buffer.from(JSON.stringify(value))],
  });

  /** What the model was asked. */
  async function askedOn(route: WritingRoute, more: object): Promise<Members> {
    script = () => wholly(route === 'responses' ? responseOf([]) : chatOf({ content: 'x' }));
    const answer = await send(bodyOn(route, more));
    expect([answer.status, await answer.text()][0], JSON.stringify(more)).to.equal(200);
    return JSON.parse(String(Buffer.from(app.model.calls.at(-1)?.body ?? []))) as Members;
  }

  async function refusalOf(route: WritingRoute, more: object, path?: string): Promise<string> {
    const asked = app.model.calls.length;
    const answer = await send(bodyOn(route, more), path);
    const { type, error } = (await answer.json()) as { type: string; error: { type: string; message: string } };
    expect([answer.status, type, error.type], error.message).to.deep.equal([400, 'error', 'invalid_request_error']);
    expect(app.model.calls).to.have.length(asked);
    return error.message;
  }

  /** The message that a stream tells, its events in order, and what else it says. */
  async function streamed(route: WritingRoute, pieces: Iterable<Piece>, more: object = {}) {
    script = () => ({ pieces });
    const answer = await send(bodyOn(route, { stream: true, ...more }));
    const { events, complaints, broken } = await readEvents(answer);
    expect([answer.status, complaints, broken]).to.deep.equal([200, [], undefined]);
    return { types: events.map(({ event }) => event ?? '').join(' '), ...gather(events) };
  }

  const vendorStream = (route: WritingRoute, odd: readonly Oddity[] = [], more: object = {}) => {
    const body = { model: 'vendor/secret-name', input: QUESTION, ...more };
    const answer = answerTo(body, { thinks: 3 }, 7);
    const events =
      route === 'responses'
        ? responsesEvents(answer, body, { end: 'regular', withUsage: true, obfuscation: false })
        : chatEvents(answer, { usage: 'always', includeUsage: true, obfuscation: false });
    return { ...streamContent(events, odd), usage: answer.usage };
  };

  describe('requests', () => {
    const image = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'aGk=' } };
    const linked = { type: 'image', source: { type: 'url', url: 'https://pier.example/tug.png' } };
    const pdf = {
      type: 'document',
      title: 'Tides',
      source: { type: 'base64', media_type: 'application/pdf', data: 'JVBERg==' },
    };
    const conversation = [
      {
        role: 'user',
        content: [{ type: 'text', text: 'Look', cache_control: { type: 'ephemeral' } }, image, linked, pdf],
      },
      {
        role: 'assistant',
        content: [
          { type: 'thinking', thinking: 'Hm.', signature: '' },
          { type: 'redacted_thinking', data: 'x' },
          { type: 'text', text: 'A moment. ' },
          { type: 'text', text: 'Two calls.' },
          { type: 'tool_use', id: 'toolu_1', name: 'weather', input: { place: 'Ostend' } },
          { type: 'tool_use', id: 'toolu_2', name: 'tide', input: {} },
        ],
      },
      {
        role: 'user',
        content: [
          { type: 'text', text: 'And be brief.' },
          { type: 'tool_result', tool_use_id: 'toolu_1', content: [{ type: 'text', text: 'drizzle' }, image] },
          { type: 'tool_result', tool_use_id: 'toolu_2', is_error: true, content: 'no gauge' },
          { type: 'tool_result', tool_use_id: 'toolu_3' },
        ],
      },
      { role: 'system', content: 'Stay calm.' },
    ];
    const system = [
      { type: 'text', text: 'Be kind.', cache_control: { type: 'ephemeral' } },
      { type: 'text', text: 'Be short.' },
    ];

    it('become a response', async () => {
      const asked = await askedOn('responses', { system, messages: conversation });
      expect(asked.instructions).to.equal('Be kind.\n\nBe short.');
      expect(asked).to.include({ store: false, stream: false, max_output_tokens: 500, model: 'm-5.5' });
      const picture = { type: 'input_image', image_url: 'data:image/png;base64,aGk=', detail: 'auto' };
      expect(asked.input).to.deep.equal([
        {
          type: 'message',
          role: 'user',
          content: [
            { type: 'input_text', text: 'Look' },
            picture,
            { type: 'input_image', image_url: 'https://pier.example/tug.png', detail: 'auto' },
            { type: 'input_text', text: 'Tides' },
            { type: 'input_file', filename: 'document.pdf', file_data: 'data:application/pdf;base64,JVBERg==' },
          ],
        },
        {
          type: 'message',
          role: 'assistant',
          content: [
            { type: 'output_text', text: 'A moment. ' },
            { type: 'output_text', text: 'Two calls.' },
          ],
        },
        { type: 'function_call', call_id: 'toolu_1', name: 'weather', arguments: '{"place":"Ostend"}' },
        { type: 'function_call', call_id: 'toolu_2', name: 'tide', arguments: '{}' },
        {
          type: 'function_call_output',
          call_id: 'toolu_1',
          output: [{ type: 'input_text', text: 'drizzle' }, picture],
        },
        { type: 'function_call_output', call_id: 'toolu_2', output: 'The tool failed:\nno gauge' },
        { type: 'function_call_output', call_id: 'toolu_3', output: '' },
        { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'And be brief.' }] },
        { type: 'message', role: 'system', content: [{ type: 'input_text', text: 'Stay calm.' }] },
      ]);
    });

    it('become a chat if the model has no other format', async () => {
      const asked = await askedOn('chat_completions', { system, messages: conversation });
      expect(asked).to.include({ max_tokens: 500, model: 'm-chat', stream: false }).and.not.to.have.property('store');
      const picture = { type: 'image_url', image_url: { url: 'data:image/png;base64,aGk=' } };
      const call = (id: string, name: string, input: string) => ({
        id,
        type: 'function',
        function: { name, arguments: input },
      });
      expect(asked.messages).to.deep.equal([
        { role: 'system', content: 'Be kind.\n\nBe short.\n\nStay calm.' },
        {
          role: 'user',
          content: [
            { type: 'text', text: 'Look' },
            picture,
            { type: 'image_url', image_url: { url: 'https://pier.example/tug.png' } },
            { type: 'text', text: 'Tides' },
            { type: 'file', file: { filename: 'document.pdf', file_data: 'data:application/pdf;base64,JVBERg==' } },
          ],
        },
        {
          role: 'assistant',
          content: 'A moment. Two calls.',
          reasoning_content: 'Hm.',
          tool_calls: [call('toolu_1', 'weather', '{"place":"Ostend"}'), call('toolu_2', 'tide', '{}')],
        },
        { role: 'tool', tool_call_id: 'toolu_1', content: 'drizzle' },
        { role: 'tool', tool_call_id: 'toolu_2', content: 'The tool failed:\nno gauge' },
        { role: 'tool', tool_call_id: 'toolu_3', content: '' },
        { role: 'user', content: [picture] },
        { role: 'user', content: 'And be brief.' },
      ]);
    });

    it('carry documents of every kind that can be converted', async () => {
      const document = (source: object, more: object = {}) => ({
        messages: [{ role: 'user', content: [{ type: 'document', source, ...more }] }],
      });
      const content = async (more: object) => ((await askedOn('responses', more)).input as Members[])[0]?.content;
      expect(
        await content(document({ type: 'text', media_type: 'text/plain', data: 'high' }, { context: 'A tide' })),
      ).to.deep.equal([
        { type: 'input_text', text: 'A tide' },
        { type: 'input_text', text: 'high' },
      ]);
      const nested = { type: 'content', content: [{ type: 'text', text: 'low' }, image] };
      expect(await content(document(nested))).to.deep.equal([
        { type: 'input_text', text: 'low' },
        { type: 'input_image', image_url: 'data:image/png;base64,aGk=', detail: 'auto' },
      ]);
      const url = 'https://pier.example/tides.pdf';
      expect(await content(document({ type: 'url', url }))).to.deep.equal([{ type: 'input_file', file_url: url }]);
      expect(await refusalOf('chat_completions', document({ type: 'url', url }))).to.match(
        /^messages\.0\.content\.0: /,
      );
    });

    it('carry tools and their choice', async () => {
      const tools = [{ ...TOOL, type: 'custom', description: 'Of a place.', strict: true }, TOOL];
      for (const [choice, response, chat] of [
        [{ type: 'auto' }, 'auto', 'auto'],
        [{ type: 'any' }, 'required', 'required'],
        [{ type: 'none' }, 'none', 'none'],
        [
          { type: 'tool', name: 'weather' },
          { type: 'function', name: 'weather' },
          { type: 'function', function: { name: 'weather' } },
        ],
      ] as const) {
        expect((await askedOn('responses', { tools, tool_choice: choice })).tool_choice).to.deep.equal(response);
        expect((await askedOn('chat_completions', { tools, tool_choice: choice })).tool_choice).to.deep.equal(chat);
      }
      const tool_choice = { type: 'auto', disable_parallel_tool_use: true };
      const parameters = TOOL.input_schema;
      const asked = await askedOn('responses', { tools, tool_choice });
      expect(asked.parallel_tool_calls).to.equal(false);
      expect(asked.tools).to.deep.equal([
        { type: 'function', name: 'weather', description: 'Of a place.', parameters, strict: true },
        { type: 'function', name: 'weather', parameters, strict: false },
      ]);
      const chat = await askedOn('chat_completions', { tools, tool_choice });
      expect(chat.parallel_tool_calls).to.equal(false);
      expect(chat.tools).to.deep.equal([
        { type: 'function', function: { name: 'weather', description: 'Of a place.', parameters, strict: true } },
        { type: 'function', function: { name: 'weather', parameters } },
      ]);
      expect(await askedOn('responses', { tools: [], tool_choice })).to.not.include.keys('tools', 'tool_choice');
    });

    it('become a chat in which results follow their calls', async () => {
      const call = (id: string) => ({ type: 'tool_use', id, name: 'tide', input: {} });
      const result = (id: string) => ({ type: 'tool_result', tool_use_id: id, content: 'low' });
      const text = (words: string) => ({ type: 'text', text: words });
      const messages = [
        { role: 'user', content: 'Look' },
        { role: 'assistant', content: [text('One. '), call('a'), text('Two.'), call('b')] },
        { role: 'user', content: [result('a'), result('b')] },
      ];
      const { messages: asked } = await askedOn('chat_completions', { messages });
      const called = { type: 'function', function: { name: 'tide', arguments: '{}' } };
      const tool_calls = ['a', 'b'].map((id) => ({ id, ...called }));
      expect((asked as Members[]).slice(1)).to.deep.equal([
        { role: 'assistant', content: 'One. Two.', tool_calls },
        { role: 'tool', tool_call_id: 'a', content: 'low' },
        { role: 'tool', tool_call_id: 'b', content: 'low' },
      ]);
    });

    it("carry the thinking effort within the model's range", async () => {
      const enabled = (budget_tokens: number) => ({ thinking: { type: 'enabled', budget_tokens } });
      for (const [more, reasoning] of [
        [{}, undefined],
        [{ thinking: { type: 'adaptive' } }, { summary: 'auto' }],
        [{ thinking: { type: 'adaptive', display: 'omitted' } }, undefined],
        [enabled(4_000), { effort: 'low', summary: 'auto' }],
        [enabled(10_000), { effort: 'medium', summary: 'auto' }],
        [enabled(31_999), { effort: 'high', summary: 'auto' }],
        [enabled(64_000), { effort: 'xhigh', summary: 'auto' }],
        [{ thinking: { type: 'disabled' } }, { effort: 'low' }],
        [{ output_config: { effort: 'max' } }, { effort: 'xhigh' }],
        [
          { ...enabled(64_000), output_config: { effort: 'medium' } },
          { effort: 'medium', summary: 'auto' },
        ],
      ] as const) {
        expect((await askedOn('responses', more)).reasoning, JSON.stringify(more)).to.deep.equal(reasoning);
      }
      // A model without efforts.
      script = () => wholly(chatOf({ content: 'x' }));
      const answer = await send(bodyOn('chat_completions', enabled(4_000)));
      expect(answer.headers.get('x-ignored-params')).to.equal('thinking');
      expect(app.model.calls.at(-1)?.parsed).not.to.have.property('reasoning_effort');
    });

    it('carry every other field that can be converted', async () => {
      const user_id = `user_${'x'.repeat(90)}`;
      const more = { temperature: 0.5, top_p: 0.9, service_tier: 'standard_only', metadata: { user_id } };
      for (const route of ROUTES) {
        const asked = await askedOn(route, more);
        expect(asked).to.include({ temperature: 0.5, top_p: 0.9, service_tier: 'default' });
        expect(asked.user).to.match(/^[0-9a-f]{64}$/);
        expect((await askedOn(route, { metadata: { user_id: 'me' } })).user).to.equal('me');
        const plain = await askedOn(route, { temperature: 1, top_p: 1, top_k: 5, unheard_of: true, max_tokens: 1 });
        expect(plain).to.not.include.keys('temperature', 'top_p', 'top_k', 'unheard_of');
        expect(plain.max_tokens ?? plain.max_output_tokens).to.equal(route === 'responses' ? 16 : 1);
      }
      const format = { type: 'json_schema', schema: { type: 'object' } };
      for (const more of [{ output_config: { format } }, { output_format: format, output_config: { format: null } }]) {
        expect((await askedOn('chat_completions', more)).response_format).to.deep.equal({
          type: 'json_schema',
          json_schema: { name: 'answer', schema: { type: 'object' }, strict: true },
        });
      }
    });

    it('are refused with the field if they cannot be converted', async () => {
      const said = (...content: object[]) => ({ messages: [{ role: 'user', content }] });
      const assistant = { role: 'assistant', content: 'The answer is (' };
      const cases: [more: object, words: RegExp][] = [
        [{ max_tokens: undefined }, /^max_tokens is missing/],
        [{ max_tokens: 0 }, /^max_tokens must be a whole number/],
        [{ messages: undefined }, /^messages is missing/],
        [{ messages: [] }, /^messages must be a list of at least one/],
        [{ messages: 'Hi' }, /^messages must be a list/],
        [{ messages: [null] }, /^messages\.0 must be an object/],
        [{ messages: [{ role: 'tool', content: 'x' }] }, /^messages\.0\.role must be user, assistant or system/],
        [{ messages: [{ role: 'user', content: 5 }] }, /^messages\.0\.content must be a text or a list/],
        [{ messages: [{ role: 'user', content: 'x' }, assistant] }, /^messages: the last message must be of the user/],
        [said({ type: 'text' }), /^messages\.0\.content\.0\.text must be a text/],
        [said({ text: 'x' }), /^messages\.0\.content\.0\.type must be/],
        [said({ type: 'image', source: { type: 'file', file_id: 'f' } }), /^messages\.0\.content\.0\.source: no files/],
        [said({ type: 'image', source: { type: 'url', url: 'ftp://x' } }), /source\.url must be an http/],
        [
          said({ type: 'image', source: { type: 'base64', media_type: 'image/svg+xml', data: 'x' } }),
          /media_type must be one of image\/jpeg/,
        ],
        [said({ type: 'tool_result' }), /^messages\.0\.content\.0\.tool_use_id must be/],
        [{ tools: [{ name: 'weather' }] }, /^tools\.0\.input_schema must be/],
        [{ tools: [TOOL], tool_choice: { type: 'some' } }, /^tool_choice\.type must be auto, any, tool or none/],
        [{ mcp_servers: [{ url: 'https://x' }] }, /^mcp_servers: /],
        [{ thinking: { type: 'enabled' } }, /^thinking\.budget_tokens must be/],
        [{ thinking: { type: 'deep' } }, /^thinking\.type must be/],
        [{ output_config: { effort: 'huge' } }, /^output_config\.effort must be/],
        [{ output_config: { format: { type: 'xml' } } }, /^output_config\.format\.type must be/],
        [{ stop_sequences: [''] }, /^stop_sequences must be a list of at most 16/],
        [{ temperature: 2 }, /^temperature must be a number from 0 to 1/],
        [{ service_tier: 'flex' }, /^service_tier must be/],
        [{ metadata: { user_id: 7 } }, /^metadata\.user_id must be a text/],
        [{ stream: 'yes' }, /^stream must be true or false/],
        [{ mcp_servers: {} }, /^mcp_servers must be a list/],
        [{ thread: { type: 'create' } }, /^thread: no conversations are kept/],
        [{ output_format: { type: 'xml' } }, /^output_format\.type must be json_schema/],
        [{ tools: [{ ...TOOL, strict: 'yes' }] }, /^tools\.0\.strict must be true or false/],
        [{ tool_choice: { type: 'any' } }, /^tool_choice\.type must be auto or none without tools/],
        [{ tools: [TOOL], tool_choice: { type: 'tool', name: 'tide' } }, /^tool_choice\.name must be that of a tool/],
        [
          { tools: [TOOL], tool_choice: { type: 'auto', disable_parallel_tool_use: 1 } },
          /^tool_choice\.disable_parallel_tool_use must be true or false/,
        ],
        [
          said({ type: 'tool_result', tool_use_id: 'a', is_error: 'yes' }),
          /^messages\.0\.content\.0\.is_error must be/,
        ],
        [
          said({ type: 'document', title: 5, source: { type: 'text', data: 'x' } }),
          /^messages\.0\.content\.0\.title must be a text/,
        ],
        [{ model: undefined }, /^model is missing/],
        [{ messages: [{ role: 'user', content: '' }] }, /^messages\.0\.content must be .*not empty/],
        // No text can be made of what has its own idea of how that is done.
        [{ messages: [{ role: 'user', content: [{ type: UNTEXTUAL }] }] }, /^messages\.0\.content\.0\.type must/],
        [
          { messages: [{ role: 'user', content: [{ type: ['text'], text: '' }] }] },
          /^messages\.0\.content\.0\.type must/,
        ],
        [imageOf(UNTEXTUAL), /^messages\.0\.content\.0\.source\.media_type must/],
        [imageOf(['image/png']), /^messages\.0\.content\.0\.source\.media_type must/],
        [{ tools: [{ ...TOOL, type: UNTEXTUAL }] }, /^tools\.0\.type must/],
        [{ thinking: { type: UNTEXTUAL } }, /^thinking\.type must/],
        [{ thinking: { type: ['adaptive'] } }, /^thinking\.type must/],
      ];
      for (const [more, words] of cases) expect(await refusalOf('responses', more)).to.match(words);
    });

    it('keep every number in schemas and tool inputs', async () => {
      const [max, id, huge] = ['18446744073709551615', '-1187234567890123457', '1e400'];
      const schema = `{"type":"integer","maximum":${max},"enum":[${id},1.50,${huge}],"title":"\\"${max}"}`;
      const input = `{"channel":${id},"of":{"them":[${max},9007199254740993,7]},"text":"${id}"}`;
      const body = `{"max_tokens":9007199254740991,"temperature":0.1234567890123456789,
        "tools":[{"name":"weather","input_schema":${schema}}],
        "output_config":{"format":{"type":"json_schema","schema":${schema}}},
        "messages":[{"role":"user","content":"${max}"},
          {"role":"assistant","content":[{"type":"tool_use","id":"a","name":"weather","input":${input}}]},
          {"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"${id}"}]}],"model":`;
      const exactly = schema.replace('1.50', '1.5');
      for (const route of ROUTES) {
        script = () => wholly(route === 'responses' ? responseOf([]) : chatOf({ content: 'x' }));
        for (const path of [MESSAGES, `${MESSAGES}/count_tokens`]) {
          expect((await sendText(`${body}"${MODELS[route]}"}`, path)).status).to.equal(200);
        }
        const { body: bytes, parsed } = app.model.calls.at(-1) as TextCall;
        const asked = Buffer.from(bytes).toString('utf8');
        expect(asked).to.contain(`"parameters":${exactly}`).and.to.contain(`"schema":${exactly}`);
        expect(asked).to.contain(`"arguments":${JSON.stringify(input)}`);
        expect(parsed).to.deep.equal(JSON.parse(asked));
      }
      // Nowhere else is there anything that such a number could be.
      for (const [more, words] of [
        [`"max_tokens":${max}`, /^max_tokens must be a whole number/],
        [`"temperature":${huge}`, /^temperature must be a number from 0 to 1/],
        [`"stop_sequences":${max}`, /^stop_sequences must be/],
        [`"system":${max}`, /^system\.0 must be an object/],
        [`"metadata":${max}`, /^metadata must be an object/],
        [`"messages":[{"role":"user","content":${max}}]`, /^messages\.0\.content\.0 must be an object/],
        [`"tools":[{"name":"a","input_schema":${max}}]`, /^tools\.0\.input_schema must be a JSON Schema/],
        [`"tools":[{"name":"a","input_schema":{"enum":[${`${max},`.repeat(10_000)}${max}]}}]`, /more than 10,000/],
      ] as const) {
        const usual = ['"max_tokens":5', '"messages":[{"role":"user","content":"x"}]'];
        const [name = ''] = more.split(':');
        const fields = ['"model":"m-5.5"', ...usual.filter((field) => !field.startsWith(name)), more];
        const answer = await sendText(`{${fields.join(',')}}`);
        expect([answer.status, ((await answer.json()) as { error: { message: string } }).error.message][1]).to.match(
          words,
        );
        expect(answer.status).to.equal(400);
      }
    });

    it('may have 32 MiB and 50,000 values', async () => {
      const content = Array.from({ length: 8_000 }, () => ({ type: 'text', text: '' }));
      const result = { type: 'tool_result', tool_use_id: 'a', content };
      const messages = [
        { role: 'user', content },
        { role: 'user', content: [result] },
      ];
      for (const route of ROUTES) {
        const asked = await askedOn(route, { messages });
        expect(((asked.input ?? asked.messages) as unknown[]).length).to.equal(2);
      }
      const large = await send(bodyOn('responses', { system: 'x'.repeat(32 * 1024 * 1024) }));
      expect(large.status).to.equal(413);
      expect(((await large.json()) as { type: string }).type).to.equal('error');
      const many = Array.from({ length: 20_000 }, () => ({ type: 'text', text: '' }));
      const refused = await send(bodyOn('responses', { messages: [{ role: 'user', content: many }] }));
      expect([refused.status, await refused.text()].join()).to.match(/^413,.*"type":"error".*50000 JSON values/s);
    });

    it("return the vendor's token count, or the gateway's", async () => {
      const messages = [
        { role: 'user', content: 'tug '.repeat(100) },
        { role: 'assistant', content: 'and' },
      ];
      for (const route of ROUTES) {
        const asked = app.model.calls.length;
        const answer = await send({ model: MODELS[route], messages }, `${MESSAGES}/count_tokens`);
        const { input_tokens: tokens } = (await answer.json()) as { input_tokens: number };
        expect(tokens).to.be.within(100, 120);
        expect(app.model.calls).to.have.length(asked);
      }
      expect(await refusalOf('responses', { messages: [] }, `${MESSAGES}/count_tokens`)).to.match(/^messages must/);
    });
  });

  describe('answers', () => {
    it('are the same for every cut of a stream', async () => {
      for (const route of ROUTES) {
        const { bytes, usage } = vendorStream(route);
        const thinking = { type: 'adaptive' };
        const { message, types } = await streamed(route, [bytes], { thinking });
        expect(types).to.match(ORDER);
        expect(message.content.at(-1)).to.deep.equal({ type: 'text', text: `You said: ${QUESTION}`, citations: null });
        expect(message.content[0]?.type).to.equal(route === 'responses' ? 'thinking' : 'text');
        expect(message).to.include({ stop_reason: 'end_turn', model: MODELS[route] });
        expect(message.usage).to.include({ output_tokens: usage.output, cache_read_input_tokens: usage.cached });
        const same = async (pieces: Piece[], where: string) => {
          const again = await streamed(route, pieces, { thinking });
          expect(again.types, where).to.match(ORDER);
          expect({ ...again.message, id: '' }, where).to.deep.equal({ ...message, id: '' });
        };
        const sizes = Array.from({ length: MOST_BYTES }, (_, index) => index + 1);
        for (const size of variants(sizes, (one) => one === 1 || one === 7 || one === MOST_BYTES))
          await same(inPieces(bytes, size), `in pieces of ${size}`);
        for (const odd of ODDITIES) {
          const { bytes: oddly } = vendorStream(route, odd);
          await same([oddly], odd.join());
          await same(inPieces(oddly, 7), odd.join());
        }
      }
    });

    it('end with an error if a stream breaks off, with recorded usage', async () => {
      for (const route of ROUTES) {
        const { bytes, boundaries } = vendorStream(route);
        // Behind the last event but one of a chat is nothing that matters to anybody.
        const ends = [0, ...boundaries].slice(0, route === 'responses' ? -1 : -3);
        const before = (await ledger(app, key)).length;
        for (const end of ends) {
          for (const cut of [end, end + 3]) {
            const pieces = [bytes.subarray(0, cut), new Error('cut')];
            const { types, failure } = await streamed(route, pieces);
            expect(types, `cut at ${cut}`)
              .to.match(/^message_start .*\berror$/)
              .and.not.to.contain('message_stop');
            expect(failure, `cut at ${cut}`).to.deep.include({ type: 'error' });
            expect(failure?.error).to.deep.equal({
              type: 'api_error',
              message: 'The stream of the model was interrupted.',
            });
            expect(failure?.request_id).to.match(/^req_/);
          }
        }
        const rows = await until(async () => {
          const all = await ledger(app, key);
          return all.length >= before + 2 * ends.length && all;
        });
        expect(rows).to.have.length(before + 2 * ends.length);
        for (const row of rows.slice(0, 2 * ends.length)) {
          expect(row.status).to.equal(200);
          expect(row.inputTokens).to.be.greaterThan(0);
        }
      }
    });

    it('order mixed tool calls one after the other', async () => {
      const call = (id: string) => ({
        id: `fc_${id}`,
        type: 'function_call',
        call_id: id,
        name: id,
        arguments: '',
      });
      const added = (index: number, id: string) => ({
        type: 'response.output_item.added',
        output_index: index,
        item: call(id),
      });
      const delta = (index: number, text: string) => ({
        type: 'response.function_call_arguments.delta',
        output_index: index,
        delta: text,
      });
      const done = (index: number, id: string) => ({
        type: 'response.output_item.done',
        output_index: index,
        item: call(id),
      });
      const mixed = [
        added(0, 'a'),
        added(1, 'b'),
        delta(1, '{"n":'),
        delta(0, '{"n"'),
        delta(1, '2}'),
        done(1, 'b'),
        added(2, 'c'),
        delta(0, ':1}'),
        done(0, 'a'),
        done(2, 'c'),
        { type: 'response.completed', response: responseOf([]) },
      ];
      const chunk = (...calls: object[]) => ({ choices: [{ index: 0, delta: { tool_calls: calls } }] });
      const chat = [
        chunk(
          { index: 0, id: 'a', function: { name: 'a', arguments: '' } },
          { index: 1, id: 'b', function: { name: 'b' } },
        ),
        chunk({ index: 1, function: { arguments: '{"n":' } }),
        chunk({ index: 0, function: { arguments: '{"n"' } }, { index: 1, function: { arguments: '2}' } }),
        chunk({ index: 0, function: { arguments: ':1}' } }),
        chunk({ index: 2, id: 'c', function: { name: 'c', arguments: '' } }),
        { choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] },
        '[DONE]',
      ];
      for (const [route, events] of [
        ['responses', mixed],
        ['chat_completions', chat],
      ] as const) {
        const { types, message } = await streamed(route, [streamOf(events)], { tools: [TOOL] });
        expect(types).to.match(ORDER);
        expect(message.content).to.deep.equal([callBlock('a', { n: 1 }), callBlock('b', { n: 2 }), callBlock('c', {})]);
        expect(message.stop_reason).to.equal('tool_use');
      }
    });

    it('stream each call as soon as the one before it is complete', async () => {
      const chunk = (call: object) => ({ choices: [{ index: 0, delta: { tool_calls: [call] } }] });
      const pieces = [
        streamOf([chunk({ index: 0, id: 'a', function: { name: 'a', arguments: '{"n":"}\\""}' } })]),
        streamOf([chunk({ index: 1, id: 'b', function: { name: 'b', arguments: '{"n":' } })]),
        'stall' as const,
      ];
      script = () => ({ pieces });
      const leaving = new AbortController();
      const answer = await fetch(app.url + MESSAGES, {
        method: 'POST',
        headers: { 'x-api-key': key, 'content-type': 'application/json' },
        body: JSON.stringify(bodyOn('chat_completions', { stream: true })),
        signal: leaving.signal,
      });
      let text = '';
      for await (const bytes of answer.body ?? []) {
        text += Buffer.from(bytes).toString();
        // Silence is told once all that came has been.
        if (text.includes('event: ping')) break;
      }
      leaving.abort();
      const blocks = eventsOfBytes(Buffer.from(text)).filter(({ event }) => event?.startsWith('content_block'));
      expect(blocks.map(({ event }) => event?.slice('content_block_'.length))).to.deep.equal([
        'start',
        'delta',
        'stop',
        'start',
        'delta',
      ]);
    });

    it('send pings in silences', async () => {
      const { bytes } = vendorStream('responses');
      script = () => ({ pieces: [bytes.subarray(0, 900), 'stall'] });
      const leaving = new AbortController();
      const answer = await fetch(app.url + MESSAGES, {
        method: 'POST',
        headers: { 'x-api-key': key, 'content-type': 'application/json' },
        body: JSON.stringify(bodyOn('responses', { stream: true })),
        signal: leaving.signal,
      });
      let text = '';
      for await (const chunk of answer.body ?? []) {
        text += Buffer.from(chunk).toString();
        if (text.split('event: ping\ndata: {"type":"ping"}\n\n').length > 2) break;
      }
      leaving.abort();
      expect(text).to.match(/^event: message_start\n/);
    });

    it("end with the upstream's last event although it keeps the connection open", async () => {
      for (const route of ROUTES) {
        const { message } = await streamed(route, [vendorStream(route).bytes, 'stall']);
        expect(message.stop_reason).to.equal('end_turn');
        expect(message.usage.output_tokens).to.be.greaterThan(3);
      }
    });

    it('end at a stop sequence, for every cut of it', async () => {
      for (const route of ROUTES) {
        const { bytes } = vendorStream(route);
        for (const pieces of [[bytes], inPieces(bytes, 1), inPieces(bytes, 50)]) {
          const { message, types } = await streamed(route, pieces, { stop_sequences: ['stend', '"Ost', 'said!'] });
          expect(message.content.at(-1)).to.include({ text: 'You said: Smile \u{1f600} at ' });
          expect(message).to.include({ stop_reason: 'stop_sequence', stop_sequence: '"Ost' });
          expect(types).to.match(ORDER);
          const whole = await streamed(route, pieces, { stop_sequences: ['Ostende', '"Ostend"?'] });
          expect(whole.message.content.at(-1)).to.include({ text: `You said: ${QUESTION}` });
          expect(whole.message.stop_reason).to.equal('end_turn');
        }
      }
    });

    it('have the requested form for every form of the upstream', async () => {
      const { bytes } = vendorStream('responses');
      script = () => ({ pieces: [bytes] });
      const whole = (await (await send(bodyOn('responses'))).json()) as Anthropic.Message;
      expect(whole.content).to.deep.equal([{ type: 'text', text: `You said: ${QUESTION}`, citations: null }]);
      const events = await streamedWhole(
        responseOf([{ type: 'message', content: [{ type: 'output_text', text: 'Ahoy' }] }]),
      );
      expect(events.types).to.match(ORDER);
      expect(events.message.content).to.deep.equal([{ type: 'text', text: 'Ahoy', citations: null }]);
    });

    it('send items that arrive only complete', async () => {
      const item = (index: number, value: object) => ({
        type: 'response.output_item.done',
        output_index: index,
        item: value,
      });
      const { message } = await streamed(
        'responses',
        [
          streamOf([
            item(0, { type: 'reasoning', summary: [{ text: 'Hm.' }, { text: 'So.' }] }),
            item(1, { type: 'message', content: [{ type: 'output_text', text: 'Ahoy' }] }),
            item(2, { type: 'function_call', call_id: 'a', name: 'a', arguments: '{"n":1}' }),
            { type: 'response.completed', response: responseOf([]) },
          ]),
        ],
        { thinking: { type: 'enabled', budget_tokens: 1024 } },
      );
      expect(message.content).to.deep.equal([
        { type: 'thinking', thinking: 'Hm.\n\nSo.', signature: '' },
        { type: 'text', text: 'Ahoy', citations: null },
        callBlock('a', { n: 1 }),
      ]);
    });

    it('are complete if the upstream sends everything in its last event', async () => {
      const response = responseOf([{ type: 'message', content: [{ type: 'output_text', text: 'Ahoy' }] }]);
      const { message } = await streamed('responses', [streamOf([{ type: 'response.completed', response }])]);
      expect(message.content).to.deep.equal([{ type: 'text', text: 'Ahoy', citations: null }]);
    });

    it('end with a temporary error when the gateway shuts down', async () => {
      for (const route of ROUTES) {
        const { bytes } = vendorStream(route);
        script = () => ({ pieces: [bytes.subarray(0, 900), 'stall'] });
        const events: Parameters<typeof readEvents>[1] = [];
        const read = send(bodyOn(route, { stream: true })).then((answer) => readEvents(answer, events));
        await until(() => events.some(({ event }) => event === 'ping'));
        app.gateway.text.cutOff();
        await read;
        const { failure } = gather(events);
        expect(failure?.error).to.deep.equal({
          type: 'overloaded_error',
          message: 'The gateway is shutting down. Retry the request.',
        });
        script = () => ({ contentType: 'application/json', pieces: ['stall'] });
        const asked = app.model.calls.length;
        const whole = send(bodyOn(route));
        await until(() => app.model.calls.length > asked);
        app.gateway.text.cutOff();
        const { status, headers } = await whole;
        expect([status, headers.get('retry-after'), headers.get('x-should-retry')]).to.deep.equal([529, '1', null]);
        expect(await (await whole).json()).to.deep.include({ type: 'error', error: failure?.error });
      }
    });

    /** A stream that is asked for without a client. */
    async function sendUnread(route: (typeof ROUTES)[number]) {
      const { accountId } = (await app.state.keys.list())[0]!;
      const parsed = { model: MODELS[route], stream: true, input: QUESTION, messages: [] };
      const body = Buffer.from(JSON.stringify(parsed));
      const prepared = await app.gateway.text.prepare({ route, parsed, body, owner: accountId, requestId: 'req_1' });
      return prepared.send();
    }

    const howOf = (route: (typeof ROUTES)[number]) => ({
      route,
      model: MODELS[route],
      stops: [],
      includesThinking: false,
      requestId: 'req_1',
      names: new ToolNames(),
    });

    it('abort the model when the client disconnects after the first event', async () => {
      for (const route of ROUTES) {
        script = () => ({ pieces: [vendorStream(route).bytes.subarray(0, 900), 'stall'] });
        const exchange = await sendUnread(route);
        const how = howOf(route);
        const events = messageEvents(await exchange.answer, { ...how, exchange, monotonic: () => performance.now() });
        await events.next();
        await events.return();
        expect((await exchange.ended).complete).to.equal(false);
        expect(app.model.calls.at(-1)?.signal.aborted).to.equal(true);
      }
    });

    it('send an error before the tokens are counted', async () => {
      for (const route of ROUTES) {
        script = () => ({ pieces: [vendorStream(route).bytes.subarray(0, 900), 'stall'] });
        const sent = await sendUnread(route);
        const exchange = {
          answer: sent.answer,
          ended: new Promise<never>(() => undefined),
          get failure() {
            return sent.failure;
          },
          leave: () => sent.leave(),
          abort: (error: GatewayError) => sent.abort(error),
        };
        const how = howOf(route);
        const texts: string[] = [];
        for await (const piece of messageEvents(await sent.answer, { ...how, exchange, monotonic: () => 0 })) {
          texts.push(piece.toString());
          sent.abort(new GatewayError('account_suspended', 'This account is suspended.'));
        }
        expect(texts.join('')).to.match(/event: error\ndata: .*permission_error.*\n\n$/);
      }
    });

    it('carry thoughts only if requested', async () => {
      const thinking = { reasoning_content: 'Hm.', content: 'Ahoy' };
      script = () => wholly(chatOf(thinking));
      const blocks = async (more: object) => {
        const { content } = (await (await send(bodyOn('chat_completions', more))).json()) as Anthropic.Message;
        return content.map(({ type }) => type);
      };
      expect(await blocks({})).to.deep.equal(['text']);
      expect(await blocks({ thinking: { type: 'adaptive' } })).to.deep.equal(['thinking', 'text']);
      expect(await blocks({ thinking: { type: 'adaptive', display: 'omitted' } })).to.deep.equal(['text']);
    });

    it('carry refusals', async () => {
      script = ({ route }) =>
        wholly(
          route === 'responses'
            ? responseOf([{ type: 'message', content: [{ type: 'refusal', refusal: 'No.' }] }])
            : chatOf({ content: null, refusal: 'No.' }),
        );
      for (const route of ROUTES) {
        const message = (await (await send(bodyOn(route))).json()) as Anthropic.Message;
        expect(message.content[0]).to.include({ type: 'text', text: 'No.' });
        expect(message).to.include({ stop_reason: 'refusal' });
      }
    });

    it('carry custom tool calls', async () => {
      const chunk = (...calls: object[]) => ({ choices: [{ index: 0, delta: { tool_calls: calls } }] });
      const called = (name: string, more: object = {}) => ({
        id: name,
        function: { name, arguments: '{"n":1}' },
        ...more,
      });
      const cases = [
        [chunk(called('a', { index: 0 })), chunk(called('b', { index: 0 }))],
        [chunk(called('a')), chunk(called('b'))],
        [chunk(called('a', { function: { name: 'a', arguments: { n: 1 } } }), called('b'))],
        [
          chunk(called('a', { function: { name: 'a' } })),
          chunk({ index: 0, function: { arguments: '{"n":1}' } }),
          chunk(called('b')),
        ],
      ];
      for (const events of cases) {
        const { types, message } = await streamed('chat_completions', [streamOf([...events, '[DONE]'])]);
        expect(types).to.match(ORDER);
        expect(message.content).to.deep.equal([callBlock('a', { n: 1 }), callBlock('b', { n: 1 })]);
      }
      script = () => wholly(responseOf([{ type: 'function_call', call_id: 'a', name: 'a', arguments: { n: 1 } }]));
      const { content } = (await (await send(bodyOn('responses'))).json()) as Anthropic.Message;
      expect(content).to.deep.equal([callBlock('a', { n: 1 })]);
    });

    it('keep every number of a tool input', async () => {
      const input = '{"channel":1187234567890123457,"most":[18446744073709551615,1e400],"text":"[[1"}';
      const call = { type: 'function_call', call_id: 'a', name: 'weather' };
      // Some servers send an object: then there is no text of the model's own.
      for (const told of [JSON.stringify(input), input]) {
        const item = `${JSON.stringify(call).slice(0, -1)},"arguments":${told}}`;
        const answer = JSON.stringify(responseOf([])).replace('"output":[', (begin) => begin + item);
        script = () => ({ contentType: 'application/json', pieces: [Buffer.from(answer)] });
        expect(await (await send(bodyOn('responses'))).text()).to.contain(`"input":${input}`);
        script = () => ({ pieces: [Buffer.from(`data: {"type":"response.completed","response":${answer}}\n\n`)] });
        const { events } = await readEvents(await send(bodyOn('responses', { stream: true })));
        const pieces = events.filter(({ event }) => event === 'content_block_delta');
        expect(pieces.map(({ data }) => JSON.parse(data).delta.partial_json).join('')).to.equal(input);
      }
    });

    it('end with an error, and abort the model, if a call never ends and too much waits behind it', async () => {
      const open = [0, 1].map((index) => ({
        choices: [
          {
            index: 0,
            delta: { tool_calls: [{ index, id: `call_${index}`, function: { name: 'a', arguments: '{' } }] },
          },
        ],
      }));
      const tool_calls = [{ index: 1, function: { arguments: ' '.repeat(1_000_000) } }];
      const piece = streamOf([{ choices: [{ index: 0, delta: { tool_calls } }] }]);
      let told = 0;
      function* endless() {
        yield streamOf(open);
        for (; told < 100; told += 1) yield piece;
        yield 'stall' as const;
      }
      const before = (await ledger(app, key)).length;
      const { types, failure } = await streamed('chat_completions', endless());
      expect(types.replaceAll(' ping', '')).to.equal('message_start content_block_start content_block_delta error');
      expect(failure?.error).to.deep.equal({
        type: 'api_error',
        message: 'The model does not end a call of a tool, and too much waits behind it.',
      });
      expect(told).to.be.below(50);
      expect(app.model.calls.at(-1)?.signal.aborted).to.equal(true);
      const rows = await until(async () => {
        const all = await ledger(app, key);
        return all.length > before && all;
      });
      expect(rows).to.have.length(before + 1);
    });

    it('make unique ids for calls without one', async () => {
      const nameless = [
        {
          route: 'chat_completions',
          value: chatOf({ tool_calls: [{ function: { name: 'a' } }, { id: '', index: 1, function: { name: 'b' } }] }),
        },
        {
          route: 'responses',
          value: responseOf([
            { type: 'function_call', name: 'a' },
            { type: 'function_call', call_id: UNTEXTUAL, name: 'b' },
          ]),
        },
      ] as const;
      const ids = new Set<string>();
      for (const { route, value } of [...nameless, ...nameless]) {
        script = () => wholly(value);
        const { content } = (await (await send(bodyOn(route))).json()) as Anthropic.Message;
        for (const block of content) ids.add((block as Anthropic.ToolUseBlock).id);
      }
      expect(ids).to.have.length(8);
      for (const id of ids) expect(id).to.match(/^toolu_[\w-]{24}$/);
    });

    it('carry the text of parts, and of the first of several answers', async () => {
      const events = [
        { choices: [{ index: 1, delta: { content: 'other' } }] },
        {
          choices: [{ index: 0, delta: { content: [{ type: 'text', text: 'a' }, null, { type: 'text', text: 'b' }] } }],
        },
        {
          choices: [
            { index: 1, delta: { content: 'other' } },
            { index: 0, delta: { content: 'c' } },
          ],
        },
        '[DONE]',
      ];
      const { message } = await streamed('chat_completions', [streamOf(events)]);
      expect(message.content).to.deep.equal([{ type: 'text', text: 'abc', citations: null }]);
    });

    it('end for every content of the events', async () => {
      const done = { type: 'response.completed', response: responseOf([]) };
      const text = (index: unknown, part: unknown) => ({
        type: 'response.output_text.delta',
        output_index: index,
        content_index: part,
        delta: 'x',
      });
      for (const event of [text(UNTEXTUAL, 0), text(0, UNTEXTUAL), text([[]], {})]) {
        const { types } = await streamed('responses', [streamOf([event, done])]);
        expect(types).to.match(ORDER);
      }
      const item = { type: 'function_call', call_id: UNTEXTUAL, name: UNTEXTUAL };
      const { failure } = await streamed('responses', [
        streamOf([{ type: 'response.output_item.added', output_index: 0, item }, done]),
      ]);
      expect(failure?.error).to.include({ message: 'The model called a tool without its name.' });
      const nameless = {
        choices: [{ index: 0, delta: { tool_calls: [{ index: 0, id: 'a', function: { arguments: '{}' } }] } }],
      };
      for (const pieces of [[streamOf([nameless, '[DONE]'])], [streamOf([nameless]), 'stall' as const]]) {
        expect((await streamed('chat_completions', pieces)).failure?.error).to.deep.equal(failure?.error);
      }
    });

    it('answer 502 if the model sends no answer', async () => {
      const call = { type: 'function_call', call_id: 'a', name: 'a', arguments: '{"n":' };
      for (const [value, words] of [
        [responseOf([], { status: 'failed', error: { code: 'server_error', message: 'It broke.' } }), /^It broke\.$/],
        [responseOf([call]), /no JSON/],
        [responseOf([{ ...call, arguments: '[1]' }]), /no JSON object/],
        [responseOf([{ type: 'function_call', call_id: 'a' }]), /without its name/],
        [{ id: 'resp_1' }, /was interrupted/],
        [responseOf([], { status: 'in_progress' }), /was interrupted/],
      ] as const) {
        script = () => wholly(value);
        const answer = await send(bodyOn('responses'));
        const { error } = (await answer.json()) as { error: { type: string; message: string } };
        expect([answer.status, error.type]).to.deep.equal([502, 'api_error']);
        expect(error.message).to.match(words);
      }
      // Cut by the bound of the caller, it is no failure.
      const cut = { status: 'incomplete', incomplete_details: { reason: 'max_output_tokens' } };
      script = () => wholly(responseOf([call], cut));
      const message = (await (await send(bodyOn('responses'))).json()) as Anthropic.Message;
      expect(message.content).to.deep.equal([callBlock('a', {})]);
      expect(message.stop_reason).to.equal('max_tokens');
    });

    it('answer 502 if the model never ends, and abort it', async () => {
      const event = {
        type: 'response.output_text.delta',
        output_index: 0,
        content_index: 0,
        delta: 'x'.repeat(1_000_000),
      };
      const piece = streamOf([event]);
      let told = 0;
      function* endless() {
        for (; told < 200; told += 1) yield piece;
        yield 'stall' as const;
      }
      script = () => ({ pieces: endless() });
      const answer = await send(bodyOn('responses'));
      const { error } = (await answer.json()) as { error: object };
      expect([answer.status, error]).to.deep.equal([
        502,
        { type: 'api_error', message: 'The answer of the model was interrupted.' },
      ]);
      expect(app.model.calls.at(-1)?.signal.aborted).to.equal(true);
      expect(told).to.be.below(50);
    });

    it("carry the model's reason for a failure in the terms of the format", async () => {
      for (const [code, type, status] of [
        ['rate_limit_exceeded', 'rate_limit_error', 429],
        ['server_is_overloaded', 'overloaded_error', 529],
        ['context_length_exceeded', 'invalid_request_error', 400],
        ['server_error', 'api_error', 502],
      ] as const) {
        const response = responseOf([], { status: 'failed', error: { code, message: 'It broke.' } });
        const { failure } = await streamed('responses', [streamOf([{ type: 'response.failed', response }])]);
        expect(failure?.error).to.deep.equal({ type, message: 'It broke.' });
        // Not all servers list what they have nothing in.
        for (const told of [response, { ...response, output: undefined }]) {
          script = () => wholly(told);
          const answer = await send(bodyOn('responses'));
          expect([answer.status, ((await answer.json()) as Told['failure'])?.error]).to.deep.equal([
            status,
            failure?.error,
          ]);
        }
      }
    });
  });

  async function streamedWhole(value: object) {
    script = () => wholly(value);
    const { events } = await readEvents(await send(bodyOn('responses', { stream: true })));
    return { types: events.map(({ event }) => event ?? '').join(' '), ...gather(events) };
  }
});

const callBlock = (name: string, input: object) => ({
  type: 'tool_use',
  id: name,
  name,
  input,
  caller: { type: 'direct' },
});

function responseOf(output: readonly object[], more: object = {}): object {
  const usage = { input_tokens: 9, output_tokens: 5, total_tokens: 14 };
  return { id: 'resp_1', object: 'response', status: 'completed', model: 'vendor/secret-name', output, usage, ...more };
}

function chatOf(message: object): object {
  const usage = { prompt_tokens: 9, completion_tokens: 5, total_tokens: 14 };
  return { id: 'c1', object: 'chat.completion', choices: [{ index: 0, message, finish_reason: 'stop' }], usage };
}

function streamOf(events: readonly (object | string)[]): Buffer {
  const all = events.map((data): StreamEvent => ({ data }));
  return streamContent(all).bytes;
}

interface Told {
  message: Anthropic.Message;
  failure?: { type: string; error: object; request_id: string };
}

/** As a client puts a message together that goes by nothing but the events. */
function gather(events: Awaited<ReturnType<typeof readEvents>>['events']): Told {
  let message = {} as Anthropic.Message;
  let failure: Told['failure'];
  const inputs = new Map<number, string>();
  for (const { event, data } of events) {
    const told = JSON.parse(data);
    expect(told.type).to.equal(event);
    const block = message.content?.[told.index] as Members | undefined;
    if (event === 'message_start') message = told.message;
    else if (event === 'content_block_start') {
      expect(told.index).to.equal(message.content.length);
      message.content.push(told.content_block);
    } else if (event === 'content_block_delta' && block) {
      const { type, partial_json: json, ...rest } = told.delta;
      if (type === 'input_json_delta') inputs.set(told.index, (inputs.get(told.index) ?? '') + json);
      else for (const [name, text] of Object.entries(rest)) block[name] = `${block[name]}${text}`;
    } else if (event === 'content_block_stop' && block && inputs.has(told.index)) {
      block.input = JSON.parse(inputs.get(told.index) ?? '');
    } else if (event === 'message_delta') {
      Object.assign(message, told.delta);
      message.usage = { ...message.usage, ...told.usage };
    } else if (event === 'error') failure = told;
  }
  return { message, failure };
}

async function ledger(app: ListeningApp, key: string) {
  await app.state.admissions.flush();
  const day = new Date().toISOString().slice(0, 10);
  const entries = await app.state.usage.entries({ keyId: key.slice(6, 14), from: day, to: day }, 100_000);
  return entries.filter(({ route }) => route === MESSAGES);
}
