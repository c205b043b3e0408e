import type { HttpRequest, Plugin } from '../contracts/index.js';
import type { FakeReply } from './fake-http.js';

export interface ImageProviderDefinition {
  plugin: Plugin;
  /** Options of a valid instance. Default `{}`. */
  options?: Readonly<Record<string, unknown>>;
  /** Texts that must not appear in a result, an error or the log. Default: none. */
  secrets?: readonly string[];
  /** How its upstream answers. Default: it works without an upstream. */
  upstream?: ImageUpstreamScript;
  /** False for models without references, which refuse calls with some. Default true. */
  takesReferences?: boolean;
}

/** An upstream in its own format. */
export interface ImageUpstreamScript {
  /** A successful answer with these bytes. */
  image(request: HttpRequest, bytes: Uint8Array): FakeReply;
  /** The refusal of a prompt by its safety system. */
  moderation: FakeReply;
}
