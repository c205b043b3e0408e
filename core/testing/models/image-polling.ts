/*
 * Upstreams of images that answer with a task, which the plugin asks for until it is done. The plugin waits by
 * `context.clock.sleep`, and the kit drives this clock, so no test waits in real time. Each run has a course of its
 * own, attached to its requests by a symbol: what was submitted, how often the task was asked for, and how many waits
 * ended in between. The course shows whether a plugin polls without a wait or asks for another task than its own.
 */

import type { HttpClient, HttpRequest } from '../../contracts/index.js';
import { GatewayError } from '../../runtime/index.js';
import { type FakeReply, type ManualClock, type SentRequest, withFastClock } from '../fakes.js';
import { unless } from '../runner.js';
import type { CallOptions } from './models.js';

/** How an upstream answers that works on a task. Its `image` answers once the task is done. */
export interface ImagePollingScript {
  /**
   * Which part of the work a request is: `other` is any that is neither of the two, such as the upload of a reference,
   * and `image` answers it. Default: a GET is a poll, any other request the submit.
   */
  part?(request: SentRequest): 'submit' | 'poll' | 'other';
  /** The answer to the submit, with the id of the task: another one for each submit. */
  accepted(request: SentRequest, task: string): FakeReply;
  /** The answer to a poll of a task that is not done. */
  pending(request: SentRequest): FakeReply;
  /** The answer to a poll of a task that failed. */
  failed: FakeReply;
  /** The answer to a poll of a task whose prompt the safety system refused. Default: only the submit is refused. */
  moderation?: FakeReply;
}

/** Milliseconds, as in the gateway. */
export const DEADLINE_MS = 360_000;
/** Polls of a usual task before it is done. */
const PENDING_POLLS = 2;
/** A wait of minutes takes a blink. Plugins do other work meanwhile, so the time does not jump. */
const PACE = { stepMs: 5_000, everyMs: 5 };

/** The error of the signal when the time of a run is up. */
export const TIME_IS_UP = new GatewayError('upstream_timeout', 'The run took too long.');

/** One run of the plugin. */
interface Course {
  clock?: ManualClock;
  /** Waits that have ended. */
  waits: number;
  /** One for each submit. */
  tasks: string[];
  /** Whether an answer to a submit has the id of its task. */
  namesTasks: boolean;
  /** Polls of the last task until it was done. Further ones may be downloads. */
  asked: Asked[];
  /** Answers that are being made. */
  pendingAnswers: number;
  isFrozen: boolean;
}

interface Asked {
  request: SentRequest;
  /** Waits before it. */
  waits: number;
}

const COURSE = Symbol('the course of a run');

/** A request of a run; symbols are copied with it. */
interface OfCourse {
  [COURSE]?: Course;
}

let lastTask = 0;

/** Runs a plugin with a clock that the kit drives, and with the deadline of the gateway. */
export function runPolling<Run>(
  { http, signal = new AbortController().signal, waiting, ...more }: CallOptions,
  run: (options: CallOptions) => Promise<Run>,
): Promise<Run> {
  const course: Course = {
    waits: 0,
    tasks: [],
    namesTasks: false,
    asked: [],
    pendingAnswers: 0,
    isFrozen: false,
  };
  const within = async (clock: Pick<ManualClock, 'monotonic' | 'sleep'>) => {
    const { monotonic } = clock;
    const sleep = async (ms: number, sleepSignal?: AbortSignal) => {
      await clock.sleep(course.isFrozen ? ms + FROZEN_MS : ms, sleepSignal);
      course.waits++;
    };
    const [late, done] = [new AbortController(), new AbortController()];
    clock.sleep(DEADLINE_MS, done.signal).then(
      () => late.abort(TIME_IS_UP),
      () => {},
    );
    try {
      const either = AbortSignal.any([signal, late.signal]);
      return await run({
        ...more,
        http: withCourse(http, course),
        signal: either,
        waiting: { monotonic, sleep },
        movesNow: true,
      });
    } finally {
      done.abort();
    }
  };
  if (waiting) return within(waiting);
  const isHeld = () => course.isFrozen || course.pendingAnswers > 0;
  return withFastClock(
    (clock) => {
      course.clock = clock;
      return within(clock);
    },
    { ...PACE, isHeld },
  );
}

function withCourse(http: HttpClient, course: Course): HttpClient {
  const noted = (request: HttpRequest) => ({ ...request, [COURSE]: course });
  return { request: (request) => http.request(noted(request)), stream: (request) => http.stream(noted(request)) };
}

function courseOf(request: SentRequest): Course | undefined {
  return (request as OfCourse)[COURSE];
}

export function partOf({ part }: ImagePollingScript, request: SentRequest): 'submit' | 'poll' | 'other' {
  return part?.(request) ?? ((request.method ?? 'GET') === 'GET' ? 'poll' : 'submit');
}

/**
 * The answer of a working upstream.
 * @param image - that of a task that is done.
 * @param pending - number of polls before. Default 2.
 */
export async function answerPolling(
  script: ImagePollingScript,
  request: SentRequest,
  image: () => Promise<FakeReply>,
  pending = PENDING_POLLS,
): Promise<FakeReply> {
  const course = courseOf(request);
  const part = partOf(script, request);
  if (course && part === 'submit') {
    const task = `task-${++lastTask}`;
    const reply = script.accepted(request, task);
    course.tasks.push(task);
    course.asked = [];
    course.namesTasks = 'body' in reply && textOf(reply.body).includes(task);
    return reply;
  }
  if (course && part === 'poll' && course.asked.length <= pending) {
    course.asked.push({ request, waits: course.waits });
    if (course.asked.length <= pending) return script.pending(request);
  }
  if (course) course.pendingAnswers++;
  try {
    return await image();
  } finally {
    if (course) course.pendingAnswers--;
  }
}

function textOf(body: string | Uint8Array | object = ''): string {
  if (typeof body === 'string') return body;
  return body instanceof Uint8Array ? Buffer.from(body).toString() : JSON.stringify(body);
}

/** Lets no wait of the run end that begins from now on. */
export function freeze(request: SentRequest): void {
  const course = courseOf(request);
  if (course) course.isFrozen = true;
}

/** Longer than any wait of a plugin. */
const FROZEN_MS = 1_000_000_000;
const LATER_MS = 60_000;

/** Lets time pass after a run, in which a plugin that goes on polls again. */
export async function passTime(requests: readonly SentRequest[]): Promise<void> {
  const [first] = requests;
  const course = first && courseOf(first);
  if (!course) return;
  const ms = course.isFrozen ? FROZEN_MS + LATER_MS : LATER_MS;
  course.isFrozen = false;
  await course.clock?.advance(ms);
}

export function submitsOf(script: ImagePollingScript, requests: readonly SentRequest[]): SentRequest[] {
  return requests.filter((request) => partOf(script, request) === 'submit');
}

export function pollsOf(script: ImagePollingScript, requests: readonly SentRequest[]): SentRequest[] {
  return requests.filter((request) => partOf(script, request) === 'poll');
}

/** What is wrong with how a run asked for its task that ended with an image, one line each. */
export function pollingProblems([first]: readonly SentRequest[]): string[] {
  const { asked = [], tasks = [], namesTasks } = (first && courseOf(first)) ?? {};
  const task = tasks.at(-1) ?? '';
  const isNamed = ({ request }: Asked) => `${request.url}\n${textOf(request.body)}`.includes(task);
  const areApart = asked.every(({ waits }, index) => index === 0 || waits > (asked[index - 1]?.waits ?? 0));
  return [
    ...unless(asked.length > 0, 'it did not ask for the task'),
    ...unless(areApart, 'it asks for the task again without a wait by context.clock.sleep'),
    ...unless(!namesTasks || asked.every(isNamed), 'it asks for another task than its own'),
  ];
}
