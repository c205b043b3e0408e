import {
  accountFailure,
  bearerToken,
  callerFailure,
  type ErrorCode,
  GatewayError,
  type HttpRequest,
  modelFailure,
  namesModeration,
  type OpenaiError,
  openaiError,
  replaceFields,
  type StoredResponseAction,
  type StoredResponseCall,
  statusFailure,
  type TextCall,
  TryFailure,
  type UpstreamRefusal,
  withoutNames,
} from 'mediagate/plugin';
import type { Upstream } from './options.js';

/** A request in the upstream's format. */
export type WireRequest = Pick<HttpRequest, 'url' | 'method' | 'headers' | 'body'>;

const STORED: Readonly<Record<StoredResponseAction, { method: 'GET' | 'POST' | 'DELETE'; path: string }>> = {
  retrieve: { method: 'GET', path: '' },
  delete: { method: 'DELETE', path: '' },
  cancel: { method: 'POST', path: '/cancel' },
  input_items: { method: 'GET', path: '/input_items' },
};

/** The caller's body as it is, but for the name of the model. */
export function textRequest({ route, task, body, stream }: TextCall, upstream: Upstream): WireRequest {
  return {
    url: upstream.addresses[task ?? route],
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: stream ? 'text/event-stream' : 'application/json',
      ...credentials(upstream),
    },
    body: replaceFields(body, { model: upstream.model }),
  };
}

export function storedRequest({ action, responseId, query }: StoredResponseCall, upstream: Upstream): WireRequest {
  const { method, path } = STORED[action];
  const url = `${upstream.addresses.responses}/${encodeURIComponent(responseId)}${path}`;
  return {
    url: query === '' ? url : `${url}?${query}`,
    method,
    headers: { accept: 'application/json, text/event-stream', ...credentials(upstream) },
  };
}

/** Some servers refuse requests without a user agent. Events are not to be gathered until a compressor has enough of them. */
function credentials({ apiKey }: Upstream): Record<string, string> {
  return { 'user-agent': 'mediagate', 'accept-encoding': 'identity', ...bearerToken(apiKey) };
}

/** Not all who have a limit have a code for it. */
const TOO_LONG = /maximum context length|context (?:length|window|size)\b|prompt is too long/i;
/** As the vendor words it, with or without saying which member named it. */
const NOT_FOUND = /\bwith id\b.*\bnot found\b/i;
/** Thoughts of a model that its client keeps can be read by the account alone in which they were thought. */
const NOT_OURS = 'invalid_encrypted_content';
/** Of a look-alike that only answers requests. */
const NO_SUCH_TASK = new Set([404, 405, 501]);
const PARAM = /^[\w.[\]-]{1,100}$/;
const MAX_WORDS = 1_000;

/** Codes of the format that have the same name here, and those that say less here. */
const CODES: ReadonlyMap<string, ErrorCode> = new Map<string, ErrorCode>([
  ...(
    [
      'context_length_exceeded',
      'previous_response_not_found',
      'content_filter',
      'invalid_prompt',
      'invalid_json',
      'missing_required_parameter',
      'unsupported_parameter',
      'unsupported_value',
      'invalid_image',
      'invalid_image_url',
      'invalid_base64_image',
      'image_too_large',
      'image_file_too_large',
      'unsupported_image_media_type',
      'failed_to_download_image',
    ] as const
  ).map((code) => [code, code] as const),
  ['string_above_max_length', 'context_length_exceeded'],
  ['content_policy_violation', 'content_filter'],
  ['unknown_parameter', 'unsupported_parameter'],
]);

/** What an answer means that is no success. A caller's fault keeps the upstream's words, without its names. */
export function refusalFailure(refusal: UpstreamRefusal, upstream: Upstream, now: number): TryFailure {
  const error = openaiError(refusal);
  if (error.about === 'account') return accountFailure();
  if (error.about === 'model') return modelFailure(false);
  if (error.about !== 'upstream' || (refusal.status === 404 && namesThingsOfTheCaller(error))) {
    const fault = callerFault(refusal, error, upstream);
    return error.code === NOT_OURS
      ? new TryFailure(fault, { again: 'elsewhere', counts: false })
      : callerFailure(fault);
  }
  const failure = statusFailure(refusal, now, 'anywhere');
  if (refusal.headers['x-should-retry'] !== 'false' || failure.consequence.again !== 'anywhere') return failure;
  return new TryFailure(failure.error, { ...failure.consequence, again: 'elsewhere' }, failure.quotas);
}

/** The same for a stored response, where "not found" is about that. */
export function storedFailure(refusal: UpstreamRefusal, upstream: Upstream, now: number): TryFailure {
  if (refusal.status === 404)
    return callerFailure(new GatewayError('response_not_found', 'There is no such response.'));
  return refusalFailure(refusal, upstream, now);
}

/** The same for what not every upstream does. */
export function taskFailure(refusal: UpstreamRefusal, upstream: Upstream, now: number): TryFailure {
  const failure = refusalFailure(refusal, upstream, now);
  const isCallers = failure.consequence.again === 'nowhere';
  if (!NO_SUCH_TASK.has(refusal.status) || isCallers || openaiError(refusal).about === 'model') return failure;
  const error = new GatewayError('model_not_supported', 'The upstream of the model does not support this.', {
    param: 'model',
  });
  return new TryFailure(error, { again: 'elsewhere', counts: false });
}

/** An earlier response, an item, a conversation: what the request names is not there, while model and address are. */
function namesThingsOfTheCaller({ param, message = '' }: OpenaiError): boolean {
  return param === undefined ? NOT_FOUND.test(message) : param !== 'model';
}

function callerFault(refusal: UpstreamRefusal, error: OpenaiError, upstream: Upstream): GatewayError {
  const { status } = refusal;
  const words = error.message?.slice(0, MAX_WORDS);
  const isTooLong = status === 413 || (words !== undefined && TOO_LONG.test(words));
  const isFiltered = status === 403 && namesModeration(refusal);
  const usual = isTooLong ? 'context_length_exceeded' : isFiltered ? 'content_filter' : 'invalid_value';
  const code = CODES.get(error.code) ?? usual;
  const param = error.param !== undefined && PARAM.test(error.param) ? error.param : undefined;
  const message = words && plainText(withoutNames(words, upstream));
  return new GatewayError(code, message || 'The model refused the request.', { param });
}

function plainText(words: string): string {
  return words
    .replace(/[\s\p{Cc}]+/gu, ' ')
    .trim()
    .toWellFormed();
}
