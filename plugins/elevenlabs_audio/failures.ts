import {
  accountFailure,
  asString,
  at,
  blamesCaller,
  callerFailure,
  GatewayError,
  modelFailure,
  namesModeration,
  statusFailure,
  type TryFailure,
  type UpstreamNames,
  type UpstreamRefusal,
  withoutNames,
} from 'mediagate';

/** What the vendor says of a refusal, in whichever of its forms. */
interface Detail {
  /** In lower case; empty where it names none. */
  code: string;
  message?: string;
  /** The vendor's name of the member. */
  param?: string;
}

const MODERATION = /moderation|content_policy|against_policy|terms_of_service|blocked_generation/;
const NO_MODEL = /^(?:model_|invalid_model)/;
const NO_VOICE = /^(?:voice_not_found|invalid_voice_id|voice_does_not_exist)$/;
const TOO_LONG = /^(?:max_character_limit_exceeded|text_too_long)$/;
/** The vendor's members by what the caller calls them; of others the caller knows nothing. */
const PARAMS: Readonly<Record<string, string>> = {
  voice_id: 'voice',
  speed: 'speed',
  audio: 'file',
  voice_settings: 'voice_settings',
  seed: 'seed',
  remove_background_noise: 'remove_background_noise',
  duration_seconds: 'duration_seconds',
  prompt_influence: 'prompt_influence',
  loop: 'loop',
  output_format: 'response_format',
};

/** What a refusal means. It says nothing of the vendor's body but, for a caller's fault, its message without names. */
export function refusalFailure(
  refusal: UpstreamRefusal,
  { names, textParam, now }: { names: UpstreamNames; textParam: string; now: number },
): TryFailure {
  const { status } = refusal;
  const detail = readDetail(refusal.json);
  const { code, message } = detail;
  const reason = message === undefined ? undefined : withoutNames(message, names);
  // Accounts that are used up answer 401 as well.
  if (status === 401 || status === 402) return accountFailure();
  if (MODERATION.test(code) || (status === 403 && namesModeration(refusal))) {
    const words = "The request was rejected by the model's safety system.";
    return callerFailure(new GatewayError('moderation_blocked', words, { reason }));
  }
  if (NO_VOICE.test(code)) return refused('The model does not know this voice.', 'voice', reason);
  if (TOO_LONG.test(code)) return refused('The text is too long for the model.', textParam, reason);
  if (NO_MODEL.test(code) || detail.param === 'model_id') return modelFailure(false);
  if (blamesCaller(refusal)) {
    const param = detail.param === 'text' ? textParam : PARAMS[detail.param ?? ''];
    return refused('The model refused the request.', param, reason);
  }
  // What comes back after a reset or a proxy's time-out was perhaps made, and paid for.
  return statusFailure(refusal, now, 'nowhere');
}

function refused(message: string, param: string | undefined, reason: string | undefined): TryFailure {
  return callerFailure(new GatewayError('invalid_value', message, { param, reason }));
}

/** One object with a `code`, or the older `status`, or the list of a schema check. */
function readDetail(json: unknown): Detail {
  const detail = at(json, 'detail');
  if (Array.isArray(detail)) {
    const messages = detail.flatMap((issue) => asString(at(issue, 'msg')) ?? []);
    const place = at(detail[0], 'loc');
    const param = Array.isArray(place) ? asString(place.at(-1)) : undefined;
    return { code: '', ...(messages.length > 0 && { message: messages.join('; ') }), ...(param && { param }) };
  }
  const message = asString(at(detail, 'message')) ?? asString(detail);
  const code = asString(at(detail, 'code')) ?? asString(at(detail, 'status')) ?? '';
  const param = asString(at(detail, 'param'));
  return { code: code.toLowerCase(), ...(message && { message }), ...(param && { param }) };
}
