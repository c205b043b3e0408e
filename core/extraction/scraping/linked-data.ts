/*
 * Reads the schema.org descriptions that pages carry for search engines (JSON-LD). It reports what the nodes state and
 * does not decide which of them is the requested item; callers compare `identifiers` and `addresses` for that. Only a
 * node's own fields are read, not those of its author or comments. At most 20 scripts and 1,000 nodes are read. Names
 * that a page spells differently (`creator`, `dateCreated`, a duration without `P`) become one form.
 */

import {
  asArray,
  asBoolean,
  asCount,
  asPositive,
  asRecord,
  asRecords,
  asString,
  at,
  type JsonRecord,
  tryParseJson,
} from '../../runtime/index.js';
import { absoluteUrl } from './addresses.js';
import { parseDuration, toIsoTime } from './dates.js';
import type { PageScript } from './page-json.js';

export interface LinkedPerson {
  name?: string;
  /** `alternateName` without a leading `@`. */
  username?: string;
  identifier?: string;
  url?: string;
  avatar?: string;
}

export interface LinkedImage {
  url: string;
  width?: number;
  height?: number;
}

/** What one node states. Only its own members are read; those of its author and its comments are theirs. */
export interface LinkedItem {
  /** `@type`, without `https://schema.org/`; empty if there is none. */
  type: string;
  node: JsonRecord;
  /** Texts of `identifier`, which may be a list, a node or a text. */
  identifiers: string[];
  /** Addresses as they are written: `url`, `@id`, `mainEntityOfPage`, `embedUrl`. */
  addresses: string[];
  /** `articleBody`, `text` or `caption`. */
  text?: string;
  name?: string;
  description?: string;
  /** `author` or `creator`. */
  author?: LinkedPerson;
  /** ISO 8601: `uploadDate`, `dateCreated` or `datePublished`. */
  publishedAt?: string;
  durationSeconds?: number;
  language?: string;
  images: LinkedImage[];
  thumbnail?: string;
  /** The media file of a video or image node. */
  contentUrl?: string;
  width?: number;
  height?: number;
  /** True while a broadcast runs. */
  isLive: boolean;
  isFamilyFriendly?: boolean;
  counts: { likes?: number; comments?: number; shares?: number; views?: number };
  /** The videos in `video`. */
  videos: LinkedItem[];
}

const MAX_SCRIPTS = 20;
const MAX_NODES = 1_000;

/** The schema.org nodes of a page in their order: those of its scripts, of lists, and of `@graph`. */
export function linkedDataNodes(scripts: readonly PageScript[]): JsonRecord[] {
  const described = scripts.filter(({ tag }) => tag.includes('ld+json')).slice(0, MAX_SCRIPTS);
  return described.flatMap(({ text }) => nodesIn(tryParseJson(text))).slice(0, MAX_NODES);
}

function nodesIn(value: unknown): JsonRecord[] {
  return listOf(value).flatMap((entry) => {
    const node = asRecord(entry);
    if (!node) return [];
    return asArray(node['@graph']) ? asRecords(node['@graph']) : [node];
  });
}

/**
 * What a node states.
 * @param base Makes paths absolute in the URLs of persons, images and files; `addresses` stay as they are.
 */
export function readLinkedItem(node: JsonRecord, base?: string): LinkedItem {
  return { ...readNode(node, base), videos: asRecords(listOf(node.video)).map((video) => readNode(video, base)) };
}

function readNode(node: JsonRecord, base: string | undefined): LinkedItem {
  const page = node.mainEntityOfPage ?? node.mainEntityofPage;
  const addresses = [node.url, node['@id'], at(page, '@id') ?? page, node.embedUrl];
  // Some pages omit the `P` that a duration begins with.
  const duration = parseDuration((asString(node.duration) ?? '').replace(/^(?=T)/, 'P'));
  return {
    type: typeOf(node),
    node,
    identifiers: listOf(node.identifier).flatMap((one) => textOf(at(one, 'value') ?? one) ?? []),
    addresses: addresses.flatMap((address) => asString(address) ?? []),
    text: asString(node.articleBody) ?? asString(node.text) ?? asString(node.caption),
    name: asString(node.name),
    description: asString(node.description),
    author: readPerson(node.author ?? node.creator, base),
    publishedAt: toIsoTime(node.uploadDate) ?? toIsoTime(node.dateCreated) ?? toIsoTime(node.datePublished),
    durationSeconds: duration || undefined,
    language: asString(node.inLanguage),
    images: listOf(node.image).flatMap((image) => readImage(image, base) ?? []),
    thumbnail: absoluteUrl(firstOf(node.thumbnailUrl) ?? at(node.thumbnail, 'contentUrl'), base),
    contentUrl: absoluteUrl(node.contentUrl, base),
    width: asPositive(node.width),
    height: asPositive(node.height),
    isLive: listOf(node.publication).some(
      (one) => at(one, 'isLiveBroadcast') === true && at(one, 'endDate') === undefined,
    ),
    isFamilyFriendly: asBoolean(node.isFamilyFriendly),
    counts: readCounts(node),
    videos: [],
  };
}

function typeOf(node: JsonRecord): string {
  return withoutVocabulary(asString(firstOf(node['@type'])) ?? '');
}

function readPerson(value: unknown, base: string | undefined): LinkedPerson | undefined {
  const person = asRecord(firstOf(value));
  if (!person) return undefined;
  const { image } = person;
  return {
    name: asString(person.name),
    username: asString(person.alternateName)?.replace(/^@/, ''),
    identifier: textOf(at(person.identifier, 'value') ?? person.identifier)?.replace(/^@/, ''),
    url: absoluteUrl(person.url, base),
    avatar: absoluteUrl(at(image, 'contentUrl') ?? at(image, 'url') ?? image, base),
  };
}

function readImage(image: unknown, base: string | undefined): LinkedImage | undefined {
  const url = absoluteUrl(at(image, 'contentUrl') ?? at(image, 'url') ?? image, base);
  return url === undefined
    ? undefined
    : { url, width: asPositive(at(image, 'width')), height: asPositive(at(image, 'height')) };
}

const ACTIONS: Readonly<Record<string, keyof LinkedItem['counts']>> = {
  LikeAction: 'likes',
  ReactAction: 'likes',
  CommentAction: 'comments',
  ShareAction: 'shares',
  WatchAction: 'views',
  ViewAction: 'views',
};

function readCounts(node: JsonRecord): LinkedItem['counts'] {
  const counts: LinkedItem['counts'] = {};
  for (const one of listOf(node.interactionStatistic)) {
    const type = at(one, 'interactionType');
    const action = withoutVocabulary(asString(at(type, '@type')) ?? asString(type) ?? '');
    const count = asCount(at(one, 'userInteractionCount'));
    if (Object.hasOwn(ACTIONS, action) && count !== undefined) counts[ACTIONS[action] as 'likes'] ??= count;
  }
  counts.comments ??= asCount(node.commentCount);
  counts.views ??= asCount(node.interactionCount);
  return counts;
}

/** `https://schema.org/VideoObject` → `VideoObject`. */
function withoutVocabulary(type: string): string {
  return type.slice(type.lastIndexOf('/') + 1);
}

/** Ids that fit are numbers; longer ones are texts already. */
function textOf(value: unknown): string | undefined {
  return typeof value === 'number' && Number.isSafeInteger(value) ? String(value) : asString(value);
}

function listOf(value: unknown): readonly unknown[] {
  return asArray(value) ?? (value === undefined || value === null ? [] : [value]);
}

function firstOf(value: unknown): unknown {
  return asArray(value)?.[0] ?? value;
}
