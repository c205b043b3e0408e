import { randomUUID } from 'node:crypto';
import {
  GatewayError,
  type PluginContext,
  type StoredResponseCall,
  type TextCall,
  type TextProvider,
  type TextReply,
  type TextRoute,
} from 'mediagate';
import { chatCompletion, chatEvents, finishedResponse, responseEvents, responseIdOf } from './formats.js';
import { createKeptResponses } from './kept-responses.js';
import type { Options } from './options.js';

type Members = Readonly<Record<string, unknown>>;

/** What was said so far, as far as an echo needs it. */
export interface Conversation {
  /** Messages, or items. */
  said: readonly Members[];
  /** All text of it. */
  texts: readonly string[];
  /** The last words of the user. */
  last: string;
  /** Most tokens that the answer may have; undefined where the caller sets no bound. */
  mostTokens?: number;
}

/** @throws GatewayError `missing_required_parameter`, `invalid_value`. */
export function readConversation(route: TextRoute, body: Members): Conversation {
  const param = route === 'responses' ? 'input' : 'messages';
  const said = saidIn(body[param], param);
  const texts = [...(typeof body.instructions === 'string' ? [body.instructions] : []), ...said.flatMap(textsOf)];
  const last = said.findLast((one) => one.role === 'user') ?? said.at(-1);
  const most = body.max_output_tokens ?? body.max_completion_tokens ?? body.max_tokens;
  return {
    said,
    texts,
    last: last ? textsOf(last).join(' ') : '',
    ...(typeof most === 'number' && most >= 1 && { mostTokens: Math.floor(most) }),
  };
}

function saidIn(value: unknown, param: string): Members[] {
  if (value === undefined || value === null) {
    throw new GatewayError('missing_required_parameter', `${param} is missing.`, { param });
  }
  if (typeof value === 'string') return [{ role: 'user', content: value }];
  if (Array.isArray(value) && value.every(isObject)) return value;
  throw new GatewayError('invalid_value', `${param} must be a list of objects.`, { param });
}

/** Of a message, its content, or the text parts of it; of a tool's answer, what it says. */
function textsOf(message: Members): string[] {
  const content = message.content ?? message.output ?? message.arguments;
  if (typeof content === 'string') return [content];
  if (!Array.isArray(content)) return [];
  return content.filter(isObject).flatMap(({ text }) => (typeof text === 'string' ? [text] : []));
}

function isObject(value: unknown): value is Members {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** An answer before it is put into a format. */
export interface Echo {
  /** Unguessable; without the prefix that a format gives it. */
  id: string;
  model: string;
  /** Seconds since 1970. */
  created: number;
  /** In the order they are said. */
  tokens: readonly string[];
  /** Whether the caller's bound cut it. */
  isCut: boolean;
  inputTokens: number;
  /** Of the input, what was said in earlier responses. */
  earlierTokens: number;
}

/** Nobody shall take it for a model's. */
const MARK = 'This is an echo, no model is connected (set TEXT_UPSTREAM_URL). You said:';
/** A client that pastes a book does not want it back. */
const MOST_TOKENS = 2_000;

export function createEcho(
  { texts, last, mostTokens = MOST_TOKENS }: Conversation,
  { model, now, earlierTokens }: { model: string; now: number; earlierTokens: number },
): Echo {
  const tokens = tokensOf(`${MARK} ${last}`);
  const most = Math.min(mostTokens, MOST_TOKENS);
  return {
    id: randomUUID().replaceAll('-', ''),
    model,
    created: Math.floor(now / 1000),
    tokens: tokens.slice(0, most),
    isCut: tokens.length > most,
    inputTokens: earlierTokens + texts.reduce((sum, text) => sum + countTokens(text), 0),
    earlierTokens,
  };
}

/** The tokens of an echo: words with the space before them, digits, signs. A model's own would take 80 MB to load. */
const TOKEN = / ?\p{L}{1,16}| ?\p{N}{1,3}| ?[^\s\p{L}\p{N}]{1,4}|\s+/gu;

/** In the order of the text; together they are the text. */
export function tokensOf(text: string): string[] {
  return text.match(TOKEN) ?? [];
}

export function countTokens(text: string): number {
  let count = 0;
  TOKEN.lastIndex = 0;
  while (TOKEN.test(text)) count++;
  return count;
}

/** 20,000 values, above which fields may be missing, take at least so many bytes. */
const MAX_PARSED_BYTES = 40_000;
const JSON_TYPE = 'application/json';
const STREAM_TYPE = 'text/event-stream; charset=utf-8';

export function createEchoProvider({ options, clock }: PluginContext<Options>): TextProvider {
  const { model, efforts, paceMs } = options;
  const kept = createKeptResponses();

  const reply = (contentType: string, body: AsyncIterable<Uint8Array>): TextReply => ({
    status: 200,
    headers: { 'content-type': contentType },
    body,
    upstream: 'echo',
    upstreamModel: model,
  });

  async function* paced(events: Iterable<string>, signal: AbortSignal): AsyncGenerator<Uint8Array> {
    for (const event of events) {
      signal.throwIfAborted();
      yield Buffer.from(event);
      if (paceMs > 0) await clock.sleep(paceMs, signal);
    }
  }

  function earlierOf(id: unknown): number {
    if (typeof id !== 'string') return 0;
    const earlier = kept.find(id);
    if (earlier) return earlier.tokens;
    const param = 'previous_response_id';
    throw new GatewayError('previous_response_not_found', 'There is no such response to go on from.', { param });
  }

  function keep(echo: Echo, parsed: TextCall['parsed'], said: readonly object[]): void {
    if (parsed.store === false) return;
    const id = responseIdOf(echo);
    const data = said.map((item, index) => ({ id: `msg_${echo.id}_${index}`, type: 'message', ...item }));
    const list = { object: 'list', data, first_id: data[0]?.id ?? null, last_id: data.at(-1)?.id ?? null };
    kept.add({
      id,
      response: JSON.stringify(finishedResponse(echo, parsed)),
      input: JSON.stringify({ ...list, has_more: false }),
      tokens: echo.inputTokens + echo.tokens.length,
    });
  }

  return {
    models: [{ id: model, routes: ['chat_completions', 'responses'], efforts }],
    tasks: ['input_tokens'],
    async send(call) {
      const { route, task, stream, signal } = call;
      const parsed = wholeOf(call);
      signal.throwIfAborted();
      const conversation = readConversation(route, parsed);
      const isResponse = route === 'responses';
      const earlierTokens = isResponse ? earlierOf(parsed.previous_response_id) : 0;
      const echo = createEcho(conversation, { model, now: clock.now(), earlierTokens });
      if (task === 'input_tokens') {
        const { inputTokens } = echo;
        return reply(JSON_TYPE, whole(JSON.stringify({ object: 'response.input_tokens', input_tokens: inputTokens })));
      }
      if (isResponse) keep(echo, parsed, conversation.said);
      if (stream) {
        const events = isResponse ? responseEvents(echo, parsed) : chatEvents(echo, asksForUsage(parsed));
        return reply(STREAM_TYPE, paced(events, signal));
      }
      return reply(
        JSON_TYPE,
        whole(JSON.stringify(isResponse ? finishedResponse(echo, parsed) : chatCompletion(echo))),
      );
    },
    async stored({ action, responseId, query, signal }: StoredResponseCall) {
      signal.throwIfAborted();
      const { response, input } = kept.get(responseId);
      if (action === 'input_items') return reply(JSON_TYPE, whole(input));
      if (action === 'cancel') throw new GatewayError('invalid_value', 'An echo is complete when it is there.');
      if (action === 'delete') {
        kept.delete(responseId);
        return reply(JSON_TYPE, whole(JSON.stringify({ id: responseId, object: 'response', deleted: true })));
      }
      if (new URLSearchParams(query).get('stream') === 'true') {
        throw new GatewayError('unsupported_value', 'An echo is streamed once.', { param: 'stream' });
      }
      return reply(JSON_TYPE, whole(response));
    },
  };
}

/** An echo needs all fields of the body, also those that a large body is parsed without. */
function wholeOf({ body, parsed }: TextCall): TextCall['parsed'] {
  return body.length > MAX_PARSED_BYTES ? JSON.parse(Buffer.from(body).toString('utf8')) : parsed;
}

function asksForUsage({ stream_options: options }: Readonly<Record<string, unknown>>): boolean {
  return (
    typeof options === 'object' && options !== null && 'include_usage' in options && options.include_usage === true
  );
}

async function* whole(text: string): AsyncGenerator<Uint8Array> {
  yield Buffer.from(text);
}
