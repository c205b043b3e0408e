/*
 * The contract of text models. The open wire format is the domain: a provider transports bytes unchanged, and the
 * gateway reads usage and the end of a stream from the passing bytes. `send` resolves when an answer has begun, or with
 * no other upstream left soon after its status. A failure until then is an error of `send`: nothing has reached the
 * client, and another upstream can be tried. A later failure is thrown by the body, and ends the answer. A reply names
 * its upstream by a stable name, which later requests of the conversation use. The second half is the store that the
 * embedding program provides: responses by owner, and background responses until their usage is known.
 */

import type { Usage } from './documents.js';
import type { ModelUpstream, UpstreamState } from './services.js';
import { Type } from './typebox.js';

/** Routes on which a model writes text. `messages` is Anthropic's format, the others are OpenAI's. */
export type WritingRoute = 'chat_completions' | 'responses' | 'messages';

/** Routes of the formats. Those besides {@link WritingRoute} only read text: their answers are whole and have no tokens. */
export type TextRoute = WritingRoute | 'embeddings' | 'moderations';

/** What a format does with a request besides answering it: compact it (responses only), or count its tokens. */
export type ResponsesTask = 'compact' | 'input_tokens';

/** Reasoning efforts of the format, weakest first. */
export const REASONING_EFFORTS = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'] as const;

/** Fields that the options of text providers share: of a model, and of an upstream. Spread them. */
export const TextOptionFields = {
  model: {
    id: Type.String({
      pattern: '^[\\w.:/@+-]{1,200}$',
      title: 'a name of letters, digits and _ . : / @ + -',
      description: 'Public name of the model.',
    }),
    model: Type.Optional(
      Type.String({
        minLength: 1,
        description: 'Name of the model at upstreams that state no `model`. Default: the public name.',
      }),
    ),
    fallbacks: Type.Optional(
      Type.Array(Type.String({ minLength: 1 }), {
        minItems: 1,
        maxItems: 5,
        uniqueItems: true,
        description:
          'Models of any provider that answer in place of this one while its upstreams fail, in this order. Default: none.',
      }),
    ),
    outputTokensPerSecond: Type.Optional(
      Type.Number({
        minimum: 0,
        maximum: 1_000_000,
        description:
          'Tokens that the model writes in a second: the least that a request is charged which ends early and whose output is not visible while it is made. Default: 100.',
      }),
    ),
    contextLength: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: 1_000_000_000,
        description: 'Tokens of input and output together, for `GET /v1/models`; not enforced. Default: not known.',
      }),
    ),
  },
  /** Limit of silence, in the options of a model and of the whole provider. */
  silence: {
    firstByteSeconds: Type.Optional(
      Type.Number({
        minimum: 0.01,
        maximum: 3_600,
        description:
          'Most seconds that an upstream may be silent before its answer begins, while another upstream of the model is left. Default: 30 for a stream, 120 with a reasoning effort from `high`; for a whole answer half of `budgetMs`.',
      }),
    ),
  },
  upstream: {
    model: Type.Optional(
      Type.String({ minLength: 1, description: 'Name of all models at this upstream. Default: as each model says.' }),
    ),
    weight: Type.Number({
      minimum: 0,
      maximum: 1_000,
      default: 1,
      description: 'Share of the requests in relation to the other upstreams. 0: only while no other upstream works.',
    }),
  },
} as const;

/**
 * Passes text requests to a model. The open wire format is the domain here: bytes go in and come out unchanged, so
 * nothing an upstream adds is lost in translation. The gateway reads usage and the end of a stream from the passing
 * bytes; a provider only transports them.
 */
export interface TextProvider {
  readonly models: readonly TextModel[];
  /**
   * Tasks that each model supports on the routes `responses` and `messages`, as far as it has them. Default: requests are
   * only answered.
   */
  readonly tasks?: readonly ResponsesTask[];
  /**
   * Resolves when the upstream has answered with a status and the first bytes, so that another upstream may be tried
   * before anything reached the client. The body is then streamed; what it throws ends the stream.
   * @throws GatewayError `upstream_*`, or the caller's error as the upstream names it, before the first byte; never
   *   after. The codes are those of `text` in `core/plugins/plugin-failure.ts`, no others.
   */
  send(call: TextCall): Promise<TextReply>;
  /** Fetches a stored response from its upstream. Default: the model stores none. */
  stored?(call: StoredResponseCall): Promise<TextReply>;
  /**
   * The current state of its upstreams; must be cheap, since monitoring calls it. A fail-over provides it. Default:
   * none.
   */
  upstreams?(): readonly UpstreamState[];
  /**
   * Shares the requests of a model among its upstreams by these weights, by name of the upstream, from the next request
   * on. Without weights, by those of its options. Default: weights cannot be changed while the gateway runs.
   */
  weigh?(model: string, weights?: Readonly<Record<string, number>>): void;
}

export interface TextModel {
  /** Public model id. */
  id: string;
  routes: readonly TextRoute[];
  /** Those of the routes that are answered by another format, translated. Default: none. */
  translated?: readonly TextRoute[];
  /** Reasoning efforts accepted; empty if the model has none, or only reads text. */
  efforts: readonly string[];
  /** Maximum output tokens of an answer. Under a token budget, a request that names no maximum gets it. Default 16,384. */
  maxOutputTokens?: number;
  /**
   * Field of a chat that limits its output, for upstreams that know only one; written under a token budget. Default: the
   * field that the caller sent, otherwise `max_completion_tokens`.
   */
  outputLimitField?: string;
  /**
   * Tokens that the model writes in a second: the least that a request is charged which ends early and whose output is
   * not visible while it is made. Default 100.
   */
  outputTokensPerSecond?: number;
  /**
   * Field of a chat's messages in which the upstream wants the model's thoughts back, in turns with tool calls. Default
   * `reasoning_content`; `none` for upstreams that take no thoughts.
   */
  reasoningField?: 'reasoning_content' | 'reasoning' | 'none';
  /** Tokens of input and output together, for lists of models; not enforced. Default: not known. */
  contextLength?: number;
  /** Ids of models that answer in its place while its upstreams fail, in this order. Default: none. */
  fallbacks?: readonly string[];
  /** The upstreams that have the model. Only for the operator's commands: clients never see them. Default: not known. */
  upstreams?: readonly ModelUpstream[];
}

export interface TextCall {
  route: TextRoute;
  /** One of {@link TextProvider.tasks}, on the routes `responses` and `messages`. Default: the request is answered. */
  task?: ResponsesTask;
  /** Public model id. */
  model: string;
  /** The caller's JSON object to be sent, except for `model`, which is still the public id. See `replaceFields`. */
  body: Uint8Array;
  /** The body, parsed. For a body above 256 KiB or 20,000 values, fields of more than 8 KiB are missing: see `body`. */
  parsed: Readonly<Record<string, unknown>>;
  /** Headers of the caller that belong to the format, names in lower case: `anthropic-version`, `anthropic-beta`. */
  headers?: Readonly<Record<string, string>>;
  stream: boolean;
  /**
   * Which upstream made the earlier response of this conversation: {@link TextReply.upstream} of then. Default: any.
   */
  upstream?: string;
  /** Whether another model answers if this one fails, so that its upstreams may not be silent for long. Default false. */
  hasFallback?: boolean;
  /** An abort closes the upstream request within 100 ms. */
  signal: AbortSignal;
}

export type StoredResponseAction = 'retrieve' | 'delete' | 'cancel' | 'input_items';

export interface StoredResponseCall {
  action: StoredResponseAction;
  /** Public model id. */
  model: string;
  /** Id that the upstream gave it. */
  responseId: string;
  /** {@link TextReply.upstream} of the call that made it. */
  upstream: string;
  /** Query of the caller's request, without `?`. */
  query: string;
  signal: AbortSignal;
}

export interface TextReply {
  /** 200 to 299. Any other answer of an upstream is thrown. */
  status: number;
  /** Headers of the upstream that concern its client, names in lower case; at least `content-type`. */
  headers: Readonly<Record<string, string>>;
  body: AsyncIterable<Uint8Array>;
  /** Which upstream answered, by a name that is stable over restarts and discloses nothing to clients. */
  upstream: string;
  /** The upstream's model name, which the gateway replaces by the public id. */
  upstreamModel: string;
  /**
   * The upstream's own id of this request, for the log and for the client's `x-upstream-request-id`: see
   * `readUpstreamRequestId`. Default: it sent none.
   */
  upstreamRequestId?: string;
  /** Fields of the request that the upstream cannot have and that were left out. Default: none. */
  ignored?: readonly string[];
  /** How often upstreams were asked for it. Default 1. */
  tries?: number;
  /** All headers of the upstream: operators' keys get those about its limits. Default: none. */
  vendorHeaders?: Readonly<Record<string, string>>;
  /**
   * Redacts an upstream's error message inside of its answer, so that callers may read it: without its names, addresses
   * and keys. Default: unchanged.
   */
  plainWords?(words: string): string;
}

/*
 * What the text service needs from the embedder: a store of responses of `/v1/responses`, and of background responses.
 */

/** Which upstream made a response of `/v1/responses`, so that its owner can fetch it. */
export interface StoredResponse {
  /** Id that the upstream gave it. */
  id: string;
  owner: string;
  model: string;
  /** `TextReply.upstream` of the call that made it. */
  upstream: string;
  /** Milliseconds since 1970. Kept 30 days. */
  createdAt: number;
}

/**
 * An output item of a stored response: a message, a call of a tool, a reasoning. A later request may name it by its id
 * alone.
 */
export interface StoredItem {
  /** Id that the upstream gave it. */
  id: string;
  owner: string;
  /** Milliseconds since 1970. Kept 30 days. */
  createdAt: number;
}

/**
 * Every method but `remember`, `rememberItem` and `flushInTime` throws GatewayError `upstream_unavailable` if the database does not
 * answer.
 */
export interface StoredResponses {
  /** Never throws and never waits; written in a batch within 100 ms. `find` of this process sees it at once. */
  remember(response: StoredResponse): void;
  /** Stores the id of an output item; never throws and never waits. Default: such ids are not stored. */
  rememberItem?(item: StoredItem): void;
  /** Resolves when everything pending is durable, or the database has been unavailable for 2.4 s. */
  flushInTime(): Promise<void>;
  /** Undefined if there is none, or it belongs to another owner. */
  find(id: string, owner: string): Promise<StoredResponse | undefined>;
  /** Two upstreams may use the same name for responses of two owners. */
  forget(id: string, owner: string): Promise<void>;
}

/** A response that its upstream continues in the background. Its request was counted by an estimate. */
export interface BackgroundResponse {
  /** Id that the upstream gave it. */
  id: string;
  owner: string;
  /** Public model id. */
  model: string;
  /** `TextReply.upstream` of the call that made it. */
  upstream: string;
  /** Milliseconds since its request was counted. */
  ageMs: number;
  /** Milliseconds until it can be taken again. */
  waitMs: number;
}

/** New information about such a response. */
export interface BackgroundCorrection {
  responseId: string;
  owner: string;
  /** Upstream that made the response: two upstreams may use the same response name. */
  upstream: string;
  /**
   * The total usage. A reported one replaces the estimate; an estimate only ever raises the previous one. Default:
   * unchanged.
   */
  usage?: Usage;
  /** Whether it is final; true if `usage` was reported. */
  final: boolean;
}

export interface PollTimes {
  /** Milliseconds between polls: the first delay, then doubled, and never more than `lastMs`. */
  firstMs: number;
  lastMs: number;
}

/**
 * Background responses until their usage is known. Every method throws GatewayError `upstream_unavailable` if the
 * database does not answer.
 */
export interface BackgroundResponses {
  isOpen(responseId: string, owner: string): Promise<boolean>;
  /** Takes some that are due, the longest due first; no other process receives them before their next time. */
  takeDue(max: number, times: PollTimes): Promise<readonly BackgroundResponse[]>;
  /** Counts it; never throws and never waits. No effect if it was already final, or never existed. */
  correct(correction: BackgroundCorrection): void;
  /** Resolves when everything counted so far is durable, or the database has been unavailable for 2.4 s. */
  flushInTime(): Promise<void>;
}
