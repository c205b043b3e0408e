/*
 * Reads the answer of a model: one JSON object, checked against the form that was asked for. A claim counts only if its
 * source is there: a field of the document, or a time at which something is said. Others are left out, and a note
 * says so.
 */

import { satisfiesSchema } from '../../core/runtime/index.js';
import type { Question } from './question-fields.js';
import type { SourceText } from './question-prompt.js';

const MAX_ANSWER_LENGTH = 16_000;
const MAX_CLAIMS = 50;
const MAX_CLAIM_LENGTH = 1_000;
/** Models round times. */
const TOLERANCE_SECONDS = 1;

/** A statement, and where the item says it. */
export type Claim = { text: string; seconds: number } | { text: string; field: string };

export interface CheckedAnswer {
  /** Null if the item does not say it, or a schema was sent. */
  answer: string | null;
  data?: object;
  claims: Claim[];
  /** Claims without a source. */
  unsupported: number;
}

/** Undefined if the text is no answer in the form that was asked for. */
export function readAnswer(text: string, { schema }: Question, source: SourceText): CheckedAnswer | undefined {
  const found = parseObject(text);
  if (!found) return undefined;
  const { answer = null, data, claims: sent } = found;
  const claims = (Array.isArray(sent) ? sent.slice(0, MAX_CLAIMS) : []).map((one) => checkClaim(one, source));
  const checked = {
    claims: claims.filter((claim) => claim !== undefined),
    unsupported: claims.filter((claim) => claim === undefined).length,
  };
  if (schema) return isObject(data) && satisfiesSchema(schema, data) ? { answer: null, data, ...checked } : undefined;
  if (answer !== null && (typeof answer !== 'string' || answer.length > MAX_ANSWER_LENGTH)) return undefined;
  return { answer, ...checked };
}

/** Some models put a fence around JSON. */
function parseObject(text: string): Record<string, unknown> | undefined {
  const [, fenced = text] = /^\s*```(?:json)?\s*\n([\s\S]*)\n\s*```\s*$/.exec(text) ?? [];
  try {
    const value: unknown = JSON.parse(fenced);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

function checkClaim(sent: unknown, { fields, segments }: SourceText): Claim | undefined {
  if (!isObject(sent) || typeof sent.text !== 'string' || sent.text === '') return undefined;
  const text = sent.text.slice(0, MAX_CLAIM_LENGTH);
  const { seconds, field } = sent;
  if (typeof field === 'string' && fields.has(field)) return { text, field };
  if (typeof seconds !== 'number') return undefined;
  const segment = segmentAt(segments, seconds);
  return segment && { text, seconds: segment.start };
}

/** The latest segment that has the time; without one, the one that it misses least, by a second at most. */
function segmentAt(segments: SourceText['segments'], seconds: number): SourceText['segments'][number] | undefined {
  const within = segments.findLast(({ start, end }) => seconds >= start && seconds <= end);
  if (within) return within;
  const missed = segments
    .map((segment) => ({ segment, by: seconds < segment.start ? segment.start - seconds : seconds - segment.end }))
    .filter(({ by }) => by <= TOLERANCE_SECONDS);
  return missed.toSorted((one, other) => one.by - other.by)[0]?.segment;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
