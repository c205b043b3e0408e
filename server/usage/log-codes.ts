/*
 * The codes of failures in the usage log, for people. Most are codes of errors that the client got, whose status and
 * meaning are in the table of errors. A few have no answer: the client had left, or the process ended.
 */

import { ERRORS } from '../../core/runtime/index.js';

interface LogCode {
  status: number;
  meaning: string;
  /** Why. Default: nothing is known. */
  cause?: string;
  /** What the client can do. Default: nothing is known. */
  action?: string;
}

const WITHOUT_ANSWER: Readonly<Record<string, LogCode>> = {
  client_disconnected: { status: 499, meaning: 'The client closed the connection before the answer.' },
  process_ended: { status: 500, meaning: 'The gateway ended during the request.' },
  failed: { status: 500, meaning: 'The job failed.' },
};

const UNKNOWN: LogCode = { status: 500, meaning: 'The request failed.' };

function find(code: string): LogCode {
  const errors: Readonly<Record<string, LogCode>> = ERRORS;
  if (Object.hasOwn(WITHOUT_ANSWER, code)) return WITHOUT_ANSWER[code] ?? UNKNOWN;
  return Object.hasOwn(errors, code) ? (errors[code] ?? UNKNOWN) : UNKNOWN;
}

/** HTTP status of a failure with this code; 500 for one that is not known. */
export function statusOfCode(code: string): number {
  return find(code).status;
}

/** What a code of the log means, as a sentence. */
export function wordsOfCode(code: string): string {
  return find(code).meaning;
}

/** Why a code that the reference of errors explains happens, with names in backticks. */
export function causeOfCode(code: string): string | undefined {
  return find(code).cause;
}

/** What the client can do about a code that the reference of errors explains, with names in backticks. */
export function actionOfCode(code: string): string | undefined {
  return find(code).action;
}
