import { Worker } from 'node:worker_threads';
import { GatewayError } from 'mediagate';
import type { LargeBody, LargeBodyPlan, Parsed } from './json-body.js';

/**
 * Parses large bodies on threads of their own: on the main thread, 55 MB of JSON would hold up all other requests for a third
 * of a second.
 *
 * There are two lanes, each one thread, started when it is first needed. A lane parses one body at a time. Owners with
 * bodies waiting take turns, so that one account with many large bodies delays another account by one of them.
 */
export interface ParseOrder {
  bytes: Uint8Array<ArrayBuffer>;
  plan: LargeBodyPlan;
}

export interface ParseAnswer {
  parsed: Parsed<LargeBody>;
  bytes: Uint8Array<ArrayBuffer>;
}

interface Waiting extends ParseOrder {
  answer: PromiseWithResolvers<ParseAnswer>;
}

interface Lane {
  worker: Worker;
  current?: Waiting;
}

const LANES = 2;
/** Bodies that may wait, over all owners, and of one owner. */
const MAX_WAITING = 64;
const MAX_WAITING_OF_OWNER = 24;
/** Megabytes of a lane's heap. Scanned bodies stay far below it. */
const HEAP_MB = 512;

const lanes: Lane[] = [];
/** Owner → their bodies, oldest first. The owner whose turn is next stands first. */
const waiting = new Map<string, Waiting[]>();
let waitingCount = 0;

/**
 * Parses a body on another thread.
 * @param bytes Given away until the answer, which gives them back.
 * @throws GatewayError `queue_full` where too many bodies wait.
 */
export function parseInWorker(
  owner: string,
  bytes: Buffer<ArrayBuffer>,
  plan: LargeBodyPlan,
): Promise<{ parsed: Parsed<LargeBody>; bytes: Buffer<ArrayBuffer> }> {
  makeRoom(owner);
  const order: Waiting = { bytes, plan, answer: Promise.withResolvers<ParseAnswer>() };
  const own = waiting.get(owner);
  if (own) own.push(order);
  else waiting.set(owner, [order]);
  waitingCount += 1;
  fillLanes();
  return order.answer.promise.then(({ parsed, bytes }) => ({
    parsed,
    bytes: Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength),
  }));
}

/**
 * A full queue drops the latest body of the owner who has the most in it, so that no owner keeps others out.
 * @throws GatewayError `queue_full` where that would be this owner.
 */
function makeRoom(owner: string): void {
  const own = waiting.get(owner)?.length ?? 0;
  if (own >= MAX_WAITING_OF_OWNER) throw queueFull();
  if (waitingCount < MAX_WAITING) return;
  let longest: Waiting[] = [];
  for (const orders of waiting.values()) if (orders.length > longest.length) longest = orders;
  if (longest.length <= own + 1) throw queueFull();
  waitingCount -= 1;
  longest.pop()?.answer.reject(queueFull());
}

function queueFull(): GatewayError {
  return new GatewayError('queue_full', 'Too many large request bodies wait to be parsed.', { retryAfterSeconds: 1 });
}

function fillLanes(): void {
  while (waitingCount > 0) {
    const lane = lanes.find(({ current }) => !current) ?? (lanes.length < LANES ? startLane() : undefined);
    if (!lane) return;
    const order = takeNext();
    if (!order) return;
    const { bytes, plan } = order;
    try {
      lane.worker.postMessage({ bytes, plan } satisfies ParseOrder, [bytes.buffer]);
      lane.current = order;
    } catch (error) {
      // What cannot be sent leaves the lane to others.
      order.answer.reject(error);
    }
  }
}

function takeNext(): Waiting | undefined {
  for (const [owner, orders] of waiting) {
    const order = orders.shift();
    // To the end of the map: each of the others has a turn first.
    waiting.delete(owner);
    if (orders.length > 0) waiting.set(owner, orders);
    if (!order) continue;
    waitingCount -= 1;
    return order;
  }
  return undefined;
}

function startLane(): Lane {
  const worker = new Worker(new URL('./json-thread.js', import.meta.url), {
    execArgv: [],
    resourceLimits: { maxOldGenerationSizeMb: HEAP_MB },
  });
  const lane: Lane = { worker };
  lanes.push(lane);
  worker.on('message', (answer: ParseAnswer) => {
    const { current } = lane;
    lane.current = undefined;
    current?.answer.resolve(answer);
    fillLanes();
  });
  const fail = (cause: unknown) => {
    const index = lanes.indexOf(lane);
    if (index === -1) return;
    lanes.splice(index, 1);
    lane.current?.answer.reject(new Error('the thread that parses bodies ended', { cause }));
    fillLanes();
  };
  worker.on('error', fail).on('exit', fail);
  // After the listeners, which would undo it: a thread keeps no process alive.
  worker.unref();
  return lane;
}
