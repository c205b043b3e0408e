import type { Usage } from '../contracts/index.js';
import { GatewayError } from '../runtime/index.js';
import { isText, readValue, walkMembers } from './json-walk.js';
import { readUsage } from './reported-usage.js';
import { NO_TEXT, sampleBytes, sampleTexts, type TextSample } from './text-sample.js';
import { rewordFailure, type Wording } from './told-failure.js';

/** An answer with more is not taken apart to find what is said in it: that would hold up everybody else. */
const MAX_VALUES = 100_000;
const COMMA = 0x2c;
const QUOTE = 0x22;
const OPEN_BRACE = 0x7b;
const OPEN_BRACKET = 0x5b;
/** States of a response that is still to be made. */
const OPEN_STATES: ReadonlySet<unknown> = new Set(['queued', 'in_progress']);
const LAST_STATES: ReadonlySet<unknown> = new Set(['completed', 'incomplete', 'failed', 'cancelled']);

/** An answer that came in one piece. */
export interface WholeAnswer {
  /** With the public name of the model. */
  body: Buffer;
  usage?: Usage;
  /** Of a response. */
  id?: string;
  /** Whether it is a response that is made in the background, and what it uses is not known yet. */
  open: boolean;
  /** Whether it is a response that the upstream says has come to an end, of whatever sort. */
  ended: boolean;
  /** `upstream_error` where it only tells why there is no answer. */
  refusal?: GatewayError;
  /** What the model says in it. */
  said(): TextSample;
}

/**
 * Reads what the gateway has to know of an answer, and puts the public name of the model in the place of the upstream's.
 * @param isResponse whether it is one of the responses route, which has an id to be found by, and may be open.
 * @throws GatewayError `upstream_error` where it is no JSON object.
 */
export function readWholeAnswer(bytes: Buffer, wording: Wording, isResponse: boolean): WholeAnswer {
  const answer: WholeAnswer = { body: bytes, open: false, ended: false, said: () => saidIn(bytes) };
  let modelStart = 0;
  let modelEnd = 0;
  let failed = false;
  let told = false;
  try {
    const end = walkMembers(bytes, 0, ({ nameStart, nameEnd, valueStart, valueEnd }) => {
      const first = bytes[valueStart];
      if (first === QUOTE) {
        if (isText(bytes, nameStart, nameEnd, 'model')) {
          modelStart = valueStart;
          modelEnd = valueEnd;
        } else if (isText(bytes, nameStart, nameEnd, 'error')) failed ||= valueEnd - valueStart > 2;
        else if (!isResponse) return;
        else if (isText(bytes, nameStart, nameEnd, 'id')) answer.id = String(readValue(bytes, valueStart, valueEnd));
        else if (isText(bytes, nameStart, nameEnd, 'status')) {
          const state = readValue(bytes, valueStart, valueEnd);
          answer.open = OPEN_STATES.has(state);
          answer.ended = LAST_STATES.has(state);
        }
      } else if (first === OPEN_BRACE) {
        if (isText(bytes, nameStart, nameEnd, 'usage'))
          answer.usage = readUsage(readValue(bytes, valueStart, valueEnd));
        else if (isText(bytes, nameStart, nameEnd, 'error')) failed = true;
      } else if (first === OPEN_BRACKET) told = true;
    });
    if (bytes.toString('latin1', end + 1).trim() !== '') throw new SyntaxError('There is more than one object.');
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    throw new GatewayError('upstream_error', 'The model did not answer with JSON.');
  }
  // A response that failed still has its list of output, or says at least that it has ended; an error instead of an answer has nothing.
  if (failed && !told && !(answer.ended && answer.id !== undefined))
    answer.refusal = new GatewayError('upstream_error', 'The model answered with an error.');
  else if (failed) answer.body = rewordFailure(bytes, wording);
  else if (modelStart > 0) {
    answer.body = Buffer.concat([bytes.subarray(0, modelStart), wording.modelText, bytes.subarray(modelEnd)]);
  }
  return answer;
}

function saidIn(bytes: Buffer): TextSample {
  if (hasManyValues(bytes)) return sampleBytes([bytes]);
  try {
    const { choices, output } = JSON.parse(bytes.toString('utf8')) as Readonly<Record<string, unknown>>;
    return sampleTexts([choices, output]);
  } catch {
    // Only where objects end was looked at before.
    return NO_TEXT;
  }
}

function hasManyValues(bytes: Buffer): boolean {
  if (bytes.length <= MAX_VALUES) return false;
  let values = 0;
  for (const byte of bytes) if (byte === COMMA || byte === OPEN_BRACE || byte === OPEN_BRACKET) values += 1;
  return values > MAX_VALUES;
}
