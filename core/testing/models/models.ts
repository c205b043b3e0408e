/*
 * What the rules of all contracts share: one call of a plugin in a setup of its own, callers who leave before or
 * during a call, and, for images, audio and text, upstreams that fail and the checks of every result. A failure must
 * have one of its codes, must not be tried more than three times, must leave no connection open, and must not show the
 * upstream's words or secrets. Calls of one plugin never share cool-downs or caches.
 */

import assert from 'node:assert';
import { inspect } from 'node:util';
import type { Clock, ContributionKind, HttpClient, Plugin } from '../../contracts/index.js';
import { CONTRIBUTION_CODES } from '../../plugins/index.js';
import { type GatewayError, isGatewayError } from '../../runtime/index.js';
import { createFakeHttp, type FakeHttp, type FakeReply, type SentRequest } from '../fakes.js';
import { endsWhenLeft, growthProblems, HangError, LEFT, type LongText, repeated, strayErrors } from '../limits.js';
import { leakProblems, type Readable, type Rule, reportAll, unless } from '../runner.js';
import { setUpPlugin, type TestSetup } from '../setup.js';

/** How often one call may ask for its work. */
export const MAX_TRIES = 3;
/** A private text in an upstream's body. */
export const WORDS = 'words-of-the-upstream-alone';
/** Codes of a useless answer. */
export const UNREADABLE: readonly string[] = ['upstream_changed', 'upstream_error', 'upstream_refused'];

export interface ModelDefinition {
  plugin: Plugin;
  /** Options of a valid instance. Default `{}`. */
  options?: Readonly<Record<string, unknown>>;
  /** Texts that must not appear in a result, an error or the log. Default: none. */
  secrets?: readonly string[];
}

export interface CallOptions {
  http: HttpClient;
  /** The caller's signal. Default: one that never aborts. */
  signal?: AbortSignal;
  /** Clock for waiting. Default: real time. */
  waiting?: Pick<Clock, 'monotonic' | 'sleep'>;
  /** Whether `clock.now()` moves with `waiting`. Default false. */
  movesNow?: boolean;
  /** Called with each chunk of the result. */
  onChunk?(): void;
}

export interface Call<Run extends Readable> {
  /** For the report, such as `generate()`. */
  method: string;
  run(options: CallOptions): Promise<Run>;
}

/** A call that succeeds if its upstream does. */
export interface ModelCall<Run extends Readable> extends Call<Run> {
  /** What is expected of it, for the report, such as `an image`. */
  result: string;
  /** The answer of a working upstream, whose image or audio has the given bytes; without one, a network that fails. */
  answer(request: SentRequest, bytes?: Uint8Array): FakeReply | Promise<FakeReply>;
  /** How often the work was asked for. Default: with each request. */
  triesOf?(requests: readonly SentRequest[]): number;
  /** Problems of a failed run besides those of every model, one line each. Default: none. */
  problemsOf?(run: Run): string[];
}

/** One failure of a model's upstream, and the accepted codes. */
export interface ModelFault {
  name: string;
  codes: readonly string[];
  /** @param valid - the answer of a working upstream, whose image or audio consists of the given bytes. */
  reply(valid: (bytes?: Uint8Array) => FakeReply | Promise<FakeReply>): FakeReply | Promise<FakeReply>;
  /** Whether the error must have the upstream's words, without secrets. Default: it must not have them. */
  keepsWords?: boolean;
  /** Whether only one request may be made. Default false. */
  isFinal?: boolean;
}

export interface ModelRefusal<Definition> {
  name: string;
  expected: string;
  codes: readonly string[];
  /** The answer to the first request; undefined for an upstream that never refuses at once. */
  reply(definition: Definition): FakeReply | undefined;
}

/** What differs between images, audio and text. */
export interface ModelFamily<Definition extends ModelDefinition, Run extends Readable> {
  kind: ContributionKind;
  calls(definition: Definition): readonly ModelCall<Run>[];
  faults: readonly ModelFault[];
  /** An upstream's refusal of a caller's input, which is not the upstream's fault. */
  refusal: ModelRefusal<Definition>;
}

/** Sets a plugin up for one call alone, makes it, and disposes of it: without cool-downs or caches of another call. */
export async function runCall<Run extends Readable>(
  { plugin, options, now }: ModelDefinition & { now?: string },
  { http, waiting, movesNow, signal = new AbortController().signal }: CallOptions,
  begin: (setup: TestSetup) => Run,
  work: (run: Run, signal: AbortSignal) => Promise<void>,
): Promise<Run> {
  const setup = await setUpPlugin({ plugin, options, http, now, waiting, movesNow });
  const run = begin(setup);
  try {
    await work(run, signal);
  } catch (error) {
    if (error instanceof HangError) throw error;
    run.error = error;
  }
  await setup.dispose();
  return run;
}

/** A contribution of the plugin, without a network. */
export async function contributionOf<Contribution>(
  { plugin, options, now }: ModelDefinition & { now?: string },
  pick: (setup: TestSetup) => Contribution,
): Promise<Contribution> {
  return pick(await setUpPlugin({ plugin, options, now, http: createFakeHttp([{ fail: 'connection' }]) }));
}

/** Problems of the names of models, one line each. */
export function modelNameProblems(models: readonly { id: string }[]): string[] {
  const ids = models.map(({ id }) => id);
  return [
    ...unless(ids.length > 0, 'there are no models'),
    ...unless(new Set(ids).size === ids.length, 'a model is named twice'),
    ...ids.filter((id) => !/^[A-Za-z0-9][\w.:/-]{0,99}$/.test(id)).map((id) => `"${id}" is no name of a model`),
  ];
}

/**
 * A call of a working upstream.
 * @param problemsOf - problems of its result; undefined if there is none.
 */
export async function succeeds<Run extends Readable>(
  definition: ModelDefinition & { upstream?: unknown },
  { answer, result, run: make, triesOf = ({ length }) => length }: ModelCall<Run>,
  problemsOf: (run: Run, http: FakeHttp) => readonly string[] | undefined | Promise<readonly string[] | undefined>,
): Promise<Run> {
  const http = createFakeHttp((request) => answer(request));
  const run = await make({ http });
  const problems = await problemsOf(run, http);
  assert(problems && run.error === undefined, `expected ${result}, got ${outcomeOf(run)}`);
  const max = definition.upstream ? 1 : 0;
  const tries = triesOf(http.requests);
  reportAll([
    ...problems,
    ...unless(tries <= max, `it made ${tries} requests for ${result}`),
    ...undeclaredProblems(run.setup),
    ...leakProblems(definition.secrets ?? [], run),
  ]);
  return run;
}

export function undeclaredProblems({ undeclared }: TestSetup): string[] {
  return undeclared.map((need) => `used the ${need} without naming it in "needs" or "wants"`);
}

/** Amounts of usage that are no amounts, one line each. */
export function usageProblems(usage: object = {}): string[] {
  return Object.entries(usage)
    .filter(([, value]) => typeof value === 'number' && !(Number.isFinite(value) && value >= 0))
    .map(([name, value]) => `usage.${name} is ${value}`);
}

/** The GatewayError a run ended with; any other error, and a code that its contract does not have, fails the check. */
export function contractErrorOf({ error }: { error?: unknown }, kind: ContributionKind): GatewayError | undefined {
  if (error === undefined) return undefined;
  const problem = !isGatewayError(error)
    ? `threw something else than a GatewayError: ${inspect(error)}`
    : !CONTRIBUTION_CODES[kind].has(error.code) && `threw ${error.code}, which is no code of this contract (${kind})`;
  assert(!problem, problem || undefined);
  return error as GatewayError;
}

/** The outcome of a call, for the report. */
export function outcomeOf({ error, shown }: Pick<Readable, 'error' | 'shown'>): string {
  if (isGatewayError(error)) return `${error.code}: ${error.message}`;
  if (error !== undefined) return String(error);
  return shown === undefined ? 'nothing' : 'a result';
}

/** Failures that do not depend on the request. */
export function commonFaults(retryAfterSeconds: number): ModelFault[] {
  const failing = (name: string, codes: readonly string[], reply: FakeReply): ModelFault => ({
    name,
    codes,
    reply: () => reply,
  });
  return [
    ...[401, 402, 403].map((status) => failing(`HTTP ${status}`, ['upstream_auth_error'], refusal(status))),
    failing('HTTP 429', ['upstream_rate_limited'], refusal(429, { 'retry-after': String(retryAfterSeconds) })),
    failing('HTTP 500', ['upstream_error'], refusal(500)),
    failing('HTTP 503 with a page', ['upstream_error', 'upstream_unavailable'], page(503)),
    failing('a timeout', ['upstream_timeout'], { fail: 'timeout' }),
    failing('a broken connection', ['upstream_error'], { fail: 'connection' }),
    failing('a page', UNREADABLE, page(200)),
  ];
}

/** In the formats of several vendors at once. */
export function refusal(status: number, headers: Readonly<Record<string, string>> = {}): FakeReply {
  const message = 'No.';
  const body = { error: { message, type: 'error', code: null }, detail: { status: 'error', message } };
  return { status, headers, body };
}

function page(status: number): FakeReply {
  return { status, headers: { 'content-type': 'text/html' }, body: '<!doctype html><title>One moment</title>' };
}

/** A definition whose provider may have an upstream. */
type WithUpstream = ModelDefinition & { upstream?: unknown };

const hasUpstream = ({ upstream }: WithUpstream) => upstream !== undefined;

/**
 * An upstream that fails in one way, one that refuses the caller's input, and one whose texts are made to take long. For
 * providers with an upstream.
 */
export function upstreamRules<Definition extends WithUpstream, Run extends Readable>(
  family: ModelFamily<Definition, Run>,
): Rule<Definition>[] {
  return [
    ...family.faults.map((fault) => faultRule(family, fault)),
    strayRule(family),
    refusalRule(family),
    hostileRule(family),
  ];
}

function faultRule<Definition extends WithUpstream, Run extends Readable>(
  { kind, calls }: ModelFamily<Definition, Run>,
  { name, codes, reply, keepsWords, isFinal = false }: ModelFault,
): Rule<Definition> {
  return {
    name: `${name} is named`,
    applies: hasUpstream,
    run: (definition) =>
      eachCall(calls(definition), (call) =>
        faultProblems(definition, call, {
          kind,
          codes,
          keepsWords,
          maxTries: isFinal ? 1 : MAX_TRIES,
          answering: (words) => async (request) =>
            withWords(await reply((bytes) => call.answer(request, bytes)), words),
        }),
      ),
  };
}

export interface FailingCall {
  kind: ContributionKind;
  codes: readonly string[];
  /** Whether the error must have the upstream's words, without secrets. Default: it must not have them. */
  keepsWords?: boolean | undefined;
  maxTries: number;
  /** @param words - texts that the upstream quotes. */
  answering(words: readonly string[]): (request: SentRequest) => FakeReply | Promise<FakeReply>;
}

/** Problems of a call whose upstream fails, one line each. */
export async function faultProblems<Run extends Readable>(
  { secrets = [] }: ModelDefinition,
  call: ModelCall<Run>,
  { kind, codes, keepsWords = false, maxTries, answering }: FailingCall,
): Promise<string[]> {
  // Upstreams often quote the request.
  const words = [WORDS, ...secrets];
  const http = createFakeHttp(answering(words));
  const expected = [...new Set(codes)].join(' or ');
  const { run, error, problems } = await failedCall(call, http, { kind, codes, expected });
  const tries = call.triesOf?.(http.requests) ?? http.requests.length;
  const isQuoted = !keepsWords || (error?.upstream?.message ?? '').includes(WORDS);
  return [
    ...problems,
    ...(call.problemsOf?.(run) ?? []),
    ...unless(isQuoted, 'error.upstream does not have what the upstream says'),
    ...unless(tries <= maxTries, `it asked ${tries} times`),
    ...unless(http.openBodies === 0, 'a connection stays open'),
    ...undeclaredProblems(run.setup),
    ...leakProblems(keepsWords ? secrets : words, run),
  ];
}

function strayRule<Definition extends WithUpstream, Run extends Readable>({
  calls,
  faults,
}: ModelFamily<Definition, Run>): Rule<Definition> {
  return {
    name: 'leaves no rejected promise and no late throw',
    async run(definition) {
      const working: ModelFault['reply'] = (valid) => valid();
      // Without an upstream there is one outcome.
      const replies = [working, ...(hasUpstream(definition) ? faults.map(({ reply }) => reply) : [])];
      const runs = calls(definition).flatMap((call) =>
        replies.map(
          (reply) => () =>
            call.run({ http: createFakeHttp((request) => reply((bytes) => call.answer(request, bytes))) }),
        ),
      );
      reportAll(await strayErrors(() => Promise.all(runs.map((run) => run()))));
    },
  };
}

function refusalRule<Definition extends WithUpstream, Run extends Readable>({
  kind,
  calls,
  refusal: { name, codes, expected, reply },
}: ModelFamily<Definition, Run>): Rule<Definition> {
  return {
    name,
    applies: (definition) => hasUpstream(definition) && reply(definition) !== undefined,
    run: (definition) =>
      eachCall(calls(definition), async (call) => {
        const http = createFakeHttp([reply(definition) ?? {}]);
        const { run, error, problems } = await failedCall(call, http, { kind, codes, expected });
        return [
          ...problems,
          ...unless(error?.retryable === false, 'it may be asked again, the error says'),
          ...unless(http.requests.length === 1, `it asked ${http.requests.length} times`),
          ...leakProblems(definition.secrets ?? [], { setup: run.setup, error: run.error }),
        ];
      }),
  };
}

function hostileRule<Definition extends WithUpstream, Run extends Readable>({
  kind,
  calls,
}: ModelFamily<Definition, Run>): Rule<Definition> {
  return {
    name: 'reads hostile replies in linear time',
    applies: hasUpstream,
    async run(definition) {
      const problems: string[] = [];
      for (const call of calls(definition)) {
        for (const [what, reply] of Object.entries(LONG_REPLIES)) {
          const found = await growthProblems(LONG_TEXTS, async (text, waiting) => {
            const http = createFakeHttp([reply(text)]);
            contractErrorOf(await call.run({ http, waiting }), kind);
          });
          problems.push(...found.map((problem) => `${call.method}, ${what} of ${problem}`));
        }
      }
      reportAll(problems);
    },
  };
}

/** Reports the problems of all calls, with the names of their methods if there are several. */
async function eachCall<Run extends Readable>(
  calls: readonly ModelCall<Run>[],
  problemsOf: (call: ModelCall<Run>) => Promise<string[]>,
): Promise<void> {
  const problems = calls.map(async (call) => {
    const found = await problemsOf(call);
    return found.map((problem) => (calls.length > 1 ? `${call.method}: ${problem}` : problem));
  });
  reportAll((await Promise.all(problems)).flat());
}

/** A call that must fail with one of the codes. */
async function failedCall<Run extends Readable>(
  call: ModelCall<Run>,
  http: FakeHttp,
  { kind, codes, expected }: Pick<FailingCall, 'kind' | 'codes'> & { expected: string },
) {
  const run = await call.run({ http });
  const error = contractErrorOf(run, kind);
  const isExpected = error !== undefined && codes.includes(error.code);
  return { run, error, problems: unless(isExpected, `expected ${expected}, got ${outcomeOf(run)}`) };
}

/** Texts that intermediate layers may alter. */
export const ODD_TEXTS: Readonly<Record<string, string>> = {
  markup: `<script>alert("x")</script> &amp; ]]> <image href="file:///etc/hosts"/> <!ENTITY x "y">`,
  'a form': 'one\r\n--form\r\nContent-Disposition: form-data; name="model"\r\n\r\nother\r\n--form--',
  JSON: '","n":10,"x":"\\u0000\\"} %s %n {{x}} $x',
  scripts: 'Một ngày ở Hội An, 漢字とかな, 한국어, مرحبا, 🎉👩‍👩‍👧‍👦, Łódź',
};

/** Whether a request has a text unchanged, as text of a form or as text in JSON. */
export function isSentAsIs(sent: Buffer, text: string): boolean {
  // As bytes: searching for a text with half a surrogate pair ends the process (Node 24).
  return [text, JSON.stringify(text).slice(1, -1)].some((form) => sent.includes(Buffer.from(form)));
}

/** The bodies of requests, one after the other. */
export function bodiesOf(requests: readonly SentRequest[]): Buffer {
  return Buffer.concat(requests.map(({ body = '' }) => Buffer.from(body as Uint8Array)));
}

/** What errors and answers of models may have much of. */
export const LONG_TEXTS = [' ', '\n', '<', '"', '\\', '{"a":', '[', 'data: '].map(
  (piece): LongText => ({ name: JSON.stringify(piece), text: (size) => `a${repeated(piece, size)}b` }),
);

export const LONG_REPLIES: Readonly<Record<string, (text: string) => FakeReply>> = {
  'a page with status 500': (text) => ({ status: 500, headers: { 'content-type': 'text/html' }, body: text }),
  'an error message': (message) => ({ status: 400, body: { error: { message }, detail: { message } } }),
  'an answer': (text) => ({ headers: { 'content-type': 'application/json' }, body: text }),
  'a stream': (text) => ({ headers: { 'content-type': 'text/event-stream' }, body: `data: ${text}` }),
};

/** The reply with a text in it: in the message of a JSON error, or after a page. */
export function withWords(reply: FakeReply, words: readonly string[]): FakeReply {
  if (!('body' in reply) || reply.body instanceof Uint8Array || reply.body === '') return reply;
  if (typeof reply.body === 'string') return { ...reply, body: `${reply.body}<p>${words.join(' ')}</p>` };
  return { ...reply, body: JSON.parse(JSON.stringify(reply.body).replaceAll('No.', words.join(' '))) };
}

/** The first half of an answer. */
export function half(reply: FakeReply): Extract<FakeReply, { body?: unknown }> {
  assert('body' in reply, 'the valid answer of the script has no body');
  const { body = '' } = reply;
  const isData = typeof body === 'object' && !(body instanceof Uint8Array);
  const whole = Buffer.from(isData ? JSON.stringify(body) : (body as Uint8Array));
  return { ...reply, body: whole.subarray(0, whole.length / 2) };
}

/** Nothing is begun for a caller who has left. */
export async function leavesBefore<Run extends Readable>(call: Call<Run>): Promise<void> {
  const never = () => new Promise<never>(() => {});
  const http = { request: never, stream: never };
  await endsWhenLeft(call.method, call.run({ http, signal: AbortSignal.abort(LEFT) }), outcomeOf);
}

/**
 * The caller leaves while the upstream answers.
 * @param reply - the upstream's answer; `leave` makes the caller leave. Default: it leaves, and there is no answer.
 */
export async function leavesDuring<Run extends Readable>(
  call: Call<Run>,
  reply: (leave: () => void, request: SentRequest) => FakeReply | Promise<FakeReply> = neverAnswers,
): Promise<FakeHttp> {
  const late = new AbortController();
  const leave = () => void setImmediate(() => late.abort(LEFT));
  const http = createFakeHttp((request) => reply(leave, request));
  await endsWhenLeft(call.method, call.run({ http, signal: late.signal, onChunk: leave }), outcomeOf);
  return http;
}

function neverAnswers(leave: () => void): FakeReply {
  leave();
  return { hang: true };
}

/** The caller leaves as soon as the call has begun. */
export function leavingAtOnce<Run extends Readable>(call: Call<Run>): Call<Run> {
  return {
    ...call,
    run(options) {
      options.onChunk?.();
      return call.run(options);
    },
  };
}
