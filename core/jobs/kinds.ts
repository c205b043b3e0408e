/*
 * Declares the kinds of jobs: the prefix of their ids, and how long an ended one is kept. The folder that runs the jobs
 * of a kind declares it, which adds it to the type `JobKind`; the queue itself knows none. Every process that reads or
 * runs jobs imports these folders. An id states its kind, so that a read knows it without a query.
 */

import { drawRandomBytes } from '../runtime/index.js';

/** The kinds of all declarations: name and `true`. */
// biome-ignore lint/suspicious/noEmptyInterface: folders add to it
export interface JobKinds {}

/** What a job does. Each kind has its own limit and workers. */
export type JobKind = keyof JobKinds;

export interface JobKindDeclaration {
  /** Start of its ids: letters and an underscore. */
  prefix: string;
  /** Milliseconds that an ended job is kept. */
  retentionMs: number;
  /** Ended jobs that are deleted at a time. Default 500. */
  sweepRows?: number;
  /** Milliseconds that the input of a failed job is kept, so that an operator can retry it. Default: it is not kept. */
  retryMs?: number;
  /** Whether the input has all that a retry needs. Default: it has. */
  canRetry?(summary: unknown): boolean;
  /** Files of a job, from the values of its row; the result is null until it has completed. Default: none. */
  filesOf?(summary: unknown, result: unknown): string[];
}

const declared = new Map<JobKind, JobKindDeclaration>();

export function declareJobKind(kind: JobKind, declaration: JobKindDeclaration): void {
  declared.set(kind, declaration);
}

/** In the order of their names, which is the same in all processes. */
export function jobKinds(): JobKind[] {
  return [...declared.keys()].sort();
}

/** An object with a value for each kind. */
export function forEachKind<Value>(make: (kind: JobKind) => Value): Record<JobKind, Value> {
  return Object.fromEntries(jobKinds().map((kind) => [kind, make(kind)])) as Record<JobKind, Value>;
}

/**
 * Starts with the low 32 bits of the time in milliseconds: ids of the same time are adjacent in the table's index, so
 * that a group of jobs changes one or two pages and not one per job. The following 96 bits are random.
 * @param at Milliseconds since 1970.
 */
export function newJobId(kind: JobKind, at: number): string {
  const time = (at % 2 ** 32).toString(16).padStart(8, '0');
  return `${declarationOf(kind).prefix}${time}${drawRandomBytes(12).toString('hex')}`;
}

/** Undefined for a text that is no id: PostgreSQL rejects a text with U+0000. */
export function kindOfJob(id: string): JobKind | undefined {
  if (!/^[a-z]+_[0-9a-f]{32}$/.test(id)) return undefined;
  for (const [kind, { prefix }] of declared) if (id.startsWith(prefix)) return kind;
  return undefined;
}

/** Milliseconds that an ended job is kept. */
export function retentionMs(kind: JobKind): number {
  return declarationOf(kind).retentionMs;
}

/** Ended jobs that are deleted at a time. */
export function sweepRows(kind: JobKind): number {
  return declarationOf(kind).sweepRows ?? 500;
}

/** Milliseconds that the input of a failed job is kept; 0 if it is not. */
export function retryMs(kind: JobKind): number {
  return declarationOf(kind).retryMs ?? 0;
}

/** Whether the input of a failed job has all that a retry needs. */
export function canRetry(kind: JobKind, summary: unknown): boolean {
  return declarationOf(kind).canRetry?.(summary) ?? true;
}

/** Files that belong to a job. */
export function filesOfJob(kind: JobKind, summary: unknown, result: unknown): string[] {
  return declarationOf(kind).filesOf?.(summary, result) ?? [];
}

function declarationOf(kind: JobKind): JobKindDeclaration {
  const declaration = declared.get(kind);
  if (!declaration) throw new Error(`No loaded folder declares the jobs of kind ${kind}.`);
  return declaration;
}
