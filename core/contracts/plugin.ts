import type { AudioProvider } from './audio-provider.js';
import type { Extractor } from './extractor.js';
import type { ImageProvider } from './image-provider.js';
import type { Browser, Cache, Clock, HttpClient, Logger, SoundFilters, Storage } from './services.js';
import type { TextProvider } from './text-provider.js';
import type { Static, TSchema } from './typebox.js';

/** A JSON Schema whose TypeScript type is known: one object validates, types and documents. */
export type Schema = TSchema;

/** What a plugin can contribute, and what `provides` names. */
export type ContributionKind = 'extractor' | 'image' | 'audio' | 'text' | 'identity';

/** Something the machine must have. A plugin that needs what is absent fails at load, with the reason. */
export type Need = 'browser' | 'ffmpeg';

/**
 * What a contribution may throw: a GatewayError of the codes that `core/plugins/plugin-failure.ts` lists for its kind. Anything else that
 * a plugin throws is logged under its entry and becomes `upstream_changed`. Values of the entry's options are struck out of
 * what clients read, so a message need not be free of them, but should be.
 *
 * A module that knows one platform or one vendor's format. It is a plain object: `setup` gets everything the plugin may
 * use, and nothing of the container, the web server or the process.
 */
export interface Plugin<OptionsSchema extends Schema = Schema> {
  /** Also the name of its folder; for an extractor, the platform key. */
  readonly name: string;
  /** Version of this contract. Another number is refused at load. */
  readonly apiVersion: 1;
  /** One sentence: what the plugin does. README's plugin table shows it. */
  readonly summary: string;
  readonly provides: readonly ContributionKind[];
  /** Services outside the usual ones. Using a need that is not declared throws. Default: none. */
  readonly needs?: readonly Need[];
  /** Likewise, but used where it is there: its absence is no failure. Default: none. */
  readonly wants?: readonly Need[];
  /**
   * True where it only stands for something better that is not configured. What it makes shows that it does, and whoever
   * lists plugins says so. Default false.
   */
  readonly standIn?: boolean;
  /** Options of an entry in plugins.config.json; defaults live in the schema. Default: no options allowed. */
  readonly options?: OptionsSchema;
  /**
   * Called once per entry, before the first request, with checked options. Makes no request of its own.
   * Has 10 seconds; a throw or a later answer fails this entry alone.
   */
  setup(context: PluginContext<Static<OptionsSchema>>): Contributions | Promise<Contributions>;
}

/** An entry's own services. They stop working when the entry is disposed. */
export interface PluginContext<Options = Record<string, never>> {
  /** The entry's id in plugins.config.json. */
  readonly id: string;
  readonly options: Readonly<Options>;
  readonly http: HttpClient;
  /** @throws GatewayError `plugin_unavailable` on use where neither `needs` nor `wants` names it. */
  readonly browser: Browser;
  /** As {@link browser}. */
  readonly ffmpeg: SoundFilters;
  readonly cache: Cache;
  readonly storage: Storage;
  readonly logger: Logger;
  readonly clock: Clock;
}

/** What `setup` returns. Each list holds what `provides` promised, no more and no less. */
export interface Contributions {
  extractors?: readonly Extractor[];
  imageProviders?: readonly ImageProvider[];
  audioProviders?: readonly AudioProvider[];
  textProviders?: readonly TextProvider[];
  /** One at the most, over all entries. */
  identityProviders?: readonly IdentityProvider[];
  /** Called once when the gateway closes, in reverse order of loading. A throw is logged and stops nobody else. */
  dispose?(): void | Promise<void>;
}

/** Says who somebody is, in the words of OpenID Connect. What configures an issuer needs no plugin: it is a setting. */
export interface IdentityProvider {
  /**
   * Starts to serve. Called at most once at a time, when somebody is about to sign in.
   * @throws Error where it cannot serve those addresses; the message is safe to show.
   */
  open(call: OpenIdentityProviderCall): Promise<OpenIdentityProvider>;
}

export interface OpenIdentityProviderCall {
  /** Absolute address that sign-ins come back to; no other one is accepted. */
  redirectUri: string;
}

/** An issuer that serves, and the one client it knows. */
export interface OpenIdentityProvider {
  /** Absolute URL without a trailing slash; its `.well-known/openid-configuration` answers. */
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecret: string;
  /** Lets go of its sockets. Idempotent. */
  close(): Promise<void>;
}
