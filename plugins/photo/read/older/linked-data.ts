import { type LinkedItem, linkedDataNodes, readLinkedItem, type ScriptedPage } from 'mediagate/plugin';
import { bareShortcode, type PostIdentity, shortcodeInAddress } from '../../links.js';
import { imageEntry, mediaUrl, postMedia, videoEntry } from '../media.js';
import type { PostReading } from '../post.js';
import { asUsername, buildPost, profileUrl, readCounters } from '../post.js';

const TYPES: ReadonlySet<string> = new Set(['ImageObject', 'VideoObject', 'SocialMediaPosting']);

/** Reads the schema.org data of pages until 2023, which has exact counters and times and whole captions. */
export function readLinkedData({ scripts }: ScriptedPage, identity: PostIdentity): PostReading[] {
  const items = linkedDataNodes(scripts).map((node) => readLinkedItem(node));
  return items
    .filter((item) => TYPES.has(item.type) && isRequested(item, identity))
    .map((item) => readItem(item, identity));
}

function isRequested({ addresses, identifiers }: LinkedItem, { shortcode }: PostIdentity): boolean {
  const stated = [...addresses.flatMap((address) => shortcodeInAddress(address) ?? []), ...identifiers];
  return stated.length > 0 && stated.every((one) => bareShortcode(one) === bareShortcode(shortcode));
}

function readItem(item: LinkedItem, identity: PostIdentity): PostReading {
  const { author, counts } = item;
  const username = asUsername(author?.identifier ?? author?.username);
  const videos = item.type === 'VideoObject' && item.videos.length === 0 ? [item] : item.videos;
  const files = videos.flatMap(({ contentUrl, width, height }) => videoEntry({ url: contentUrl, width, height }) ?? []);
  const pictures = [...item.images, ...videos.map(({ thumbnail }) => ({ url: thumbnail }))];
  const post = buildPost(identity, {
    caption: item.text,
    author: { username, name: author?.name, url: profileUrl(username), avatar: mediaUrl(author?.avatar) },
    published_at: item.publishedAt ?? videos[0]?.publishedAt,
    duration_seconds: videos[0]?.durationSeconds,
    media: postMedia(
      pictures.flatMap((picture) => imageEntry(picture) ?? []),
      files,
    ),
  });
  return {
    source: 'linked_data',
    hasVideo: videos.length > 0 ? true : undefined,
    post: { ...post, ...readCounters(counts, { isVideo: videos.length > 0 }) },
  };
}
