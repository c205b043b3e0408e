/*
 * Translates what an upstream answered into an error for the caller and a consequence for fail-over. The status
 * decides whether another upstream may try, whether the failure counts against the upstream, and whether the caller
 * must change the request. After a lost answer the work may have been done and charged, so the format decides about a
 * retry. An upstream's words are shown only after keys, addresses, ids and internal model names have been removed from
 * the whole text. Of a refusal, at most 64 KiB are read, within 5 seconds.
 */

import type { Clock, HttpStream, Logger } from '../contracts/index.js';
import { neverSent } from '../net/index.js';
import { currentScope } from '../observability/index.js';
import { GatewayError, isGatewayError, type UpstreamWords, withDeadline } from '../runtime/index.js';
import { type TryConsequence, TryFailure } from './fail-over.js';
import { readQuotas, vendorLimitsOf } from './quotas.js';

/**
 * What may be tried if it is unknown whether the work was done. It may have been done and charged: then only an
 * upstream with idempotency is tried again, or any upstream if the format's own clients would retry.
 */
export type AfterLostAnswer = Extract<TryConsequence['again'], 'anywhere' | 'here' | 'nowhere'>;

/** A proxy before the upstream gave up waiting: the work may have been done. */
const ANSWER_LOST = new Set([504, 524]);

/** The remedy if the address guard refuses a server of the operator. */
export const TRUST = 'To allow it, the operator adds its origin to TRUSTED_ORIGINS.';

const CALLER_FAULTS = new Set([400, 413, 415, 422]);
/** Names a safety system or its rules, in a code or in words. */
const MODERATION =
  /moderation|content[ _-]?(?:filter|management|polic)|safety[ _-](?:system|violation|polic)|usage polic|against_policy/i;

/**
 * Whether the caller must change the request. A 403 usually refuses our credentials: it is about the request only if
 * it says so.
 */
export function blamesCaller(refusal: Pick<UpstreamRefusal, 'status' | 'json'>): boolean {
  const { status, json } = refusal;
  if (status !== 403) return CALLER_FAULTS.has(status);
  return fieldOf(json, 'error', 'type') === 'invalid_request_error' || namesModeration(refusal);
}

/** Whether its code, type or message names moderation or a content policy. */
export function namesModeration({ json }: Pick<UpstreamRefusal, 'json'>): boolean {
  const named = ['error', 'detail'].flatMap((form) =>
    ['code', 'type', 'status', 'message'].map((name) => fieldOf(json, form, name)),
  );
  return named.some((value) => typeof value === 'string' && MODERATION.test(value));
}

function fieldOf(json: unknown, form: string, name: string): unknown {
  const error = (json as Readonly<Record<string, unknown>> | null | undefined)?.[form];
  return (error as Readonly<Record<string, unknown>> | null | undefined)?.[name];
}

/** The meaning of a refusal by its status alone. Errors of the caller must be separated before. */
export function statusFailure(refusal: UpstreamRefusal, now: number, lost: AfterLostAnswer): TryFailure {
  const { status } = refusal;
  if (status === 401 || status === 402 || status === 403) return accountFailure();
  if (status === 404) return modelFailure(false);
  if (status === 405 || (status >= 300 && status < 400)) return modelFailure();
  if (ANSWER_LOST.has(status)) {
    return lostAnswer(new GatewayError('upstream_timeout', 'The upstream did not answer in time.'), lost);
  }
  const details = { retryAfterSeconds: retryAfterSeconds(refusal, now) };
  if (status === 429) {
    const limits = { ...details, vendorLimits: vendorLimitsOf(refusal.headers) };
    const error = new GatewayError('upstream_rate_limited', 'The upstream limits the rate of requests.', limits);
    return new TryFailure(error, { again: 'anywhere', counts: false }, readQuotas(refusal.headers, now));
  }
  const error = new GatewayError('upstream_error', `The upstream answered with status ${status}.`, details);
  // A conflict is between requests of callers, and callers can cause any number of them.
  return new TryFailure(error, { again: 'anywhere', counts: status !== 409 });
}

/**
 * The meaning of a refusal for a text provider, by its status: a rate limit and a conflict keep the upstream's words. A
 * conflict is not tried again: the client must change something first.
 */
export function textStatusFailure(refusal: UpstreamRefusal, now: number, names: UpstreamNames): TryFailure {
  const { status } = refusal;
  if (status === 409) {
    const upstream = upstreamWords(refusal, names);
    return callerFailure(
      new GatewayError('upstream_conflict', 'The request conflicts with another one at the model.', { upstream }),
    );
  }
  const { error, consequence, quotas } = statusFailure(refusal, now, 'anywhere');
  const upstream = status === 429 ? upstreamWords(refusal, names) : undefined;
  return new TryFailure(upstream ? error.with({ upstream }) : error, consequence, quotas);
}

/** The meaning of a request without an answer, or with one that broke off. */
function connectionFailure(error: unknown, signal: AbortSignal, lost: AfterLostAnswer): unknown {
  if (signal.aborted || !isGatewayError(error)) return error;
  if (error.code === 'upstream_refused') {
    const message = `The address of the upstream is refused. ${error.message} ${TRUST}`;
    const refused = new GatewayError('upstream_unavailable', message, { retryable: false, cause: error });
    return new TryFailure(refused, { again: 'elsewhere', counts: true });
  }
  return neverSent(error) ? new TryFailure(error, { again: 'anywhere', counts: true }) : lostAnswer(error, lost);
}

/** The upstream refuses our key, or our account is used up. */
export function accountFailure(): TryFailure {
  const error = new GatewayError('upstream_auth_error', 'The upstream does not serve this gateway.');
  return new TryFailure(error, { again: 'elsewhere', counts: true });
}

/**
 * The upstream does not have the model, or its address is wrong.
 * @param counts False for a 404, which a request may cause that names something else that is not there.
 */
export function modelFailure(counts = true): TryFailure {
  const error = new GatewayError('upstream_error', 'The upstream does not know this model or address.');
  return new TryFailure(error, { again: 'elsewhere', counts });
}

/** The caller must change the request: no other upstream is tried, and it does not count against the upstream. */
export function callerFailure(error: GatewayError): TryFailure {
  return new TryFailure(error, { again: 'nowhere', counts: false });
}

/** A complete but useless answer; a retry would be charged again. */
export function uselessAnswer(message: string): TryFailure {
  return new TryFailure(new GatewayError('upstream_changed', message), { again: 'nowhere', counts: true });
}

function lostAnswer(error: GatewayError, again: AfterLostAnswer): TryFailure {
  return new TryFailure(error, { again, counts: true });
}

export interface LoggedTry {
  logger: Logger;
  clock: Clock;
  model: string;
  /** Name of the upstream, e.g. `upstreams.0`: its address is not disclosed. */
  member: string;
  signal: AbortSignal;
  lost: AfterLostAnswer;
}

/**
 * One try of an upstream, with a log line if it fails.
 * @throws TryFailure, also for a GatewayError that `ask` threw; any other error that `ask` threw.
 */
export function tryUpstream<Result>(tried: LoggedTry, ask: () => Promise<Result>): Promise<Result> {
  const { logger, clock, model, member, signal, lost } = tried;
  const begun = clock.monotonic();
  currentScope()?.span?.set({ 'gen_ai.request.model': model, 'mediagate.member': member });
  return ask().catch((thrown: unknown) => {
    const failure = thrown instanceof TryFailure ? thrown : connectionFailure(thrown, signal, lost);
    if (failure instanceof TryFailure) {
      const { error, consequence } = failure;
      const { upstreamRequestId } = error;
      const { again, counts } = consequence;
      const isCallers = !counts && (again === 'nowhere' || !error.retryable);
      // Only the operator can fix failures that are passed to other upstreams, so these are alerts. A caller's error
      // does not concern the operator, and its message may be the caller's own text.
      const level = isCallers ? 'info' : again === 'elsewhere' ? 'error' : 'warn';
      logger[level](isCallers ? 'an upstream refused a request' : `a request to an upstream failed: ${error.message}`, {
        code: error.code,
        model,
        member,
        ...(upstreamRequestId !== undefined && { upstreamRequestId }),
        ms: Math.round(clock.monotonic() - begun),
        ...(error.cause !== undefined && { error: error.cause }),
      });
    }
    throw failure;
  });
}

/** The answer of an upstream that refused. */
export interface UpstreamRefusal {
  status: number;
  /** Names in lower case. */
  headers: Readonly<Record<string, string>>;
  /** Its JSON; undefined if it is none, is long (an HTML page), or is slow to arrive. */
  json: unknown;
  /** Its text if it is no JSON, as far as it is short. */
  text?: string;
}

/** Fields in which servers name a request: OpenAI and many others, Anthropic, Amazon, Azure. */
const REQUEST_ID_FIELDS = ['x-request-id', 'request-id', 'x-amzn-requestid', 'apim-request-id'] as const;
const MAX_REQUEST_ID = 128;

/**
 * The upstream's own id of a request, which its operator can look up: letters, digits and `_ . : / + = @ -`, at most 128
 * characters; others are left out. Undefined if the upstream sent none.
 */
export function readUpstreamRequestId(headers: Readonly<Record<string, string>>): string | undefined {
  for (const name of REQUEST_ID_FIELDS) {
    const id = headers[name]?.replace(/[^\w.:/+=@-]+/g, '').slice(0, MAX_REQUEST_ID);
    if (id) return id;
  }
  return undefined;
}

/** Values shared only with the upstream, which clients must not see. */
export interface UpstreamNames {
  /** Base address. */
  url: string;
  apiKey?: string;
  /** The upstream's own name of the model. */
  model: string;
  /** The caller's name of the model. */
  publicModel: string;
}

const MAX_BYTES = 64 * 1024;
const TIMEOUT_MS = 5_000;

/**
 * Reads the explanation of a refusal. The status is enough, so the rest of a body is not awaited, and its errors are
 * ignored.
 */
export async function readRefusal(response: HttpStream, clock: Clock): Promise<UpstreamRefusal> {
  const { status, headers } = response;
  const text = await readShort(response.body, clock);
  try {
    return { status, headers, json: JSON.parse(text ?? '') };
  } catch {
    return { status, headers, json: undefined, ...(text !== undefined && { text }) };
  }
}

/** Undefined if it is long, or slow to arrive. */
async function readShort(body: AsyncIterable<Uint8Array>, clock: Clock): Promise<string | undefined> {
  const chunks = body[Symbol.asyncIterator]();
  async function read(): Promise<string | undefined> {
    const parts: Uint8Array[] = [];
    let length = 0;
    for (let next = await chunks.next(); !next.done; next = await chunks.next()) {
      length += next.value.length;
      if (length > MAX_BYTES) return undefined;
      parts.push(next.value);
    }
    return Buffer.concat(parts).toString('utf8');
  }
  try {
    return await withDeadline(TIMEOUT_MS, read, { clock, error: () => new Error('The body arrives too slowly.') });
  } catch {
    // Truncated, or slow to arrive.
    return undefined;
  } finally {
    await chunks.return?.();
  }
}

/**
 * Seconds to wait: from `retry-after-ms`, which some servers send beside it, or `Retry-After` in seconds or as a date;
 * undefined without either.
 */
export function retryAfterSeconds({ headers }: Pick<UpstreamRefusal, 'headers'>, now = Date.now()): number | undefined {
  const milliseconds = headers['retry-after-ms'];
  if (milliseconds !== undefined && /^\d{1,15}(?:\.\d+)?$/.test(milliseconds)) return Number(milliseconds) / 1000;
  const text = headers['retry-after'];
  if (text === undefined) return undefined;
  const seconds = /^\d+$/.test(text.trim()) ? Number(text) : (Date.parse(text) - now) / 1000;
  return Number.isFinite(seconds) ? Math.max(0, seconds) : undefined;
}

/** Addresses of private networks and of this machine, and names of hosts in such networks. */
const PRIVATE_ADDRESS =
  /\b(?:(?:10|127)\.\d{1,3}|192\.168|169\.254|172\.(?:1[6-9]|2\d|3[01])|100\.(?:6[4-9]|[7-9]\d|1[01]\d|12[0-7]))\.\d{1,3}\.\d{1,3}(?::\d{1,5})?\b|\[?\b(?:f[cd][\da-f]{2}|fe80):[\da-f:]{2,40}\]?(?::\d{1,5})?|\[::1\](?::\d{1,5})?|\blocalhost(?::\d{1,5})?\b|\b[\w-]{1,63}(?:\.[\w-]{1,63}){0,5}\.(?:local|internal|lan|svc)\b(?::\d{1,5})?/gi;

/** An upstream's message as callers may read it: without keys, addresses, ids, and its name of the model. */
export function withoutNames(words: string, { url, apiKey, model, publicModel }: UpstreamNames): string {
  const plain = apiKey ? words.replaceAll(apiKey, '…') : words;
  const { host, hostname } = new URL(url);
  return plain
    .replaceAll(model, publicModel)
    .replaceAll(host, '…')
    .replaceAll(hostname, '…')
    .replace(/\b[a-z][a-z0-9+.-]{0,30}:\/\/\S+/gi, '…')
    .replace(PRIVATE_ADDRESS, '…')
    .replace(/\b(?:sk|req|org|proj)[-_][A-Za-z0-9_-]{6,}/g, '…');
}

const CODE = /^[\w.:-]{1,100}$/;
const MAX_WORDS = 1_000;

/**
 * What a refusal says, for {@link GatewayError.upstream}: its status, and code and message without what
 * {@link withoutNames} removes. It reads the OpenAI format, a message or text beside it, and the list of FastAPI.
 * @returns Undefined if it says nothing.
 */
export function upstreamWords({ status, json }: UpstreamRefusal, names: UpstreamNames): UpstreamWords | undefined {
  const [code, words] = [fieldOf(json, 'error', 'code'), wordsOf(json)];
  const isCode = typeof code === 'string' && CODE.test(code) && withoutNames(code, names) === code;
  const message = words === undefined ? '' : sanitizedWords(words, names);
  if (!isCode && message === '') return undefined;
  return { status, ...(isCode && { code }), ...(message !== '' && { message }) };
}

/** An upstream's message as one line of at most 1,000 letters, without what {@link withoutNames} removes. */
export function sanitizedWords(words: string, names: UpstreamNames): string {
  // Cutting first could leave a part of a key.
  return withoutNames(words, names)
    .replace(/[\s\p{Cc}]+/gu, ' ')
    .trim()
    .slice(0, MAX_WORDS)
    .toWellFormed();
}

/** The message of a refusal in any of the usual forms. */
function wordsOf(json: unknown): string | undefined {
  const { error, message, detail } = (json ?? {}) as Readonly<Record<string, unknown>>;
  const [first] = Array.isArray(detail) ? detail : [];
  const forms = [fieldOf(json, 'error', 'message'), error, message, detail, fieldOf(json, 'detail', 'message')];
  const found = [...forms, fieldOf({ first }, 'first', 'msg')].find((one) => typeof one === 'string' && one !== '');
  return found as string | undefined;
}
