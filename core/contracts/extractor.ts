/*
 * The contract of a platform: `match` identifies a link without I/O, `extract` returns the document of an item,
 * `resolveAudio` finds its audio when an MP3 is first requested. Links to the same item have equal references, which
 * makes results, jobs and files shareable; an access token keeps an unlisted item separate. Request options that
 * change what is fetched are declared as a schema and become part of the cache key. Only the error codes listed in
 * `core/plugins/plugin-failure.ts` may be thrown.
 */

import type { TransientCode } from '../runtime/index.js';
import type { ExtractionData } from './documents.js';
import type { TObject } from './typebox.js';

/**
 * The kind of item behind a link, in the extractor's words: `video`, `product`, `post`. `short_link` is the one kind with
 * a meaning for the gateway: the link must be resolved first.
 */
// `{}` keeps the known kind visible to editors; any other text is allowed.
export type LinkKind = 'short_link' | (string & {});

/**
 * The identity of a submitted link: two links to the same item have equal `kind`, `id`, `url` and `region`. Results,
 * jobs and MP3 files are shared between links that also have equal `access`.
 */
export interface LinkRef {
  kind: LinkKind;
  /** The platform's id of the item; always a string, since ids exceed 2^53. For a short link, its code. */
  id: string;
  /** Canonical https URL without tracking. `match(new URL(ref.url))` returns this ref again, also its `access`. */
  url: string;
  /**
   * The access token of the link, if the item is shown only to those who have it: the hash of an unlisted item, a share
   * token. A link without it never gets what a link with it received. A token that stands in `url` needs no `access`.
   */
  access?: string;
  /** The market, if the item differs by market (shop products): also part of the cache key. */
  region?: string;
  /**
   * For a short link that leads to another item from time to time, such as a channel's live stream: its target is
   * cached for a minute instead of a day. Default false.
   */
  moves?: boolean;
}

/** A link of the platform that names no item. */
export interface UnsupportedLink {
  /** What the link is, as in "The link is a profile": `a profile`, `a playlist`, `the home page`. */
  unsupported: string;
}

/** Undefined: the link is not of this platform. */
export type LinkMatch = LinkRef | UnsupportedLink | undefined;

/** The link of a match; undefined if it names no item, or is not of the platform. */
export function matchedLink(match: LinkMatch): LinkRef | undefined {
  return match && 'unsupported' in match ? undefined : match;
}

/** Supports one platform: matches its links, and extracts an item's data. */
export interface Extractor {
  /** Platform key. One extractor per key in a gateway. */
  readonly platform: string;
  /** Display name, for `/v1/capabilities`. */
  readonly displayName: string;
  /**
   * Accepted link forms as text or patterns, for `/v1/capabilities` and the docs. The first one is the example in the
   * message for an unsupported link.
   */
  readonly linkForms: readonly string[];
  /** May be answered from the cache and run as a background job (shop links). Default false. */
  readonly background?: boolean;
  /**
   * The request's options that change what is fetched: a JSON schema of an object, e.g. `Type.Object({ maxComments:
   * Type.Integer({ minimum: 0, default: 20 }) }, { additionalProperties: false })`. Names are camelCase; over HTTP a field
   * has the same name in snake_case (`max_comments`). Each option is optional or has a default. Its `title` names
   * the accepted form in error messages (`a whole number from 0 to 50`), its `description` is shown in the API reference.
   * Options are part of the cache key. Default: none.
   */
  readonly requestOptions?: TObject;
  /** True if an item's audio can be offered as an MP3. Default false. */
  readonly audio?: boolean;
  /**
   * Hosts that media may be fetched from, for media links and MP3s, including redirects; a leading dot includes
   * subdomains, e.g. `.googlevideo.com`. Default: none, and no media can be fetched.
   */
  readonly mediaHosts?: readonly string[];
  /** Request headers that the media hosts require of all clients, e.g. `user-agent` and `referer`. Default: none. */
  readonly mediaHeaders?: Readonly<Record<string, string>>;
  /**
   * Pure and synchronous, no I/O; never throws. Returns the link's identity; `{ unsupported }` if the host is this
   * platform's but the link names no item (a profile, a playlist, a search); undefined if the link is not of this
   * platform. The gateway makes the error `unsupported_link` of it. An error counts as no match and is logged.
   * The URL is normalised: what people paste around a link is gone, and a redirect, login page or consent form is
   * replaced by the link in it. A path word of `linkForms` in capitals is tried again in lower case.
   */
  match(url: URL): LinkMatch;
  /**
   * For refs of kind `short_link`: resolves the link by one guarded redirect walk. The result is matched again by every
   * extractor, since a short link of one platform may lead to another.
   * @throws GatewayError `short_link_dead` or `redirected_to_unsupported` (422), or an upstream failure.
   */
  resolve?(call: ResolveCall): Promise<URL>;
  /**
   * Extracts the item. Every number in the result must come from the node with the requested id.
   * @throws GatewayError with the code of what the platform answered: those of `extractor` in
   *   `core/plugins/plugin-failure.ts`, no others.
   */
  extract(call: ExtractCall): Promise<Extraction>;
  /**
   * The platform's own player of a video, for oEmbed: the address of an `<iframe>`, and its usual size in pixels. Pure,
   * no I/O. Undefined if the link is not one of a video. Default: none.
   */
  embed?(link: LinkRef): { url: string; width: number; height: number } | undefined;
  /**
   * Resolves the item's audio source when an MP3 is first requested, since direct media URLs expire. Required if
   * `audio` is true.
   */
  resolveAudio?(call: ExtractCall): Promise<AudioSource>;
  /**
   * The current state of its methods, best first; must be cheap, since `/health` calls it. A fallback chain provides
   * it.
   */
  methods?(): readonly MethodState[];
  /** Public items that are likely to last, for the live probe. Default: none. */
  readonly probeLinks?: readonly ProbeLink[];
}

/** A link for the live probe, and the expected result of each method. */
export interface ProbeLink {
  url: string;
  /**
   * Method → document fields that it usually fills, dotted as in `data.provenance.sources`. Other methods are probed
   * too, but may fail.
   */
  fills: Readonly<Record<string, readonly string[] | undefined>>;
}

/** One method of a platform, and whether it can run now. */
export interface MethodState {
  /** Name in `extraction_method` and `error.attempts`. */
  name: string;
  /** False if this gateway lacks what the method needs: a key, a browser. */
  available: boolean;
  /** Whether it only adds to what other methods found. Default false. */
  supplements?: boolean;
  /** Set while the method cools down after failures: the cause, and the remaining whole seconds. */
  coolDown?: { code: TransientCode; seconds: number };
}

export interface ResolveCall {
  link: LinkRef;
  signal: AbortSignal;
}

/** Request options by name: those of the extractor's `requestOptions`, with defaults. */
export type RequestOptions = Readonly<Record<string, unknown>>;

/** `Options` is the static type of the extractor's `requestOptions`, which have been checked against it. */
export interface ExtractCall<Options = RequestOptions> {
  link: LinkRef;
  options: Options;
  /** Aborts at the instance's deadline and when no caller waits for the result any more. */
  signal: AbortSignal;
  /** The only method to run, with any amount of data: for the live probe. Default: the fallback chain decides. */
  only?: string;
}

/** One item's data and how it was extracted. */
export interface Extraction {
  /** How the data was extracted, e.g. `innertube+watch_page`: the methods that contributed, in order. */
  method: string;
  data: ExtractionData;
  /** Stable notes on best-effort parts, e.g. `metadata_only`, `live_now`, `reviews_partial: 3 of 10`. */
  limitations?: readonly string[];
  /** True if the item has audio that `resolveAudio` may find. Default false: then no MP3 link is offered. */
  audio?: boolean;
  /** True if the pictures and videos of the document belong together: they can be downloaded as one archive. */
  carousel?: boolean;
  /**
   * Request headers of the visit with which the media hosts give the files of this document, such as its cookies. They
   * are sent to {@link Extractor.mediaHosts} alone, beside {@link Extractor.mediaHeaders}, and never shown. Default: none.
   */
  mediaHeaders?: Readonly<Record<string, string>>;
  /** True if parts are missing that a later call may find: cached for at most 30 seconds. Default false. */
  partial?: boolean;
}

/** Where an item's audio can be fetched now. */
export interface AudioSource {
  /** https URL of the smallest source with audio. */
  url: string;
  /** Request headers that the host requires (a referer, a cookie of the same visit). */
  headers?: Readonly<Record<string, string>>;
  mime?: string;
  durationSeconds?: number;
}
