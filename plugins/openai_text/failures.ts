import {
  accountFailure,
  asString,
  at,
  blamesCaller,
  callerFailure,
  type ErrorCode,
  GatewayError,
  modelFailure,
  namesModeration,
  statusFailure,
  TryFailure,
  type UpstreamRefusal,
  withoutNames,
} from 'mediagate';
import type { Upstream } from './upstream.js';

const NO_ACCOUNT = /^(?:insufficient_quota|billing_\w+|account_deactivated|usage_limit_reached|access_terminated)$/;
const NO_MODEL = /^(?:model_not_found|invalid_model|model_not_available|unknown_model)$/;
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
  const { json, headers } = refusal;
  const code = asString(at(json, 'error', 'code')) ?? '';
  const type = asString(at(json, 'error', 'type')) ?? '';
  if (NO_ACCOUNT.test(code) || NO_ACCOUNT.test(type)) return accountFailure();
  if (hasNoModel(refusal)) return modelFailure(false);
  if (blamesCaller(refusal) || namesThingsOfTheCaller(refusal)) {
    const fault = callerFault(refusal, upstream);
    return code === NOT_OURS ? new TryFailure(fault, { again: 'elsewhere', counts: false }) : callerFailure(fault);
  }
  const failure = statusFailure(refusal, now, 'anywhere');
  if (headers['x-should-retry'] !== 'false' || failure.consequence.again !== 'anywhere') return failure;
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
  if (!NO_SUCH_TASK.has(refusal.status) || isCallers || hasNoModel(refusal)) return failure;
  const error = new GatewayError('model_not_supported', 'The upstream of the model does not do this.', {
    param: 'model',
  });
  return new TryFailure(error, { again: 'elsewhere', counts: false });
}

/** An earlier response, an item, a conversation: what the request names is not there, while model and address are. */
function namesThingsOfTheCaller({ status, json }: UpstreamRefusal): boolean {
  if (status !== 404) return false;
  const param = asString(at(json, 'error', 'param'));
  if (param !== undefined) return param !== 'model';
  return NOT_FOUND.test(asString(at(json, 'error', 'message')) ?? '');
}

function hasNoModel({ json }: UpstreamRefusal): boolean {
  return NO_MODEL.test(asString(at(json, 'error', 'code')) ?? '');
}

function callerFault(refusal: UpstreamRefusal, upstream: Upstream): GatewayError {
  const { status, json } = refusal;
  const words = asString(at(json, 'error', 'message'))?.slice(0, MAX_WORDS);
  const isTooLong = status === 413 || (words !== undefined && TOO_LONG.test(words));
  const theirs = asString(at(json, 'error', 'code')) ?? '';
  const isFiltered = status === 403 && namesModeration(refusal);
  const usual = isTooLong ? 'context_length_exceeded' : isFiltered ? 'content_filter' : 'invalid_value';
  const code = CODES.get(theirs) ?? usual;
  const named = asString(at(json, 'error', 'param'));
  const param = named !== undefined && PARAM.test(named) ? named : undefined;
  const message = words && plainText(withoutNames(words, upstream));
  return new GatewayError(code, message || 'The model refused the request.', { param });
}

function plainText(words: string): string {
  return words
    .replace(/[\s\p{Cc}]+/gu, ' ')
    .trim()
    .toWellFormed();
}
