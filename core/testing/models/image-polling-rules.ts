/*
 * The rules of image providers whose upstream works on a task, besides those of every image provider: the task is
 * found after any number of polls, survives a failed poll, is never submitted again, and is not asked for after the
 * caller left or the deadline passed. A failed or refused task has the right code. While the caller leaves, the clock
 * stands still, so a wait that merely ends by itself does not pass for one that follows its signal.
 */

import assert from 'node:assert';
import type { ImageCall } from '../../contracts/index.js';
import { isGatewayError } from '../../runtime/index.js';
import { createFakeHttp, type FakeReply, type SentRequest } from '../fakes.js';
import { growthProblems } from '../limits.js';
import { leakProblems, type Readable, type Rule, reportAll, unless } from '../runner.js';
import type { ImageProviderDefinition } from './image.js';
import { freeze, type ImagePollingScript, partOf, passTime, pollsOf, submitsOf } from './image-polling.js';
import { contractErrorOf, leavesDuring, MAX_TRIES, type ModelCall, outcomeOf, UNREADABLE } from './models.js';
import { commonFaults, faultProblems, LONG_REPLIES, LONG_TEXTS, withWords } from './upstream-rules.js';

interface Provider<Run extends Readable> {
  /** One call, whose task is done after so many polls. */
  callOf(definition: ImageProviderDefinition, fields?: Partial<ImageCall>, pending?: number): ModelCall<Run>;
  /** A call that must make an image, with all checks of it. */
  makes(definition: ImageProviderDefinition, fields: Partial<ImageCall>, call: ModelCall<Run>): Promise<unknown>;
}

/** A provider's call, and the script of its upstream. */
interface Subject<Run extends Readable> extends Provider<Run> {
  definition: ImageProviderDefinition;
  script: ImagePollingScript;
}

const POLLS = [0, 1, 8] as const;
const TRANSIENT: Readonly<Record<string, FakeReply>> = {
  'HTTP 500': { status: 500, body: { error: { message: 'No.' } } },
  'HTTP 429': { status: 429, headers: { 'retry-after': '1' }, body: { error: { message: 'No.' } } },
  'a broken connection': { fail: 'connection' },
};

export function pollingRules<Run extends Readable>(provider: Provider<Run>): Rule<ImageProviderDefinition>[] {
  const rule = (
    name: string,
    run: (subject: Subject<Run>) => Promise<void>,
    applies: (script: ImagePollingScript) => boolean = () => true,
  ): Rule<ImageProviderDefinition> => ({
    name,
    applies: ({ upstream }) => upstream?.polling !== undefined && applies(upstream.polling),
    async run(definition) {
      const script = definition.upstream?.polling;
      if (script) await run({ ...provider, definition, script });
    },
  });
  return [
    ...POLLS.map((count) =>
      rule(`makes an image of a task that is done after ${count} poll${count === 1 ? '' : 's'}`, async (subject) => {
        const { definition, callOf, makes } = subject;
        await makes(definition, {}, callOf(definition, {}, count));
      }),
    ),
    ...Object.entries(TRANSIENT).map(([name, reply]) =>
      rule(`keeps its task after a poll with ${name}`, (subject) => survives(subject, reply)),
    ),
    rule('names what fails while it polls', namesFaults),
    rule('a failed task is named', (subject) => fails(subject, subject.script.failed, ['upstream_error', ...FAILED])),
    rule('a prompt that a poll refuses is asked once, and told', refuses, ({ moderation }) => moderation !== undefined),
    rule('ends at once when the caller leaves between polls, and polls no more', (subject) =>
      leaves(subject, subject.script.pending),
    ),
    rule('ends at once when the caller leaves during a poll, and polls no more', (subject) =>
      leaves(subject, () => ({ hang: true })),
    ),
    rule('ends with the deadline of its signal if the task is never done', endsInTime),
    rule('reads hostile polls in linear time', readsHostilePolls),
  ];
}

/** What a failed task may be called: the vendor's fault, in one way or another. */
const FAILED = ['upstream_unavailable', 'upstream_refused', 'upstream_changed'];

/** An upstream whose polls are answered otherwise, where `otherwise` has an answer. Polls are counted from 1. */
function answering<Run extends Readable>(
  { script }: Subject<Run>,
  call: ModelCall<Run>,
  otherwise: (poll: number, request: SentRequest) => FakeReply | undefined,
) {
  let polls = 0;
  return async (request: SentRequest): Promise<FakeReply> => {
    const reply = partOf(script, request) === 'poll' ? otherwise(++polls, request) : undefined;
    return reply ?? call.answer(request);
  };
}

/** The task costs money already: a poll that fails is no reason to give it up, or to begin another one. */
async function survives<Run extends Readable>(subject: Subject<Run>, reply: FakeReply): Promise<void> {
  const { definition, callOf, makes } = subject;
  const call = callOf(definition);
  await makes(
    definition,
    {},
    { ...call, answer: answering(subject, call, (poll) => (poll === 2 ? reply : undefined)) },
  );
}

async function namesFaults<Run extends Readable>(subject: Subject<Run>): Promise<void> {
  const lost = { status: 404, body: { error: { message: 'No.' } } };
  const faults = [
    ...commonFaults(1),
    { name: 'HTTP 404', codes: [...UNREADABLE, ...FAILED], reply: () => lost },
    { name: 'an empty body', codes: UNREADABLE, reply: () => ({ body: '' }) },
  ];
  const found = await Promise.all(
    faults.map(async ({ name, codes, reply }) => {
      const answer = await reply(() => ({}));
      // One that may pass may be waited for until time is up.
      const isLasting = codes.includes('upstream_auth_error');
      const problems = await failureProblems(subject, answer, isLasting ? codes : [...codes, 'upstream_timeout']);
      return problems.map((problem) => `${name}: ${problem}`);
    }),
  );
  reportAll(found.flat());
}

async function fails<Run extends Readable>(
  subject: Subject<Run>,
  reply: FakeReply,
  codes: readonly string[],
): Promise<void> {
  reportAll(await failureProblems(subject, reply, codes));
}

/** Problems of a call each of whose polls gets this answer, one line each. */
function failureProblems<Run extends Readable>(
  subject: Subject<Run>,
  reply: FakeReply,
  codes: readonly string[],
): Promise<string[]> {
  const { definition, callOf } = subject;
  const call = callOf(definition);
  return faultProblems(definition, call, {
    kind: 'image',
    codes,
    maxTries: MAX_TRIES,
    answering: (words) => answering(subject, call, () => withWords(reply, words)),
  });
}

async function refuses<Run extends Readable>(subject: Subject<Run>): Promise<void> {
  const { definition, script, callOf } = subject;
  const { secrets = [] } = definition;
  const call = callOf(definition);
  const reply = (poll: number, request: SentRequest) => (poll === 1 ? script.pending(request) : script.moderation);
  const http = createFakeHttp(answering(subject, call, reply));
  const run = await call.run({ http });
  const error = contractErrorOf(run, 'image');
  const [submits, polls] = [submitsOf(script, http.requests).length, pollsOf(script, http.requests).length];
  reportAll([
    ...unless(error?.code === 'moderation_blocked', `expected moderation_blocked, got ${outcomeOf(run)}`),
    ...unless(error?.retryable === false, 'it may be asked again, the error says'),
    ...unless(submits === 1, `it submitted ${submits} times`),
    ...unless(polls <= 2, `it polled ${polls - 2} times after the refusal`),
    ...leakProblems(secrets, run),
  ]);
}

/** The time stands still while the caller leaves: a wait that ends by itself is not one that hears its signal. */
async function leaves<Run extends Readable>(
  subject: Subject<Run>,
  replyOf: (request: SentRequest) => FakeReply,
): Promise<void> {
  const { definition, script, callOf } = subject;
  const call = callOf(definition);
  let leave = () => {};
  const answer = answering(subject, call, (poll, request) => {
    if (poll < 2) return undefined;
    freeze(request);
    leave();
    return replyOf(request);
  });
  const http = await leavesDuring(call, (now, request) => {
    leave = now;
    return answer(request);
  });
  const before = pollsOf(script, http.requests).length;
  assert(before >= 2, 'it ended before the caller left');
  await passTime(http.requests);
  const after = pollsOf(script, http.requests).length - before;
  assert(after === 0, `it polled ${after} times after the caller had left`);
}

async function endsInTime<Run extends Readable>(subject: Subject<Run>): Promise<void> {
  const { definition, script, callOf } = subject;
  const call = callOf(definition, {}, Number.POSITIVE_INFINITY);
  const http = createFakeHttp((request) => call.answer(request));
  const run = await call.run({ http });
  const isInTime = isGatewayError(run.error) && run.error.code === 'upstream_timeout';
  const before = pollsOf(script, http.requests).length;
  await passTime(http.requests);
  const after = pollsOf(script, http.requests).length - before;
  const submits = submitsOf(script, http.requests).length;
  reportAll([
    ...unless(isInTime, `expected upstream_timeout, got ${outcomeOf(run)}`),
    ...unless(submits === 1, `it submitted ${submits} times`),
    ...unless(after === 0, `it polled ${after} times after its end`),
  ]);
}

async function readsHostilePolls<Run extends Readable>(subject: Subject<Run>): Promise<void> {
  const { definition, script, callOf } = subject;
  const problems: string[] = [];
  for (const [what, reply] of Object.entries(LONG_REPLIES)) {
    const found = await growthProblems(LONG_TEXTS, async (text) => {
      const call = callOf(definition);
      const http = createFakeHttp(answering(subject, call, (poll) => (poll === 1 ? reply(text) : script.failed)));
      contractErrorOf(await call.run({ http }), 'image');
    });
    problems.push(...found.map((problem) => `${what} of ${problem}`));
  }
  reportAll(problems);
}
