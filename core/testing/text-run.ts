import assert from 'node:assert';
import type { TextModel, TextProvider, TextReply, TextRoute } from '../contracts/index.js';
import { at } from '../extraction/scraping/index.js';
import { createFakeHttp, type FakeHttp, type FakeReply, type SentRequest } from './fakes.js';
import { called } from './limits.js';
import { type CallOptions, describeError, type ModelRun, runModel } from './models.js';
import { textProviderOf } from './setup.js';
import type { TextContent, TextProviderDefinition } from './text.js';

export interface TextRun extends ModelRun {
  provider: TextProvider;
  reply?: TextReply;
  /** The whole body as it was read. */
  body: Buffer;
}

export interface RunOptions extends CallOptions {
  /** Default: the first. */
  model?: string;
  /** Read at most this many chunks, then disconnect. */
  pieces?: number;
  /** The caller's body as it is passed. */
  body?: Buffer;
}

export const WANTED: Wanted = { route: 'chat_completions', stream: true, words: 'A lighthouse in the fog' };

/** One call, including reading its body. */
export async function runText(
  definition: TextProviderDefinition,
  wanted: Wanted,
  options: RunOptions,
): Promise<TextRun> {
  const { onChunk, pieces, signal = new AbortController().signal } = options;
  return runModel<TextRun>(
    definition,
    options,
    async (_, run) => {
      const { provider } = run;
      const model = options.model ?? firstModel(provider).id;
      const body = options.body ?? requestBody(wanted, model);
      const { route, stream } = wanted;
      const call = { route, stream, model, body, parsed: JSON.parse(body.toString()), signal };
      const reply = await called('send()', () => provider.send(call));
      run.reply = reply;
      run.shown = [reply.headers, reply.upstream];
      await called('the body of send()', () =>
        readBody(reply, pieces, onChunk, (read) => {
          run.body = read;
        }),
      );
    },
    (setup) => ({ setup, provider: textProviderOf(setup), body: Buffer.alloc(0) }),
  );
}

export async function readBody(
  { body }: TextReply,
  pieces = Number.POSITIVE_INFINITY,
  onPiece = () => {},
  keep: (read: Buffer) => void = () => {},
): Promise<Buffer> {
  let read: Buffer = Buffer.alloc(0);
  let count = 0;
  for await (const piece of body) {
    read = Buffer.concat([read, piece]);
    keep(read);
    onPiece();
    if (++count >= pieces) break;
  }
  return read;
}

export function firstModel(provider: TextProvider): TextModel {
  const [model] = provider.models;
  assert(model, 'there are no models');
  return model;
}

/** An upstream that answers every request; if the definition has none, a network that fails. */
export function willingUpstream({ upstream }: TextProviderDefinition, wanted: Wanted, pieceLength?: number): FakeHttp {
  if (!upstream) return createFakeHttp([{ fail: 'connection' }]);
  const content = answerContent(wanted, upstream.model);
  return createFakeHttp((request) => ({
    ...answerOf(upstream, request, content),
    ...(pieceLength && { pieceLength }),
  }));
}

export function answerOf(
  upstream: NonNullable<TextProviderDefinition['upstream']>,
  request: SentRequest,
  content: TextContent,
): Extract<FakeReply, { body?: unknown }> {
  if (upstream.answer) return upstream.answer(request, content);
  return { headers: { 'content-type': content.contentType }, body: content.bytes };
}

export function describeOutcome({ reply, error }: Pick<TextRun, 'reply' | 'error'>): string {
  if (error !== undefined) return describeError(error);
  return reply ? 'an answer' : 'nothing';
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
  const odd = '"x_big":12345678901234567890.10, "x_unknown" : {"a":[1 ,2]}, "x_escaped":"\\u00e9\\/"';
  return Buffer.from(`{ ${odd},\t"model":"${model}",${input}${asksUsage}${stream ? ',"stream" : true' : ''} }\n`);
}

/** An upstream's answer with legal but rare forms. */
export function answerContent({ route, stream, words }: Wanted, model: string): TextContent {
  const text = stream ? streamOf(route, words, model) : `${wholeOf(route, words, model)}\n`;
  const contentType = stream ? 'text/event-stream; charset=utf-8' : 'application/json';
  return { route, stream, contentType, bytes: Buffer.from(text) };
}

function wholeOf(route: TextRoute, words: string, model: string): string {
  const text = JSON.stringify(`${words} ${ODD_WORDS}`);
  const head = `"model" : "${model}", "x_big":12345678901234567890`;
  if (route === 'chat_completions') {
    const choice = `{"index":0,"message":{"role":"assistant","content":${text}},"finish_reason":"stop"}`;
    const usage = '{"prompt_tokens":9,"completion_tokens":3,"total_tokens":12}';
    return `{"id":"c1","object":"chat.completion","created":1781500000,${head},"choices":[${choice}],"usage":${usage}}`;
  }
  const message = `{"id":"msg_1","type":"message","role":"assistant","content":[{"type":"output_text","text":${text}}]}`;
  const usage =
    '{"input_tokens":9,"input_tokens_details":{"cached_tokens":0},"output_tokens":3,' +
    '"output_tokens_details":{"reasoning_tokens":0},"total_tokens":12}';
  const state = '"object":"response","created_at":1781500000,"status":"completed"';
  return `{"id":"resp_1",${state},${head},"output":[${message}],"usage":${usage}}`;
}

function streamOf(route: TextRoute, words: string, model: string): string {
  const pieces = [words, ` ${ODD_WORDS}`].map((piece) => JSON.stringify(piece));
  if (route === 'chat_completions') {
    const head = `"id":"c1","object":"chat.completion.chunk","created":1781500000,"model":"${model}"`;
    const chunk = (delta: string, finish = 'null') =>
      `data: {${head},"choices":[{"index":0,"delta":{${delta}},"finish_reason":${finish}}],"usage":null}\n\n`;
    const usage = '{"prompt_tokens":9,"completion_tokens":3,"total_tokens":12}';
    return [
      ': a comment\n\n',
      ...pieces.map((piece) => chunk(`"content":${piece}`)),
      chunk('', '"stop"'),
      `data:{${head},"choices":[],"usage":${usage}}\r\n\r\n`,
      'data: [DONE]\n\n',
    ].join('');
  }
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

const HEADER = /^[a-z0-9-]+$/;
const STREAM_END = /^response\.(?:completed|incomplete|failed)$/;

/** Problems of an answer, one line each. */
export function contentProblems(wanted: Wanted, reply: TextReply, body: Buffer): string[] {
  const { status, headers, upstream, upstreamModel } = reply;
  const type = headers['content-type'] ?? 'none';
  const expected = wanted.stream ? 'text/event-stream' : 'application/json';
  return [
    ...(status >= 200 && status < 300 ? [] : [`the status is ${status}`]),
    ...(type.startsWith(expected) ? [] : [`the content type is ${type}, and not ${expected}`]),
    ...Object.keys(headers)
      .filter((name) => !HEADER.test(name))
      .map((name) => `the header "${name}" is not in lower case`),
    ...Object.keys(headers)
      .filter((name) => /^(?:set-cookie|content-length|content-encoding|transfer-encoding|connection)$/.test(name))
      .map((name) => `the header ${name} is no business of a client`),
    ...(upstream === '' ? ['the upstream has no name'] : []),
    ...(upstreamModel === '' ? ['the upstream has no model'] : []),
    ...formatProblems(wanted, body),
  ];
}

function formatProblems(wanted: Wanted, body: Buffer): string[] {
  try {
    const last = lastOf(wanted, body);
    if (!wanted.stream) {
      const object = wanted.route === 'responses' ? 'response' : 'chat.completion';
      return at(last, 'object') === object ? [] : [`the answer is no ${object}`];
    }
    if (wanted.route === 'chat_completions') return last === '[DONE]' ? [] : ['the stream does not end with [DONE]'];
    return STREAM_END.test(String(at(last, 'type'))) ? [] : ['the stream has no terminal event'];
  } catch (error) {
    return [`the answer cannot be read: ${error}`];
  }
}

/** The text of the model, all chunks together. */
export function textOf({ route, stream }: Wanted, body: Buffer): string {
  const isChat = route === 'chat_completions';
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
