/*
 * What the plugins of model vendors share. `createUpstreams` calls one of several upstreams with fail-over and writes a
 * log line for each failed try. `askUpstream` sends one request for an image or for audio and turns any status but 200
 * into a failure; text models accept every 2xx status. `openaiFailure` and `textFailure` say what a refusal in the
 * OpenAI format means: a fault of the caller, of our account, of the model name or of the upstream, and whether another
 * upstream may try. Words of an upstream reach a client only for its own faults, without keys, addresses and internal
 * model names.
 */

import {
  type Clock,
  type HttpClient,
  type HttpRequest,
  type HttpStream,
  type Logger,
  Type,
  type UpstreamState,
  type Usage,
} from '../contracts/index.js';
import { asNumber, asString, at, type ErrorCode, GatewayError } from '../runtime/index.js';
import { createFailOver, type FailOverCall, type FailOverOptions, TryFailure } from './fail-over.js';
import {
  type AfterLostAnswer,
  accountFailure,
  blamesCaller,
  callerFailure,
  modelFailure,
  namesModeration,
  readRefusal,
  sanitizedWords,
  statusFailure,
  textStatusFailure,
  tryUpstream,
  type UpstreamNames,
  type UpstreamRefusal,
  upstreamWords,
  withoutNames,
} from './failures.js';

export interface UpstreamsOptions<Upstream> extends FailOverOptions<Upstream> {
  logger: Logger;
  /** Milliseconds for all tries of a call, and the delays between them. */
  budgetMs: number;
  /** Maximum delay before one of the tries, in milliseconds. Default: the remaining time. */
  longestWaitMs?: number;
  /** Names in log lines and states. Default: `upstreams.0` and so on. */
  names?: readonly string[];
}

export interface UpstreamCall<Upstream, Result>
  extends Pick<FailOverCall<Upstream, Result>, 'signal' | 'tokens' | 'suits'> {
  /** Public name. */
  model: string;
  /** What may be tried if it is unknown whether the work was done. */
  lost: AfterLostAnswer | ((upstream: Upstream) => AfterLostAnswer);
  /** One try, within the remaining milliseconds. `hasOther` as in {@link FailOverCall.work}. */
  ask(upstream: Upstream, remainingMs: number, hasOther: boolean): Promise<Result>;
}

/** The upstreams of a model. */
export interface Upstreams<Upstream> {
  /** @throws GatewayError as {@link FailOver.run}, which it is with a log line for each failed try. */
  run<Result>(call: UpstreamCall<Upstream, Result>): Promise<Result>;
  states(): UpstreamState[];
}

/** Makes calls to one of several upstreams of a model, with fail-over and log lines. */
export function createUpstreams<Upstream>(options: UpstreamsOptions<Upstream>): Upstreams<Upstream> {
  const { upstreams, clock, logger, budgetMs, longestWaitMs, names } = options;
  const failOver = createFailOver(options);
  return {
    states: () => failOver.states().map((state, index) => ({ ...state, name: names?.[index] ?? state.name })),
    run: ({ model, signal, tokens, suits, lost, ask }) =>
      failOver.run({
        budgetMs,
        longestWaitMs,
        model,
        signal,
        tokens,
        suits,
        work(upstream, remainingMs, hasOther) {
          const index = upstreams.indexOf(upstream);
          const member = names?.[index] ?? `upstreams.${index}`;
          const again = typeof lost === 'function' ? lost(upstream) : lost;
          return tryUpstream({ logger, clock, model, member, signal, lost: again }, () =>
            ask(upstream, remainingMs, hasOther),
          );
        },
      }),
  };
}

/** One state for each upstream, over all models: it is in cool-down if it is for one of them. */
export function sumUpstreamStates(states: readonly UpstreamState[]): UpstreamState[] {
  const sums = new Map<string, UpstreamState>();
  for (const { name, isCoolingDown, tries, failures } of states) {
    const sum = sums.get(name);
    sums.set(name, {
      name,
      isCoolingDown: isCoolingDown || sum?.isCoolingDown === true,
      tries: tries + (sum?.tries ?? 0),
      failures: failures + (sum?.failures ?? 0),
    });
  }
  return [...sums.values()];
}

/** Base address of an upstream in the options of a vendor. */
export const UpstreamUrlSchema = Type.String({
  pattern: '^https?://[^/?#@\\s]+[^?#@\\s]*$',
  title: 'an http or https address, such as https://api.example.com/v1',
  description: 'Base address of the API, with its version, such as https://api.example.com/v1.',
});

/** API key in the options of a vendor: text that a header can carry. */
export const UpstreamKeySchema = Type.String({
  pattern: '^[ -~]*$',
  title: 'a key of printable ASCII characters',
  description: 'Key of the API.',
});

/** Optional API key in the options of a vendor, sent as a bearer token. */
export const BearerKeySchema = Type.Optional(
  Type.String({
    ...UpstreamKeySchema,
    minLength: 1,
    description: 'API key, sent as a bearer token. Default: none is sent.',
  }),
);

/** Cool-down of upstreams in the options of a vendor, for `createUpstreams`. */
export const RestMsSchema = Type.Integer({
  minimum: 1,
  maximum: 600_000,
  default: 10_000,
  description: 'Milliseconds of the first cool-down of an upstream that keeps failing.',
});

/** Times that the options of text providers share. Spread them. */
export const TextTimeFields = {
  budgetMs: Type.Integer({
    minimum: 1_000,
    maximum: 600_000,
    default: 590_000,
    description: 'Milliseconds until an answer begins, over all tries; less than the `timeoutMs` of the entry.',
  }),
  idleMs: Type.Integer({
    minimum: 1,
    maximum: 3_600_000,
    default: 300_000,
    description: 'Most milliseconds that an upstream may be silent in the middle of an answer.',
  }),
  restMs: RestMsSchema,
};

/** The header of a key; none without one. */
export function bearerToken(apiKey: string | undefined): Readonly<Record<string, string>> {
  return apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` };
}

export interface UpstreamRequest extends Omit<HttpRequest, 'url' | 'method'> {
  /** Base address, with or without a slash at its end. */
  url: string;
  /** Path after the base address, with its query. */
  path: string;
  /** Remaining milliseconds. */
  timeoutMs: number;
}

/**
 * Sends a POST request, with the gateway's own `User-Agent` unless `headers` have one.
 * @returns The answer, if its status is 200.
 * @throws what `refuse` makes of any other status; the error of the HTTP client.
 */
export async function askUpstream(
  { http, clock }: { http: HttpClient; clock: Clock },
  { url, path, timeoutMs, headers, ...request }: UpstreamRequest,
  refuse: (refusal: UpstreamRefusal) => TryFailure,
): Promise<HttpStream> {
  const answer = await http.stream({
    ...request,
    headers: { 'user-agent': 'mediagate', ...headers },
    url: url.replace(/\/+$/, '') + path,
    method: 'POST',
    timeoutMs: Math.max(1, timeoutMs),
  });
  if (answer.status === 200) return answer;
  throw refuse(await readRefusal(answer, clock));
}

/**
 * A body whose first chunk is awaited or read already. It is no generator: one that waits for a chunk would not notice
 * that its reader has stopped, and one that was never started would not end its source.
 */
export function resumeBody(
  first: IteratorResult<Uint8Array> | Promise<IteratorResult<Uint8Array>>,
  rest: AsyncIterator<Uint8Array>,
): AsyncIterableIterator<Uint8Array> {
  let ready: Promise<IteratorResult<Uint8Array>> | undefined = Promise.resolve(first);
  const body: AsyncIterableIterator<Uint8Array> = {
    [Symbol.asyncIterator]: () => body,
    next() {
      const next = ready ?? rest.next();
      ready = undefined;
      return next;
    },
    async return() {
      ready = undefined;
      await rest.return?.();
      return { done: true, value: undefined };
    },
  };
  return body;
}

/** Codes and types of an upstream that does not serve us any more. */
const UNSERVED = /^(?:insufficient_quota|billing_\w+|\w+_deactivated|usage_limit_reached|access_terminated)$/;
const UNKNOWN_MODEL = /^(?:model_not_found|invalid_model|model_not_available|unknown_model)$/;
const MODERATED = /^(?:moderation_blocked|(?:image_)?content_policy_violation|content_?filter|safety_violation)$/i;
/** The vendor's type of an image that its safety system rejects without a code. */
const MODERATED_TYPE = 'image_generation_user_error';

/** A refusal in the OpenAI format. */
export interface OpenaiError {
  /** Empty without one. */
  code: string;
  param?: string;
  message?: string;
  /**
   * What it is about: our account, a model that the upstream does not have, the upstream's safety system, another fault
   * of the request, or the upstream itself.
   */
  about: 'account' | 'model' | 'moderation' | 'request' | 'upstream';
}

/** The error in a refusal of the OpenAI format, and what it is about. */
export function openaiError(refusal: UpstreamRefusal): OpenaiError {
  const { status, json } = refusal;
  const text = (name: string) => asString(at(json, 'error', name));
  const [code = '', type = '', param, message] = [text('code'), text('type'), text('param'), text('message')];
  const isModerated =
    MODERATED.test(code) || (code === '' && type === MODERATED_TYPE) || (status === 403 && namesModeration(refusal));
  const isRequest = blamesCaller(refusal);
  let about: OpenaiError['about'] = isRequest ? 'request' : 'upstream';
  if (UNSERVED.test(code) || UNSERVED.test(type)) about = 'account';
  else if (UNKNOWN_MODEL.test(code)) about = 'model';
  else if (isModerated && (isRequest || status === 403)) about = 'moderation';
  return { code, ...(param !== undefined && { param }), ...(message !== undefined && { message }), about };
}

export interface OpenaiFailureRules {
  names: UpstreamNames;
  /** Milliseconds since 1970. */
  now: number;
  lost: AfterLostAnswer;
  /** Codes of a caller's fault that keep their name; others are `invalid_value`. */
  codes: readonly ErrorCode[];
  /** Fields that the caller knows. */
  params: ReadonlySet<string>;
}

/** The meaning of a refusal. The upstream's message is the reason of a caller's fault, without names; nothing else is. */
export function openaiFailure(refusal: UpstreamRefusal, rules: OpenaiFailureRules): TryFailure {
  const { about, code, param: field, message } = openaiError(refusal);
  const { names, now, lost, codes, params } = rules;
  const reason = message === undefined ? undefined : withoutNames(message, names);
  if (about === 'account') return accountFailure();
  if (about === 'model') return modelFailure(false);
  if (about === 'moderation') return moderationFailure(reason);
  if (about === 'upstream') return statusFailure(refusal, now, lost);
  const known = field?.replace(/\[\]?.*$/, '');
  const param = known !== undefined && params.has(known) ? known : undefined;
  const ours = codes.find((one) => one === code) ?? 'invalid_value';
  return callerFailure(new GatewayError(ours, 'The model refused the request.', { param, reason }));
}

const USAGE_FIELDS: readonly (readonly [name: keyof Usage, ...path: string[]])[] = [
  ['inputTokens', 'input_tokens'],
  ['outputTokens', 'output_tokens'],
  ['totalTokens', 'total_tokens'],
  ['cachedTokens', 'input_tokens_details', 'cached_tokens'],
  ['inputTextTokens', 'input_tokens_details', 'text_tokens'],
  ['inputImageTokens', 'input_tokens_details', 'image_tokens'],
  // Of transcriptions, which have another name for it.
  ['inputTextTokens', 'input_token_details', 'text_tokens'],
  ['inputAudioTokens', 'input_token_details', 'audio_tokens'],
  ['outputTextTokens', 'output_tokens_details', 'text_tokens'],
  ['outputImageTokens', 'output_tokens_details', 'image_tokens'],
  ['seconds', 'seconds'],
];

/** The usage of an image or a transcript in the OpenAI format; undefined without any possible count. */
export function openaiUsage(json: unknown): Usage | undefined {
  const found = USAGE_FIELDS.flatMap(([name, ...path]) => {
    const value = asNumber(at(json, 'usage', ...path));
    const isPossible = name === 'seconds' ? Number.isFinite(value) : Number.isSafeInteger(value);
    return isPossible && Number(value) >= 0 ? [[name, value]] : [];
  });
  return found.length > 0 ? Object.fromEntries(found) : undefined;
}

/** The upstream's safety system rejects the request. */
export function moderationFailure(reason: string | undefined): TryFailure {
  const message = "The request was rejected by the model's safety system.";
  return callerFailure(new GatewayError('moderation_blocked', message, { reason }));
}

/** Not all who have a limit have a code for it. */
const TOO_LONG = /maximum context length|context (?:length|window|size)\b|prompt is too long/i;
/** How vendors say that an id is not known, with or without the field that named it. */
const NOT_FOUND = /\bwith id\b.*\bnot found\b/i;
/** Thoughts of a model that its client keeps can be read by the account alone in which they were thought. */
const NOT_OURS = 'invalid_encrypted_content';
/** Statuses of a server that has the format but not this path. */
const NO_SUCH_TASK = new Set([404, 405, 501]);
const PARAM = /^[\w.[\]-]{1,100}$/;
/** Refusals that keep the upstream's code besides its message, since clients act on it. */
const WORDED_STATUSES: ReadonlySet<number> = new Set([413, 422]);
const WORDED_CODES: ReadonlySet<string> = new Set([NOT_OURS, 'content_policy_violation']);

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

/** The meaning of the refusal of a text upstream. A client's fault keeps the words of the upstream, without its names. */
export function textFailure(refusal: UpstreamRefusal, upstream: UpstreamNames, now: number): TryFailure {
  const error = openaiError(refusal);
  if (error.about === 'account') return accountFailure();
  if (error.about === 'model') return modelFailure(false);
  if (error.about !== 'upstream' || (refusal.status === 404 && namesThingsOfTheCaller(error))) {
    const fault = callerFault(refusal, error, upstream);
    return error.code === NOT_OURS
      ? new TryFailure(fault, { again: 'elsewhere', counts: false })
      : callerFailure(fault);
  }
  const failure = textStatusFailure(refusal, now, upstream);
  if (refusal.headers['x-should-retry'] !== 'false' || failure.consequence.again !== 'anywhere') return failure;
  return new TryFailure(failure.error, { ...failure.consequence, again: 'elsewhere' }, failure.quotas);
}

/** The refusal of a task that not every upstream has: if its path is missing, the model does not support it. */
export function taskFailure(refusal: UpstreamRefusal, upstream: UpstreamNames, now: number): TryFailure {
  const failure = textFailure(refusal, upstream, now);
  if (!lacksRoute(refusal, failure)) return failure;
  return new TryFailure(noSuchTask(), { again: 'elsewhere', counts: false });
}

/** The error of a task that no upstream of a model has. */
export function noSuchTask(): GatewayError {
  return new GatewayError('model_not_supported', 'The upstream of the model does not support this.', {
    param: 'model',
  });
}

/** Whether the upstream has no such path: neither the model nor something that the request names is missing. */
export function lacksRoute(refusal: UpstreamRefusal, { consequence }: TryFailure): boolean {
  return NO_SUCH_TASK.has(refusal.status) && consequence.again !== 'nowhere' && openaiError(refusal).about !== 'model';
}

/** An earlier response, an item, a conversation: what the request names is not there, while model and address are. */
function namesThingsOfTheCaller({ param, message = '' }: OpenaiError): boolean {
  return param === undefined ? NOT_FOUND.test(message) : param !== 'model';
}

function callerFault(refusal: UpstreamRefusal, error: OpenaiError, upstream: UpstreamNames): GatewayError {
  const { status } = refusal;
  const words = error.message;
  const isTooLong = status === 413 || (words !== undefined && TOO_LONG.test(words));
  const isFiltered = status === 403 && namesModeration(refusal);
  const usual = isTooLong ? 'context_length_exceeded' : isFiltered ? 'content_filter' : 'invalid_value';
  const code = CODES.get(error.code) ?? usual;
  const param = error.param !== undefined && PARAM.test(error.param) ? error.param : undefined;
  const keeps = WORDED_STATUSES.has(status) || WORDED_CODES.has(error.code);
  const quoted = keeps ? upstreamWords(refusal, upstream) : undefined;
  const message = quoted?.message ?? (words === undefined ? '' : sanitizedWords(words, upstream));
  return new GatewayError(code, message || 'The model refused the request.', { param, upstream: quoted });
}
