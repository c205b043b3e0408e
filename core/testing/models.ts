import assert from 'node:assert';
import { inspect } from 'node:util';
import type { Clock, ContributionKind, HttpClient, Plugin } from '../contracts/index.js';
import { CONTRIBUTION_CODES } from '../plugins/index.js';
import { type GatewayError, isGatewayError } from '../runtime/index.js';
import { createFakeHttp, type FakeHttp, type FakeReply, type SentRequest } from './fakes.js';
import { endsWhenLeft, HangError, LEFT, strayErrors } from './limits.js';
import { leakProblems, type Readable, type Rule, reportAll, unless } from './runner.js';
import { setUpPlugin, type TestSetup } from './setup.js';

/**
 * What the tables of images, audio and text share: one call of a plugin, upstreams that fail, callers who leave, and
 * the checks of every result.
 */

/** Maximum requests of one call. */
const MAX_TRIES = 3;
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

/** The outcome of one call. */
export type ModelRun = Readable;

export interface CallOptions {
  http: HttpClient;
  signal?: AbortSignal;
  /** Clock for waiting. Default: real time. */
  waiting?: Pick<Clock, 'monotonic' | 'sleep'>;
  /** Called with each chunk of the result. */
  onChunk?(): void;
}

/** One failure of a model's upstream, and the accepted codes. */
export interface ModelFault {
  name: string;
  codes: readonly string[];
  /** @param valid - the answer of a working upstream, whose image or audio consists of the given bytes. */
  reply(valid: (bytes?: Uint8Array) => FakeReply | Promise<FakeReply>): FakeReply | Promise<FakeReply>;
}

/** A call that succeeds if its upstream does. */
export interface ModelCase<Run extends ModelRun> {
  /** Before its problems; empty if there is one case only. */
  label: string;
  run(options: CallOptions): Promise<Run>;
  /** The answer of a working upstream. */
  valid(request: SentRequest, bytes?: Uint8Array): FakeReply | Promise<FakeReply>;
  /** Problems of a failed run besides those of every model, one line each. Default: none. */
  problemsOf?(run: Run): string[];
}

/** What differs between images, audio and text. */
export interface ModelFamily<Definition extends ModelDefinition, Run extends ModelRun> {
  kind: ContributionKind;
  cases(definition: Definition): readonly ModelCase<Run>[];
  describe(run: Run): string;
  faults: readonly ModelFault[];
  /** An upstream's refusal of a caller's input, which is not the upstream's fault. */
  refusal: { name: string; expected: string; codes: readonly string[]; reply(definition: Definition): FakeReply };
}

/** Sets a plugin up for one call alone, makes it, and disposes of it. */
export async function runModel<Run extends ModelRun>(
  { plugin, options }: ModelDefinition,
  { http, waiting }: CallOptions,
  work: (setup: TestSetup, run: Run) => Promise<void>,
  empty: (setup: TestSetup) => Run,
): Promise<Run> {
  const setup = await setUpPlugin({ plugin, options, http, waiting });
  const run = empty(setup);
  try {
    await work(setup, run);
  } catch (error) {
    if (error instanceof HangError) throw error;
    run.error = error;
  }
  await setup.dispose();
  return run;
}

/** A contribution of the plugin, without a network. */
export async function contributionOf<Contribution>(
  { plugin, options }: ModelDefinition,
  pick: (setup: TestSetup) => Contribution,
): Promise<Contribution> {
  return pick(await setUpPlugin({ plugin, options, http: createFakeHttp([{ fail: 'connection' }]) }));
}

/** Problems of the names of models, one line each. */
export function modelNameProblems(ids: readonly string[]): string[] {
  return [
    ...unless(ids.length > 0, 'there are no models'),
    ...unless(new Set(ids).size === ids.length, 'a model is named twice'),
    ...ids.filter((id) => !/^[A-Za-z0-9][\w.:/-]{0,99}$/.test(id)).map((id) => `"${id}" is no name of a model`),
  ];
}

/** Problems of every call that succeeds, one line each. */
export function successProblems(
  { secrets = [] }: ModelDefinition,
  run: ModelRun,
  { requests }: FakeHttp,
  max: number,
  made: string,
): string[] {
  return [
    ...unless(requests.length <= max, `it made ${requests.length} requests for one ${made}`),
    ...undeclaredProblems(run.setup),
    ...leakProblems(secrets, run),
  ];
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

export function describeError(error: unknown): string {
  return isGatewayError(error) ? `${error.code}: ${error.message}` : String(error);
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
function refusal(status: number, headers: Readonly<Record<string, string>> = {}): FakeReply {
  const message = 'No.';
  const body = { error: { message, type: 'error', code: null }, detail: { status: 'error', message } };
  return { status, headers, body };
}

function page(status: number): FakeReply {
  return { status, headers: { 'content-type': 'text/html' }, body: '<!doctype html><title>One moment</title>' };
}

/** An upstream that fails in one way, and one that refuses the caller's input. For providers with an upstream. */
export function faultRules<Definition extends ModelDefinition & { upstream?: unknown }, Run extends ModelRun>(
  family: ModelFamily<Definition, Run>,
): Rule<Definition>[] {
  const applies = ({ upstream }: Definition) => upstream !== undefined;
  const each = async (definition: Definition, problemsOf: (one: ModelCase<Run>) => Promise<string[]>) => {
    const problems = family.cases(definition).map(async (one) => {
      const found = await problemsOf(one);
      return found.map((problem) => (one.label ? `${one.label}: ${problem}` : problem));
    });
    reportAll((await Promise.all(problems)).flat());
  };
  const outcome = async (one: ModelCase<Run>, http: FakeHttp) => {
    const run = await one.run({ http });
    return { run, error: contractErrorOf(run, family.kind) };
  };
  return [
    ...family.faults.map(({ name, codes, reply }) => ({
      name: `${name} is named`,
      applies,
      run: (definition: Definition) =>
        each(definition, async (one) => {
          const secrets = definition.secrets ?? [];
          // Upstreams often quote the request.
          const http = createFakeHttp(async (request) =>
            withWords(await reply((bytes) => one.valid(request, bytes)), [WORDS, ...secrets]),
          );
          const { run, error } = await outcome(one, http);
          return [
            ...unless(
              error !== undefined && codes.includes(error.code),
              `expected ${codes.join(' or ')}, got ${family.describe(run)}`,
            ),
            ...(one.problemsOf?.(run) ?? []),
            ...unless(http.requests.length <= MAX_TRIES, `it asked ${http.requests.length} times`),
            ...unless(http.openBodies === 0, 'a connection stays open'),
            ...leakProblems([...secrets, WORDS], run),
          ];
        }),
    })),
    {
      name: 'leaves no rejected promise and no late throw',
      async run(definition) {
        // Without an upstream there is one outcome.
        const replies = definition.upstream === undefined ? [] : family.faults.map(({ reply }) => reply);
        const work = (one: ModelCase<Run>) =>
          [(valid: Parameters<ModelFault['reply']>[0]) => valid(), ...replies].map((reply) =>
            one.run({
              http: createFakeHttp((request) =>
                definition.upstream === undefined
                  ? { fail: 'connection' }
                  : reply((bytes) => one.valid(request, bytes)),
              ),
            }),
          );
        reportAll(await strayErrors(() => Promise.all(family.cases(definition).flatMap(work))));
      },
    },
    {
      name: family.refusal.name,
      applies,
      run: (definition) =>
        each(definition, async (one) => {
          const http = createFakeHttp([family.refusal.reply(definition)]);
          const { run, error } = await outcome(one, http);
          return [
            ...unless(
              error !== undefined && family.refusal.codes.includes(error.code),
              `expected ${family.refusal.expected}, got ${family.describe(run)}`,
            ),
            ...unless(error?.retryable === false, 'it may be asked again, the error says'),
            ...unless(http.requests.length === 1, `it asked ${http.requests.length} times`),
            ...leakProblems(definition.secrets ?? [], { setup: run.setup, error: run.error }),
          ];
        }),
    },
  ];
}

/** The reply with a text in it: in the message of a JSON error, or after a page. */
function withWords(reply: FakeReply, words: readonly string[]): FakeReply {
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
export async function leavesBefore<Run extends ModelRun>(
  what: string,
  call: (options: CallOptions) => Promise<Run>,
  describe: (run: Run) => string,
): Promise<void> {
  const never = () => new Promise<never>(() => {});
  await endsWhenLeft(
    what,
    call({ http: { request: never, stream: never }, signal: AbortSignal.abort(LEFT) }),
    describe,
  );
}

/**
 * The caller leaves while the upstream answers.
 * @param reply - the upstream's answer; `leave` makes the caller leave.
 */
export async function leavesDuring<Run extends ModelRun>(
  what: string,
  call: (options: CallOptions) => Promise<Run>,
  describe: (run: Run) => string,
  reply: (leave: () => void, request: SentRequest) => FakeReply | Promise<FakeReply>,
): Promise<FakeHttp> {
  const late = new AbortController();
  const leave = () => void setImmediate(() => late.abort(LEFT));
  const http = createFakeHttp((request) => reply(leave, request));
  await endsWhenLeft(what, call({ http, signal: late.signal, onChunk: leave }), describe);
  return http;
}

/** The upstream does not answer before the caller leaves. */
export function neverAnswers(leave: () => void): FakeReply {
  leave();
  return { hang: true };
}
