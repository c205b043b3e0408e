import {
  type AfterLostAnswer,
  accountFailure,
  asString,
  at,
  blamesCaller,
  callerFailure,
  type ErrorCode,
  GatewayError,
  type ImageCall,
  modelFailure,
  namesModeration,
  statusFailure,
  type TryFailure,
  type UpstreamRefusal,
  withoutNames,
} from 'mediagate';
import type { Upstream } from './upstream.js';

const MODERATION = /^(?:moderation_blocked|(?:image_)?content_policy_violation|content_?filter|safety_violation)$/i;
const NO_ACCOUNT = /^(?:insufficient_quota|billing_hard_limit_reached|account_deactivated)$/;
const NO_MODEL = /^(?:model_not_found|invalid_model|model_not_available)$/;
/** A caller's faults that have a name of their own here too. */
const SHARED_CODES: readonly ErrorCode[] = [
  'unsupported_value',
  'unsupported_parameter',
  'image_too_large',
  'image_file_too_large',
  'unsupported_image_media_type',
];
const PARAMS = new Set([
  'prompt',
  'size',
  'quality',
  'background',
  'output_format',
  'output_compression',
  'moderation',
  'input_fidelity',
  'image',
  'user',
]);

/** What a refusal means. It says nothing of the upstream's body but, for a caller's fault, its message without names. */
export function refusalFailure(refusal: UpstreamRefusal, call: ImageCall, upstream: Upstream, now: number): TryFailure {
  const { status, json } = refusal;
  const code = asString(at(json, 'error', 'code')) ?? '';
  const isModeration =
    MODERATION.test(code) ||
    (code === '' && at(json, 'error', 'type') === 'image_generation_user_error') ||
    (status === 403 && namesModeration(refusal));
  if (isModeration && (blamesCaller(refusal) || status === 403)) {
    const reason = reasonOf(json, call, upstream);
    const message = "The request was rejected by the model's safety system.";
    return callerFailure(new GatewayError('moderation_blocked', message, { reason }));
  }
  if (NO_ACCOUNT.test(code)) return accountFailure();
  if (NO_MODEL.test(code)) return modelFailure(false);
  if (blamesCaller(refusal)) return callerFailure(callerFault(refusal, call, upstream));
  return statusFailure(refusal, now, afterLostAnswer(call, upstream));
}

/** Only an upstream that knows the request again is asked again where the image may have been made. */
export function afterLostAnswer(call: ImageCall, upstream: Upstream): AfterLostAnswer {
  return upstream.idempotent && call.idempotencyKey !== undefined ? 'here' : 'nowhere';
}

function callerFault({ json }: UpstreamRefusal, call: ImageCall, upstream: Upstream): GatewayError {
  const theirs = at(json, 'error', 'code');
  const code = SHARED_CODES.find((one) => one === theirs) ?? 'invalid_value';
  const named = asString(at(json, 'error', 'param'))?.replace(/\[\]?.*$/, '');
  const param = named !== undefined && PARAMS.has(named) ? named : undefined;
  return new GatewayError(code, 'The model refused the request.', { param, reason: reasonOf(json, call, upstream) });
}

function reasonOf(json: unknown, { model }: ImageCall, upstream: Upstream): string | undefined {
  const words = asString(at(json, 'error', 'message'));
  return words === undefined ? undefined : withoutNames(words, { ...upstream, publicModel: model });
}
