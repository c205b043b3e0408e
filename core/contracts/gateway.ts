import type { Attempt, ErrorCode } from '../runtime/index.js';
import type { MethodState, ProbeLink } from './extractor.js';
import type { Plugin } from './plugin.js';
import type { UpstreamState } from './services.js';

/** One configured instance of a plugin: one element of `plugins` in plugins.config.json. */
export interface PluginEntry {
  /** Default: the plugin's name. Unique in a gateway. */
  id?: string;
  /**
   * The plugin itself, or what to import: a package specifier, or the path of a module, or of a folder with an `index.js`,
   * relative to the config file.
   */
  use: Plugin | string;
  /** Checked against the plugin's schema. Default `{}`. */
  options?: Readonly<Record<string, unknown>>;
  /** Default true. */
  enabled?: boolean;
  /**
   * Platforms, models or `sign-in` that it serves, known before the plugin is loaded. Fails where the plugin does not serve them.
   * Default: not known.
   */
  serves?: readonly string[];
  /**
   * True: it is used only while no other enabled entry names one of its models in `serves`; of several fallbacks, the first is.
   * One that is not used is `disabled`. Needs `serves`. Default false.
   */
  fallback?: boolean;
  /** True makes createGateway reject when this entry fails. Default false. */
  required?: boolean;
  /** Deadline of each call in milliseconds, at most 600,000; of a sound or a stream, until it begins. Default 30,000. */
  timeoutMs?: number;
  /** Origins that the address guard lets this entry reach although they are private, e.g. `http://127.0.0.1:9000`. */
  trustedOrigins?: readonly string[];
  /** Variables that the entry names where it was read from a file. Default: none. */
  variables?: EntryVariables;
}

/** Environment variables that an entry of plugins.config.json names. */
export interface EntryVariables {
  /** All of them, set or not. */
  names: readonly string[];
  /** Dotted path of an option → variable that its value was taken from. A message about the option then names the variable. */
  ofOptions: Readonly<Record<string, string>>;
  /** This one, set to anything, enables the entry. */
  enabledBy?: string;
}

export type PluginState = 'disabled' | 'loading' | 'ready' | 'failed' | 'disposed';

/** How an entry is doing; what `/health`, `doctor` and `mediagate plugins` show. */
export interface PluginStatus {
  id: string;
  /** Where the module was not imported, as far as the configuration tells: the last part of its path. */
  plugin: string;
  summary: string;
  state: PluginState;
  /** Why it failed, or which plugin is used in place of a fallback, in words safe to show. */
  reason?: string;
  /** Environment variable whose value is why it failed. */
  badVariable?: string;
  /** Environment variables that its entry names, and those that enable entries which are used in place of this one. */
  variables: { readonly names: readonly string[]; readonly switchOff: readonly string[] };
  provides: readonly string[];
  /** Platform keys and model ids it serves. */
  serves: readonly string[];
  /** Whether it only stands for something better that is not configured. */
  standIn: boolean;
  required: boolean;
  /** Whom its providers ask, where they tell. */
  upstreams: readonly UpstreamState[];
}

/** Limits of a client of {@link Gateway.httpClient}; no request of it can go beyond them. */
export interface HttpClientLimits {
  /** Milliseconds for each request. */
  timeoutMs: number;
  /** Origins that it may reach although they are private. Default: those of the gateway alone. */
  trustedOrigins?: readonly string[];
}

/** A platform that links are extracted of. */
export interface PlatformInfo {
  key: string;
  /** For people. */
  name: string;
  /** Patterns or words, for people. */
  linkForms: readonly string[];
  features: PlatformFeatures;
  /** Its ways to the platform at the time of reading, best first; empty where its extractor does not tell. */
  methods: readonly MethodState[];
  /** Links to try it with. */
  probeLinks: readonly ProbeLink[];
}

/** What links of a platform can have here. */
export interface PlatformFeatures {
  /** Background jobs. */
  async: boolean;
  batch: boolean;
  reviews: boolean;
  audio_mp3: boolean;
}

/**
 * `queued` → `running` → `completed` | `failed` | `cancelled`; a queued job may fail (it waited too long) or be cancelled as
 * well. A run that was cut off (kill -9, a lost lease, a shutdown) puts the job back to `queued`. Nothing leaves the last
 * three.
 */
export type JobState = 'queued' | 'running' | 'completed' | 'failed' | 'cancelled';

/** Why a job failed: a GatewayError as far as it is for clients. */
export interface JobFailure {
  code: ErrorCode;
  message: string;
  param?: string;
  reason?: string;
  retryable: boolean;
  retryAfterSeconds?: number;
  platform?: string;
  attempts?: readonly Attempt[];
}
