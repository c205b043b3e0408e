/*
 * The rules of providers whose upstream fails, for images, audio and text alike: each failure has one of its codes, is
 * tried at most three times, leaves no connection open, and shows neither the upstream's words nor secrets. A refusal
 * of the caller's input is reported once. Texts that are made to take long are read in linear time. Each contract lists
 * its failures as a family.
 */

import { type ContributionKind } from '../../contracts/index.js';
import { createFakeHttp, type FakeHttp, type FakeReply, type SentRequest } from '../fakes.js';
import { growthProblems, type LongText, repeated, strayErrors } from '../limits.js';
import { leakProblems, type Readable, type Rule, reportAll, unless } from '../runner.js';
import {
  contractErrorOf,
  MAX_TRIES,
  type ModelCall,
  type ModelDefinition,
  outcomeOf,
  UNREADABLE,
  undeclaredProblems,
  WORDS,
} from './models.js';

/** One failure of a model's upstream, and the accepted codes. */
interface ModelFault {
  name: string;
  codes: readonly string[];
  /** @param valid - the answer of a working upstream, whose image or audio consists of the given bytes. */
  reply(valid: (bytes?: Uint8Array) => FakeReply | Promise<FakeReply>): FakeReply | Promise<FakeReply>;
  /** Whether the error must have the upstream's words, without secrets. Default: it must not have them. */
  keepsWords?: boolean;
  /** Whether only one request may be made. Default false. */
  isFinal?: boolean;
}

interface ModelRefusal<Definition> {
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

export const hasUpstream = ({ upstream }: WithUpstream) => upstream !== undefined;

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

interface FailingCall {
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
