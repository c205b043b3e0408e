import type { HttpRequest, Plugin } from '../contracts/index.js';
import type { FakeReply } from './fake-http.js';

export interface ImageProviderDefinition {
  plugin: Plugin;
  /** Options of a usable entry. Default `{}`. */
  options?: Readonly<Record<string, unknown>>;
  /** Texts that nobody may see in a result, an error or the log. Default: none. */
  secrets?: readonly string[];
  /** How its upstream answers. Default: it makes its images itself, and asks nobody. */
  upstream?: ImageUpstreamScript;
  /** False for models that take no references, and refuse calls with some. Default true. */
  takesReferences?: boolean;
}

/** An upstream in its own format. */
export interface ImageUpstreamScript {
  /** The answer that carries these bytes, to a request that went well. */
  image(request: HttpRequest, bytes: Uint8Array): FakeReply;
  /** The refusal of a prompt that its safety system does not let through. */
  moderation: FakeReply;
}
