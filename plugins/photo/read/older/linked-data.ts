import {
  asArray,
  asRecord,
  asString,
  at,
  findAll,
  parseDuration,
  type ScriptedPage,
  toIsoTime,
  tryParseJson,
} from 'mediagate';
import { bareShortcode, canonicalUrl, type PostIdentity, shortcodeInAddress } from '../../links.js';
import { hashtagsIn, readCounters } from '../details.js';
import { imageEntry, videoEntry } from '../media.js';
import type { PostReading } from '../reading.js';
import { address, profileUrl, username } from '../values.js';

const TYPES: ReadonlySet<unknown> = new Set(['ImageObject', 'VideoObject', 'SocialMediaPosting']);

/** What pages until 2023 told search engines: exact counters and times, and whole captions. */
export function parseLinkedData({ scripts }: ScriptedPage, identity: PostIdentity): PostReading[] {
  const described = scripts.filter(({ tag }) => tag.includes('application/ld+json'));
  return described.flatMap(({ text }) => {
    const posts = findAll(tryParseJson(text), (node) => TYPES.has(node['@type']) && isOfPost(node, identity), {
      maxResults: 1,
    });
    return posts.map((node) => readingOf(node, identity));
  });
}

function isOfPost(node: unknown, { shortcode }: PostIdentity): boolean {
  const page = at(node, 'mainEntityofPage') ?? at(node, 'mainEntityOfPage');
  const stated = [
    shortcodeInAddress(asString(at(page, '@id')) ?? asString(page)),
    asString(at(node, 'identifier', 'value')),
  ].filter((one) => one !== undefined);
  return stated.length > 0 && stated.every((one) => bareShortcode(one) === bareShortcode(shortcode));
}

function readingOf(node: unknown, { shortcode, mediaId }: PostIdentity): PostReading {
  const caption = asString(at(node, 'articleBody')) ?? asString(at(node, 'caption'));
  const author = at(node, 'author');
  const name = username(
    (asString(at(author, 'identifier', 'value')) ?? asString(at(author, 'alternateName')))?.replace('@', ''),
  );
  const videos = listOf(at(node, 'video') ?? (at(node, '@type') === 'VideoObject' ? node : undefined));
  const files = videos.flatMap((video) => {
    const size = { width: at(video, 'width'), height: at(video, 'height') };
    return videoEntry({ url: at(video, 'contentUrl'), ...size }, undefined) ?? [];
  });
  const pictures = [
    ...listOf(at(node, 'image')).map((one) => (asRecord(one) ? one : { url: one })),
    ...videos.map((video) => ({ url: firstOf(at(video, 'thumbnailUrl')) })),
  ];
  const images = pictures.flatMap((one) => {
    return imageEntry({ url: at(one, 'url'), width: at(one, 'width'), height: at(one, 'height') }) ?? [];
  });
  const [video] = videos;
  const duration = asString(at(video, 'duration'));
  return {
    source: 'linked_data',
    hasVideo: videos.length > 0 ? true : undefined,
    post: {
      common: {
        caption,
        description: caption,
        tags: hashtagsIn(caption),
        author: {
          username: name,
          name: asString(at(author, 'name')),
          url: profileUrl(name),
          avatar: address(at(author, 'image')),
        },
        thumbnail: images[0]?.url,
        published_at: toIsoTime(at(node, 'uploadDate') ?? at(node, 'dateCreated') ?? at(video, 'uploadDate')),
        duration_seconds: (duration && parseDuration(duration)) || undefined,
      },
      ids: { post_id: mediaId, shortcode, canonical_url: canonicalUrl(shortcode) },
      ...readCounters(
        {
          likes: interactions(node, 'LikeAction'),
          comments: at(node, 'commentCount') ?? interactions(node, 'CommentAction'),
          views: interactions(node, 'WatchAction'),
        },
        { isVideo: videos.length > 0 },
      ),
      media: {
        image_urls: [...new Set(images.map(({ url }) => url))],
        video_urls: files.map(({ url }) => url),
        entries: [...images, ...files],
      },
      audio: files.length > 0,
    },
  };
}

function interactions(node: unknown, action: string): unknown {
  const statistic = listOf(at(node, 'interactionStatistic')).find((one) => {
    const type = at(one, 'interactionType');
    return (asString(at(type, '@type')) ?? asString(type) ?? '').endsWith(action);
  });
  return at(statistic, 'userInteractionCount');
}

function listOf(value: unknown): readonly unknown[] {
  return asArray(value) ?? (value === undefined || value === null ? [] : [value]);
}

function firstOf(value: unknown): unknown {
  return asArray(value)?.[0] ?? value;
}
