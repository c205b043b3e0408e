import {
  asArray,
  asBoolean,
  asCount,
  asPositive,
  asRecord,
  asString,
  at,
  type Common,
  type PartialPost,
  type Precision,
  toIsoTime,
} from 'mediagate';
import { canonicalUrl } from '../links.js';
import {
  betterFirst,
  isWatermarked,
  parseCovers,
  parseMusicFile,
  parsePictures,
  parseSubtitles,
  parseVideoFiles,
} from './files.js';
import { idText, languageTag, member, rawStats, tagsOf, urlsIn, username } from './values.js';

export interface ItemReading {
  post: PartialPost;
  limitations: string[];
}

/** Accounts and their counters by handle, where a page keeps them apart from its items. */
export interface Accounts {
  users?: unknown;
  userStats?: unknown;
}

/** An `itemStruct`: what all pages since 2020 call an item. */
export function parseItem(item: unknown, id: string, { users, userStats }: Accounts = {}): ItemReading {
  const video = at(item, 'video');
  const pictures = parsePictures(at(item, 'imagePost', 'images'));
  const muted = at(item, 'itemMute') === true;
  const files = pictures.length > 0 ? [] : parseVideoFiles(video, muted).sort(betterFirst);
  const music = at(item, 'music');
  // Of a slideshow, what is to be played is its audio.
  const audio =
    parseMusicFile(music) ?? (pictures.length > 0 ? parseMusicFile({ playUrl: at(video, 'playAddr') }) : undefined);
  const covers = parseCovers(video);
  const images = pictures.length > 0 ? pictures : covers;
  const caption = asString(at(item, 'desc'))?.trim() || undefined;
  const author = parseAuthor(item, users);
  const counters = parseCounters(at(item, 'stats'), at(item, 'statsV2'));
  const owner = at(item, 'author');
  const followers = parseFollowers(
    at(item, 'authorStats') ?? (typeof owner === 'string' ? at(userStats, owner) : owner),
    at(item, 'authorStatsV2'),
  );
  const clean = files.filter((file) => !isWatermarked(file));
  const classified = at(item, 'isContentClassified') === true;
  return {
    post: {
      common: {
        title: asString(at(item, 'imagePost', 'title'))?.trim() || undefined,
        caption,
        description: caption,
        author,
        thumbnail: covers[0]?.url ?? pictures[0]?.url,
        published_at: toIsoTime(at(item, 'createTime')),
        duration_seconds: asPositive(at(video, 'duration')),
        language: languageTag(at(item, 'textLanguage')),
        tags: tagsOf(caption, ...tagNames(item)),
        category: asString(at(item, 'diversificationLabels', 0)),
        age_limit: classified ? 18 : undefined,
        music: parseMusic(music),
        location: asString(at(item, 'poi', 'name')),
      },
      ids: { video_id: id, post_id: id, canonical_url: canonicalUrl(id), author_id: author?.id },
      metrics: { ...counters.metrics, ...followers.metrics, duration_seconds: asPositive(at(video, 'duration')) },
      precision: { ...counters.precision, ...followers.precision },
      media: {
        image_urls: images.map(({ url }) => url),
        video_urls: (clean.length > 0 ? clean : files).map(({ url }) => url),
        entries: [...files, ...images, ...(audio ? [audio] : []), ...parseSubtitles(video)],
      },
      raw_stats: {
        ...counters.raw_stats,
        ...followers.raw_stats,
        ...rawStats({ createTime: at(item, 'createTime'), locationCreated: at(item, 'locationCreated') }),
      },
      audio: (files.length > 0 && !muted) || (pictures.length > 0 && audio !== undefined),
    },
    limitations: muted ? ['no_audio_track'] : [],
  };
}

/** Hashtags as the page lists them: in the text, and apart from it. */
function tagNames(item: unknown): unknown[] {
  const texts = [at(item, 'textExtra'), ...(asArray(at(item, 'contents')) ?? []).map((part) => at(part, 'textExtra'))];
  const written = texts.flatMap((list) => asArray(list) ?? []).map((extra) => member(extra, 'hashtagName'));
  const challenges = (asArray(at(item, 'challenges')) ?? []).map((challenge) => member(challenge, 'title'));
  return [...written, ...challenges];
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

/**
 * Whose an item is. Usually a node of its own; in the state of older pages the item holds the handle alone, and the rest
 * stands in `users`.
 */
export function parseAuthor(item: unknown, users?: unknown): Author | undefined {
  const stated = at(item, 'author');
  const handle = asString(stated);
  const node = asRecord(stated) ?? (handle ? asRecord(at(users, handle)) : undefined) ?? {};
  const name = username(member(node, 'uniqueId', 'unique_id')) ?? username(handle);
  const id = idText(member(node, 'id', 'uid', 'userId')) ?? idText(at(item, 'authorId'));
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

export function profileUrl(name: string): string {
  return `https://www.tiktok.com/@${name}`;
}

/** Our counter → the names that the site's replies have for it. */
const COUNTERS = {
  plays: ['playCount', 'play_count'],
  likes: ['diggCount', 'digg_count'],
  comments: ['commentCount', 'comment_count'],
  shares: ['shareCount', 'share_count'],
  saves: ['collectCount', 'collect_count'],
} as const;

type Counter = keyof typeof COUNTERS;
type Counters = Pick<PartialPost, 'metrics' | 'precision' | 'raw_stats'>;

/** From here on the site may write what it shows ("76K", "1.7M") out as a number. */
const ROUNDED_FROM = 10_000;

/**
 * Counters of an item. `stats` is what the pages show; `exact` the second block that pages of 2024 and later add, as
 * strings. To some visitors that block is rounded as well: then it says just what the first one says.
 */
export function parseCounters(stats: unknown, exact?: unknown): Counters {
  const isExact = differs(stats, exact);
  const metrics: NonNullable<PartialPost['metrics']> = {};
  const precision: Record<string, Precision> = {};
  const raw: Record<string, unknown> = {};
  const note = (name: string, value: number) => {
    precision[name] = isExact || !isRounded(value) ? 'exact' : 'rounded';
  };
  for (const [name, spellings] of Object.entries(COUNTERS) as [Counter, readonly string[]][]) {
    const written = member(exact, ...spellings) ?? member(stats, ...spellings);
    const value = asCount(written);
    if (value === undefined) continue;
    metrics[name] = value;
    note(name, value);
    raw[spellings[0] ?? name] = written;
  }
  if (metrics.plays !== undefined) {
    metrics.views = metrics.plays;
    note('views', metrics.plays);
  }
  const reposts = member(exact, 'repostCount') ?? member(stats, 'repostCount');
  return { metrics, precision, raw_stats: rawStats({ ...raw, repostCount: reposts }) };
}

/** How many follow the author. */
export function parseFollowers(stats: unknown, exact?: unknown): Counters {
  const written = member(exact, 'followerCount', 'follower_count') ?? member(stats, 'followerCount', 'follower_count');
  const followers = asCount(written);
  if (followers === undefined) return {};
  const fineness = isRounded(followers) && !differs(stats, exact) ? 'rounded' : 'exact';
  return {
    metrics: { subscriber_count: followers },
    precision: { subscriber_count: fineness },
    raw_stats: rawStats({ followerCount: written }),
  };
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
export function parseMusic(music: unknown): Common['music'] {
  const title = asString(member(music, 'title', 'musicName'));
  const artist = asString(member(music, 'authorName', 'author'));
  if (!title && !artist) return undefined;
  return { title, artist, album: asString(at(music, 'album')), id: idText(member(music, 'id', 'musicId', 'id_str')) };
}
