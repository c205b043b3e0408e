/*
 * Reads the beginning of a text model's answer until it is clear that it is one. Servers also send status 200 with an
 * error, with comments only, or with a first event and then an error; while nothing has reached the client, another
 * upstream can answer. Bytes are held back until the first text, reasoning or tool call, until 64 KiB are held, or
 * until the caller's time limit passes. Then they are released unchanged, decided or not. If the limit passes without a
 * byte, the answer is `silent`: the caller asks the next upstream, or passes the answer on if none is left. Usual
 * answers are recognized by a substring of their first chunk, without parsing.
 */

import type { Clock, TextRoute } from '../contracts/index.js';
import { type ArrivedBody, asRecord, type JsonRecord } from '../runtime/index.js';

/** What the beginning of an answer is. */
type AnswerState =
  /** Not decided yet. */
  | 'open'
  | 'answer'
  /** It ended without an event. */
  | 'empty'
  /** It ended, and is neither JSON nor events. */
  | 'unreadable'
  /** What the upstream reported in place of an answer. */
  | { error: unknown };

export interface AnswerStart {
  /** `silent` if no byte came in time. */
  state: AnswerState | 'silent';
  /** The whole body, what was held back included. */
  body: AsyncIterableIterator<Uint8Array>;
  /** `application/json` or `text/event-stream`, as the bytes are; undefined if they are neither, or not known yet. */
  type?: string;
}

export interface AnswerStartOptions {
  clock: Clock;
  /** Format of the answer. Default: nothing is held back. */
  route?: TextRoute;
  /** Milliseconds after which the answer is released undecided, or is `silent` without a byte. Default: no limit. */
  limitMs?: number;
}

const MAX_HELD_BYTES = 64 * 1024;
export const JSON_TYPE = 'application/json';
export const EVENTS_TYPE = 'text/event-stream';

/** The judgement of a whole answer. Its body is not read. */
export function startOfArrived(body: ArrivedBody, route: TextRoute | undefined): AnswerStart {
  const judge = createAnswerJudge(route);
  const begun = judge.push(body.bytes);
  const state = begun === 'open' ? judge.end() : begun;
  return { state, body, type: judge.type };
}

/** Reads until it is decided, or the time has passed. Throws what reading the body throws. */
export async function startAnswer(
  source: AsyncIterable<Uint8Array>,
  { clock, route, limitMs }: AnswerStartOptions,
): Promise<AnswerStart> {
  const chunks = source[Symbol.asyncIterator]();
  const held: Uint8Array[] = [];
  const judge = createAnswerJudge(route);
  const timer = limitMs === undefined ? undefined : startTimer(limitMs, clock);
  try {
    for (let bytes = 0; ; ) {
      const pending = chunks.next();
      const next = timer ? await Promise.race([pending, timer.passed]) : await pending;
      if (!next) {
        const state = held.length === 0 ? 'silent' : 'open';
        return { state, body: bodyOf([...held, pending], chunks), type: judge.type };
      }
      if (next.done) {
        const state = judge.end();
        return { state, body: bodyOf([...held, next], chunks), type: judge.type };
      }
      held.push(next.value);
      bytes += next.value.length;
      const state = judge.push(next.value);
      if (state === 'open' && bytes < MAX_HELD_BYTES) continue;
      return { state, body: bodyOf(held, chunks), type: judge.type };
    }
  } finally {
    timer?.stop();
  }
}

function startTimer(ms: number, clock: Clock): { passed: Promise<undefined>; stop(): void } {
  const stopped = new AbortController();
  const none = () => undefined;
  return { passed: clock.sleep(ms, stopped.signal).then(none, none), stop: () => stopped.abort() };
}

type Chunk = IteratorResult<Uint8Array>;

/**
 * A body whose first chunks are read or awaited already. It is no generator: one that waits for a
 * chunk would not notice that its reader has left.
 */
function bodyOf(
  first: readonly (Uint8Array | Chunk | Promise<Chunk>)[],
  rest: AsyncIterator<Uint8Array>,
): AsyncIterableIterator<Uint8Array> {
  let ready = first;
  const body: AsyncIterableIterator<Uint8Array> = {
    [Symbol.asyncIterator]: () => body,
    next() {
      const [next] = ready;
      if (next === undefined) return rest.next();
      ready = ready.length === 1 ? [] : ready.slice(1);
      return Promise.resolve(next instanceof Uint8Array ? { done: false, value: next } : next);
    },
    async return() {
      ready = [];
      await rest.return?.();
      return { done: true, value: undefined };
    },
  };
  return body;
}

interface AnswerJudge {
  push(bytes: Uint8Array): AnswerState;
  end(): AnswerState;
  readonly type: string | undefined;
}

/** Without a format, bytes are all that an answer needs. */
const RELEASE: AnswerJudge = { push: () => 'answer', end: () => 'empty', type: undefined };

function createAnswerJudge(route: TextRoute | undefined): AnswerJudge {
  if (route === undefined) return RELEASE;
  let type: string | undefined;
  /** What was received of JSON; of events, the lines that are not judged yet. One letter for each byte. */
  let text = '';
  let isKnown = false;
  let name = '';
  let data: string | undefined;
  let isOver = false;

  function judgeEvent(): AnswerState {
    const [found, named] = [data, name];
    data = undefined;
    name = '';
    if (found === undefined || found === '') return 'open';
    if (found.trim() === '[DONE]') return 'empty';
    const event = asRecord(parse(found));
    if (!event) return isOver ? 'empty' : 'answer';
    const error = named === 'error' ? (event.error ?? event) : errorIn(event);
    if (isGiven(error)) return { error };
    return carriesContent(event, route as TextRoute) ? 'answer' : 'open';
  }

  function judgeLines(): AnswerState {
    for (let end = text.search(LINE_END); end !== -1; end = text.search(LINE_END)) {
      const line = text.slice(0, end);
      text = text.slice(text.startsWith('\r\n', end) ? end + 2 : end + 1);
      const state = line === '' ? judgeEvent() : 'open';
      if (state !== 'open') return state;
      const [, field, value = ''] = FIELD.exec(line) ?? [];
      if (field === 'data') data = data === undefined ? value : `${data}\n${value}`;
      else if (field === 'event') name = value;
    }
    return 'open';
  }

  return {
    push(bytes) {
      const buffer = Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
      if (text === '' && !isKnown && isPlainAnswer(buffer, route)) {
        type = buffer[0] === OPEN_BRACE ? JSON_TYPE : EVENTS_TYPE;
        return 'answer';
      }
      text += buffer.toString('latin1');
      if (!isKnown) {
        text = text.replace(LEADING, '');
        if (text.length < LONGEST_FIELD && !/[{[:\r\n]/.test(text)) return 'open';
        isKnown = true;
        if (text.startsWith('{')) type = JSON_TYPE;
        else if (FIRST_FIELD.test(text)) type = EVENTS_TYPE;
      }
      return type === EVENTS_TYPE ? judgeLines() : 'open';
    },
    end() {
      if (type === JSON_TYPE) return judgeWhole(parse(text));
      if (type !== EVENTS_TYPE) return text === '' ? 'empty' : 'unreadable';
      text += '\n\n';
      isOver = true;
      const state = judgeLines();
      return state === 'open' ? 'empty' : state;
    },
    get type() {
      return type;
    },
  };
}

const OPEN_BRACE = 0x7b;
const QUOTE = 0x22;
const LINE_END = /[\r\n]/;
const FIELD = /^(\w+):? ?(.*)$/;
/** A byte order mark, of which each byte is a letter here, and white space. */
const LEADING = /^(?:ï»¿)?\s+|^ï»¿/;
const FIRST_FIELD = /^(?::|(?:data|event|id|retry)(?:[:\r\n]|$))/;
/** Letters after which a field of an event is known. */
const LONGEST_FIELD = 'event:'.length;

/** What usual answers have, as usual servers write it. They are known by it without being parsed. */
const USUAL: Readonly<Record<TextRoute, { whole: string; event: string; without: string }>> = {
  chat_completions: { whole: '"choices":[{', event: '"content":"', without: '"error"' },
  responses: { whole: '"output":[{', event: '.delta"', without: '"failed"' },
  messages: { whole: '"content":[{', event: '"content_block_', without: '"error"' },
  embeddings: { whole: '"embedding":', event: '"embedding":', without: '"error"' },
  moderations: { whole: '"results":[{', event: '"results":[{', without: '"error"' },
};
const CHAT_CONTENT = USUAL.chat_completions.event;

/** Whether the first bytes have something of the model, and no error. */
function isPlainAnswer(bytes: Buffer, route: TextRoute): boolean {
  const { whole, event, without } = USUAL[route];
  if (bytes[0] === OPEN_BRACE) return bytes.includes(whole, 0, 'latin1') && !bytes.includes(without, 0, 'latin1');
  if (!FIRST_BYTES.has(bytes[0])) return false;
  let at = bytes.indexOf(event, 0, 'latin1');
  // The first event of a chat has an empty text.
  if (route === 'chat_completions')
    while (at !== -1 && (bytes[at + CHAT_CONTENT.length] ?? QUOTE) === QUOTE) {
      at = bytes.indexOf(event, at + 1, 'latin1');
    }
  return at !== -1 && !bytes.includes(without, 0, 'latin1');
}

/** First bytes of a stream of events: of `data`, `event`, `id`, `retry` and of a comment. */
const FIRST_BYTES: ReadonlySet<number | undefined> = new Set([0x64, 0x65, 0x69, 0x72, 0x3a]);

/** The value of a text with one letter for each byte; undefined if it is no JSON. */
function parse(latin1: string): unknown {
  try {
    return JSON.parse(Buffer.from(latin1, 'latin1').toString('utf8'));
  } catch {
    return undefined;
  }
}

function isGiven(value: unknown): boolean {
  if (value === undefined || value === null || value === false || value === '') return false;
  return typeof value !== 'object' || Object.keys(value).length > 0;
}

function isFilled(value: unknown): boolean {
  return Array.isArray(value) && value.length > 0;
}

/** What an answer, or an event, says in place of content; undefined if it is no error. */
function errorIn(answer: JsonRecord): unknown {
  const { type, object, error, choices, output, content, response } = answer;
  if (type === 'error' || object === 'error') return isGiven(error) ? error : answer;
  if (type === 'response.failed') return asRecord(response)?.error ?? { message: 'The response failed.' };
  if (object === 'response' && answer.status === 'failed' && !isFilled(output)) return error ?? {};
  if (isGiven(error) && !isFilled(choices) && !isFilled(output) && !isFilled(content)) return error;
  if (!isFilled(choices)) return undefined;
  const failed = (choices as readonly unknown[]).map(asRecord).filter((one) => one && isFailedChoice(one));
  if (failed.length < (choices as readonly unknown[]).length) return undefined;
  return failed[0]?.error ?? error ?? { message: 'The model ended with an error.' };
}

/** A choice that ended with an error before the model wrote anything. */
function isFailedChoice({ error, finish_reason: reason, delta, message }: JsonRecord): boolean {
  return (isGiven(error) || reason === 'error') && !hasWords(delta) && !hasWords(message);
}

/** Whether a change of a chat has anything besides its role. */
function hasWords(change: unknown): boolean {
  return Object.entries(asRecord(change) ?? {}).some(
    ([name, value]) => name !== 'role' && value !== null && value !== '' && !(Array.isArray(value) && !isFilled(value)),
  );
}

const EVENTS_BEFORE_CONTENT: ReadonlySet<unknown> = new Set([
  'response.created',
  'response.in_progress',
  'response.queued',
  'message_start',
  'keepalive',
  'ping',
]);

function carriesContent({ type, choices }: JsonRecord, route: TextRoute): boolean {
  if (route !== 'chat_completions') return !EVENTS_BEFORE_CONTENT.has(type);
  if (!Array.isArray(choices)) return false;
  return choices.some((choice) => {
    const { delta, message, text, finish_reason: reason } = asRecord(choice) ?? {};
    return isGiven(reason) || hasWords(delta) || hasWords(message) || isGiven(text);
  });
}

function judgeWhole(value: unknown): AnswerState {
  const answer = asRecord(value);
  if (!answer) return 'unreadable';
  const error = errorIn(answer);
  return error === undefined ? 'answer' : { error };
}

/** Kinds of errors by their code or type, and the status that servers send with them. */
const KINDS: readonly (readonly [RegExp, number])[] = [
  [/insufficient_quota|rate_?limit|too_many|quota|throttl|resource_exhausted|billing/i, 429],
  [/overloaded|unavailable|slow_down|capacity/i, 503],
  [/timeout|timed_out|deadline/i, 504],
  [/auth|permission|forbidden/i, 401],
  [/not_found|unknown_model|no_such/i, 404],
  [
    /^invalid|^unsupported|context_length|content_?(?:filter|policy)|moderation|too_long|bad_request|missing_|image/i,
    400,
  ],
];
/** What servers say with status 200 of a path that they do not have. */
const NO_SUCH_PATH = /^Unexpected endpoint/;

/** The refusal that an error in an answer stands for: its status, and JSON in the usual form. */
export function refusalOf(error: unknown): { status: number; json: unknown } {
  const given = asRecord(error) ?? { message: typeof error === 'string' ? error : 'The model failed.' };
  return { status: statusOf(given), json: { error: given } };
}

function statusOf({ code, type, status, message }: JsonRecord): number {
  for (const stated of [status, code]) {
    const number = typeof stated === 'string' && /^\d{3}$/.test(stated) ? Number(stated) : stated;
    if (typeof number === 'number' && number >= 400 && number <= 599) return number;
  }
  if (typeof message === 'string' && NO_SUCH_PATH.test(message)) return 404;
  for (const named of [code, type, status]) {
    const kind = typeof named === 'string' ? KINDS.find(([words]) => words.test(named)) : undefined;
    if (kind) return kind[1];
  }
  return 500;
}
