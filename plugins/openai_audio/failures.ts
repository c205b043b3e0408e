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
  type TryFailure,
  type UpstreamNames,
  type UpstreamRefusal,
  withoutNames,
} from 'mediagate';

const MODERATION = /^(?:moderation_blocked|content_policy_violation|content_?filter|safety_violation)$/i;
const NO_ACCOUNT = /^(?:insufficient_quota|billing_hard_limit_reached|account_deactivated)$/;
const NO_MODEL = /^(?:model_not_found|invalid_model|model_not_available)$/;
/** A caller's faults that have a name of their own here too. */
const SHARED_CODES: readonly ErrorCode[] = ['unsupported_value', 'unsupported_parameter'];
const PARAMS = new Set([
  'file',
  'language',
  'prompt',
  'temperature',
  'timestamp_granularities',
  'input',
  'voice',
  'speed',
  'instructions',
]);

/** What a refusal means. It says nothing of the upstream's body but, for a caller's fault, its message without names. */
export function refusalFailure(refusal: UpstreamRefusal, names: UpstreamNames, now: number): TryFailure {
  const { status, json } = refusal;
  const code = asString(at(json, 'error', 'code')) ?? '';
  const isModeration = MODERATION.test(code) || (status === 403 && namesModeration(refusal));
  if (isModeration && (blamesCaller(refusal) || status === 403)) {
    const message = "The request was rejected by the model's safety system.";
    return callerFailure(new GatewayError('moderation_blocked', message, { reason: reasonOf(json, names) }));
  }
  if (NO_ACCOUNT.test(code)) return accountFailure();
  if (NO_MODEL.test(code)) return modelFailure(false);
  if (blamesCaller(refusal)) return callerFailure(callerFault(refusal, names));
  // What comes back after a reset or a proxy's time-out was perhaps heard or spoken, and paid for.
  return statusFailure(refusal, now, 'nowhere');
}

/** Whether all that is refused is a transcript with times, which some models do not give. */
export function refusesTimes({ status, json }: UpstreamRefusal): boolean {
  if (status !== 400 && status !== 422) return false;
  const said = asString(at(json, 'error', 'message')) ?? '';
  return at(json, 'error', 'param') === 'response_format' || /\b(?:response_format|verbose_json)\b/.test(said);
}

function callerFault({ status, json }: UpstreamRefusal, names: UpstreamNames): GatewayError {
  const reason = reasonOf(json, names);
  if (status === 413) return new GatewayError('request_too_large', 'The sound is too large for the model.', { reason });
  const theirs = at(json, 'error', 'code');
  const code = SHARED_CODES.find((one) => one === theirs) ?? 'invalid_value';
  const named = asString(at(json, 'error', 'param'))?.replace(/\[\]?.*$/, '');
  const param = named !== undefined && PARAMS.has(named) ? named : undefined;
  return new GatewayError(code, 'The model refused the request.', { param, reason });
}

function reasonOf(json: unknown, names: UpstreamNames): string | undefined {
  const words = asString(at(json, 'error', 'message'));
  return words === undefined ? undefined : withoutNames(words, names);
}
