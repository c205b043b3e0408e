import type { TransientCode } from '../runtime/index.js';
import type { ExtractionData } from './documents.js';

/** What a link points at. */
export type LinkKind = 'product' | 'video' | 'post' | 'reel' | 'short_link';

/** The identity of a submitted link: two links to the same item have equal `kind`, `id` and `url`. */
export interface LinkRef {
  kind: LinkKind;
  /** The platform's id of the item; always a string, since ids exceed 2^53. For a short link, its code. */
  id: string;
  /**
   * Canonical https URL without tracking. `match(new URL(ref.url))` gives this ref again. It keeps whatever the link grants
   * access by (the hash of an unlisted item, a share token): results, jobs and MP3 files are shared between equal URLs.
   */
  url: string;
  /** Where the same item differs by market (shop products): also part of the cache key. */
  region?: string;
}

/** Knows one platform: which links are its own, and how to get an item's data. */
export interface Extractor {
  /** Platform key. One extractor per key in a gateway. */
  readonly platform: string;
  /** Display name, for `/v1/capabilities`. */
  readonly displayName: string;
  /** Accepted link forms in words or patterns, for `/v1/capabilities` and README. */
  readonly linkForms: readonly string[];
  /** May be answered from the cache and run as a background job (shop links). Default false. */
  readonly background?: boolean;
  /** True where an item's sound can be offered as an MP3. Default false. */
  readonly audio?: boolean;
  /**
   * Hosts that media may be fetched from for an MP3, redirects included; a leading dot lets subdomains in, e.g.
   * `.googlevideo.com`. Default: none, and no MP3 can be made.
   */
  readonly mediaHosts?: readonly string[];
  /**
   * Pure and synchronous, no I/O. Returns the link's identity, or undefined where the link is not of this platform.
   * @throws GatewayError `unsupported_link` where the host is this platform's but the link is not an item (a profile, a
   * playlist, a search); the message names the kind seen. Any other throw counts as no match and is logged.
   */
  match(url: URL): LinkRef | undefined;
  /**
   * For refs of kind `short_link`: where the link leads, by one guarded redirect walk. The result is matched again by
   * every extractor, so a short link of one platform may turn out to belong to another.
   * @throws GatewayError `short_link_dead` or `redirected_to_unsupported` (422), or an upstream failure.
   */
  resolve?(call: ResolveCall): Promise<URL>;
  /**
   * Gets the item. Every number in the result comes from the node that bears the requested id.
   * @throws GatewayError with the code of what the platform said: those of `extractor` in `core/plugins/plugin-failure.ts`, no others.
   */
  extract(call: ExtractCall): Promise<Extraction>;
  /**
   * Finds the item's sound anew when an MP3 is first asked for, since direct media URLs expire.
   * Present wherever `audio` is true.
   */
  resolveAudio?(call: ExtractCall): Promise<AudioSource>;
  /** Its ways to the platform as they are now, best first; cheap, since `/health` asks. A fallback chain gives them. */
  methods?(): readonly MethodState[];
  /** Public items that are likely to last; what the probe asks for. Default: none. */
  readonly probeLinks?: readonly ProbeLink[];
}

/** A link to ask each method for alone, and what is expected. */
export interface ProbeLink {
  url: string;
  /**
   * Method → members of the document that it usually fills, dotted as in `data.provenance.sources`. A method that is not
   * named is asked too, but need not answer.
   */
  fills: Readonly<Record<string, readonly string[] | undefined>>;
}

/** One way to a platform, and whether it can be gone now. */
export interface MethodState {
  /** As in `extraction_method` and `error.attempts`. */
  name: string;
  /** False where this gateway lacks what the method needs: a key, a browser. */
  available: boolean;
  /** Present while the method rests after failing: why, and for how many whole seconds still. */
  rest?: { code: TransientCode; seconds: number };
}

export interface ResolveCall {
  link: LinkRef;
  signal: AbortSignal;
}

export interface ExtractCall {
  link: LinkRef;
  options: ExtractOptions;
  /** Aborts at the entry's deadline and when nobody waits for the result any more. */
  signal: AbortSignal;
  /** The one method to try, whatever little it gives: how the probe tells methods apart. Default: the fallback chain decides. */
  only?: string;
}

/** The request's options that change what is fetched, with defaults filled in (service document 2.4). */
export interface ExtractOptions {
  /** Reviews per star group, 1 to 100. Default 10. */
  clipReviewLimit: number;
  /** Default `latest`. */
  clipSort: 'latest' | 'recommended';
  /** Default false. */
  includeEmptyReviews: boolean;
}

/** What a request gets that says nothing of it. */
export const EXTRACT_DEFAULTS: Readonly<ExtractOptions> = {
  clipReviewLimit: 10,
  clipSort: 'latest',
  includeEmptyReviews: false,
};

/** One item's data and how it was had. */
export interface Extraction {
  /** How the data was had, e.g. `innertube+watch_page`: the methods that gave something, in order. */
  method: string;
  data: ExtractionData;
  /** Stable notes on best-effort parts, e.g. `metadata_only`, `live_now`, `reviews_partial: 3 of 10`. */
  limitations?: readonly string[];
  /** True where the item has sound that `resolveAudio` may find. Default false: then no MP3 link is offered. */
  audio?: boolean;
  /** True where parts are missing that a later call may find: cached for 30 seconds at most. Default false. */
  partial?: boolean;
}

/** Where an item's sound can be fetched right now. */
export interface AudioSource {
  /** https URL of the smallest source with sound. */
  url: string;
  /** Request headers the host insists on (a referer, a cookie of the same visit). */
  headers?: Readonly<Record<string, string>>;
  mime?: string;
  durationSeconds?: number;
}
