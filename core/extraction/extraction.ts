import { LRUCache } from 'lru-cache';
import {
  type Cache,
  type CacheUse,
  type Clock,
  EXTRACT_DEFAULTS,
  type ExtractCall,
  type Extraction,
  type ExtractionData,
  type ExtractOptions,
  type Extractor,
  type ExtractRequest,
  type ExtractResult,
  type LinkRef,
  type Meter,
  PostDataSchema,
  ProductDataSchema,
} from '../contracts/index.js';
import type { PluginHost, Registered, Registry } from '../plugins/index.js';
import { type Checked, createValidator, GatewayError, isGatewayError } from '../runtime/index.js';
import type { AudioLinks } from './mp3-files.js';
import { createResultCache, createSingleFlight, type Kept } from './result-cache.js';
import { parseLinkText } from './scraping/index.js';

/**
 * With the input of the job, everything of the request that changes the result, and nothing of the caller's: `summary` of its
 * record.
 */
export interface ExtractionJobSummary {
  platform: string;
  link: LinkRef;
  options: ExtractOptions;
}

/** Changes whenever what a cached result holds, or what its key says, changes its meaning. */
const CACHE_VERSION = 2;
/** A short link may lead to another one; a third is a loop or a trick. */
const MAX_SHORT_LINKS = 2;
/** Characters of a link as it was sent. */
const MAX_KEPT_TEXT = 2_048;
const SHORT_LINK_MS = 86_400_000;

export interface ExtractionOptions {
  registry: Registry;
  host: PluginHost;
  cache: Cache;
  clock: Clock;
  cacheTtlMs: number;
  /** Default: no MP3 link is offered. */
  audioLinks?: AudioLinks;
  /** MP3 links belong to this gateway: where there can be none, results say so. */
  audioExpected: boolean;
  /** Default: nobody counts. */
  meter?: Meter;
}

/** Link in, checked document out: match → cache → one flight per link → extractor → check → audio link. */
export interface ExtractionService {
  match(url: unknown): Target;
  extract(request: ExtractRequest): Promise<ExtractResult>;
  /** What a request asks for; a short link is walked. */
  identify(request: ExtractRequest): Promise<Item>;
  /** As {@link identify}, where the link is known already. */
  itemOf(target: Target, options: ExtractOptions): Item;
  /** From the cache, if it is young enough. @throws GatewayError where a definitive "no" was kept. */
  atHand(item: Item): Promise<Obtained | undefined>;
  /** Asks the source; while that is out, an older answer will do. */
  fetch(item: Item, signal: AbortSignal | undefined): Promise<Obtained>;
  /** Asks the source, and nothing else will do. */
  refresh(item: Item, signal: AbortSignal | undefined): Promise<Obtained>;
  answer(request: ExtractRequest, item: Target, obtained: Obtained): ExtractResult;
  /** Takes over what another process fetched. The same extraction is always given back as the same object. */
  adopt(item: Item, obtained: Obtained): Obtained;
}

export interface Target {
  extractor: Registered<Extractor>;
  link: LinkRef;
}

/** One thing to be had: equal keys, equal answers. */
export interface Item extends Target {
  key: string;
  options: ExtractOptions;
}

/** An extraction and where it came from. */
export interface Obtained {
  kept: Kept;
  cache: CacheUse;
}

export function createExtractionService(options: ExtractionOptions): ExtractionService {
  const { registry, host, clock, cache, meter } = options;
  const results = createResultCache({ cache, clock, ttlMs: options.cacheTtlMs });
  const flights = createSingleFlight<Kept>();
  const walks = createSingleFlight<string>();
  const walked = new LRUCache<string, string>({ max: 10_000, ttl: SHORT_LINK_MS });

  /**
   * Results of `match` by the link as it was sent and by the parsed link, refusals included. One request needs the result several times (the route
   * before it consumes the rate limit, the check of the queue, the extraction), and extractors are asked once.
   */
  const matched = new LRUCache<string, Target | GatewayError>({ max: 2_000 });
  function match(text: unknown): Target {
    // To parse a link takes longer than to look it up. Long texts are not kept, since most of them may be white space.
    const key = typeof text === 'string' && text.length <= MAX_KEPT_TEXT ? text : undefined;
    let known = key === undefined ? undefined : matched.get(key);
    if (!known) {
      const url = parseLinkText(text);
      known = matched.get(url.href) ?? matchOnce(url);
      if (key !== undefined) matched.set(key, known);
    }
    if (isGatewayError(known)) throw known;
    return known;
  }

  function matchOnce(url: URL): Target | GatewayError {
    let result: Target | GatewayError;
    try {
      result = registry.matchLink(url);
    } catch (error) {
      if (!isGatewayError(error)) throw error;
      result = error;
    }
    matched.set(url.href, result);
    return result;
  }

  async function resolveShortLink({ extractor, link }: Target, signal: AbortSignal | undefined): Promise<Target> {
    const { contribution } = extractor;
    // Not by its code: the same code may stand on several paths and hosts, and lead to another item on each.
    const key = `${contribution.platform}:${link.url}`;
    let leadsTo = walked.get(key);
    if (leadsTo === undefined) {
      leadsTo = await walks.join(key, signal, (walkSignal) =>
        host.call('extractor', extractor.entry, walkSignal, async (callSignal) => {
          if (!contribution.resolve)
            throw new GatewayError('unsupported_link', 'Short links of this platform are not supported.');
          return (await contribution.resolve({ link, signal: callSignal })).href;
        }),
      );
      walked.set(key, leadsTo);
    }
    try {
      return match(leadsTo);
    } catch (cause) {
      throw new GatewayError(
        'redirected_to_unsupported',
        'The short link leads to something that is not an item of a supported platform.',
        { reason: new URL(leadsTo).hostname, cause },
      );
    }
  }

  /** What a short link stands for. The source was asked, so whoever is refused hears how that went, as of any other method. */
  async function walk(from: Target, signal: AbortSignal | undefined): Promise<Target> {
    const begun = clock.monotonic();
    let target = from;
    try {
      for (let hops = 0; target.link.kind === 'short_link'; hops += 1) {
        if (hops === MAX_SHORT_LINKS)
          throw new GatewayError('short_link_dead', 'The short link leads to further short links without end.');
        target = await resolveShortLink(target, signal);
      }
      return target;
    } catch (error) {
      if (!isGatewayError(error)) throw error;
      const { platform } = target.extractor.contribution;
      const attempt = { method: 'short_link', outcome: error.code, ms: Math.round(clock.monotonic() - begun) };
      throw error.with({ platform, attempts: [attempt] });
    }
  }

  async function ask(
    { extractor, link }: Target,
    call: Pick<ExtractCall, 'options' | 'only'>,
    signal: AbortSignal | undefined,
  ): Promise<Extraction> {
    const { contribution, entry } = extractor;
    const { platform } = contribution;
    try {
      const { hideOptions } = host.terms(entry);
      const extraction = await host.call('extractor', entry, signal, async (callSignal) =>
        checkExtraction(await contribution.extract({ ...call, link, signal: callSignal })),
      );
      if (!extraction.limitations) return extraction;
      // Clients read these as well as messages of errors.
      return { ...extraction, limitations: extraction.limitations.map(hideOptions) };
    } catch (error) {
      throw isGatewayError(error) ? error.with({ platform }) : error;
    }
  }

  async function fetchAnew(target: Target, key: string, extract: ExtractOptions, signal: AbortSignal): Promise<Kept> {
    try {
      return results.keep(key, await ask(target, { options: extract }, signal));
    } catch (error) {
      if (isGatewayError(error)) results.keepRefusal(key, error);
      throw error;
    }
  }

  function answer(request: ExtractRequest, target: Target, { kept, cache: use }: Obtained): ExtractResult {
    const { extraction, fetchedAt } = kept;
    const { contribution } = target.extractor;
    const offered = request.includeAudioMp3 !== false && contribution.audio && extraction.audio;
    const audioLink = offered ? options.audioLinks?.sign(target.link.url, clock.now()) : undefined;
    const ageMs = use === 'miss' ? 0 : Math.max(0, clock.now() - fetchedAt);
    const limitations = [...(extraction.limitations ?? [])];
    if (use === 'stale') limitations.push(`stale_cache: ${Math.floor(ageMs / 1000)} seconds old`);
    if (offered && !audioLink && options.audioExpected) limitations.push('mp3_unavailable');
    return {
      platform: contribution.platform,
      inputUrl: request.url,
      link: target.link,
      method: extraction.method,
      data: extraction.data,
      limitations,
      ...(audioLink && { audioLink }),
      cache: use,
      ageMs,
      identity: extraction,
    };
  }

  function itemOf(target: Target, extract: ExtractOptions): Item {
    return { ...target, options: extract, key: cacheKey(target, extract) };
  }

  async function identify(request: ExtractRequest): Promise<Item> {
    const matched = match(request.url);
    const target = matched.link.kind === 'short_link' ? await walk(matched, request.signal) : matched;
    return itemOf(target, {
      clipReviewLimit: request.clipReviewLimit ?? EXTRACT_DEFAULTS.clipReviewLimit,
      clipSort: request.clipSort ?? EXTRACT_DEFAULTS.clipSort,
      includeEmptyReviews: request.includeEmptyReviews ?? EXTRACT_DEFAULTS.includeEmptyReviews,
    });
  }

  const platformOf = ({ extractor }: Item) => extractor.contribution.platform;

  function told(platform: string, obtained: Obtained): Obtained {
    meter?.extractionAnswered({ platform, cache: obtained.cache });
    return obtained;
  }

  async function atHand(item: Item): Promise<Obtained | undefined> {
    const kept = await results.fresh(item.key);
    return kept && told(platformOf(item), { kept, cache: 'hit' });
  }

  async function refresh(item: Item, signal: AbortSignal | undefined): Promise<Obtained> {
    const { key } = item;
    const kept = await flights.join(key, signal, (flightSignal) => fetchAnew(item, key, item.options, flightSignal));
    return told(platformOf(item), { kept, cache: 'miss' });
  }

  async function fetch(item: Item, signal: AbortSignal | undefined): Promise<Obtained> {
    try {
      return await refresh(item, signal);
    } catch (error) {
      const kept = isGatewayError(error) && isOutage(error) ? await results.stale(item.key) : undefined;
      if (!kept) throw error;
      return told(platformOf(item), { kept, cache: 'stale' });
    }
  }

  async function fetchAlone(item: Item, only: string, signal: AbortSignal | undefined): Promise<Obtained> {
    const extraction = await ask(item, { options: item.options, only }, signal);
    return { kept: { extraction, fetchedAt: clock.now() }, cache: 'miss' };
  }

  return {
    match,
    identify,
    itemOf,
    atHand,
    fetch,
    refresh,
    answer,
    adopt: ({ key }, { kept, cache: use }) => ({ kept: results.adopt(key, kept), cache: use }),
    async extract(request) {
      const item = await identify(request);
      const obtained =
        request.only === undefined
          ? ((await atHand(item)) ?? (await fetch(item, request.signal)))
          : await fetchAlone(item, request.only, request.signal);
      return answer(request, item, obtained);
    },
  };
}

/**
 * Everything that changes the result is in the key, and nothing else: callers' tracking parameters are not. The canonical
 * URL rather than the id names the item: it holds what a link grants access by, so that a link without that never gets
 * what one with it was given. Cached results, shared extractions, jobs and batches all go by this key.
 */
function cacheKey({ extractor, link }: Target, extract: ExtractOptions): string {
  const { platform, background } = extractor.contribution;
  const item = `extraction:${CACHE_VERSION}:${platform}:${link.kind}:${link.url} ${link.region ?? ''}`;
  return background ? `${item}:${extract.clipReviewLimit}:${extract.clipSort}:${extract.includeEmptyReviews}` : item;
}

/** The source failed us, which says nothing about the item: an older answer is better than none. */
function isOutage(error: GatewayError): boolean {
  return error.code === 'bot_check' || (error.code.startsWith('upstream_') && error.code !== 'upstream_auth_error');
}

/**
 * Holds what an extractor answered to its contract.
 * @throws Error naming the member; it is the plugin's fault, and no caller reads it.
 */
export function checkExtraction(extraction: Extraction): Extraction {
  if (!isObject(extraction)) throw new Error('extract() answered nothing');
  const { method, data, limitations = [] } = extraction;
  if (typeof method !== 'string') throw new Error('the method of what extract() answered must be a text');
  if (!isObject(data)) throw new Error('the data of what extract() answered must be an object');
  if (!Array.isArray(limitations) || !limitations.every((one) => typeof one === 'string')) {
    throw new Error('the limitations of what extract() answered must be a list of texts');
  }
  const checked = checkDocument(data);
  if (checked.ok) return extraction;
  const [issue] = checked.issues;
  throw new Error(`the document that extract() answered breaks its schema: data.${issue?.path} ${issue?.message}`);
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}

const postData = createValidator(PostDataSchema);
const productData = createValidator(ProductDataSchema);

/** Holds a document to the schema of its kind, which takes no member that it does not name. */
export function checkDocument(data: ExtractionData): Checked<ExtractionData> {
  return ('product' in data ? productData : postData).check(data);
}
