import { asNumber, asString, at, type PartialPost } from 'mediagate';
import { canonicalUrl } from '../links.js';
import { parseImages } from './images.js';
import { absoluteUrl, channelId, usernameIn, videoIdIn } from './text.js';

/** The oEmbed reply; undefined unless its player or picture is the requested item's. */
export function parseOembed(reply: unknown, id: string): PartialPost | undefined {
  const embedded = asString(at(reply, 'html'))?.match(/src="([^"]+)"/)?.[1];
  const thumbnail = at(reply, 'thumbnail_url');
  const stated = [videoIdIn(embedded), videoIdIn(thumbnail)].filter((value) => value !== undefined);
  if (stated.length === 0 || stated.some((value) => value !== id)) return undefined;
  const images = parseImages([
    { url: thumbnail, width: asNumber(at(reply, 'thumbnail_width')), height: asNumber(at(reply, 'thumbnail_height')) },
  ]);
  const address = asString(at(reply, 'author_url'));
  const channel = channelId(/\/channel\/([^/?#]+)/.exec(address ?? '')?.[1]);
  return {
    common: {
      title: asString(at(reply, 'title')),
      author: {
        id: channel,
        name: asString(at(reply, 'author_name')),
        username: usernameIn(address),
        url: absoluteUrl(address),
      },
      thumbnail: images[0]?.url,
    },
    ids: { video_id: id, canonical_url: canonicalUrl(id), channel_id: channel, author_id: channel },
    media: { image_urls: images.map((image) => image.url), entries: images },
  };
}
