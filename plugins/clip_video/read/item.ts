import { asArray, asPositive, asString, at, type PartialPost, toIsoTime } from 'mediagate';
import { canonicalUrl } from '../links.js';
import { parseAuthor } from './author.js';
import { parseCounters, parseFollowers } from './counters.js';
import { betterFirst, isWatermarked } from './media-files.js';
import { parseMusic } from './music.js';
import { languageTag, member, rawStats, tagsOf } from './values.js';
import { parseCovers, parsePictures, parseSound, parseSubtitles, parseVideoFiles } from './video.js';

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
  // Of a slideshow, what is to be played is its sound.
  const sound = parseSound(music) ?? (pictures.length > 0 ? parseSound({ playUrl: at(video, 'playAddr') }) : undefined);
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
        entries: [...files, ...images, ...(sound ? [sound] : []), ...parseSubtitles(video)],
      },
      raw_stats: {
        ...counters.raw_stats,
        ...followers.raw_stats,
        ...rawStats({ createTime: at(item, 'createTime'), locationCreated: at(item, 'locationCreated') }),
      },
      audio: (files.length > 0 && !muted) || (pictures.length > 0 && sound !== undefined),
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
