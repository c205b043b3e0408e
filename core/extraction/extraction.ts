/*
 * Takes a link, as people paste it, to a checked document: match, cache, single flight per link, extractor, check,
 * audio link. The cache key contains everything that changes the result (canonical URL, access token, request options)
 * and nothing about the caller. Concurrent requests for an item share one fetch. During an outage of the source an
 * older result is answered, marked as stale; a definitive refusal is never replaced. A document that breaks its schema
 * is a plugin fault. Results of `match` are cached, including refusals, since one request needs them several times.
 */

import { LRUCache } from 'lru-cache';
import {
  type Cache,
  type CacheUse,
  type Clock,
  type ExtractCall,
  type Extraction,
  type ExtractionData,
  type Extractor,
  type ExtractRequest,
  type ExtractResult,
  type LinkRef,
  type Meter,
  PostDataSchema,
  ProductDataSchema,
  type RequestOptions,
} from '../contracts/index.js';
import type { PluginHost, Registered, Registry } from '../plugins/index.js';
import {
  type Checked,
  closestMatch,
  createValidator,
  GatewayError,
  isGatewayError,
  type Validator,
} from '../runtime/index.js';
import { matchPasted, parseLinkText } from './links/index.js';
import type { AudioLinks } from './mp3-files.js';
import { type CachedResult, createResultCache, createSingleFlight } from './result-cache.js';

/**
 * What determines the result of a job beside its input. It says nothing about the caller. The `summary` of its record.
 */
export interface ExtractionJobSummary {
  platform: string;
  link: LinkRef;
  options: RequestOptions;
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
  /** This gateway should offer MP3 links: results report it if there can be none. */
  audioExpected: boolean;
  /** Default: no metrics. */
  meter?: Meter;
}

/** From a link, as people paste it, to a checked document: match → cache → single flight per link → extractor → check → audio link. */
export interface ExtractionService {
  match(url: unknown): Target;
  extract(request: ExtractRequest): Promise<ExtractResult>;
  /** Returns the item that a request names; a short link is resolved. */
  identify(request: ExtractRequest): Promise<Item>;
  /** Returns the item of a link that is matched already; a short link is not resolved. */
  itemOf(target: Target, options: RequestOptions): Item;
  /** From the cache, if it is fresh. @throws GatewayError if a definitive refusal is cached. */
  readCached(item: Item): Promise<Extracted | undefined>;
  /** Fetches from the source; during an outage, an older result is returned. */
  fetch(item: Item, signal: AbortSignal | undefined): Promise<Extracted>;
  /** Fetches from the source, without fallback to an older result. */
  refresh(item: Item, signal: AbortSignal | undefined): Promise<Extracted>;
  answer(request: ExtractRequest, item: Target, extracted: Extracted): ExtractResult;
  /** Caches what another process fetched. The same extraction always results in the same object. */
  adopt(item: Item, extracted: Extracted): Extracted;
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
}

export function createExtractionService(options: ExtractionOptions): ExtractionService {
  const { registry, host, clock, cache, meter } = options;
  const results = createResultCache({ cache, clock, ttlMs: options.cacheTtlMs });
  const flights = createSingleFlight<CachedResult>();
  const walks = createSingleFlight<string>();
  const walked = new LRUCache<string, string>({
    max: 10_000,
    ttl: SHORT_LINK_MS,
    ttlResolution: 0,
    perf: { now: () => clock.monotonic() },
  });

  /**
   * Results of `match` by the link as sent and by the parsed link, including refusals. One request needs the result
   * several times (when the route consumes the rate limit, when the queue is checked, for the extraction), but
   * extractors are called once.
   */
  const matched = new LRUCache<string, Target | GatewayError>({ max: 2_000 });
  function match(text: unknown): Target {
    // Parsing a link takes longer than a lookup. Long texts are not cached, since they may be mostly white space.
    const key = typeof text === 'string' && text.length <= MAX_CACHED_TEXT ? text : undefined;
    let known = key === undefined ? undefined : matched.get(key);
    if (!known) {
      const url = parseLinkText(text);
      known = matched.get(url.href) ?? matchOnce(url);
      if (key !== undefined) matched.set(key, known);
    }
    if (isGatewayError(known)) throw known;
    return known;
  }

  const linkForms = () => registry.extractors.flatMap(({ contribution }) => contribution.linkForms);

  function matchOnce(url: URL): Target | GatewayError {
    let result: Target | GatewayError;
    try {
      result = matchPasted(url, (one) => registry.matchLink(one), linkForms);
    } catch (error) {
      if (!isGatewayError(error)) throw error;
      result = error;
    }
    matched.set(url.href, result);
    return result;
  }

  async function resolveShortLink({ extractor, link }: Target, signal: AbortSignal | undefined): Promise<Target> {
    const { contribution } = extractor;
    const { resolve } = contribution;
    if (!resolve) throw new GatewayError('unsupported_link', 'Short links of this platform are not supported.');
    // Not by its code: the same code may exist on several paths and hosts with different targets.
    const key = `${contribution.platform}:${link.url}${accessKey(link)}`;
    let leadsTo = walked.get(key);
    if (leadsTo === undefined) {
      leadsTo = await walks.join(key, signal, (walkSignal) =>
        host.call('extractor', extractor.entry, walkSignal, async (callSignal) => {
          return (await resolve.call(contribution, { link, signal: callSignal })).href;
        }),
      );
      walked.set(key, leadsTo, link.moves ? { ttl: MOVING_LINK_MS } : {});
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

  /**
   * The resolved URL of a short link. The source was asked, so an error contains the attempt, like any other method.
   */
  async function walk(from: Target, signal: AbortSignal | undefined): Promise<Target> {
    const begun = clock.monotonic();
    let target = from;
    try {
      for (let hops = 0; target.link.kind === 'short_link'; hops += 1) {
        if (hops === MAX_SHORT_LINKS)
          throw new GatewayError('short_link_dead', 'The short link leads to an endless chain of short links.');
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

  async function fetchAnew(
    target: Target,
    key: string,
    extract: RequestOptions,
    signal: AbortSignal,
  ): Promise<CachedResult> {
    try {
      return results.keep(key, await ask(target, { options: extract }, signal));
    } catch (error) {
      if (isGatewayError(error)) results.keepRefusal(key, error);
      throw error;
    }
  }

  function answer(request: ExtractRequest, target: Target, { cached, cache: use }: Extracted): ExtractResult {
    const { extraction, fetchedAt } = cached;
    const { contribution } = target.extractor;
    const offered = request.includeAudioMp3 !== false && contribution.audio && extraction.audio;
    const audioLink = offered ? options.audioLinks?.sign(target.link, clock.now()) : undefined;
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

  function itemOf(target: Target, extract: RequestOptions): Item {
    return { ...target, options: extract, key: cacheKey(target, extract) };
  }

  async function identify(request: ExtractRequest): Promise<Item> {
    const matched = match(request.url);
    const target = matched.link.kind === 'short_link' ? await walk(matched, request.signal) : matched;
    const { contribution } = target.extractor;
    return itemOf(target, readRequestOptions(contribution, request, registry));
  }

  const platformOf = ({ extractor }: Item) => extractor.contribution.platform;

  function count(platform: string, extracted: Extracted): Extracted {
    meter?.extractionAnswered({ platform, cache: extracted.cache });
    return extracted;
  }

  async function readCached(item: Item): Promise<Extracted | undefined> {
    const cached = await results.fresh(item.key);
    return cached && count(platformOf(item), { cached, cache: 'hit' });
  }

  async function refresh(item: Item, signal: AbortSignal | undefined): Promise<Extracted> {
    const { key } = item;
    const cached = await flights.join(key, signal, (flightSignal) => fetchAnew(item, key, item.options, flightSignal));
    return count(platformOf(item), { cached, cache: 'miss' });
  }

  async function fetch(item: Item, signal: AbortSignal | undefined): Promise<Extracted> {
    try {
      return await refresh(item, signal);
    } catch (error) {
      const cached = isGatewayError(error) && isOutage(error) ? await results.stale(item.key) : undefined;
      if (!cached) throw error;
      return count(platformOf(item), { cached, cache: 'stale' });
    }
  }

  async function fetchAlone(item: Item, only: string, signal: AbortSignal | undefined): Promise<Extracted> {
    const extraction = await ask(item, { options: item.options, only }, signal);
    return { cached: { extraction, fetchedAt: clock.now() }, cache: 'miss' };
  }

  return {
    match,
    identify,
    itemOf,
    readCached,
    fetch,
    refresh,
    answer,
    adopt: ({ key }, { cached, cache: use }) => ({ cached: results.adopt(key, cached), cache: use }),
    async extract(request) {
      const item = await identify(request);
      const extracted =
        request.only === undefined
          ? ((await readCached(item)) ?? (await fetch(item, request.signal)))
          : await fetchAlone(item, request.only, request.signal);
      return answer(request, item, extracted);
    },
  };
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

/**
 * Checks the result of an extractor against its contract.
 * @throws Error naming the field; it is a plugin fault, and the message is not shown to callers.
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

/** Checks a document against the schema of its kind, which allows no unknown fields. */
export function checkDocument(data: ExtractionData): Checked<ExtractionData> {
  return ('product' in data ? productData : postData).check(data);
}

/*
 * The options of a request that change what an extractor fetches. Each extractor declares its own (`requestOptions`), and
 * gets all of them, with defaults. One request may be for links of several platforms, so an option that another extractor
 * of the gateway declares is left out; an option that none declares is refused.
 */

const validators = new WeakMap<object, Validator<unknown>>();
const defaults = new WeakMap<object, RequestOptions>();
const NONE: RequestOptions = Object.freeze({});

/** The extractor's options for a request that sets none. */
export function defaultRequestOptions({ requestOptions }: Pick<Extractor, 'requestOptions'>): RequestOptions {
  if (!requestOptions) return NONE;
  const known = defaults.get(requestOptions) ?? Object.freeze(checked(requestOptions, {}));
  defaults.set(requestOptions, known);
  return known;
}

/**
 * The extractor's options for a request, with defaults.
 * @param registry Every extractor of the gateway.
 * @throws GatewayError `unsupported_parameter` for an option that no extractor declares, `invalid_value` for a value that
 *   the extractor's schema does not allow; `param` is the option, as the request calls it.
 */
export function readRequestOptions(
  extractor: Extractor,
  { options: given, optionName }: Pick<ExtractRequest, 'options' | 'optionName'>,
  registry: Pick<Registry, 'extractors'>,
): RequestOptions {
  const own: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(given ?? NONE)) {
    if (value === undefined) continue;
    if (declares(extractor, name)) own[name] = value;
    else if (!registry.extractors.some(({ contribution }) => declares(contribution, name)))
      throw unknownOption(name, registry);
  }
  const { requestOptions } = extractor;
  return requestOptions && Object.keys(own).length > 0
    ? checked(requestOptions, own, optionName)
    : defaultRequestOptions(extractor);
}

/** The options as text for cache keys: equal texts mean equal results. Undefined if the extractor has none. */
export function requestOptionsKey({ requestOptions }: Extractor, options: RequestOptions): string | undefined {
  const names = Object.keys(requestOptions?.properties ?? {});
  if (names.length === 0) return undefined;
  return names.map((name) => textOf(options[name])).join(':');
}

/** Words that no other value has as its text. */
const WORD = /^(?!(?:true|false|null|undefined)$)[A-Za-z][\w-]*$/;

function textOf(value: unknown): string {
  return typeof value === 'string' && WORD.test(value)
    ? value
    : encodeURIComponent(JSON.stringify(value) ?? 'undefined');
}

function declares({ requestOptions }: Extractor, name: string): boolean {
  return requestOptions !== undefined && Object.hasOwn(requestOptions.properties, name);
}

function checked(
  schema: NonNullable<Extractor['requestOptions']>,
  options: RequestOptions,
  optionName = (option: string) => option,
): RequestOptions {
  const validator = validators.get(schema) ?? createValidator(schema);
  validators.set(schema, validator);
  const result = validator.check(options);
  if (result.ok) return result.value as RequestOptions;
  const { path = '', message = 'is not valid' } = result.issues[0] ?? {};
  const [option = '', ...inner] = path.split('.');
  const param = optionName(option);
  throw new GatewayError('invalid_value', `The option ${[param, ...inner].join('.')} ${message}.`, { param });
}

function unknownOption(name: string, { extractors }: Pick<Registry, 'extractors'>): GatewayError {
  const options = extractors.flatMap(({ contribution }) => Object.keys(contribution.requestOptions?.properties ?? {}));
  const known = [...new Set(options)];
  const shown = name.slice(0, 100);
  const match = closestMatch(shown, known);
  const offered = match === undefined ? `Known: ${known.join(', ') || 'none'}.` : `Did you mean "${match}"?`;
  const message = `No platform has the request option ${JSON.stringify(shown)}. ${offered}`;
  return new GatewayError('unsupported_parameter', message, { param: shown });
}
