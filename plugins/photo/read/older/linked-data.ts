/*
 * Reads the schema.org data of pages until 2023: exact counters and times, and captions without cuts. Data that name
 * another post are skipped.
 */

import { linkedDataNodes, readLinkedItem, type ScriptedPage } from 'mediagate/plugin';
import { bareShortcode, type PostIdentity, shortcodeInAddress } from '../../links.js';
import { imageEntry, mediaUrl, postMedia, videoEntry } from '../media.js';
import { asUsername, buildPost, type PostReading, profileUrl, readCounters } from '../post.js';

const TYPES: ReadonlySet<string> = new Set(['ImageObject', 'VideoObject', 'SocialMediaPosting']);

/** Reads the schema.org data of pages until 2023, which has exact counters and times and whole captions. */
export function readLinkedData({ scripts }: ScriptedPage, identity: PostIdentity): PostReading[] {
  const items = linkedDataNodes(scripts).map((node) => readLinkedItem(node));
  return items.flatMap((item) => {
    const { type, addresses, identifiers, author, images, counts } = item;
    const stated = [...addresses.flatMap((address) => shortcodeInAddress(address) ?? []), ...identifiers];
    const isRequested = stated.every((one) => bareShortcode(one) === bareShortcode(identity.shortcode));
    if (!TYPES.has(type) || stated.length === 0 || !isRequested) return [];
    const username = asUsername(author?.identifier ?? author?.username);
    const videos = type === 'VideoObject' && item.videos.length === 0 ? [item] : item.videos;
    const isVideo = videos.length > 0;
    const pictures = [...images, ...videos.map(({ thumbnail }) => ({ url: thumbnail }))];
    const post = buildPost(identity, {
      caption: item.text,
      author: { username, name: author?.name, url: profileUrl(username), avatar: mediaUrl(author?.avatar) },
      published_at: item.publishedAt ?? videos[0]?.publishedAt,
      duration_seconds: videos[0]?.durationSeconds,
      media: postMedia(
        pictures.flatMap((picture) => imageEntry(picture) ?? []),
        videos.flatMap(({ contentUrl, width, height }) => videoEntry({ url: contentUrl, width, height }) ?? []),
      ),
    });
    return [
      {
        source: 'linked_data',
        hasVideo: isVideo || undefined,
        post: { ...post, ...readCounters(counts, { isVideo }) },
      },
    ];
  });
}
