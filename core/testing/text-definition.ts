import type { Plugin, TextRoute } from '../contracts/index.js';
import type { FakeReply, SentRequest } from './fake-http.js';

export interface TextProviderDefinition {
  plugin: Plugin;
  /** Options of a valid instance. Default `{}`. */
  options?: Readonly<Record<string, unknown>>;
  /** Texts that must not appear in a result, an error or the log. Default: none. */
  secrets?: readonly string[];
  /** How its upstream answers. Default: it works without an upstream. */
  upstream?: TextUpstreamScript;
}

/** An upstream that uses the open formats itself. */
export interface TextUpstreamScript {
  /** Its name of the provider's first model. */
  model: string;
  /** A successful answer with this content. Default: the bytes with their type. */
  answer?(request: SentRequest, content: TextContent): Extract<FakeReply, { body?: unknown }>;
  /** The refusal of an input that is too long. */
  tooLong: FakeReply;
}

/** An answer in one of the formats. */
export interface TextContent {
  route: TextRoute;
  stream: boolean;
  contentType: string;
  bytes: Uint8Array;
}
