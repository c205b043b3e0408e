/*
 * The rules of image providers whose upstream works on a task, besides those of every image provider: the task is
 * found after any number of polls, survives a failed poll, is never submitted again, and is not asked for after the
 * caller left or the deadline passed. A failed or refused task has the right code. While the caller leaves, the clock
 * stands still, so a wait that merely ends by itself does not pass for one that follows its signal.
 */

import assert from 'node:assert';
import { isGatewayError } from '../../runtime/index.js';
import { createFakeHttp, type FakeReply, type SentRequest } from '../fakes.js';
import { growthProblems } from '../limits.js';
import { leakProblems, type Rule, reportAll, unless } from '../runner.js';
import { freeze, type ImagePollingScript, partOf, passTime, pollsOf, submitsOf } from './image-polling.js';
import { type ImageProviderDefinition, type ImageRun, imageCall, makes } from './image-run.js';
import { contractErrorOf, leavesDuring, MAX_TRIES, type ModelCall, outcomeOf, UNREADABLE } from './models.js';
import { commonFaults, faultProblems, LONG_REPLIES, LONG_TEXTS, refusal, withWords } from './upstream-rules.js';

const POLLS = [0, 1, 8] as const;
/** What a failed task may be called: the vendor's fault, in one way or another. */
const FAILED = ['upstream_unavailable', 'upstream_refused', 'upstream_changed'];
const TRANSIENT: Readonly<Record<string, FakeReply>> = {
  'HTTP 500': refusal(500),
  'HTTP 429': refusal(429, { 'retry-after': '1' }),
  'a broken connection': { fail: 'connection' },
};

export const POLLING_RULES: readonly Rule<ImageProviderDefinition>[] = [
  ...POLLS.map((count) =>
    rule(`makes an image of a task that is done after ${count} poll${count === 1 ? '' : 's'}`, ({ definition }) =>
      makes(definition, {}, imageCall(definition, {}, count)),
    ),
  ),
  ...Object.entries(TRANSIENT).map(([name, reply]) =>
    rule(`keeps its task after a poll with ${name}`, (subject) => survives(subject, reply)),
  ),
  rule('names what fails while it polls', namesFaults),
  rule('a failed task is named', async (subject) =>
    reportAll(await failureProblems(subject, subject.script.failed, ['upstream_error', ...FAILED])),
  ),
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

/** One definition, the script of its upstream's tasks, and a usual call. */
interface Subject {
  definition: ImageProviderDefinition;
  script: ImagePollingScript;
  call: ModelCall<ImageRun>;
}

/** A rule for definitions with such a script. */
function rule(
  name: string,
  run: (subject: Subject) => Promise<unknown>,
  applies: (script: ImagePollingScript) => boolean = () => true,
): Rule<ImageProviderDefinition> {
  return {
    name,
    applies: ({ upstream }) => upstream?.polling !== undefined && applies(upstream.polling),
    async run(definition) {
      const script = definition.upstream?.polling;
      if (script) await run({ definition, script, call: imageCall(definition) });
    },
  };
}

/** An upstream whose polls are answered otherwise, where `otherwise` has an answer. Polls are counted from 1. */
function answering(
  { script, call }: Subject,
  otherwise: (poll: number, request: SentRequest) => FakeReply | undefined,
) {
  let polls = 0;
  return async (request: SentRequest): Promise<FakeReply> => {
    const reply = partOf(script, request) === 'poll' ? otherwise(++polls, request) : undefined;
    return reply ?? call.answer(request);
  };
}

/** The task costs money already: a poll that fails is no reason to give it up, or to begin another one. */
async function survives(subject: Subject, reply: FakeReply): Promise<void> {
  const answer = answering(subject, (poll) => (poll === 2 ? reply : undefined));
  await makes(subject.definition, {}, { ...subject.call, answer });
}

async function namesFaults(subject: Subject): Promise<void> {
  const faults = [
    ...commonFaults(1),
    { name: 'HTTP 404', codes: [...UNREADABLE, ...FAILED], reply: () => refusal(404) },
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

/** Problems of a call each of whose polls gets this answer, one line each. */
function failureProblems(subject: Subject, reply: FakeReply, codes: readonly string[]): Promise<string[]> {
  return faultProblems(subject.definition, subject.call, {
    kind: 'image',
    codes,
    maxTries: MAX_TRIES,
    answering: (words) => answering(subject, () => withWords(reply, words)),
  });
}

async function refuses(subject: Subject): Promise<void> {
  const { definition, script, call } = subject;
  const reply = (poll: number, request: SentRequest) => (poll === 1 ? script.pending(request) : script.moderation);
  const http = createFakeHttp(answering(subject, reply));
  const run = await call.run({ http });
  const error = contractErrorOf(run, 'image');
  const [submits, polls] = [submitsOf(script, http.requests).length, pollsOf(script, http.requests).length];
  reportAll([
    ...unless(error?.code === 'moderation_blocked', `expected moderation_blocked, got ${outcomeOf(run)}`),
    ...unless(error?.retryable === false, 'it may be asked again, the error says'),
    ...unless(submits === 1, `it submitted ${submits} times`),
    ...unless(polls <= 2, `it polled ${polls - 2} times after the refusal`),
    ...leakProblems(definition.secrets ?? [], run),
  ]);
}

/** The time stands still while the caller leaves: a wait that ends by itself is not one that hears its signal. */
async function leaves(subject: Subject, replyOf: (request: SentRequest) => FakeReply): Promise<void> {
  const { script, call } = subject;
  let leave = () => {};
  const answer = answering(subject, (poll, request) => {
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

async function endsInTime({ definition, script }: Subject): Promise<void> {
  const call = imageCall(definition, {}, Number.POSITIVE_INFINITY);
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

async function readsHostilePolls(subject: Subject): Promise<void> {
  const problems: string[] = [];
  for (const [what, reply] of Object.entries(LONG_REPLIES)) {
    const found = await growthProblems(LONG_TEXTS, async (text) => {
      const http = createFakeHttp(answering(subject, (poll) => (poll === 1 ? reply(text) : subject.script.failed)));
      contractErrorOf(await subject.call.run({ http }), 'image');
    });
    problems.push(...found.map((problem) => `${what} of ${problem}`));
  }
  reportAll(problems);
}
