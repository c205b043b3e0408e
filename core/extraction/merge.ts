/*
 * Merges what several methods found into one post document. Per field the first part that has it wins, except that an
 * exact count beats a rounded one and a stated time beats one computed from the id. Authors are only merged if they
 * are the same person, and media URLs are united in order. Fields that do not fit the schema are dropped, so one bad
 * value never costs the document. `provenance` records which method each field came from. The parts are not changed.
 */

import {
  AuthorSchema,
  type Common,
  CommonSchema,
  type Ids,
  IdsSchema,
  type MediaEntry,
  type Metrics,
  MetricsSchema,
  type PostData,
  PostDataSchema,
  type PostMedia,
  PostMediaSchema,
  type Precision,
  type Provenance,
} from '../contracts/index.js';
import { firstLine } from '../runtime/index.js';
import type { Part } from './fallback-chain.js';
import { fitSchema } from './scraping/fit-schema.js';

/** Every optional field may also be undefined, at any depth: extractors may pass unknown values. */
type Unsure<Value> = Value extends readonly (infer Item)[]
  ? Unsure<Item>[]
  : Value extends object
    ? { [Name in keyof Value]: Unsure<Value[Name]> | (object extends Pick<Value, Name> ? undefined : never) }
    : Value;

/** What a method of a post or video platform found: any part of the document. An undefined field counts as absent. */
export interface PartialPost {
  common?: Unsure<Partial<Common>> | undefined;
  ids?: Unsure<Partial<Ids>> | undefined;
  metrics?: Unsure<Partial<Metrics>> | undefined;
  media?: Unsure<Partial<PostMedia>> | undefined;
  raw_stats?: PostData['raw_stats'] | undefined;
  /** Metric → precision; `exact` if not listed. */
  precision?: Readonly<Record<string, Precision>> | undefined;
  publishedAtSource?: 'id' | undefined;
  /** Whether the item has audio. */
  audio?: boolean | undefined;
}

export type PostPart = Part<PartialPost>;
export type { PostData };

const TITLE_LENGTH = 120;
/** Metrics that are counts, and so have a precision. */
const COUNTERS = [
  'views',
  'likes',
  'comments',
  'shares',
  'saves',
  'plays',
  'concurrent_viewers',
  'subscriber_count',
] as const;
const FINENESS: Readonly<Record<Precision, number>> = { exact: 2, rounded: 1, hidden: 0 };

/** A part with fields that are known to fit the schema. */
interface FittedPart {
  method: string;
  common: Common;
  ids: Ids;
  metrics: Metrics;
  media: Partial<PostMedia>;
  raw_stats: PostData['raw_stats'];
  precision: Readonly<Record<string, Precision>>;
  publishedAtSource?: 'id';
}

/**
 * Merges several parts, given best first, into one document. For each field the first part that has it wins. An exact
 * count beats a rounded one, a stated time beats one computed from the id, and media URLs are united in order. Fields
 * that do not fit the schema are omitted. `provenance` names the method of each field. The parts are not changed.
 */
export function mergePosts(parts: readonly PostPart[]): PostData {
  const fitted = parts.map(fitPart);
  const sources: Record<string, string> = {};
  const precision: Record<string, Precision> = {};

  const common = mergeCommon(fitted, sources);
  const ids = takeFirst(fitted, 'ids', sources);
  const metrics = mergeMetrics(fitted, sources, precision);
  const media = mergeMedia(fitted, sources);
  if (metrics.duration_seconds === undefined && common.duration_seconds !== undefined) {
    metrics.duration_seconds = common.duration_seconds;
    note(sources, 'metrics.duration_seconds', sources['common.duration_seconds']);
  }
  if (metrics.channel_id === undefined && ids.channel_id !== undefined) {
    metrics.channel_id = ids.channel_id;
    note(sources, 'metrics.channel_id', sources['ids.channel_id']);
  }
  const title = common.title === undefined && common.caption ? firstLine(common.caption, TITLE_LENGTH) : undefined;
  if (title) {
    common.title = title;
    note(sources, 'common.title', sources['common.caption']);
  }
  const provenance: Provenance = { sources, precision };
  if (common.published_at !== undefined && !isTimeStated(fitted)) provenance.published_at_source = 'id';
  const raw_stats = Object.assign({}, ...fitted.map((part) => part.raw_stats).reverse());
  return { common, ids, metrics, media, raw_stats, provenance };
}

function fitPart({ method, found }: PostPart): FittedPart {
  return {
    method,
    common: (fitSchema(CommonSchema, found.common) ?? {}) as Common,
    ids: (fitSchema(IdsSchema, found.ids) ?? {}) as Ids,
    metrics: (fitSchema(MetricsSchema, found.metrics) ?? {}) as Metrics,
    media: {
      image_urls: fitSchema(PostMediaSchema.properties.image_urls, found.media?.image_urls) as string[] | undefined,
      video_urls: fitSchema(PostMediaSchema.properties.video_urls, found.media?.video_urls) as string[] | undefined,
      entries: fitSchema(PostMediaSchema.properties.entries, found.media?.entries) as MediaEntry[] | undefined,
    },
    raw_stats: (fitSchema(PostDataSchema.properties.raw_stats, found.raw_stats) ?? {}) as PostData['raw_stats'],
    precision: found.precision ?? {},
    publishedAtSource: found.publishedAtSource,
  };
}

function takeFirst<Group extends 'common' | 'ids' | 'metrics'>(
  parts: readonly FittedPart[],
  group: Group,
  sources: Record<string, string>,
): FittedPart[Group] {
  const taken: Record<string, unknown> = {};
  for (const part of parts) {
    for (const [name, value] of Object.entries(part[group])) {
      if (Object.hasOwn(taken, name)) continue;
      taken[name] = value;
      note(sources, `${group}.${name}`, part.method);
    }
  }
  // Every value came from a part of this same type.
  return taken as FittedPart[Group];
}

function mergeCommon(parts: readonly FittedPart[], sources: Record<string, string>): Common {
  const stated = isTimeStated(parts);
  const usable = parts.map((part) => {
    if (!stated || !part.publishedAtSource) return part;
    const { published_at: _computed, ...rest } = part.common;
    return { ...part, common: rest };
  });
  const common = takeFirst(usable, 'common', sources);
  const author = mergeAuthor(parts, sources);
  delete sources['common.author'];
  if (author) common.author = author;
  return common;
}

/** Whether a part states the time of publication: that beats a computed one. */
function isTimeStated(parts: readonly FittedPart[]): boolean {
  return parts.some((part) => part.common.published_at && !part.publishedAtSource);
}

/** Merges the fields of one author from several parts, unless they are different persons. */
function mergeAuthor(parts: readonly FittedPart[], sources: Record<string, string>): Common['author'] {
  const fields = Object.keys(AuthorSchema.properties) as (keyof typeof AuthorSchema.properties)[];
  let author: Author | undefined;
  for (const part of parts) {
    const other = part.common.author;
    if (!other) continue;
    const known: Author = author ?? {};
    if (areTwo(known, other)) continue;
    for (const field of fields) {
      if (known[field] === undefined && other[field] !== undefined) {
        Object.assign(known, { [field]: other[field] });
        note(sources, `common.author.${field}`, part.method);
      }
    }
    author = known;
  }
  return author;
}

type Author = NonNullable<Common['author']>;

/** Compares ids if both have one: they are opaque and case-sensitive. Otherwise compares user names. */
function areTwo(one: Author, other: Author): boolean {
  if (one.id !== undefined && other.id !== undefined) return one.id !== other.id;
  if (one.username === undefined || other.username === undefined) return false;
  return one.username.toLowerCase() !== other.username.toLowerCase();
}

function mergeMetrics(
  parts: readonly FittedPart[],
  sources: Record<string, string>,
  precision: Record<string, Precision>,
): Metrics {
  const metrics = takeFirst(parts, 'metrics', sources);
  for (const counter of COUNTERS) {
    let best = -1;
    for (const part of parts) {
      const value = part.metrics[counter];
      const fineness = part.precision[counter] ?? (value === undefined ? undefined : 'exact');
      // "Hidden" applies to a counter without a value; a part that does not mention it does not count.
      if (fineness === undefined || FINENESS[fineness] <= best || (value === undefined && fineness !== 'hidden'))
        continue;
      best = FINENESS[fineness];
      precision[counter] = fineness;
      if (value === undefined) continue;
      metrics[counter] = value;
      note(sources, `metrics.${counter}`, part.method);
    }
  }
  return metrics;
}

function mergeMedia(parts: readonly FittedPart[], sources: Record<string, string>): PostMedia {
  const unite = <Item>(
    name: keyof PostMedia,
    key: (item: Item) => string,
    of: (part: FittedPart) => readonly Item[] | undefined,
  ) => {
    const lists = parts
      .map((part) => ({ method: part.method, items: of(part) ?? [] }))
      .filter(({ items }) => items.length > 0);
    const [first, ...others] = lists;
    if (!first) return [];
    note(sources, `media.${name}`, first.method);
    // Usually one part has all of them; comparing a hundred addresses of a kilobyte each would be slow.
    if (others.length === 0) return [...first.items];
    const united = new Map<string, Item>();
    for (const { items } of lists) for (const item of items) if (!united.has(key(item))) united.set(key(item), item);
    return [...united.values()];
  };
  const entries = unite(
    'entries',
    (entry: MediaEntry) => entry.url,
    (part) => part.media.entries,
  );
  return {
    image_urls: unite(
      'image_urls',
      (url: string) => url,
      (part) => part.media.image_urls,
    ),
    video_urls: unite(
      'video_urls',
      (url: string) => url,
      (part) => part.media.video_urls,
    ),
    ...(entries.length > 0 && { entries }),
  };
}

function note(sources: Record<string, string>, field: string, method: string | undefined): void {
  if (method !== undefined) sources[field] = method;
}
