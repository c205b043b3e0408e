/*
 * Takes a link, as people paste it, to a checked document: match, cache, single flight per link on this machine,
 * extractor, check, audio link. The cache key contains everything that changes the result (canonical URL, access token,
 * request options) and nothing about the caller. Concurrent requests for an item share one fetch. During an outage of
 * the source an older result is answered, marked as stale; a definitive refusal is never replaced. A document that
 * breaks its schema is a plugin fault. Results of `match` are cached, including refusals, since one request needs them
 * several times.
 */

import type { LRUCache } from 'lru-cache';
import {
  type Cache,
  type CacheUse,
  type Clock,
  type ExtractCall,
  type Extraction,
  type Extractor,
  type ExtractRequest,
  type ExtractResult,
  type JobFields,
  type LinkRef,
  type MediaCheck,
  type Meter,
  type RequestOptions,
  type StoredResult,
} from '../contracts/index.js';
import type { PluginHost, Registered, Registry } from '../plugins/index.js';
import { GatewayError, isGatewayError, noSiblings, type Siblings } from '../runtime/index.js';
import { boundedTable } from '../storage/index.js';
import { checkExtraction } from './check-extraction.js';
import { matchPasted, parseLinkText } from './links/index.js';
import { limitationsOfChecks, withChecks } from './media/checked-files.js';
import type { MediaLinks } from './media/media-links.js';
import type { AudioLinks } from './media/mp3-files.js';
import { readRequestOptions, requestOptionsKey } from './request-options.js';
import { type CachedResult, ResultCache, withoutVisit } from './result-cache.js';
import { type Done, SingleFlight } from './single-flight.js';
import type { VideoLinks } from './video/video-links.js';

/**
 * What determines the result of a job beside its input. It says nothing about the caller. The `summary` of its record.
 */
export interface ExtractionJobSummary {
  platform: string;
  link: LinkRef;
  options: RequestOptions;
  /** Whether its media files are verified. Default false. */
  verifyMedia?: true;
  /** Those of its submission. Default: none. */
  fields?: JobFields;
}

/** Increase it whenever the meaning of cached results or of their keys changes. */
const CACHE_VERSION = 2;
/** A short link may lead to another one; a third is a loop or an attack. */
const MAX_SHORT_LINKS = 2;
/** Maximum length of a cached link, in characters. */
const MAX_CACHED_TEXT = 2_048;
const SHORT_LINK_MS = 86_400_000;
const MOVING_LINK_MS = 60_000;

export interface ExtractionOptions {
  registry: Registry;
  host: PluginHost;
  cache: Cache;
  clock: Clock;
  cacheTtlMs: number;
  /** Default: no MP3 links. */
  audioLinks?: AudioLinks;
  /** Default: no media links. */
  mediaLinks?: MediaLinks;
  /** Default: no links to videos. */
  videoLinks?: VideoLinks;
  /** This gateway should offer MP3 links: results report it if there can be none. */
  audioExpected: boolean;
  /** Verifies the media files of what was extracted. */
  verify(item: Item, extracted: Extracted, signal: AbortSignal | undefined): Promise<Extracted>;
  /** Default: no metrics. */
  meter?: Meter;
  /** Whether an item, by its canonical URL, is taken down. Default: none is. */
  isBlocked?: ((url: string) => boolean) | undefined;
  /** Other processes of this machine, which fetch a link once for all. Default: none. */
  siblings?: Siblings;
}

export interface Target {
  extractor: Registered<Extractor>;
  link: LinkRef;
}

/** The unit of caching: equal keys mean equal results. */
export interface Item extends Target {
  key: string;
  options: RequestOptions;
}

/** An extraction and where it came from. */
export interface Extracted {
  cached: CachedResult;
  cache: CacheUse;
  /** As {@link StoredResult.checks}. */
  checks?: readonly (MediaCheck | null)[] | undefined;
}

/** Takes links to checked documents. */
export class ExtractionService {
  readonly #options: ExtractionOptions;
  readonly #results: ResultCache;
  /** Other processes are told when the result was fetched. */
  readonly #flights: SingleFlight<CachedResult, number>;
  readonly #walks: SingleFlight<string, string>;
  /** Where short links lead. */
  readonly #walked: LRUCache<string, string>;
  /**
   * Results of `match` by the link as sent and by the parsed link, including refusals. One request needs the result
   * several times (when the route consumes the rate limit, when the queue is checked, for the extraction), but
   * extractors are called once.
   */
  readonly #matched = boundedTable<Target | GatewayError>(2_000);

  constructor(options: ExtractionOptions) {
    const { cache, clock, cacheTtlMs, siblings = noSiblings } = options;
    this.#options = options;
    const results = new ResultCache({ cache, clock, ttlMs: cacheTtlMs });
    this.#results = results;
    this.#flights = new SingleFlight({ name: 'fetch', siblings, find: (key, at) => results.fetched(key, at) });
    this.#walks = new SingleFlight({ name: 'walk', siblings, find: (_key, href) => href });
    const perf = { now: () => clock.monotonic() };
    this.#walked = boundedTable(10_000, { ttl: SHORT_LINK_MS, ttlResolution: 0, perf });
  }

  match(text: unknown): Target {
    // Parsing a link takes longer than a lookup. Long texts are not cached, since they may be mostly white space.
    const key = typeof text === 'string' && text.length <= MAX_CACHED_TEXT ? text : undefined;
    let known = key === undefined ? undefined : this.#matched.get(key);
    if (!known) {
      const url = parseLinkText(text);
      known = this.#matched.get(url.href) ?? this.#matchOnce(url);
      if (key !== undefined) this.#matched.set(key, known);
    }
    if (isGatewayError(known)) throw known;
    this.checkAllowed(known.link);
    return known;
  }

  /**
   * The item of a link that this gateway has signed.
   * @throws GatewayError `link_blocked`; `plugin_unavailable` if its platform is not ready.
   */
  signedTarget({ url, access }: Pick<LinkRef, 'url' | 'access'>): Target {
    try {
      const { extractor, link } = this.match(url);
      return { extractor, link: access === undefined ? link : { ...link, access } };
    } catch (cause) {
      if (isGatewayError(cause) && cause.code === 'link_blocked') throw cause;
      // The link is genuine, so its platform was supported when it was made.
      throw new GatewayError('plugin_unavailable', 'The platform of this link is not available now.', { cause });
    }
  }

  /** @throws GatewayError `link_blocked` if the item is taken down. */
  checkAllowed({ url }: Pick<LinkRef, 'url'>): void {
    if (!this.#options.isBlocked?.(url)) return;
    throw new GatewayError('link_blocked', 'The operator of this gateway has blocked this item.');
  }

  #matchOnce(url: URL): Target | GatewayError {
    const { registry } = this.#options;
    const linkForms = () => registry.extractors.flatMap(({ contribution }) => contribution.linkForms);
    let result: Target | GatewayError;
    try {
      result = matchPasted(url, (one) => registry.matchLink(one), linkForms);
    } catch (error) {
      if (!isGatewayError(error)) throw error;
      result = error;
    }
    this.#matched.set(url.href, result);
    return result;
  }

  async extract(request: ExtractRequest): Promise<ExtractResult> {
    const item = await this.identify(request);
    const { only, signal } = request;
    const extracted =
      only === undefined
        ? ((await this.readCached(item)) ?? (await this.fetch(item, signal)))
        : await this.#fetchAlone(item, only, signal);
    return this.answer(request, item, await this.verifyIfWanted(request, item, extracted));
  }

  /** As {@link extract}, for a caller that stores the result. */
  async extractToStore(request: ExtractRequest): Promise<StoredResult> {
    const item = await this.identify(request);
    const found = (await this.readCached(item)) ?? (await this.fetch(item, request.signal));
    const { cached, cache, checks } = await this.verifyIfWanted(request, item, found);
    const { platform } = item.extractor.contribution;
    const isStale = cache === 'stale';
    return { platform, link: item.link, ...withoutVisit(cached), isStale, ...(checks && { checks }) };
  }

  /** @throws GatewayError `link_blocked`; `plugin_unavailable` if its platform is not ready. */
  storedResult(
    { platform, link, extraction, fetchedAt, isStale, checks }: StoredResult,
    request: ExtractRequest,
  ): ExtractResult {
    this.checkAllowed(link);
    const extractor = this.#options.registry.extractor(platform);
    if (!extractor) {
      throw new GatewayError('plugin_unavailable', 'The platform of this result is not ready.', { platform });
    }
    const extracted = { cached: { extraction, fetchedAt }, cache: isStale ? 'stale' : 'hit', checks } as const;
    return this.answer(request, { extractor, link }, extracted);
  }

  /** What was extracted, with its media files verified if the request wants that. */
  async verifyIfWanted(
    { verifyMedia = false, signal }: Pick<ExtractRequest, 'verifyMedia' | 'signal'>,
    item: Item,
    extracted: Extracted,
  ): Promise<Extracted> {
    return verifyMedia ? this.#options.verify(item, extracted, signal) : extracted;
  }

  /** Returns the item that a request names; a short link is resolved. */
  async identify(request: ExtractRequest): Promise<Item> {
    const matched = this.match(request.url);
    const target = matched.link.kind === 'short_link' ? await this.#walk(matched, request.signal) : matched;
    const { contribution } = target.extractor;
    return this.itemOf(target, readRequestOptions(contribution, request, this.#options.registry));
  }

  /** Returns the item of a link that is matched already; a short link is not resolved. */
  itemOf(target: Target, options: RequestOptions): Item {
    return { ...target, options, key: cacheKey(target, options) };
  }

  /**
   * The resolved URL of a short link. The source was asked, so an error contains the attempt, like any other method.
   */
  async #walk(from: Target, signal: AbortSignal | undefined): Promise<Target> {
    const { clock } = this.#options;
    const begun = clock.monotonic();
    let target = from;
    try {
      for (let hops = 0; target.link.kind === 'short_link'; hops += 1) {
        if (hops === MAX_SHORT_LINKS)
          throw new GatewayError('short_link_dead', 'The short link leads to an endless chain of short links.');
        target = await this.#resolveShortLink(target, signal);
      }
      return target;
    } catch (error) {
      if (!isGatewayError(error)) throw error;
      const { platform } = target.extractor.contribution;
      const attempt = { method: 'short_link', outcome: error.code, ms: Math.round(clock.monotonic() - begun) };
      throw error.with({ platform, attempts: [attempt] });
    }
  }

  async #resolveShortLink({ extractor, link }: Target, signal: AbortSignal | undefined): Promise<Target> {
    const { contribution, entry } = extractor;
    const { resolve } = contribution;
    if (!resolve) throw new GatewayError('unsupported_link', 'Short links of this platform are not supported.');
    // Not by its code: the same code may exist on several paths and hosts with different targets.
    const key = `${contribution.platform}:${link.url}${accessKey(link)}`;
    let leadsTo = this.#walked.get(key);
    if (leadsTo === undefined) {
      const walk = (walkSignal: AbortSignal) =>
        this.#options.host.call('extractor', entry, walkSignal, async (callSignal) => {
          const { href } = await resolve.call(contribution, { link, signal: callSignal });
          return { result: href, left: href };
        });
      leadsTo = await this.#walks.join(key, signal, walk);
      this.#walked.set(key, leadsTo, link.moves ? { ttl: MOVING_LINK_MS } : {});
    }
    try {
      return this.match(leadsTo);
    } catch (cause) {
      throw new GatewayError(
        'redirected_to_unsupported',
        'The short link leads to something that is not an item of a supported platform.',
        { reason: new URL(leadsTo).hostname, cause },
      );
    }
  }

  /** From the cache, if it is fresh. @throws GatewayError if a definitive refusal is cached. */
  async readCached(item: Item): Promise<Extracted | undefined> {
    const cached = await this.#results.fresh(item.key);
    return cached && this.#count(item, { cached, cache: 'hit' });
  }

  /** From the cache, at most a day old, if its media can still be downloaded: for those who have its links already. */
  async readUsable(item: Item): Promise<Extracted | undefined> {
    const cached = await this.#results.stale(item.key);
    return cached && { cached, cache: 'hit' };
  }

  /** Fetches from the source; during an outage, an older result is returned. */
  async fetch(item: Item, signal: AbortSignal | undefined): Promise<Extracted> {
    try {
      return await this.refresh(item, signal);
    } catch (error) {
      const cached = isGatewayError(error) && isOutage(error) ? await this.#results.stale(item.key) : undefined;
      if (!cached) throw error;
      return this.#count(item, { cached, cache: 'stale' });
    }
  }

  /** Fetches from the source, without fallback to an older result. */
  async refresh(item: Item, signal: AbortSignal | undefined): Promise<Extracted> {
    const fetchAnew = (flightSignal: AbortSignal) => this.#fetchAnew(item, flightSignal);
    const cached = await this.#flights.join(item.key, signal, fetchAnew);
    return this.#count(item, { cached, cache: 'miss' });
  }

  /** Leaves the time of the fetch, once the shared cache has the result. */
  async #fetchAnew(item: Item, signal: AbortSignal): Promise<Done<CachedResult, number>> {
    try {
      const extraction = await this.#ask(item, { options: item.options }, signal);
      const { cached, stored } = this.#results.keep(item.key, extraction);
      return { result: cached, left: stored.then(() => cached.fetchedAt) };
    } catch (error) {
      if (isGatewayError(error)) this.#results.keepRefusal(item.key, error);
      throw error;
    }
  }

  async #fetchAlone(item: Item, only: string, signal: AbortSignal | undefined): Promise<Extracted> {
    const extraction = await this.#ask(item, { options: item.options, only }, signal);
    return { cached: { extraction, fetchedAt: this.#options.clock.now() }, cache: 'miss' };
  }

  async #ask(
    { extractor, link }: Target,
    call: Pick<ExtractCall, 'options' | 'only'>,
    signal: AbortSignal | undefined,
  ): Promise<Extraction> {
    const { host } = this.#options;
    const { contribution, entry } = extractor;
    const { platform } = contribution;
    try {
      const { hideOptions } = host.policy(entry);
      const extraction = await host.call('extractor', entry, signal, async (callSignal) =>
        checkExtraction(await contribution.extract({ ...call, link, signal: callSignal })),
      );
      if (!extraction.limitations) return extraction;
      // Clients read these names as well as the messages of errors.
      return { ...extraction, limitations: extraction.limitations.map(hideOptions) };
    } catch (error) {
      throw isGatewayError(error) ? error.with({ platform }) : error;
    }
  }

  #count({ extractor }: Item, extracted: Extracted): Extracted {
    const { platform } = extractor.contribution;
    this.#options.meter?.extractionAnswered({ platform, cache: extracted.cache });
    return extracted;
  }

  /** Caches what another process fetched. The same extraction always results in the same object. */
  adopt({ key }: Item, { cached, ...extracted }: Extracted): Extracted {
    return { ...extracted, cached: this.#results.adopt(key, cached) };
  }

  answer(request: ExtractRequest, target: Target, { cached, cache: use, checks }: Extracted): ExtractResult {
    const { clock, audioLinks, mediaLinks, videoLinks, audioExpected } = this.#options;
    const { extraction, fetchedAt } = cached;
    const { contribution } = target.extractor;
    const hasAudio = contribution.audio === true && extraction.audio === true;
    const offered = request.includeAudioMp3 !== false && hasAudio;
    const audioLink = offered ? audioLinks?.sign(target.link, clock.now()) : undefined;
    const { mediaLinksFor: issuer } = request;
    const linked = issuer === undefined ? undefined : { ...target.link, issuer };
    const links = linked && mediaLinks?.sign(extraction.data, linked, clock.now());
    const videoLink = linked && videoLinks?.sign(extraction.data, linked, clock.now());
    const archiveLink = linked && extraction.carousel ? mediaLinks?.signArchive(linked, clock.now()) : undefined;
    const ageMs = use === 'miss' ? 0 : Math.max(0, clock.now() - fetchedAt);
    const limitations = [...(extraction.limitations ?? [])];
    if (use === 'stale') limitations.push(`stale_cache: ${Math.floor(ageMs / 1000)} seconds old`);
    if (offered && !audioLink && audioExpected) limitations.push('mp3_unavailable');
    if (checks) limitations.push(...limitationsOfChecks(checks, extraction.data));
    const data = checks ? withChecks(extraction.data, checks) : extraction.data;
    return {
      platform: contribution.platform,
      inputUrl: request.url,
      link: target.link,
      method: extraction.method,
      data,
      limitations,
      ...(audioLink && { audioLink }),
      ...(hasAudio && audioLinks && { hasAudio }),
      ...(links && { mediaLinks: links }),
      ...(videoLink && { videoLink }),
      ...(archiveLink && { archiveLink }),
      ...(checks && { checks }),
      cache: use,
      ageMs,
      identity: checks ? data : extraction,
    };
  }
}

/**
 * The key contains everything that changes the result and nothing else: tracking parameters of callers are not in it.
 * It contains the canonical URL rather than the id, and the access token: a link without the token must not get what a
 * link with it received. Cached results, shared extractions, jobs and batches all use this key.
 */
function cacheKey({ extractor, link }: Target, extract: RequestOptions): string {
  const { platform } = extractor.contribution;
  const item = `extraction:${CACHE_VERSION}:${platform}:${link.kind}:${link.url} ${link.region ?? ''}${accessKey(link)}`;
  const options = requestOptionsKey(extractor.contribution, extract);
  return options === undefined ? item : `${item}:${options}`;
}

/** Nothing for links without a token. */
function accessKey({ access }: LinkRef): string {
  return access === undefined ? '' : ` ${JSON.stringify(access)}`;
}

/** A failure of the source says nothing about the item, so an older result is returned. */
function isOutage(error: GatewayError): boolean {
  return error.code === 'bot_check' || (error.code.startsWith('upstream_') && error.code !== 'upstream_auth_error');
}
