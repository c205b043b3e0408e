/*
 * Reads a conversation of either format, makes an echo of its last user message, and writes that as a chat completion,
 * a response, or the events of each. An echo has at most 2,000 tokens, or fewer if the client sets a limit; it then
 * ends with the reason `length`. Tokens are words, up to three digits, or signs, found by one regular expression: the
 * vocabulary of a real model would take 80 MB of memory. The texts of all tokens together are exactly the text.
 */

import { randomUUID } from 'node:crypto';
import { GatewayError, type TextRoute } from 'mediagate/plugin';

type Members = Readonly<Record<string, unknown>>;

/** What was said so far, as far as an echo needs it. */
interface Conversation {
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
function tokensOf(text: string): string[] {
  return text.match(TOKEN) ?? [];
}

export function countTokens(text: string): number {
  let count = 0;
  TOKEN.lastIndex = 0;
  while (TOKEN.test(text)) count++;
  return count;
}

/** `chat.completion` */
export function chatCompletion(echo: Echo): object {
  const message = { role: 'assistant', content: echo.tokens.join(''), refusal: null };
  return {
    ...headOf(echo, 'chat.completion'),
    choices: [{ index: 0, message, logprobs: null, finish_reason: finishOf(echo) }],
    usage: usageOf(echo),
  };
}

/** Events of a stream, one for each token and a few around them. */
export function* chatEvents(echo: Echo, includeUsage: boolean): Generator<string> {
  const head = headOf(echo, 'chat.completion.chunk');
  const event = (choices: readonly object[], usage: object | null = null) =>
    `data: ${JSON.stringify({ ...head, choices, ...(includeUsage && { usage }) })}\n\n`;
  const choice = (delta: object, finish: string | null = null) => [
    { index: 0, delta, logprobs: null, finish_reason: finish },
  ];
  yield event(choice({ role: 'assistant', content: '', refusal: null }));
  for (const content of echo.tokens) yield event(choice({ content }));
  yield event(choice({}, finishOf(echo)));
  if (includeUsage) yield event([], usageOf(echo));
  yield 'data: [DONE]\n\n';
}

function headOf({ id, created, model }: Echo, object: string): object {
  return { id: `chatcmpl-${id}`, object, created, model };
}

function finishOf({ isCut }: Echo): string {
  return isCut ? 'length' : 'stop';
}

function usageOf({ inputTokens, tokens }: Echo): object {
  return {
    prompt_tokens: inputTokens,
    completion_tokens: tokens.length,
    total_tokens: inputTokens + tokens.length,
    prompt_tokens_details: { cached_tokens: 0, audio_tokens: 0 },
    completion_tokens_details: {
      reasoning_tokens: 0,
      audio_tokens: 0,
      accepted_prediction_tokens: 0,
      rejected_prediction_tokens: 0,
    },
  };
}

export function responseIdOf({ id }: Echo): string {
  return `resp_${id}`;
}

/** `response` when all is said. */
export function finishedResponse(echo: Echo, body: Members): object {
  const { inputTokens, earlierTokens, tokens, isCut } = echo;
  return {
    ...responseOf(echo, body, isCut ? 'incomplete' : 'completed'),
    incomplete_details: isCut ? { reason: 'max_output_tokens' } : null,
    output: [messageOf(echo, tokens.join(''))],
    usage: {
      input_tokens: inputTokens,
      input_tokens_details: { cached_tokens: earlierTokens },
      output_tokens: tokens.length,
      output_tokens_details: { reasoning_tokens: 0 },
      total_tokens: inputTokens + tokens.length,
    },
  };
}

/** Events of a stream, one for each token and a few around them. */
export function* responseEvents(echo: Echo, body: Members): Generator<string> {
  let number = 0;
  const event = (type: string, members: object) =>
    `event: ${type}\ndata: ${JSON.stringify({ type, sequence_number: number++, ...members })}\n\n`;
  const message = messageOf(echo, echo.tokens.join(''));
  const [part] = message.content;
  const place = { item_id: message.id, output_index: 0, content_index: 0 };
  const begun = responseOf(echo, body, 'in_progress');
  yield event('response.created', { response: begun });
  yield event('response.in_progress', { response: begun });
  yield event('response.output_item.added', {
    output_index: 0,
    item: { ...message, status: 'in_progress', content: [] },
  });
  yield event('response.content_part.added', { ...place, part: { ...part, text: '' } });
  for (const delta of echo.tokens) yield event('response.output_text.delta', { ...place, delta, logprobs: [] });
  yield event('response.output_text.done', { ...place, text: part.text, logprobs: [] });
  yield event('response.content_part.done', { ...place, part });
  yield event('response.output_item.done', { output_index: 0, item: message });
  const type = echo.isCut ? 'response.incomplete' : 'response.completed';
  yield event(type, { response: finishedResponse(echo, body) });
}

function responseOf(echo: Echo, body: Members, status: string): object {
  return {
    id: responseIdOf(echo),
    object: 'response',
    created_at: echo.created,
    status,
    background: false,
    error: null,
    incomplete_details: null,
    instructions: body.instructions ?? null,
    max_output_tokens: body.max_output_tokens ?? null,
    metadata: body.metadata ?? {},
    model: echo.model,
    output: [],
    parallel_tool_calls: body.parallel_tool_calls ?? true,
    previous_response_id: body.previous_response_id ?? null,
    reasoning: body.reasoning ?? { effort: null, summary: null },
    store: body.store ?? true,
    temperature: body.temperature ?? 1,
    text: body.text ?? { format: { type: 'text' } },
    tool_choice: body.tool_choice ?? 'auto',
    tools: body.tools ?? [],
    top_p: body.top_p ?? 1,
    truncation: body.truncation ?? 'disabled',
    usage: null,
    user: body.user ?? null,
  };
}

function messageOf({ id, isCut }: Echo, text: string) {
  return {
    id: `msg_${id}`,
    type: 'message',
    status: isCut ? 'incomplete' : 'completed',
    content: [{ type: 'output_text', annotations: [], logprobs: [], text }] as const,
    role: 'assistant',
  };
}
