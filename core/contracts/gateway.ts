/*
 * The configuration of plugin instances, the prices of models, and what a gateway reports about itself: plugins,
 * models, platforms, jobs. An entry of plugins.config.json has an id, the plugin, its options and limits; a fallback
 * entry is used only while no other enabled entry serves its models. Prices exist in one currency, with tiers by input
 * size and by service tier, and an omitted price takes its stated default. Texts in a status are safe to show: they
 * contain neither keys nor addresses.
 */

import type { Attempt, ErrorCode } from '../runtime/index.js';
import type { AudioOperation } from './audio-provider.js';
import type { MethodState, ProbeLink } from './extractor.js';
import type { Need, Plugin, UpstreamCheck } from './plugin.js';
import type { ModelUpstream, UpstreamState } from './services.js';
import type { TextRoute } from './text-provider.js';
import { field, optional, type Static, type TObject, Type } from './typebox.js';

/** One configured instance of a plugin: one element of `plugins` in plugins.config.json. */
export interface PluginEntry {
  /** Default: the plugin's name. Unique in a gateway. */
  id?: string;
  /**
   * The plugin itself, or what to import: a package specifier, or the path of a module, or of a folder with an
   * `index.js`, relative to the config file.
   */
  use: Plugin | string;
  /** Checked against the plugin's schema. Default `{}`. */
  options?: Readonly<Record<string, unknown>>;
  /** Default true. */
  enabled?: boolean;
  /**
   * Platforms, models or `sign-in` that it serves, known before the plugin is loaded. Loading fails if the plugin does
   * not serve them. Default: not known.
   */
  serves?: readonly string[];
  /**
   * True: it is used only if no other enabled entry names one of its models in `serves`; of several fallbacks, the
   * first one is used. An unused one is `disabled`. Needs `serves`. Default false.
   */
  fallback?: boolean;
  /** True makes createGateway reject if this entry fails. Default false. */
  required?: boolean;
  /** Deadline of each call in milliseconds, at most 600,000; for audio or a stream, until it begins. Default 30,000. */
  timeoutMs?: number;
  /** Whether also the addresses of its options pass the address guard. Default false: the operator's file is trusted. */
  isGuarded?: boolean;
  /** Private origins that the address guard allows for this entry, e.g. `http://127.0.0.1:9000`. */
  trustedOrigins?: readonly string[];
  /** Variables that the entry names, if it was read from a file. Default: none. */
  variables?: EntryVariables;
  /** Further names of its models. A name that a model has already, or an earlier entry, is left out. Default: none. */
  aliases?: readonly ModelAlias[];
  /** What its models are, in a sentence for lists, by model id. Default: none. */
  descriptions?: Readonly<Record<string, string>>;
  /** Prices of its models, by model id, for the program that embeds the gateway. Default: none is known. */
  prices?: Readonly<Record<string, ModelPrices>>;
}

const strict = { additionalProperties: false } as const;
const Price = Type.Number({ minimum: 0, maximum: 1_000_000_000 });

const ImagePriceSchema = Type.Object(
  {
    size: optional(
      Type.String({ pattern: '^[1-9]\\d{0,4}x[1-9]\\d{0,4}$', title: 'a size such as "1024x1024"' }),
      'Size of the image that was made, in pixels. Default: any.',
      '1024x1024',
    ),
    quality: optional(
      Type.String({ minLength: 1, maxLength: 64 }),
      'The `quality` of the request. Default: any, and requests without one.',
      'high',
    ),
    price: field(Price, 'Price of one image.', 0.167),
  },
  strict,
);

/** Prices of a million tokens. */
const TokenPrices = {
  input: optional(Price, 'Price of a million input tokens.', 1.25),
  cachedInput: optional(
    Price,
    'Price of a million input tokens that the model vendor had cached. Default: `input`.',
    0.125,
  ),
  cacheWrite: optional(
    Price,
    'Price of a million input tokens that the model vendor wrote to its cache. Default: `input`.',
    1.5,
  ),
  cacheWrite1h: optional(
    Price,
    'Price of a million input tokens that the model vendor wrote to its cache for an hour. Default: `cacheWrite`.',
    2,
  ),
  inputImage: optional(
    Price,
    'Price of a million input tokens of images, of models that report them. Default: `input`.',
    10,
  ),
  inputAudio: optional(
    Price,
    'Price of a million input tokens of audio, of models that report them. Default: `input`.',
    32,
  ),
  output: optional(Price, 'Price of a million output tokens, including those of the reasoning.', 10),
  outputText: optional(
    Price,
    'Price of a million output tokens of text, of image models that report them. Default: `output`.',
    10,
  ),
  outputImage: optional(
    Price,
    'Price of a million output tokens of images, of models that report them. Default: `output`.',
    40,
  ),
  outputAudio: optional(
    Price,
    'Price of a million output tokens of audio, of models that report them. Default: `output`.',
    64,
  ),
} as const;

const TiersOption = optional(
  Type.Array(
    Type.Object(
      {
        above: field(
          Type.Integer({ minimum: 0, maximum: 1_000_000_000 }),
          'Input tokens that a request has more than.',
          200_000,
        ),
        ...TokenPrices,
      },
      strict,
    ),
    { minItems: 1, maxItems: 16 },
  ),
  'Prices of requests with more input tokens than `above`: the highest such entry is that of the whole request. ' +
    'A price that it leaves out is that of the model.',
  [{ above: 200_000, input: 2.5, output: 15 }],
);

/**
 * What a model costs, in one currency for all models. Prices have at most 9 digits after the point. Those of tokens are
 * added up; an omitted one among them is 0, except where a default is stated.
 */
export const ModelPricesSchema = Type.Object(
  {
    ...TokenPrices,
    tiers: TiersOption,
    serviceTiers: optional(
      Type.Record(
        Type.String({ minLength: 1, maxLength: 64 }),
        Type.Object({ ...TokenPrices, tiers: TiersOption }, strict),
      ),
      'Prices of answers in a service tier, by the name that the vendor reports, such as `flex`, `priority` or `fast`. ' +
        'A price that it leaves out is that of the model; `tiers` are its own. Default: as without a tier.',
      { flex: { input: 0.625, output: 5 } },
    ),
    webSearch: optional(Price, 'Price of one search in the web that the model vendor made.', 0.01),
    images: optional(
      Type.Array(ImagePriceSchema, { minItems: 1, maxItems: 100 }),
      'Price of an image: the first entry that fits its size and quality.',
      [{ size: '1024x1024', quality: 'high', price: 0.167 }, { price: 0.042 }],
    ),
    second: optional(Price, 'Price of a second of audio.', 0.0001),
    characters: optional(Price, 'Price of a million characters of speech.', 15),
  },
  { ...strict, minProperties: 1 },
);
export type ModelPrices = Static<typeof ModelPricesSchema>;

/** A further name of a model. */
export interface ModelAlias {
  name: string;
  /** Id of the model. Default, also if the entry has no such model: the first model of the entry. */
  of?: string;
}

/** Environment variables that an entry of plugins.config.json names. */
export interface EntryVariables {
  /** All of them, set or not. */
  names: readonly string[];
  /** Dotted path of an option → the variable of its value. Messages about the option then name the variable. */
  ofOptions: Readonly<Record<string, string>>;
  /** Dotted path of an option without a value → the variable that would set it. Default: there are none. */
  ofUnset?: Readonly<Record<string, string>>;
  /** This variable, set to any value, enables the entry. */
  enabledBy?: string;
}

export type PluginState = 'disabled' | 'loading' | 'ready' | 'failed' | 'disposed';

/** Status of an entry, for `/health`, `doctor` and `mediagate plugins`. */
export interface PluginStatus {
  id: string;
  /** If the module was not imported, derived from the configuration: the last part of its path. */
  plugin: string;
  summary: string;
  state: PluginState;
  /** Why it failed, or which plugin is used in place of a fallback. Safe to show. */
  reason?: string;
  /** The environment variable that caused the failure. */
  badVariable?: string;
  /** What the plugin needs and this machine lacks, if it failed for that. */
  unmet?: Need;
  /** Environment variables that its entry names, and those that enable entries used in place of this one. */
  variables: { readonly names: readonly string[]; readonly switchOff: readonly string[] };
  provides: readonly string[];
  /** Platform keys and model ids it serves. */
  serves: readonly string[];
  /** Whether it only replaces a provider that is not configured. */
  standIn: boolean;
  required: boolean;
  /** State of the upstreams of its providers, if they report it. */
  upstreams: readonly UpstreamState[];
}

/** The result of asking an upstream. Its texts hold no keys. */
export interface CheckedUpstream extends UpstreamCheck {
  /** The plugin instance. */
  entry: string;
  /** What to correct: a variable of the plugins file, or `option upstreams.0.url of the entry llama`. */
  setting?: string;
}

/** Where a model of any kind is served. */
export interface ModelUpstreams {
  /** In order; empty if its provider does not name them. */
  upstreams: readonly ModelUpstream[];
  /** Whether the requests can be shared by other weights while the gateway runs. */
  canWeigh: boolean;
}

/** A model of any kind that is ready. */
export interface ReadyModel {
  id: string;
  /** Set on a further name of a model: the id of the model. */
  aliasOf?: string;
  /** Whether none of its upstreams lists it, as the latest check found. Default: it is not known, or there. */
  isAbsent?: boolean;
  kind: 'image' | 'audio' | 'text';
  entry: string;
  /** Routes of a text model. */
  routes?: readonly TextRoute[];
  /** Tokens of input and output together of a text model. Default: not known. */
  contextLength?: number;
  /** Whether an image model accepts input images. */
  takesImages?: boolean;
  /** What the model is, in a sentence of the operator. Default: none. */
  description?: string;
  /** Operations of an audio model. */
  operations?: readonly AudioOperation[];
}

/** Limits of a client of {@link Gateway.httpClient}; its requests cannot exceed them. */
export interface HttpClientLimits {
  /** Deadline of each request in milliseconds. */
  timeoutMs: number;
  /** Allowed private origins. Default: only those of the gateway. */
  trustedOrigins?: readonly string[];
}

/** A supported platform. */
export interface PlatformInfo {
  key: string;
  /** Name for people. */
  name: string;
  /** Patterns or text, for people. */
  linkForms: readonly string[];
  /** Request options that its extractor declares. */
  requestOptions?: TObject;
  features: PlatformFeatures;
  /** The state of its methods at the time of reading, best first; empty if its extractor does not report it. */
  methods: readonly MethodState[];
  /** Links for the live probe. */
  probeLinks: readonly ProbeLink[];
}

/** What this gateway offers for links of a platform. */
export interface PlatformFeatures {
  /** Background jobs. */
  async: boolean;
  batch: boolean;
  audio_mp3: boolean;
}

/**
 * `queued` → `running` → `completed` | `failed` | `cancelled`; a queued job may also fail (it waited too long) or be
 * cancelled. A crashed or interrupted run (kill -9, a lost lease, a shutdown) returns the job to `queued`. The last
 * three states are final.
 */
export type JobState = 'queued' | 'running' | 'completed' | 'failed' | 'cancelled';

/** Why a job failed: a GatewayError without internal details. */
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
