/*
 * What the plugins of text models share: one request to a server, which resolves when an answer has begun, and the
 * choice of upstreams that have a model. An HTML page, an empty body, an error with status 200 and silence count as
 * failed tries, so another upstream can answer before the client has received anything. All tries of a model share one
 * time budget (`budgetMs`); a fallback model has its own. While another upstream or a fallback is left, a try also ends
 * after 30 seconds without a byte of its answer, after 120 for high reasoning efforts, and without a stream after half
 * of the budget; a setting replaces these limits. The last upstream has no such limit: a stream is passed on
 * `firstBytesMs` after its status, with or without bytes. An answer may have 256 MiB; nothing of it is stored here.
 */

import {
  type Clock,
  type HttpClient,
  type HttpRequest,
  type HttpStream,
  type ModelUpstream,
  type Static,
  type TextCall,
  type TextRoute,
  Type,
} from '../contracts/index.js';
import { ArrivedBody, at, GatewayError, isGatewayError } from '../runtime/index.js';
import { type AnswerStart, EVENTS_TYPE, refusalOf, startAnswer, startOfArrived } from './answer-start.js';
import { TryFailure } from './fail-over.js';
import {
  readRefusal,
  readUpstreamRequestId,
  type UpstreamNames,
  type UpstreamRefusal,
  upstreamWords,
} from './failures.js';

/** Maximum bytes of one answer, pictures in it included; nothing of it is stored. */
const MAX_ANSWER_BYTES = 256 * 1024 * 1024;

/** A request to a text model. */
export interface TextUpstreamRequest
  extends Pick<HttpRequest, 'url' | 'method' | 'headers' | 'body' | 'signal' | 'idleMs'> {
  /** Milliseconds until the status must be here. */
  timeoutMs: number;
  /** Milliseconds to wait for the beginning of the answer; the reader receives what comes later. Default: no limit. */
  firstBytesMs?: number;
  /**
   * Milliseconds of silence while another upstream is left: without a byte of the body by then, also before the
   * status, the try fails. Default: another one is not tried.
   */
  silenceMs?: number;
  /** Format of the answer, whose beginning is read for errors. Default: any bytes are an answer. */
  route?: TextRoute;
  /** Removed from the upstream's words about an error in its answer. Default: its words are not shown. */
  names?: UpstreamNames;
  /** Whether a stream may have no events. Default false. */
  mayHaveNone?: boolean;
}

/**
 * Sends a request to a text model. Resolves when it is clear that there is an answer, or `firstBytesMs` have passed. The
 * content type is that of the bytes, if they say so.
 * @throws what `refuse` makes of a status that is no success, and of an error in place of an answer; TryFailure for an
 *   HTML page, an empty body and silence; the error of the HTTP client.
 */
export async function askTextUpstream(
  { http, clock }: { http: HttpClient; clock: Clock },
  { firstBytesMs, silenceMs, route, names, mayHaveNone, ...request }: TextUpstreamRequest,
  refuse: (refusal: UpstreamRefusal) => TryFailure,
): Promise<Pick<HttpStream, 'status' | 'headers' | 'body'>> {
  const sentAt = silenceMs === undefined ? 0 : clock.monotonic();
  const timeoutMs = silenceMs === undefined ? request.timeoutMs : Math.min(request.timeoutMs, silenceMs);
  let response: HttpStream;
  try {
    response = await http.stream({ ...request, timeoutMs, maxBytes: MAX_ANSWER_BYTES });
  } catch (error) {
    const isSilent = silenceMs !== undefined && isGatewayError(error) && error.code === 'upstream_timeout';
    throw isSilent && !request.signal?.aborted ? silent() : error;
  }
  const { status, headers } = response;
  if (status < 200 || status > 299) throw withRequestId(refuse(await readRefusal(response, clock)), headers);
  if (headers['content-type']?.startsWith('text/html')) throw await htmlPage(response);
  const left = silenceMs === undefined ? undefined : Math.max(1, silenceMs - (clock.monotonic() - sentAt));
  const start = { clock, firstBytesMs, silenceMs: left, route, names, mayHaveNone };
  try {
    const begun = begunAnswer(response, start, refuse);
    const answer = begun instanceof Promise ? await begun : begun;
    return { status, headers: answer.headers, body: answer.body };
  } catch (error) {
    throw error instanceof TryFailure ? withRequestId(error, headers) : error;
  }
}

function withRequestId(failure: TryFailure, headers: HttpStream['headers']): TryFailure {
  const upstreamRequestId = readUpstreamRequestId(headers);
  if (upstreamRequestId === undefined) return failure;
  // The caller may tell failures apart by their class.
  const Failure = failure.constructor as typeof TryFailure;
  return new Failure(failure.error.with({ upstreamRequestId }), failure.consequence, failure.quotas);
}

/** What a proxy, or a wrong address, answers with. */
async function htmlPage({ body }: HttpStream): Promise<TryFailure> {
  await body[Symbol.asyncIterator]().return?.();
  const error = new GatewayError('upstream_changed', 'The upstream answered with an HTML page.');
  return new TryFailure(error, { again: 'elsewhere', counts: true });
}

type BegunAnswer = Pick<HttpStream, 'headers' | 'body'>;

/**
 * Waits only for an answer that has not arrived yet.
 * @returns The body, what was read of it included. @throws TryFailure for anything but an answer.
 */
function begunAnswer(
  { headers, body }: HttpStream,
  options: StartOptions,
  refuse: (refusal: UpstreamRefusal) => TryFailure,
): BegunAnswer | Promise<BegunAnswer> {
  const { clock, firstBytesMs, silenceMs, route } = options;
  if (body instanceof ArrivedBody) return checkStart(headers, startOfArrived(body, route), options, refuse);
  const starting = startAnswer(body, { clock, route, limitMs: silenceMs ?? firstBytesMs });
  return starting.then((start) => checkStart(headers, start, options, refuse));
}

function checkStart(
  headers: HttpStream['headers'],
  start: AnswerStart,
  options: StartOptions,
  refuse: (refusal: UpstreamRefusal) => TryFailure,
): BegunAnswer | Promise<BegunAnswer> {
  const { state, type } = start;
  const { silenceMs, mayHaveNone = false } = options;
  const isNone = state === 'empty' && mayHaveNone && headers['content-type']?.startsWith(EVENTS_TYPE);
  if (state === 'answer' || state === 'open' || isNone || (state === 'silent' && silenceMs === undefined)) {
    const isNamed = type === undefined || headers['content-type']?.startsWith(type);
    return { headers: isNamed ? headers : { ...headers, 'content-type': type }, body: start.body };
  }
  return refuseStart(headers, { state, body: start.body }, options, refuse);
}

/** @throws TryFailure always. */
async function refuseStart(
  headers: HttpStream['headers'],
  { state, body }: Pick<AnswerStart, 'body'> & { state: Exclude<AnswerStart['state'], 'answer' | 'open'> },
  { names }: StartOptions,
  refuse: (refusal: UpstreamRefusal) => TryFailure,
): Promise<never> {
  await body.return?.();
  if (state === 'silent') throw silent();
  if (state === 'empty') throw passedOver('upstream_error', 'The upstream answered with an empty body.');
  if (state === 'unreadable') throw passedOver('upstream_error', 'The model did not answer with JSON.');
  const refusal = refusalOf(state.error);
  const failure = refuse({ headers, ...refusal });
  const { code, message, retryAfterSeconds } = failure.error;
  if (code !== 'upstream_error' || !STATUS_WORDS.test(message)) throw failure;
  const words = names && upstreamWords({ status: 0, headers, json: refusal.json }, names);
  const upstream = words && { ...words, status: undefined };
  const error = new GatewayError(code, 'The model answered with an error.', { retryAfterSeconds, upstream });
  throw new TryFailure(error, failure.consequence, failure.quotas);
}

/** Words about a status that the upstream did not send. */
const STATUS_WORDS = /with status \d+/;

interface StartOptions
  extends Pick<TextUpstreamRequest, 'firstBytesMs' | 'silenceMs' | 'route' | 'names' | 'mayHaveNone'> {
  clock: Clock;
}

/** The same upstream is not asked again: its silence has taken long enough. */
function silent(): TryFailure {
  const error = new GatewayError('upstream_timeout', 'The upstream sent nothing in time.');
  return new TryFailure(error, { again: 'elsewhere', counts: true });
}

function passedOver(code: 'upstream_error', message: string): TryFailure {
  return new TryFailure(new GatewayError(code, message), { again: 'anywhere', counts: true });
}

/** Efforts that think long before the first word. */
const LONG_EFFORTS: ReadonlySet<unknown> = new Set(['high', 'xhigh', 'max']);

/**
 * Milliseconds that an upstream may be silent before its answer begins, while another one is left.
 * @param seconds As configured.
 */
export function silenceLimit(
  { parsed, stream }: Pick<TextCall, 'parsed' | 'stream'>,
  { seconds, budgetMs }: { seconds: number | undefined; budgetMs: number },
): number {
  if (seconds !== undefined) return seconds * 1_000;
  if (!stream) return budgetMs / 2;
  const efforts = [parsed.reasoning_effort, at(parsed, 'reasoning', 'effort'), at(parsed, 'output_config', 'effort')];
  return efforts.some((effort) => LONG_EFFORTS.has(effort)) ? 120_000 : 30_000;
}

/** An upstream in the list of a model's upstreams. */
export const ModelUpstreamSchema = Type.Object(
  {
    name: Type.String({ minLength: 1, description: '`name` of one of the upstreams.' }),
    model: Type.Optional(
      Type.String({ minLength: 1, description: 'Name of the model at this upstream. Default: as without the list.' }),
    ),
    weight: Type.Optional(
      Type.Number({
        minimum: 0,
        maximum: 1_000,
        description:
          'Share of the requests of this model. Default: the `weight` of the upstream, if another one of the list has a weight.',
      }),
    ),
  },
  { additionalProperties: false },
);

/** Which upstreams have a model, in the options of a text provider. Spread them. */
export const ModelUpstreamFields = {
  upstream: Type.Optional(
    Type.String({ minLength: 1, description: '`name` of the one upstream that has the model. Default: all have it.' }),
  ),
  upstreams: Type.Optional(
    Type.Array(ModelUpstreamSchema, {
      minItems: 1,
      description:
        'Upstreams that have the model, in place of `upstream`: the first one that works answers or, if one has a `weight`, they share the requests.',
    }),
  ),
};

export interface ChosenUpstreams<Upstream> {
  upstreams: readonly Upstream[];
  /** Whether the first one that works gets all requests. Default: they are shared by weight. */
  isOrdered: boolean;
}

/** The weights of a model's upstreams: those of its options, until others replace them. */
export class UpstreamWeights<Upstream extends { member: string; weight: number }> {
  readonly #isOrdered: boolean;
  #changed: Readonly<Record<string, number>> | undefined;

  constructor({ isOrdered }: Pick<ChosenUpstreams<Upstream>, 'isOrdered'>) {
    this.#isOrdered = isOrdered;
  }

  /** Undefined of all upstreams while the first one that works gets all requests. */
  readonly of = ({ member, weight }: Upstream): number | undefined => {
    if (this.#changed) return this.#changed[member] ?? weight;
    return this.#isOrdered ? undefined : weight;
  };

  /** @param changed By name in the log. Default: those of the options. */
  change(changed?: Readonly<Record<string, number>>): void {
    this.#changed = changed;
  }

  /** An upstream for the `upstreams` of a model. */
  describe(upstream: Upstream & { url: string; model: string }): ModelUpstream {
    const weightOf = () => this.of(upstream);
    const { member: name, url, model } = upstream;
    return {
      name,
      url,
      model,
      get weight() {
        return weightOf();
      },
    };
  }
}

interface ConfiguredUpstream {
  /** `name` of the upstream in the options. */
  name?: string | undefined;
  model?: string | undefined;
  weight: number;
}

/**
 * The upstreams of a model, with its name and weight at each.
 * @param at Path of the model, for errors.
 * @throws Error naming the field, if the model names an upstream that is not there.
 */
export function chooseUpstreams<Upstream extends ConfiguredUpstream>(
  model: { id: string; model?: string; upstream?: string; upstreams?: readonly Static<typeof ModelUpstreamSchema>[] },
  { at, all }: { at: string; all: readonly Upstream[] },
): ChosenUpstreams<Upstream & { model: string }> {
  const { id, upstream, upstreams } = model;
  if (upstream !== undefined && upstreams) throw new Error(`${at} has "upstream" beside "upstreams"`);
  const choice = upstream === undefined ? upstreams : [{ name: upstream }];
  const named = (one: Upstream, by: { model?: string; weight?: number } = {}) => {
    const { model: name = one.model ?? model.model ?? id, weight = one.weight } = by;
    return { ...one, model: name, weight };
  };
  if (!choice) return { upstreams: all.map((one) => named(one)), isOrdered: false };
  const twice = choice.findIndex(({ name }, index) => choice.findIndex((other) => other.name === name) !== index);
  if (twice >= 0) throw new Error(`${at}.upstreams.${twice} is listed already`);
  const chosen = choice.map((by, index) => {
    const found = all.find(({ name }) => name === by.name);
    if (!found) throw new Error(`${at}: no upstream has the "name" that upstream ${index + 1} of the model says`);
    return named(found, by);
  });
  return { upstreams: chosen, isOrdered: choice.every(({ weight }) => weight === undefined) };
}
