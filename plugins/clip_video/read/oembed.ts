import { asPositive, asString, at, type MediaEntry, type PartialPost } from 'mediagate';
import { canonicalUrl } from '../links.js';
import { profileUrl } from './author.js';
import { COVER, lifeOf } from './media-files.js';
import { absoluteUrl, idText, tagsOf, username } from './values.js';

/** The oEmbed reply; undefined unless the player in it is the requested item's. */
export function parseOembed(reply: unknown, id: string): PartialPost | undefined {
  const html = asString(at(reply, 'html')) ?? '';
  const stated = [
    idText(/data-video-id="(\d+)"/.exec(html)?.[1]),
    idText(/\bcite="[^"]*\/(?:video|photo)\/(\d+)/.exec(html)?.[1]),
    idText(at(reply, 'embed_product_id')),
  ].filter((value) => value !== undefined);
  if (stated.length === 0 || stated.some((value) => value !== id)) return undefined;
  const caption = asString(at(reply, 'title'))?.trim() || undefined;
  const address = absoluteUrl(at(reply, 'author_url'));
  const name = username(at(reply, 'author_unique_id')) ?? username(/\/@([^/?#]+)/.exec(address ?? '')?.[1]);
  const thumbnail = absoluteUrl(at(reply, 'thumbnail_url'));
  const image: MediaEntry | undefined = thumbnail
    ? {
        url: thumbnail,
        kind: 'image',
        label: COVER,
        width: asPositive(at(reply, 'thumbnail_width')),
        height: asPositive(at(reply, 'thumbnail_height')),
        ...lifeOf(thumbnail),
      }
    : undefined;
  return {
    common: {
      caption,
      description: caption,
      author: { name: asString(at(reply, 'author_name')), username: name, url: name ? profileUrl(name) : address },
      thumbnail,
      tags: tagsOf(caption),
    },
    ids: { video_id: id, post_id: id, canonical_url: canonicalUrl(id) },
    media: { image_urls: image ? [image.url] : [], entries: image ? [image] : [] },
  };
}
