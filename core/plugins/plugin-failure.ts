/*
 * Converts what a plugin throws into an error for clients. Each kind of contribution may throw its own codes only; any
 * other code would let a plugin report a revoked key or an empty budget, so it becomes `upstream_changed`. Values of
 * the instance's options (keys, addresses, upstream names) are removed from every text, because no schema marks the
 * secret ones. Objects that only look like our error class are created anew. Reported usage is reduced to possible
 * counts. An error that needs no change is passed on without a copy.
 */

import type { ContributionKind, Usage } from '../contracts/index.js';
import {
  type Attempt,
  DEFINITIVE_CODES,
  type ErrorCode,
  GatewayError,
  type GatewayErrorDetails,
  isGatewayError,
  missingPackageError,
  TRANSIENT_CODES,
  type UpstreamWords,
} from '../runtime/index.js';

/** Failures of the services that plugins use: HTTP, the browser, ffmpeg, a fail-over. */
const SERVICE_CODES = [
  'upstream_rate_limited',
  'upstream_refused',
  'upstream_changed',
  'upstream_error',
  'upstream_timeout',
  'upstream_auth_error',
  'upstream_unavailable',
  'plugin_unavailable',
  'queue_full',
] as const satisfies readonly ErrorCode[];

/** What a model may report about a request. */
const MODEL_REQUEST_CODES = [
  'invalid_value',
  'missing_required_parameter',
  'unsupported_parameter',
  'unsupported_value',
  'moderation_blocked',
] as const satisfies readonly ErrorCode[];

/**
 * Codes that a contribution of each kind may throw. All others are the gateway's own: a plugin that throws one could
 * cause a 401 for a valid key or a 429 for a budget that is not used up. They count as "the plugin failed".
 */
export const CONTRIBUTION_CODES: Readonly<Record<ContributionKind, ReadonlySet<ErrorCode>>> = {
  extractor: new Set<ErrorCode>([...DEFINITIVE_CODES, ...TRANSIENT_CODES, ...SERVICE_CODES, 'audio_unavailable']),
  image: new Set<ErrorCode>([
    ...SERVICE_CODES,
    ...MODEL_REQUEST_CODES,
    'invalid_prompt',
    'content_filter',
    'too_many_images',
    'invalid_image',
    'image_too_large',
    'image_file_too_large',
    'unsupported_image_media_type',
  ]),
  audio: new Set<ErrorCode>([...SERVICE_CODES, ...MODEL_REQUEST_CODES, 'request_too_large', 'audio_unavailable']),
  text: new Set<ErrorCode>([
    ...SERVICE_CODES,
    ...MODEL_REQUEST_CODES,
    'invalid_json',
    'invalid_prompt',
    'content_filter',
    'context_length_exceeded',
    'previous_response_not_found',
    'response_not_found',
    'model_not_supported',
    'upstream_conflict',
    'too_many_images',
    'invalid_image',
    'invalid_image_url',
    'invalid_base64_image',
    'image_too_large',
    'image_file_too_large',
    'unsupported_image_media_type',
    'failed_to_download_image',
  ]),
  identity: new Set<ErrorCode>(SERVICE_CODES),
};

const STRUCK_OUT = '[redacted]';
/** Shorter ones are words and numbers of any message. */
const SHORTEST_HIDDEN = 6;

/** Redacts the option values of an instance from a text for clients. */
export type HideOptions = (text: string) => string;

/**
 * Keys, addresses and upstream names are options, which clients must not read even if a plugin puts them into a
 * message. All texts of six characters or more count, since no schema marks the secret ones.
 * @param known Public values: names of models, the platform key, the instance's id.
 */
export function createHideOptions(options: unknown, known: Iterable<string>): HideOptions {
  const logged = new Set(known);
  const values = new Set<string>();
  collectTexts(options, values);
  const hidden = [...values]
    .filter((value) => value.length >= SHORTEST_HIDDEN && !logged.has(value))
    .flatMap((value) => [value, encodeURIComponent(value.toWellFormed()), JSON.stringify(value).slice(1, -1)])
    // Longer ones first: one value may be part of another.
    .sort((left, right) => right.length - left.length);
  return (text) => {
    let clean = text;
    for (const value of hidden) if (clean.includes(value)) clean = clean.replaceAll(value, STRUCK_OUT);
    return clean;
  };
}

function collectTexts(value: unknown, found: Set<string>): void {
  if (typeof value === 'string') found.add(value.trim());
  else if (typeof value === 'object' && value !== null) {
    for (const element of Object.values(value)) collectTexts(element, found);
  }
}

export interface PluginFailure {
  /** The client's error. */
  error: GatewayError;
  /** For the operator: the plugin broke its contract. */
  fault?: { message: string; code?: string; error: Error };
}

/**
 * Converts an error of a plugin's code to the client's error: one of the contribution's own codes without option
 * values, `plugin_unavailable` for a missing package, or `upstream_changed`. Everything that is not clearly our error class is created anew, since a plugin may
 * bring a copy of this package, or an object that only looks like one.
 */
export function readPluginFailure(kind: ContributionKind, thrown: unknown, hide: HideOptions): PluginFailure {
  if (!isGatewayError(thrown)) {
    const cause = asError(thrown, hide);
    const error = missingPackageError(cause);
    if (!error) return notUnderstood('a plugin threw', cause);
    return { error, fault: { message: 'a plugin needs a package that is not installed', error: cause } };
  }
  const { code } = thrown;
  if (!CONTRIBUTION_CODES[kind].has(code)) {
    const message = 'a plugin threw an error whose code its contract does not have';
    return notUnderstood(message, asError(thrown, hide), textOf(code)?.slice(0, 100) ?? `a ${typeof code}`);
  }
  const message = hide(textOf(thrown.message) ?? '');
  const details = cleanDetails(kind, thrown, hide);
  const isOurs = Object.getPrototypeOf(thrown) === GatewayError.prototype;
  const isClean = message === thrown.message && isSame(details, thrown);
  const cause = isOurs ? cleanCause(thrown.cause, hide) : asError(thrown, hide);
  if (isOurs && isClean && cause === thrown.cause) return { error: thrown };
  const error = new GatewayError(code, message, { ...details, cause });
  if (isClean) return { error };
  return { error, fault: { message: 'a plugin threw an error that contains option values', code, error } };
}

function notUnderstood(message: string, cause: Error, code?: string): PluginFailure {
  const error = new GatewayError('upstream_changed', 'The answer of the source could not be read.', { cause });
  return { error, fault: { message, error: cause, ...(code !== undefined && { code }) } };
}

type Details = Omit<GatewayErrorDetails, 'cause'>;

function cleanDetails(kind: ContributionKind, thrown: GatewayError, hide: HideOptions): Details {
  const clean = (text: unknown) => (typeof text === 'string' ? hide(text) : undefined);
  const { param, reason, retryable, retryAfterSeconds, platform, attempts, upstream, upstreamRequestId } = thrown;
  const { vendorLimits, tries } = thrown;
  const isWait = typeof retryAfterSeconds === 'number' && Number.isFinite(retryAfterSeconds);
  return {
    param: clean(param),
    reason: clean(reason),
    retryable: typeof retryable === 'boolean' ? retryable : undefined,
    retryAfterSeconds: isWait ? retryAfterSeconds : undefined,
    platform: clean(platform),
    attempts: Array.isArray(attempts) ? attempts.flatMap((attempt) => cleanAttempt(attempt, hide) ?? []) : undefined,
    upstream: kind === 'text' ? cleanWords(upstream, hide) : undefined,
    upstreamRequestId: kind === 'text' ? cleanRequestId(upstreamRequestId, hide) : undefined,
    vendorLimits: cleanLimits(vendorLimits, hide),
    tries: typeof tries === 'number' ? tries : undefined,
  };
}

const UPSTREAM_CODE = /^[\w.:-]{1,100}$/;
const MAX_UPSTREAM_WORDS = 2_000;

/** The same object if nothing has to be removed. */
/** An id that a header can carry. */
const REQUEST_ID = /^[!-~]{1,128}$/;

/** Undefined without an id that a header can carry. Option values, such as a key, are redacted. */
export function cleanRequestId(id: unknown, hide: HideOptions): string | undefined {
  return typeof id === 'string' && REQUEST_ID.test(id) ? hide(id) : undefined;
}

/** The same object if nothing has to be removed. */
function cleanLimits(limits: unknown, hide: HideOptions): Readonly<Record<string, string>> | undefined {
  if (typeof limits !== 'object' || limits === null) return undefined;
  const entries = Object.entries(limits).filter(([, value]) => typeof value === 'string' && hide(value) === value);
  return entries.length === Object.keys(limits).length
    ? (limits as Record<string, string>)
    : Object.fromEntries(entries);
}

function cleanWords(upstream: UpstreamWords | undefined, hide: HideOptions): UpstreamWords | undefined {
  if (typeof upstream !== 'object' || upstream === null) return undefined;
  const { status, code, message } = upstream;
  const clean: UpstreamWords = {};
  if (Number.isInteger(status) && Number(status) >= 400 && Number(status) <= 599) clean.status = status;
  if (typeof code === 'string' && UPSTREAM_CODE.test(code) && hide(code) === code) clean.code = code;
  if (typeof message === 'string' && message !== '') clean.message = hide(message).slice(0, MAX_UPSTREAM_WORDS);
  const isClean = clean.status === status && clean.code === code && clean.message === message;
  return isClean ? upstream : clean;
}

function cleanAttempt(attempt: Partial<Attempt> | null, hide: HideOptions): Attempt | undefined {
  const { method, outcome, ms } = attempt ?? {};
  if (typeof method !== 'string' || typeof outcome !== 'string' || typeof ms !== 'number') return undefined;
  return { method: hide(method), outcome: hide(outcome), ms };
}

function isSame({ attempts, ...details }: Details, thrown: GatewayError): boolean {
  if (Object.entries(details).some(([name, value]) => thrown[name as keyof typeof details] !== value)) return false;
  if (attempts === undefined || thrown.attempts === undefined) return attempts === thrown.attempts;
  const isStorable = ({ method, outcome }: Attempt, index: number) =>
    thrown.attempts?.[index]?.method === method && thrown.attempts[index]?.outcome === outcome;
  return attempts.length === thrown.attempts.length && attempts.every(isStorable);
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

const MAX_CAUSES = 5;

/** For the log, which describes errors only: the same error if nothing has to be redacted. */
export function asError(thrown: unknown, hide: HideOptions, depth = 0): Error {
  if (!(thrown instanceof Error)) return new Error(`it threw ${hide(describeThrown(thrown))}`);
  const cause = depth < MAX_CAUSES ? cleanCause(thrown.cause, hide, depth + 1) : undefined;
  const [name, message, stack] = [thrown.name, thrown.message, thrown.stack ?? ''].map((text) => hide(String(text)));
  if (message === thrown.message && name === thrown.name && stack === thrown.stack && cause === thrown.cause)
    return thrown;
  const copy = new Error(message, cause === undefined ? undefined : { cause });
  return Object.assign(copy, { name, stack });
}

function cleanCause(cause: unknown, hide: HideOptions, depth = 0): unknown {
  if (cause instanceof Error) return asError(cause, hide, depth);
  return typeof cause === 'string' ? hide(cause) : cause;
}

/** Properties of a thrown object that describe it; others may contain headers and bodies. */
const TELLING = ['name', 'code', 'status', 'message'] as const;

/** A text for a thrown value that is no error. */
export function describeThrown(thrown: unknown): string {
  if (typeof thrown !== 'object' || thrown === null) return String(thrown).slice(0, 500);
  const logged = TELLING.flatMap((name) => {
    const value = (thrown as Readonly<Record<string, unknown>>)[name];
    return typeof value === 'string' || typeof value === 'number' ? [`${name} ${String(value).slice(0, 200)}`] : [];
  });
  return logged.length === 0 ? 'an object' : `an object with ${logged.join(', ')}`;
}

const USAGE_COUNTS = [
  'inputTokens',
  'outputTokens',
  'totalTokens',
  'cachedTokens',
  'cacheWriteTokens',
  'cacheWriteLongTokens',
  'reasoningTokens',
  'inputTextTokens',
  'inputImageTokens',
  'outputTextTokens',
  'outputImageTokens',
  'inputAudioTokens',
  'outputAudioTokens',
  'webSearches',
  'characters',
] as const satisfies readonly (keyof Usage)[];

/**
 * The possible counts of the usage that a plugin reports; undefined without any. An impossible one is left out: absent
 * is unknown, and the result is paid for.
 */
export function readReportedUsage(reported: unknown): Usage | undefined {
  if (typeof reported !== 'object' || reported === null) return undefined;
  const given: Usage = reported;
  const usage: Usage = {};
  for (const name of USAGE_COUNTS) {
    const count = given[name];
    if (Number.isSafeInteger(count) && Number(count) >= 0) usage[name] = count;
  }
  if (Number.isFinite(given.seconds) && Number(given.seconds) >= 0) usage.seconds = given.seconds;
  if (Object.keys(usage).length === 0) return undefined;
  if (typeof given.serviceTier === 'string') usage.serviceTier = given.serviceTier.slice(0, 64);
  return { ...usage, ...(given.estimated === true && { estimated: true }) };
}

/** Names of reported amounts that {@link readReportedUsage} leaves out: each is no amount, such as NaN or -1. */
export function impossibleUsage(reported: unknown): string[] {
  const given: Readonly<Record<string, unknown>> = Object(reported);
  const isAmount = (value: unknown) => Number.isFinite(value) && Number(value) >= 0;
  return [...USAGE_COUNTS, 'seconds'].filter((name) => given[name] !== undefined && !isAmount(given[name]));
}
