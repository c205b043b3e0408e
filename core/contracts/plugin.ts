/*
 * The contract of a plugin: a plain object whose `setup` receives everything that it may use and returns what it
 * contributes. A plugin has no access to the container, the web server or the process. It declares what it provides
 * and which optional services it needs; using an undeclared one throws. `setup` has 10 seconds and sends no request; a
 * failure affects only this instance. Upstream checks cost nothing at the vendor and report failures as results.
 * Services stop working once the instance is disposed.
 */

import type { AudioProvider } from './audio-provider.js';
import type { Extractor } from './extractor.js';
import type { ImageProvider } from './image-provider.js';
import type { AudioFilters, Browser, Cache, Clock, Hints, HttpClient, Logger, Storage } from './services.js';
import type { TextProvider } from './text-provider.js';
import type { Static, TSchema } from './typebox.js';

/** A JSON Schema with a known TypeScript type: one object validates, types and documents. */
export type Schema = TSchema;

/** What a plugin can contribute, as listed in `provides`. */
export type ContributionKind = 'extractor' | 'image' | 'audio' | 'text' | 'identity';

/** A requirement of the machine. A plugin fails at load, with the reason, if it is missing. */
export type Need = 'browser' | 'ffmpeg';

/**
 * What a contribution may throw: a GatewayError with the codes that `core/plugins/plugin-failure.ts` lists for its
 * kind. Any other error is logged under its instance and becomes `upstream_changed`. Option values of the instance are
 * redacted from what clients read, so a message need not be free of them, but should be.
 *
 * A module that supports one platform or one vendor's format. It is a plain object: `setup` receives everything the
 * plugin may use, and no access to the container, the web server or the process.
 */
export interface Plugin<OptionsSchema extends Schema = Schema> {
  /** Also the name of its folder; for an extractor, the platform key. */
  readonly name: string;
  /** Version of this contract. Another number is refused at load. */
  readonly apiVersion: 1;
  /** One sentence that describes the plugin. The plugin table of docs/reference shows it. */
  readonly summary: string;
  readonly provides: readonly ContributionKind[];
  /** Optional services that it requires. Using an undeclared one throws. Default: none. */
  readonly needs?: readonly Need[];
  /** Services that it uses if they exist: a missing one is no failure. Default: none. */
  readonly wants?: readonly Need[];
  /**
   * True if it only replaces a provider that is not configured. Its results say so, and every list of plugins shows it.
   * Default false.
   */
  readonly standIn?: boolean;
  /** Schema of the options in plugins.config.json, including defaults. Default: no options allowed. */
  readonly options?: OptionsSchema;
  /**
   * Called once per instance, before the first request, with checked options. Sends no request of its own. Has 10
   * seconds; an error or timeout fails this instance only.
   */
  setup(context: PluginContext<Static<OptionsSchema>>): Contributions | Promise<Contributions>;
}

/** The services of one plugin instance. They stop working when the instance is disposed. */
export interface PluginContext<Options = Record<string, never>> {
  /** The instance's id in plugins.config.json. */
  readonly id: string;
  readonly options: Readonly<Options>;
  readonly http: HttpClient;
  /** @throws GatewayError `plugin_unavailable` on use if neither `needs` nor `wants` lists it. */
  readonly browser: Browser;
  /** @throws GatewayError `plugin_unavailable` on use if neither `needs` nor `wants` lists it. */
  readonly ffmpeg: AudioFilters;
  readonly cache: Cache;
  readonly storage: Storage;
  readonly logger: Logger;
  readonly clock: Clock;
  /** Reach the same instance in the other workers of this machine. Undefined without any. */
  readonly hints?: Hints;
}

/** The result of `setup`. Each list contains exactly what `provides` states. */
export interface Contributions {
  extractors?: readonly Extractor[];
  imageProviders?: readonly ImageProvider[];
  audioProviders?: readonly AudioProvider[];
  textProviders?: readonly TextProvider[];
  /** At most one, over all plugin instances. */
  identityProviders?: readonly IdentityProvider[];
  /**
   * Asks each upstream of this instance whether its models can be used, by requests that cost nothing. `mediagate
   * doctor`, `mediagate models test` and the start call it; it has 5 seconds. It throws nothing but its signal's reason:
   * a failure is a result. Default: the upstreams are not checked.
   */
  checkUpstreams?(call: CheckUpstreamsCall): Promise<readonly UpstreamCheck[]>;
  /**
   * Called once when the gateway closes, in reverse order of loading. An error is logged and does not affect other
   * plugins.
   */
  dispose?(): void | Promise<void>;
}

export interface CheckUpstreamsCall {
  signal: AbortSignal;
}

/**
 * What an upstream answered. `refused_key`: it does not accept the key, or needs one. `unknown_model`: it does not have
 * the models. `wrong_format`: something else answers at this address. `unreachable`: there was no usable answer.
 */
export type UpstreamCheckResult = 'reachable' | 'refused_key' | 'unknown_model' | 'wrong_format' | 'unreachable';

/** The result of one upstream for some or all of its models. */
export interface UpstreamCheck {
  /** Name of the upstream in the log, e.g. `upstreams.0`. */
  upstream: string;
  /** Public ids of the models that the result is about. */
  models: readonly string[];
  result: UpstreamCheckResult;
  /** What happened, one or two sentences for the operator, without keys and addresses. Default: the result says it. */
  reason?: string;
  /** Dotted path of the option to correct, e.g. `upstreams.0.url`. The gateway names its variable if it has one. */
  option?: string;
  /** The remedy, one sentence. Default: to correct `option`. */
  remedy?: string;
}

/** Identifies users by OpenID Connect. An issuer that is configured by a setting needs no plugin. */
export interface IdentityProvider {
  /**
   * Starts to serve. Called at most once at a time, when a user is about to sign in.
   * @throws Error if it cannot serve those addresses; the message is safe to show.
   */
  open(call: OpenIdentityProviderCall): Promise<OpenIdentityProvider>;
}

export interface OpenIdentityProviderCall {
  /** Absolute URL that sign-ins return to; no other one is accepted. */
  redirectUri: string;
}

/** A running issuer, and its one client. */
export interface OpenIdentityProvider {
  /** Absolute URL without a trailing slash that serves `.well-known/openid-configuration`. */
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecret: string;
  /** Closes its sockets. Idempotent. */
  close(): Promise<void>;
}
