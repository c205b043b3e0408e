/*
 * Turns the nodes of an item into one part of the document. Three readers cover the spellings of the page, of the
 * embedded page and of the player's API, and share one builder. A slideshow has pictures and music but no video.
 * Counters of the page may be written-out rounded numbers, such as 76,000 for "76K"; a second block with other values
 * proves that they are exact, otherwise round ones are marked as rounded. A counter that is absent stays absent.
 */

import {
  asBoolean,
  asCount,
  asId,
  asNumber,
  asPositive,
  asRecords,
  asString,
  at,
  type Common,
  type MediaEntry,
  type PartialPost,
  type Precision,
  rawStats,
  toIsoTime,
} from 'mediagate/plugin';
import { canonicalUrl } from '../links.js';
import {
  betterFirst,
  firstCovers,
  isWatermarked,
  parseCovers,
  parseListedFiles,
  parseMusicFile,
  parsePictures,
  parsePlayerFiles,
  parseSubtitles,
  parseVideoFiles,
} from './files.js';
import { languageTag, member, tagsOf, urlsIn, username } from './values.js';

/** What the nodes of an item hold, in the spelling of any reply. */
interface ClipParts {
  id: string;
  caption: unknown;
  author: Author | undefined;
  createdAt: unknown;
  durationSeconds: number | undefined;
  /** Hashtags that the source lists itself. */
  hashtags: readonly unknown[];
  /** Videos; none are used of a slideshow. */
  files: readonly MediaEntry[];
  /** The pictures of a slideshow. */
  pictures: readonly MediaEntry[];
  covers: readonly MediaEntry[];
  music: unknown;
  /** The URLs that play a slideshow: its audio, if its music has no URL. */
  playAddress?: unknown;
  counters: readonly Counters[];
  muted?: boolean;
  subtitles?: readonly MediaEntry[];
  more?: PartialPost['common'];
}

/** One post of the parts of an item. */
function postOf(parts: ClipParts): PartialPost {
  const { id, author, pictures, covers, music, counters, muted = false } = parts;
  const isSlideshow = pictures.length > 0;
  const files = isSlideshow ? [] : [...parts.files].sort(betterFirst);
  const clean = files.filter((file) => !isWatermarked(file));
  const images = isSlideshow ? pictures : covers;
  const audio = parseMusicFile(music) ?? (isSlideshow ? parseMusicFile({ playUrl: parts.playAddress }) : undefined);
  const caption = asString(parts.caption)?.trim() || undefined;
  return {
    common: {
      caption,
      description: caption,
      author,
      thumbnail: covers[0]?.url ?? pictures[0]?.url,
      published_at: toIsoTime(parts.createdAt),
      duration_seconds: parts.durationSeconds,
      tags: tagsOf(caption, ...parts.hashtags),
      music: parseMusic(music),
      ...parts.more,
    },
    ids: { video_id: id, post_id: id, canonical_url: canonicalUrl(id), author_id: author?.id },
    metrics: Object.assign({ duration_seconds: parts.durationSeconds }, ...counters.map(({ metrics }) => metrics)),
    precision: Object.assign({}, ...counters.map(({ precision }) => precision)),
    media: {
      image_urls: images.map(({ url }) => url),
      video_urls: (clean.length > 0 ? clean : files).map(({ url }) => url),
      entries: [...files, ...images, ...(audio ? [audio] : []), ...(parts.subtitles ?? [])],
    },
    raw_stats: Object.assign({}, ...counters.map(({ raw_stats }) => raw_stats)),
    audio: (files.length > 0 && !muted) || (isSlideshow && audio !== undefined),
  };
}

/** One post of the few things that a page's tags, its schema.org node or oEmbed state. */
export function postOfSummary(stated: {
  id: string;
  caption: string | undefined;
  name: string | undefined;
  handle: unknown;
  /** The author's address, which often has the handle. */
  address?: string | undefined;
  thumbnail: string | undefined;
}) {
  const { id, caption, name, address, thumbnail } = stated;
  const handle = username(stated.handle) ?? username(/\/@([^/?#]+)/.exec(address ?? '')?.[1]);
  return {
    common: {
      caption,
      description: caption,
      author: { name, username: handle, url: handle ? profileUrl(handle) : address },
      thumbnail,
      tags: tagsOf(caption),
    },
    ids: { video_id: id, post_id: id, canonical_url: canonicalUrl(id) },
    media: { image_urls: thumbnail ? [thumbnail] : [] },
  };
}

/** An `itemStruct`, which all pages since 2020 have for an item. */
export function parseItem(item: unknown, id: string): PartialPost {
  const video = at(item, 'video');
  const muted = at(item, 'itemMute') === true;
  return postOf({
    id,
    caption: at(item, 'desc'),
    author: parseAuthor(item),
    createdAt: at(item, 'createTime'),
    durationSeconds: asPositive(at(video, 'duration')),
    hashtags: tagNames(item),
    files: parseVideoFiles(video, muted),
    pictures: parsePictures(at(item, 'imagePost', 'images')),
    covers: parseCovers(video),
    music: at(item, 'music'),
    playAddress: at(video, 'playAddr'),
    counters: [
      parseCounters(at(item, 'stats'), at(item, 'statsV2')),
      parseFollowers(at(item, 'authorStats') ?? at(item, 'author'), at(item, 'authorStatsV2')),
      {
        raw_stats: rawStats({
          createTime: at(item, 'createTime'),
          locationCreated: at(item, 'locationCreated'),
          repostCount: member(at(item, 'statsV2'), 'repostCount') ?? at(item, 'stats', 'repostCount'),
        }),
      },
    ],
    muted,
    subtitles: parseSubtitles(video),
    more: {
      title: asString(at(item, 'imagePost', 'title'))?.trim() || undefined,
      language: languageTag(at(item, 'textLanguage')),
      category: asString(at(item, 'diversificationLabels', 0)),
      age_limit: at(item, 'isContentClassified') === true ? 18 : undefined,
      location: asString(at(item, 'poi', 'name')),
    },
  });
}

/** `videoData`, which the page of the embedded player has for an item, and all pages had until 2020. */
export function parseVideoData(data: unknown, id: string): PartialPost {
  const item = at(data, 'itemInfos');
  const video = at(item, 'video');
  const written = asRecords(at(data, 'textExtra')).map((one) => member(one, 'hashtagName', 'HashtagName'));
  const listed = asRecords(at(data, 'challengeInfoList')).map(({ challengeName }) => challengeName);
  return postOf({
    id,
    caption: at(item, 'text'),
    author: parseAuthor({ author: at(data, 'authorInfos'), authorId: at(item, 'authorId') }),
    createdAt: at(item, 'createTime'),
    durationSeconds: asPositive(at(video, 'videoMeta', 'duration')),
    hashtags: [...written, ...listed],
    files: parseListedFiles(video),
    pictures: parsePictures(at(data, 'imagePostInfo', 'displayImages')),
    covers: firstCovers(at(item, 'covers'), at(item, 'coversOrigin')),
    music: at(data, 'musicInfos'),
    counters: [ofPlayer(parseCounters(item)), parseFollowers(at(data, 'authorStats'))],
  });
}

/** Durations are milliseconds here; a number below this one is none. */
const LEAST_MILLISECONDS = 1_000;

/** An element of `items` in the reply that the embedded player requests. It has no count of plays. */
export function parsePlayerItem(item: unknown, id: string): PartialPost {
  const video = at(item, 'video_info');
  const milliseconds = asNumber(at(video, 'meta', 'duration')) ?? 0;
  return postOf({
    id,
    caption: at(item, 'desc'),
    author: parseAuthor({ author: at(item, 'author_info') }),
    createdAt: at(item, 'create_time'),
    durationSeconds: milliseconds >= LEAST_MILLISECONDS ? milliseconds / 1000 : undefined,
    hashtags: asRecords(at(item, 'text_extra')).map(({ hashtag_name }) => hashtag_name),
    files: parsePlayerFiles(video),
    pictures: parsePictures(at(item, 'image_post_info', 'images')),
    covers: firstCovers(at(video, 'cover'), at(video, 'origin_cover')),
    music: at(item, 'music_info'),
    playAddress: at(video, 'url_list'),
    counters: [ofPlayer(parseCounters(at(item, 'statistics_info')))],
    more: { language: languageTag(at(item, 'desc_language')) },
  });
}

/** Hashtags as the page lists them: in the text, and apart from it. */
function tagNames(item: unknown): unknown[] {
  const written = [item, ...asRecords(at(item, 'contents'))].flatMap((text) => asRecords(at(text, 'textExtra')));
  const challenges = asRecords(at(item, 'challenges'));
  return [...written.map(({ hashtagName }) => hashtagName), ...challenges.map(({ title }) => title)];
}

type Author = NonNullable<Common['author']>;

const AVATARS = [
  'avatarLarger',
  'avatarMedium',
  'avatarThumb',
  'avatar_larger',
  'avatar_thumb',
  'avatar_url_list',
  'covers',
];

/** The author of an item: usually a node of its own, sometimes only the handle. */
function parseAuthor(item: unknown): Author | undefined {
  const node = at(item, 'author');
  const name = username(member(node, 'uniqueId', 'unique_id')) ?? username(node);
  const id = asId(member(node, 'id', 'uid', 'userId')) ?? asId(at(item, 'authorId'));
  const nickname = asString(member(node, 'nickname', 'nickName')) ?? asString(member(item, 'nickname', 'authorName'));
  const [avatar] = AVATARS.flatMap((one) => urlsIn(member(node, one) ?? at(item, one)));
  if (!name && !id && !nickname) return undefined;
  return {
    id,
    name: nickname,
    username: name,
    url: name && profileUrl(name),
    avatar,
    verified: asBoolean(at(node, 'verified')),
  };
}

function profileUrl(name: string): string {
  return `https://www.tiktok.com/@${name}`;
}

type Counters = Pick<PartialPost, 'metrics' | 'precision' | 'raw_stats'>;
type CounterNames = Partial<Record<keyof NonNullable<PartialPost['metrics']>, readonly string[]>>;

/** Our counter → the names that the site's replies have for it. */
const COUNTERS = {
  views: ['playCount', 'play_count'],
  plays: ['playCount', 'play_count'],
  likes: ['diggCount', 'digg_count'],
  comments: ['commentCount', 'comment_count'],
  shares: ['shareCount', 'share_count'],
  saves: ['collectCount', 'collect_count'],
} as const satisfies CounterNames;

/** From here on the site may write what it shows ("76K", "1.7M") out as a number. */
const ROUNDED_FROM = 10_000;

/**
 * Counters of an item. `stats` is what the pages show; `exact` the second block that pages of 2024 and later add, as
 * strings. Some visitors get it rounded as well, equal to the first one.
 */
export function parseCounters(stats: unknown, exact?: unknown): Counters {
  return readCounters(COUNTERS, stats, exact);
}

/** How many follow the author. */
export function parseFollowers(stats: unknown, exact?: unknown): Counters {
  return readCounters({ subscriber_count: ['followerCount', 'follower_count'] }, stats, exact);
}

function readCounters(names: CounterNames, stats: unknown, exact: unknown): Counters {
  const isExact = differs(stats, exact);
  const metrics: Record<string, number> = {};
  const precision: Record<string, Precision> = {};
  const raw: Record<string, unknown> = {};
  for (const [name, [first = '', ...others]] of Object.entries(names)) {
    const written = member(exact, first, ...others) ?? member(stats, first, ...others);
    const value = asCount(written);
    if (value === undefined) continue;
    metrics[name] = value;
    precision[name] = isExact || !isRounded(value) ? 'exact' : 'rounded';
    raw[first] = written;
  }
  return { metrics, precision, raw_stats: rawStats(raw) };
}

/** Counters of the embedded player, which all are exact or all are rounded: one that is not round shows which. */
export function ofPlayer({ precision, metrics, ...counters }: Counters): Counters {
  const isExact = Object.values(metrics ?? {}).some(
    (value) => typeof value === 'number' && value >= ROUNDED_FROM && !isRounded(value),
  );
  if (!isExact) return { metrics, precision, ...counters };
  const names = Object.keys(precision ?? {});
  return { metrics, ...counters, precision: Object.fromEntries(names.map((name) => [name, 'exact'])) };
}

function differs(stats: unknown, exact: unknown): boolean {
  return [...Object.values(COUNTERS).map(([name]) => name), 'followerCount', 'heartCount'].some((name) => {
    const [one, other] = [asCount(at(stats, name)), asCount(at(exact, name))];
    return one !== undefined && other !== undefined && one !== other;
  });
}

/** One decimal of thousands, or of millions, is all that is left of a number that was shown. */
function isRounded(value: number): boolean {
  return value >= ROUNDED_FROM && value % (value >= 1_000_000 ? 100_000 : 100) === 0;
}

/** The music or audio that a post is set to, in the spellings of all replies. */
function parseMusic(music: unknown): Common['music'] {
  const title = asString(member(music, 'title', 'musicName'));
  const artist = asString(member(music, 'authorName', 'author'));
  if (!title && !artist) return undefined;
  return { title, artist, album: asString(at(music, 'album')), id: asId(member(music, 'id', 'musicId', 'id_str')) };
}
