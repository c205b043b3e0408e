import type { UpstreamState } from './meter.js';

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
