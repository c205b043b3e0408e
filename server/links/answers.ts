/*
 * Encodes link data: documents and background jobs. A response always has the fields of the service document; unknown
 * ones are null or an empty list, so that typed clients need no guards. Encoding is the most expensive part of a cached
 * answer. So the encoded document is cached by the identity of the extraction, in a weak map that lives as long as the
 * cached result, and split where the MP3 link belongs, since each answer has a link of its own. A failed job has its
 * failure where link-data errors have theirs.
 */

import type { ServerResponse } from 'node:http';
import type {
  AudioLink,
  Author,
  ExtractionData,
  ExtractionJob,
  ExtractResult,
  JobState,
  MediaEntry,
  PostData,
  ProductData,
  Review,
  VideoLink,
} from '../../core/contracts/index.js';
import { describeLimitation, wholeVideo } from '../../core/extraction/index.js';
import { isoTime } from '../format/index.js';
import { describeFailure } from '../http/index.js';

/**
 * The fields that a response always has, in sending order: those of the service document, and those that its records
 * fill. In core unknown fields are absent; here they become null or an empty list, so that typed clients need no
 * guards. Other fields are sent only when known.
 */
const AUTHOR = { id: null, name: null, username: null, url: null, avatar: null };
const COMMON = {
  title: null,
  author: AUTHOR,
  caption: null,
  description: null,
  thumbnail: null,
  published_at: null,
  duration_seconds: null,
  language: null,
  tags: [],
  is_live: null,
};
const IDS = { video_id: null, post_id: null, shortcode: null, channel_id: null, author_id: null, canonical_url: null };
const METRICS = {
  views: null,
  likes: null,
  comments: null,
  shares: null,
  saves: null,
  plays: null,
  duration_seconds: null,
  channel_id: null,
  subscriber_count: null,
};
const MEDIA = { image_urls: [], video_urls: [] };
const SHOP = { id: null, name: null, url: null, rating: null };
const PRICE = { amount: null, currency: null, original_amount: null, min: null, max: null, text: null };
const RATING = { average: null, count: null };
const DISTRIBUTION = { '1': null, '2': null, '3': null, '4': null, '5': null };
const PRODUCT = {
  product_id: null,
  name: null,
  description: null,
  shop: SHOP,
  price: PRICE,
  stock: null,
  sold_count: null,
  rating: RATING,
  image_urls: [],
  video_urls: [],
  url: null,
};
const REVIEW = {
  id: null,
  rating: null,
  text: null,
  author: null,
  created_at: null,
  likes: null,
  images: [],
  variant: null,
  country: null,
};

/** The document with all of these fields. */
function frameDocument(data: ExtractionData) {
  return 'product' in data ? frameProduct(data) : framePost(data);
}

function framePost({ common, ids, metrics, media, raw_stats, ...further }: PostData) {
  return {
    common: { ...COMMON, ...common, author: frameAuthor(common.author) },
    ids: { ...IDS, ...ids },
    metrics: { ...METRICS, ...metrics },
    media: { ...MEDIA, ...media },
    raw_stats,
    ...further,
  };
}

function frameAuthor(author: Author | undefined) {
  return { ...AUTHOR, ...author };
}

function frameProduct({ product, reviews, raw_stats, ...further }: ProductData) {
  const { shop, price, rating } = product;
  return {
    product: {
      ...PRODUCT,
      ...product,
      shop: { ...SHOP, ...shop },
      price: { ...PRICE, ...price },
      rating: { ...RATING, ...rating, distribution: { ...DISTRIBUTION, ...rating?.distribution } },
    },
    reviews: { five_star: reviews.five_star.map(frameReview), one_star: reviews.one_star.map(frameReview) },
    raw_stats,
    ...further,
  };
}

function frameReview(review: Review) {
  return { ...REVIEW, ...review };
}

/** A document in JSON, split at the position of the MP3 link. */
interface EncodedDocument {
  before: Buffer;
  /** Undefined for documents without an MP3 link. */
  after?: Buffer;
}

/** Encoding is the most expensive part of a cached answer, so it is cached by the identity of the extraction. */
const encoded = new WeakMap<object, EncodedDocument>();

export interface Additions {
  /** Added to the result's own limitations. */
  notes?: readonly string[];
  /** Precedes the fields of the document, in `data`. */
  data?: object;
}

/** What an answer with a document is made from. */
export interface LinkAnswer {
  result: ExtractResult;
  additions: Additions;
}

/** The document with the fields that it always has, without links of this gateway. */
export function encodePublic(data: ExtractionData): string {
  return JSON.stringify(frameDocument(data));
}

/** The extraction response (service document 2.5) in UTF-8. */
export function encodeExtraction(result: ExtractResult, { notes = [], data }: Additions = {}): Buffer {
  const head = Buffer.from(
    `{"ok":true,"platform":${JSON.stringify(result.platform)},"input_url":${JSON.stringify(result.inputUrl)},` +
      `"extraction_method":${JSON.stringify(result.method)},"data":`,
  );
  const tail = Buffer.from(`,${JSON.stringify(limitationFields([...result.limitations, ...notes])).slice(1)}`);
  const { before: document, after } = encodedDocument(result);
  const before = data ? joinObjects(data, document) : document;
  if (!after) return Buffer.concat([head, before, tail]);
  return Buffer.concat([head, before, Buffer.from(encodeAudioLink(result.audioLink)), after, tail]);
}

/** The notes of an answer, as words for programs and as sentences for people. */
function limitationFields(limitations: readonly string[]) {
  return { limitations, limitation_messages: limitations.map(describeLimitation) };
}

/** The encoded document has fields of its own. */
function joinObjects(first: object, encodedSecond: Buffer): Buffer {
  return Buffer.concat([Buffer.from(`${JSON.stringify(first).slice(0, -1)},`), encodedSecond.subarray(1)]);
}

function encodedDocument(result: ExtractResult): EncodedDocument {
  // Each key has media links of its own.
  if (result.mediaLinks) return encodeDocument(withMediaLinks(result.data, result.mediaLinks), result);
  const known = encoded.get(result.identity);
  if (known) return known;
  const made = encodeDocument(result.data);
  encoded.set(result.identity, made);
  return made;
}

type MediaLinks = NonNullable<ExtractResult['mediaLinks']>;

/** The document with its media links. */
export function withMediaLinks(data: ExtractionData, links: MediaLinks): ExtractionData {
  const linked = (entries: readonly MediaEntry[] = []) =>
    entries.map((entry, index) => {
      const link = links[index];
      if (!link) return entry;
      const { url, expiresAt, subtitles } = link;
      return {
        ...entry,
        proxy_url: url,
        proxy_expires_at: expiresAt,
        ...(subtitles && { subtitle_urls: subtitles }),
      };
    });
  if ('product' in data) return { ...data, product: { ...data.product, media: linked(data.product.media) } };
  return { ...data, media: { ...data.media, entries: linked(data.media.entries) } };
}

/** Links of the gateway to more than one file of an item. */
type ItemLinks = Pick<ExtractResult, 'archiveLink' | 'videoLink'>;

function encodeDocument(data: ExtractionData, { archiveLink, videoLink }: ItemLinks = {}): EncodedDocument {
  const framed = frameDocument(data);
  if (!('media' in framed)) return { before: Buffer.from(JSON.stringify(framed)) };
  const { common, ids, metrics, media, ...rest } = framed;
  const start = JSON.stringify({ common, ids, metrics });
  const mediaText = JSON.stringify({
    ...media,
    ...(videoLink && { video_download_links: { ...videoLink.urls, expires_at: videoLink.expiresAt } }),
    download_links: { video: videoAddress(data, videoLink), archive: archiveLink?.url },
  });
  return {
    // Without the braces that close download_links, media and the document.
    before: Buffer.from(`${start.slice(0, -1)},"media":${mediaText.slice(0, -2)},`),
    after: Buffer.from(`},${JSON.stringify(rest).slice(1)}`),
  };
}

/** Where the video is as one file with picture and sound. */
export function videoAddress(data: ExtractionData, videoLink: VideoLink | undefined): string | null {
  return (videoLink?.isMerged ? videoLink.url : wholeVideo(data)) ?? null;
}

/** The rest of `download_links`, and `audio_download_links`; both name the same URL. */
function encodeAudioLink(link: AudioLink | undefined): string {
  const url = JSON.stringify(link?.url ?? null);
  const details = link
    ? `"status":"generated_on_first_download","content_type":"audio/mpeg","expires_at":${JSON.stringify(link.expiresAt)}`
    : '"status":null,"content_type":null,"expires_at":null';
  return `"mp3":${url}},"audio_download_links":{"mp3":${url},${details}}`;
}

/** Seconds between two polls of an open job: `Retry-After` and `poll_after_seconds`. */
export const POLL_AFTER_SECONDS = 3;

export const STATUS: Readonly<Record<JobState, string>> = {
  queued: 'queued',
  running: 'processing',
  completed: 'completed',
  failed: 'failed',
  cancelled: 'cancelled',
};

export function isOpen({ state }: ExtractionJob): boolean {
  return state === 'queued' || state === 'running';
}

/** What documents have, until there is one. */
const NO_PRODUCT = { product: null, reviews: { five_star: [], one_star: [] } };
const NO_POST = { common: null, ids: null, metrics: null, media: null };

/** `data.job` of a job. */
function describeJob(job: ExtractionJob) {
  return {
    job_id: job.id,
    status: STATUS[job.state],
    product_id: job.link.id,
    created_at: isoTime(job.createdAt),
    started_at: isoTime(job.startedAt),
    finished_at: isoTime(job.finishedAt),
    attempts: job.attempts,
    error: job.error && describeFailure(job.error),
    status_url: `/v1/extract/jobs/${job.id}`,
    poll_after_seconds: isOpen(job) ? POLL_AFTER_SECONDS : 0,
  };
}

/** A job of a list: its document is read from `status_url`. */
export function encodeListedJob(job: ExtractionJob) {
  return { ...describeJob(job), platform: job.platform, url: job.link.url };
}

export interface JobAnswer {
  /** Default: the item's canonical URL. */
  inputUrl?: string;
  /** Added to the result's own limitations. Default: none. */
  notes?: readonly string[];
  /** Precedes the fields of the document. Default: nothing. */
  data?: object;
}

/**
 * An extraction job in UTF-8: the extraction response with `data.job` and `data.queue`; the other fields of
 * `data` are empty until there is a result. A failed job is `ok: false`, with its failure at the same position
 * as link-data errors.
 */
export function encodeJob(
  job: ExtractionJob,
  { inputUrl = job.link.url, notes = [], data: more }: JobAnswer = {},
): Buffer {
  const error = job.error && describeFailure(job.error);
  const data = {
    job: describeJob(job),
    queue: { active: job.queue.active, max_active: job.queue.maxActive },
  };
  if (job.result) return encodeExtraction({ ...job.result, inputUrl }, { notes, data: { ...data, ...more } });
  return Buffer.from(
    JSON.stringify({
      ok: error === null,
      ...(error && { error }),
      platform: job.platform,
      input_url: inputUrl,
      extraction_method: 'background_job',
      data: { ...data, ...(job.link.kind === 'product' ? NO_PRODUCT : NO_POST) },
      ...limitationFields(notes),
    }),
  );
}

/** Whether the result is from the cache, and its age. */
export function setCacheHeaders(response: ServerResponse, result: ExtractResult): void {
  response.setHeader('X-Cache', result.cache);
  if (result.cache !== 'miss') response.setHeader('Age', Math.floor(result.ageMs / 1000));
}
