/*
 * One call of a text provider, and the requests and answers of the kit's own upstream. Bodies have legal but rare
 * forms that hardly any serializer would reproduce: large numbers, odd white space, unknown fields, escapes. Streams
 * contain comments, both line ends and events without text. So a provider that parses and writes a body again, instead
 * of passing bytes, is noticed. It also reads text and usage from answers of each route, to compare a stream with a
 * whole answer.
 */

import assert from 'node:assert';
import type { TextCall, TextModel, TextProvider, TextReply, TextRoute } from '../../contracts/index.js';
import { at } from '../../runtime/index.js';
import type { FakeReply, SentRequest } from '../fakes.js';
import { called } from '../limits.js';
import { type Readable, unless } from '../runner.js';
import { textProviderOf } from '../setup.js';
import { type ModelCall, type ModelDefinition, runCall } from './models.js';

export interface TextRun extends Readable {
  provider: TextProvider;
  reply?: TextReply;
  /** The whole body as it was read. */
  body: Buffer;
}

export interface TextFields {
  /** Default: the first. */
  model?: string;
  /** Read at most this many chunks, then disconnect. Default: all. */
  pieces?: number;
  /** The caller's body as it is passed. */
  body?: Buffer;
  /** Bytes per chunk of the upstream's answer. */
  pieceLength?: number;
}

export const WANTED: Wanted = { route: 'chat_completions', stream: true, words: 'A lighthouse in the fog' };

/** The sample call in the format of the upstream, so that the plugin converts nothing. */
export function wantedOf({ upstream }: TextProviderDefinition): Wanted {
  return { ...WANTED, ...(upstream?.format && { route: upstream.format }) };
}

/** One call, including reading its body. */
export function textCall(
  definition: TextProviderDefinition,
  wanted: Wanted,
  { model, pieces = Number.POSITIVE_INFINITY, body, pieceLength }: TextFields = {},
): ModelCall<TextRun> {
  const { upstream } = definition;
  return {
    method: 'send()',
    result: 'an answer',
    run: (options) =>
      runCall(
        definition,
        options,
        (setup): TextRun => ({ setup, provider: textProviderOf(setup), body: Buffer.alloc(0) }),
        async (run, signal) => {
          const call = callOf(run.provider, wanted, { model, body }, signal);
          const reply = await called('send()', () => run.provider.send(call));
          run.reply = reply;
          run.shown = [reply.headers, reply.upstream];
          await called('the body of send()', async () => {
            let count = 0;
            for await (const piece of reply.body) {
              run.body = Buffer.concat([run.body, piece]);
              options.onChunk?.();
              if (++count >= pieces) break;
            }
          });
        },
      ),
    answer(request) {
      if (!upstream) return { fail: 'connection' };
      const { format = wanted.route } = upstream;
      const reply = answerOf(upstream, request, answerContent({ ...wanted, route: format }, upstream.model));
      return { ...reply, ...(pieceLength && { pieceLength }) };
    },
    problemsOf: ({ reply }) =>
      unless(!reply, 'it is told only when the body is read, where nobody can be asked instead'),
  };
}

export function callOf(
  provider: TextProvider,
  wanted: Wanted,
  { model = firstModel(provider).id, body = requestBody(wanted, model) }: TextFields = {},
  signal = new AbortController().signal,
): TextCall {
  const { route, stream } = wanted;
  return { route, stream, model, body, parsed: JSON.parse(body.toString()), signal };
}

export function firstModel(provider: TextProvider): TextModel {
  const [model] = provider.models;
  assert(model, 'there are no models');
  return model;
}

export function answerOf(
  upstream: TextUpstreamScript,
  request: SentRequest,
  content: TextContent,
): Extract<FakeReply, { body?: unknown }> {
  if (upstream.answer) return upstream.answer(request, content);
  return { headers: { 'content-type': content.contentType }, body: content.bytes };
}

/** The input of a request, which identifies its answer. */
export interface Wanted {
  route: TextRoute;
  stream: boolean;
  words: string;
}

/** Half of a text with characters that an encoder may change. */
const ODD_WORDS = 'Łódź "quoted" \\ 漢字 🎉 \u2028';

/** A body as callers send it, which hardly any serializer would reproduce. */
export function requestBody({ route, stream, words }: Wanted, model: string): Buffer {
  const text = JSON.stringify(words);
  const input = route === 'responses' ? `"input": ${text}` : `"messages":[ {"role":"user" , "content":${text}} ]`;
  const asksUsage = stream && route === 'chat_completions' ? ', "stream_options":{"include_usage":true}' : '';
  const limit = route === 'messages' ? ', "max_tokens": 64' : '';
  const odd = '"x_big":12345678901234567890.10, "x_unknown" : {"a":[1 ,2]}, "x_escaped":"\\u00e9\\/"';
  return Buffer.from(
    `{ ${odd},\t"model":"${model}",${input}${limit}${asksUsage}${stream ? ',"stream" : true' : ''} }\n`,
  );
}

/** An upstream's answer with legal but rare forms. */
export function answerContent({ route, stream, words }: Wanted, model: string): TextContent {
  const text = stream ? streamOf(route, words, model) : `${wholeOf(route, words, model)}\n`;
  const contentType = stream ? 'text/event-stream; charset=utf-8' : 'application/json';
  return { route, stream, contentType, bytes: Buffer.from(text) };
}

const CHAT_USAGE = '"usage":{"prompt_tokens":9,"completion_tokens":3,"total_tokens":12}';
const MESSAGE_USAGE = '"usage":{"input_tokens":6,"cache_read_input_tokens":3,"output_tokens":3}';
const USAGE =
  '"usage":{"input_tokens":9,"input_tokens_details":{"cached_tokens":0},"output_tokens":3,' +
  '"output_tokens_details":{"reasoning_tokens":0},"total_tokens":12}';

function wholeOf(route: TextRoute, words: string, model: string): string {
  const text = JSON.stringify(`${words} ${ODD_WORDS}`);
  const head = `"model" : "${model}", "x_big":12345678901234567890`;
  if (route === 'chat_completions') {
    const choice = `{"index":0,"message":{"role":"assistant","content":${text}},"finish_reason":"stop"}`;
    return `{"id":"c1","object":"chat.completion","created":1781500000,${head},"choices":[${choice}],${CHAT_USAGE}}`;
  }
  if (route === 'messages') {
    const content = `"content":[{"type":"text","text":${text}}],"stop_reason":"end_turn","stop_sequence":null`;
    return `{"id":"msg_1","type":"message","role":"assistant",${head},${content},${MESSAGE_USAGE}}`;
  }
  const message = `{"id":"msg_1","type":"message","role":"assistant","content":[{"type":"output_text","text":${text}}]}`;
  const state = '"object":"response","created_at":1781500000,"status":"completed"';
  return `{"id":"resp_1",${state},${head},"output":[${message}],${USAGE}}`;
}

function streamOf(route: TextRoute, words: string, model: string): string {
  const pieces = [words, ` ${ODD_WORDS}`].map((piece) => JSON.stringify(piece));
  if (route === 'chat_completions') {
    const head = `"id":"c1","object":"chat.completion.chunk","created":1781500000,"model":"${model}"`;
    const chunk = (delta: string, finish = 'null') =>
      `data: {${head},"choices":[{"index":0,"delta":{${delta}},"finish_reason":${finish}}],"usage":null}\n\n`;
    return [
      ': a comment\n\n',
      ...pieces.map((piece) => chunk(`"content":${piece}`)),
      chunk('', '"stop"'),
      `data:{${head},"choices":[],${CHAT_USAGE}}\r\n\r\n`,
      'data: [DONE]\n\n',
    ].join('');
  }
  if (route === 'messages') return messageStreamOf(pieces, model);
  const position = '"item_id":"msg_1","output_index":0,"content_index":0';
  const event = (type: string, number: number, fields: string) =>
    `event: ${type}\ndata: {"type":"${type}","sequence_number":${number},${fields}}\n\n`;
  const response = wholeOf(route, words, model);
  return [
    event('response.created', 0, `"response":${response.replace('completed', 'in_progress')}`),
    'event: keepalive\r\ndata: {"type":"keepalive","sequence_number":1}\r\n\r\n',
    ...pieces.map((piece, index) => event('response.output_text.delta', index + 2, `${position},"delta":${piece}`)),
    event('response.completed', 4, `"response":${response}`),
  ].join('');
}

function messageStreamOf(pieces: readonly string[], model: string): string {
  const event = (type: string, fields = '') => `event: ${type}\ndata: {"type":"${type}"${fields}}\n\n`;
  const message = `{"id":"msg_1","type":"message","role":"assistant", "model" : "${model}","content":[],${MESSAGE_USAGE}}`;
  return [
    event('message_start', `,"message":${message}`),
    event('content_block_start', ',"index":0,"content_block":{"type":"text","text":""}'),
    'event: ping\r\ndata: {"type":"ping"}\r\n\r\n',
    ...pieces.map((text) => event('content_block_delta', `,"index":0,"delta":{"type":"text_delta","text":${text}}`)),
    event('content_block_stop', ',"index":0'),
    event('message_delta', `,"delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":{"output_tokens":3}`),
    event('message_stop'),
  ].join('');
}

const CONNECTION_HEADER = /^(?:set-cookie|content-length|content-encoding|transfer-encoding|connection)$/;
const STREAM_END = /^response\.(?:completed|incomplete|failed)$/;

/** Problems of an answer, one line each. */
export function contentProblems(wanted: Wanted, reply: TextReply, body: Buffer): string[] {
  const { status, headers, upstream, upstreamModel } = reply;
  const type = headers['content-type'] ?? 'none';
  const expected = wanted.stream ? 'text/event-stream' : 'application/json';
  return [
    ...unless(status >= 200 && status < 300, `the status is ${status}`),
    ...unless(type.startsWith(expected), `the content type is ${type}, and not ${expected}`),
    ...Object.keys(headers).flatMap((name) => [
      ...unless(/^[a-z0-9-]+$/.test(name), `the header "${name}" is not in lower case`),
      ...unless(!CONNECTION_HEADER.test(name), `the header ${name} is no business of a client`),
    ]),
    ...unless(upstream !== '', 'the upstream has no name'),
    ...unless(upstreamModel !== '', 'the upstream has no model'),
    ...formatProblems(wanted, body),
  ];
}

function formatProblems(wanted: Wanted, body: Buffer): string[] {
  try {
    const last = lastOf(wanted, body);
    if (wanted.route === 'messages') {
      const end = wanted.stream ? 'message_stop' : 'message';
      return unless(at(last, 'type') === end, `the answer does not end with ${end}`);
    }
    if (!wanted.stream) {
      const object = wanted.route === 'responses' ? 'response' : 'chat.completion';
      return unless(at(last, 'object') === object, `the answer is no ${object}`);
    }
    if (wanted.route === 'chat_completions') return unless(last === '[DONE]', 'the stream does not end with [DONE]');
    return unless(STREAM_END.test(String(at(last, 'type'))), 'the stream has no terminal event');
  } catch (error) {
    return [`the answer cannot be read: ${error}`];
  }
}

/** The text of the model, all chunks together. */
export function textOf({ route, stream }: Wanted, body: Buffer): string {
  const isChat = route === 'chat_completions';
  if (route === 'messages') {
    const all = stream ? eventsOf(body) : [JSON.parse(body.toString())];
    const texts = all.map((one) => at(one, 'delta', 'text') ?? at(one, 'content', 0, 'text'));
    return texts.filter((text) => typeof text === 'string').join('');
  }
  if (!stream) {
    const json: unknown = JSON.parse(body.toString());
    const text = isChat ? at(json, 'choices', 0, 'message', 'content') : at(json, 'output', 0, 'content', 0, 'text');
    return String(text);
  }
  return eventsOf(body)
    .map((event) => (isChat ? at(event, 'choices', 0, 'delta', 'content') : at(event, 'delta')))
    .filter((piece) => typeof piece === 'string')
    .join('');
}

/** As stated in the answer. */
export function usageOf(wanted: Wanted, body: Buffer): unknown {
  if (!wanted.stream) return at(lastOf(wanted, body), 'usage') ?? undefined;
  const usages = eventsOf(body).map((event) => at(event, 'usage') ?? at(event, 'response', 'usage'));
  return usages.findLast((usage) => typeof usage === 'object' && usage !== null);
}

function lastOf({ stream }: Wanted, body: Buffer): unknown {
  return stream ? eventsOf(body).at(-1) : JSON.parse(body.toString());
}

/** Data of events, parsed if it is JSON. */
function eventsOf(body: Buffer): unknown[] {
  return (
    body
      .toString()
      .split(/\r?\n\r?\n/)
      // Other line ends of Unicode do not count.
      .map((event) => /(?:^|\n)data: ?([^\r\n]*)/.exec(event)?.[1])
      .filter((data) => data !== undefined)
      .map((data) => (data === '[DONE]' ? data : JSON.parse(data)))
  );
}

export interface TextProviderDefinition extends ModelDefinition {
  /** How its upstream answers. Default: it works without an upstream. */
  upstream?: TextUpstreamScript;
}

/** An upstream that uses the open formats itself. */
export interface TextUpstreamScript {
  /** The only format that it has: requests of other routes are converted to it. Default: it has the format of each route. */
  format?: 'messages';
  /** Its name of the provider's first model. */
  model: string;
  /** A successful answer with this content. Default: the bytes with their type. */
  answer?(request: SentRequest, content: TextContent): Extract<FakeReply, { body?: unknown }>;
  /** The refusal of an input that is too long. */
  tooLong: FakeReply;
}

/** An answer in one of the formats. */
export interface TextContent {
  route: TextRoute;
  stream: boolean;
  contentType: string;
  bytes: Uint8Array;
}
