import type { BlockQueue } from './block-queue.js';
import { restoreNumbers } from './exact-numbers.js';
import type { StopReason } from './message.js';
import { isMembers } from './sent.js';

/** How an answer ended, by what it says of itself. */
export type Told = { reason: StopReason } | { failure: ToldFailure };

/** As this format tells it. */
export interface ToldFailure {
  type: 'api_error' | 'invalid_request_error' | 'overloaded_error' | 'rate_limit_error' | 'timeout_error';
  message: string;
}

/** Understands the answers of one format, and puts what they say into blocks. */
export interface AnswerReader {
  /** The data of one event, with numbers marked; a text where it is no JSON. */
  event(data: unknown): void;
  /** An answer that came in one piece. It has not ended where this is none. */
  whole(answer: unknown): void;
  /** Undefined until it has ended. */
  readonly told: Told | undefined;
}

export interface AnswerReaderOptions {
  queue: BlockQueue;
  /** Whether what the model thinks goes into the answer. */
  showsThinking: boolean;
}

/** Where a model calls a tool and does not say which. */
export const NAMELESS_CALL: Told = {
  failure: { type: 'api_error', message: 'The model called a tool without its name.' },
};

const TYPES: ReadonlyMap<unknown, ToldFailure['type']> = new Map([
  ['context_length_exceeded', 'invalid_request_error'],
  ['invalid_prompt', 'invalid_request_error'],
  ['rate_limit_exceeded', 'rate_limit_error'],
  ['rate_limit_error', 'rate_limit_error'],
  ['server_is_overloaded', 'overloaded_error'],
  ['slow_down', 'overloaded_error'],
  ['overloaded_error', 'overloaded_error'],
  ['timeout_error', 'timeout_error'],
]);

/** The input of a tool as JSON, where there is some: some servers send what they should send as a text as an object. */
export function inputTextOf(input: unknown): string {
  if (typeof input === 'string') return input;
  return isMembers(input) ? restoreNumbers(JSON.stringify(input)) : '';
}

/** @param error as an answer has it: `code` and `type` say what kind it is of. */
export function failureOf(error: unknown): ToldFailure {
  const { code, type, message } = isMembers(error) ? error : {};
  return {
    type: TYPES.get(code) ?? TYPES.get(type) ?? 'api_error',
    message: typeof message === 'string' && message !== '' ? message : 'The model answered with an error.',
  };
}
