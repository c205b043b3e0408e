import type { Plugin, TextRoute } from '../contracts/index.js';
import type { FakeReply, SentRequest } from './fake-http.js';

export interface TextProviderDefinition {
  plugin: Plugin;
  /** Options of a usable entry. Default `{}`. */
  options?: Readonly<Record<string, unknown>>;
  /** Texts that nobody may see in a result, an error or the log. Default: none. */
  secrets?: readonly string[];
  /** How its upstream answers. Default: it answers by itself, and asks nobody. */
  upstream?: TextUpstreamScript;
}

/** An upstream that speaks the open formats itself. */
export interface TextUpstreamScript {
  /** What it calls the model that the provider names first. */
  model: string;
  /** The answer that carries this content, to a request that went well. Default: the bytes with their type. */
  answer?(request: SentRequest, content: TextContent): Extract<FakeReply, { body?: unknown }>;
  /** The refusal of a request whose input is too long. */
  tooLong: FakeReply;
}

/** An answer in one of the formats. */
export interface TextContent {
  route: TextRoute;
  stream: boolean;
  contentType: string;
  bytes: Uint8Array;
}
