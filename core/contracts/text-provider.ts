import type { Usage } from './documents.js';
import type { UpstreamState } from './services.js';

export type TextRoute = 'chat_completions' | 'responses';

/** What the responses format has done with a request besides answering it: made shorter, or its tokens counted. */
export type ResponsesTask = 'compact' | 'input_tokens';

/**
 * Passes text requests to a model. The open wire format is the domain here: bytes go in and come out as they are, so
 * nothing an upstream adds is lost in translation. What the bytes say of usage, and how a stream has to end, the gateway
 * reads for itself while they go by; a provider only sends.
 */
export interface TextProvider {
  readonly models: readonly TextModel[];
  /** Of the responses route, with each model that has it. Default: requests are answered, and nothing else. */
  readonly tasks?: readonly ResponsesTask[];
  /**
   * Resolves when the upstream has answered with a status and its first bytes are here, so that another upstream may be
   * tried before anything reached the client. The body then flows; what it throws ends the stream.
   * @throws GatewayError `upstream_*`, or the caller's fault as the upstream names it, before the first byte; never after. The
   * codes are those of `text` in `core/plugins/plugin-failure.ts`, no others.
   */
  send(call: TextCall): Promise<TextReply>;
  /** Asks for a response that was stored where it was made. Default: the model stores none. */
  stored?(call: StoredResponseCall): Promise<TextReply>;
  /** Whom it asks, as they are now; cheap, since whoever watches asks. A fail-over gives them. Default: nobody. */
  upstreams?(): readonly UpstreamState[];
}

export interface TextModel {
  /** Public model id. */
  id: string;
  routes: readonly TextRoute[];
  /** Reasoning efforts accepted; empty where the model has none. */
  efforts: readonly string[];
}

export interface TextCall {
  route: TextRoute;
  /** One of {@link TextProvider.tasks}, with the responses route. Default: the request is answered. */
  task?: ResponsesTask;
  /** Public model id. */
  model: string;
  /** The caller's JSON object as it is to be sent, but for `model`, which is still the public id. See `replaceMembers`. */
  body: Uint8Array;
  /** The same, parsed. Of a body above 256 KiB or 20,000 values, fields of more than 8 KiB are missing: see `body`. */
  parsed: Readonly<Record<string, unknown>>;
  stream: boolean;
  /** Where an earlier response of this conversation was made: {@link TextReply.upstream} of then. Default: anywhere. */
  upstream?: string;
  /** Aborting closes the upstream request within 100 ms. */
  signal: AbortSignal;
}

export type StoredResponseAction = 'retrieve' | 'delete' | 'cancel' | 'input_items';

export interface StoredResponseCall {
  action: StoredResponseAction;
  /** Public model id. */
  model: string;
  /** As the upstream named it. */
  responseId: string;
  /** {@link TextReply.upstream} of the call that made it. */
  upstream: string;
  /** Query of the caller's request, without `?`. */
  query: string;
  signal: AbortSignal;
}

export interface TextReply {
  /** 200 to 299. Whatever else an upstream says is thrown. */
  status: number;
  /** Those of the upstream that concern its client, names in lower case; `content-type` at least. */
  headers: Readonly<Record<string, string>>;
  body: AsyncIterable<Uint8Array>;
  /** Which upstream answered, by a name that stays the same over restarts and says nothing about it to clients. */
  upstream: string;
  /** What the model is called there: the gateway puts the public id in its place. */
  upstreamModel: string;
  /**
   * Makes what the upstream says of a failure, inside of its answer, such as a caller may read: without its names, addresses
   * and keys. Default: it may be read as it is.
   */
  plainWords?(words: string): string;
}

/*
 * What the text service needs of whoever embeds it: where responses of `/v1/responses` are found again, and those that their
 * upstream makes in the background.
 */

/** Where a response of `/v1/responses` was made, so that it is found again there, by its owner alone. */
export interface StoredResponse {
  /** As the upstream named it. */
  id: string;
  owner: string;
  model: string;
  /** `TextReply.upstream` of the call that made it. */
  upstream: string;
  /** Milliseconds since 1970. Kept 30 days. */
  createdAt: number;
}

/** Every call but `remember` and `flushInTime` throws GatewayError `upstream_unavailable` where the database does not answer. */
export interface StoredResponses {
  /** Never throws and never waits; written with others within 100 ms. `find` of this process sees it at once. */
  remember(response: StoredResponse): void;
  /** Resolves when all that is to be remembered is durable, or the database has been away for 2.4 s. */
  flushInTime(): Promise<void>;
  /** Undefined where there is none, or none of this owner. */
  find(id: string, owner: string): Promise<StoredResponse | undefined>;
  /** Two owners may have one of the same name, of two upstreams. */
  forget(id: string, owner: string): Promise<void>;
}

/** A response that its upstream goes on making, and whose request was counted by an estimate. */
export interface BackgroundResponse {
  /** As the upstream named it. */
  id: string;
  owner: string;
  /** Public model id. */
  model: string;
  /** `TextReply.upstream` of the call that made it. */
  upstream: string;
  /** Milliseconds since its request was counted. */
  ageMs: number;
  /** Milliseconds until it is given to anybody again. */
  waitMs: number;
}

/** What became known of such a response. */
export interface BackgroundCorrection {
  responseId: string;
  owner: string;
  /** As {@link BackgroundResponse.upstream}: each names its responses by itself, and two may use the same name. */
  upstream: string;
  /**
   * What was used in all: as the upstream reports it, it takes the place of the estimate. An estimate only ever raises the
   * one before. Default: it stays as it is counted.
   */
  usage?: Usage;
  /** Whether nothing more will be known of it; so it is where `usage` was reported. */
  final: boolean;
}

export interface LookTimes {
  /** Milliseconds from one look to the next: the first time, twice as many each time, and never more than `lastMs`. */
  firstMs: number;
  lastMs: number;
}

/** Responses in the background until their usage is known. Every call throws GatewayError `upstream_unavailable` where the database does not answer. */
export interface BackgroundResponses {
  isOpen(responseId: string, owner: string): Promise<boolean>;
  /** Some of those whose upstream is to be asked now, the longest due first; nobody else is given them before their next time. */
  takeDue(most: number, times: LookTimes): Promise<readonly BackgroundResponse[]>;
  /** Counts it; never throws and never waits. Where it was corrected for good before, or never was such, nothing changes. */
  correct(correction: BackgroundCorrection): void;
  /** Resolves when everything counted so far is durable, or the database has been away for 2.4 s. */
  flushInTime(): Promise<void>;
}
