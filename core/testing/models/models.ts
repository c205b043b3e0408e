/*
 * What the rules of all contracts share: one call of a plugin in a setup of its own, callers who leave before or
 * during a call, and the checks of every result. Calls of one plugin never share cool-downs or caches.
 */

import assert from 'node:assert';
import { inspect } from 'node:util';
import type { Clock, ContributionKind, HttpClient, Plugin } from '../../contracts/index.js';
import { CONTRIBUTION_CODES } from '../../plugins/index.js';
import { type GatewayError, isGatewayError } from '../../runtime/index.js';
import { createFakeHttp, type FakeHttp, type FakeReply, type SentRequest } from '../fakes.js';
import { endsWhenLeft, HangError, LEFT } from '../limits.js';
import { leakProblems, type Readable, reportAll, unless } from '../runner.js';
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
