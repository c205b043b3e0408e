import type { Usage } from './media.js';

export type TextRoute = 'chat_completions' | 'responses';

/**
 * Passes text requests to a model. The open wire format is the domain here: the body goes in and comes out as it is, so
 * nothing an upstream adds is lost in translation.
 */
export interface TextProvider {
  readonly models: readonly TextModel[];
  /**
   * Resolves when the upstream has answered with a status; the body then flows.
   * @throws GatewayError `upstream_*` before the first byte, never after.
   */
  send(call: TextCall): Promise<TextReply>;
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
  model: string;
  /** The caller's JSON, with `model` still the public id. */
  body: Readonly<Record<string, unknown>>;
  stream: boolean;
  /** Aborting closes the upstream request within 100 ms. */
  signal: AbortSignal;
}

export interface TextReply {
  status: number;
  headers: Readonly<Record<string, string>>;
  body: AsyncIterable<Uint8Array>;
  /** Read while the bytes go by, never by buffering; undefined where the upstream said nothing. */
  usage: Promise<Usage | undefined>;
}
