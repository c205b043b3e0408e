import { AsyncLocalStorage } from 'node:async_hooks';
import type { NewSpan, Span } from '../contracts/index.js';
import { isGatewayError } from '../runtime/index.js';

/** What the work at hand belongs to; it goes along wherever that work goes. */
export interface WorkScope {
  /** The request that asked for it. */
  requestId?: string;
  /** The background job that it is done for. */
  jobId?: string;
  /** The span at work, where there are traces. */
  span?: Span;
}

/*
 * Held by the process, and empty until somebody enters: a gateway that neither traces nor runs a job pays a look at it.
 * Handing scopes through every call would put them into the contract of each plugin.
 */
const scopes = new AsyncLocalStorage<WorkScope | undefined>();

/** Undefined outside of any. */
export function currentScope(): WorkScope | undefined {
  return scopes.getStore();
}

export function runInScope<Result>(scope: WorkScope, work: () => Result): Result {
  return scopes.run(scope, work);
}

/** For what goes on after the work at hand, or serves others as well. */
export function leaveScope<Result>(work: () => Result): Result {
  return scopes.getStore() === undefined ? work() : scopes.run(undefined, work);
}

/** The work as a span beneath the one at work; where there is none, the work alone. */
export function inSpan<Result>(wanted: NewSpan, work: (span: Span | undefined) => Promise<Result>): Promise<Result> {
  const opened = openSpan(wanted);
  return opened ? perform(opened, work) : work(undefined);
}

async function perform<Result>({ span, run }: OpenSpan, work: (span: Span) => Promise<Result>): Promise<Result> {
  try {
    const result = await run(() => work(span));
    span.end();
    return result;
  } catch (error) {
    span.end({ failure: failureOf(error) });
    throw error;
  }
}

/** A span whose end is up to whoever opened it. */
export interface OpenSpan {
  readonly span: Span;
  /** The work belongs to the span. */
  run<Result>(work: () => Result): Result;
}

/** Beneath the one at work; undefined where there is none. */
export function openSpan(wanted: NewSpan): OpenSpan | undefined {
  const scope = scopes.getStore();
  if (!scope?.span) return undefined;
  const span = scope.span.start(wanted);
  return { span, run: (work) => scopes.run({ ...scope, span }, work) };
}

/** A stable word for what was thrown. */
export function failureOf(error: unknown): string {
  if (isGatewayError(error)) return error.code;
  // What says more of a failure keeps it as its cause.
  if (error instanceof Error && isGatewayError(error.cause)) return error.cause.code;
  return error instanceof Error ? error.name : 'thrown';
}
