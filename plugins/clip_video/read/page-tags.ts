/*
 * Reads caption, author and rounded counters from the meta tags of a page, the last source if its scripts have no item.
 * Tags count only if all their addresses name the requested id.
 */

import { absoluteUrl, asId, type Count, metaTags, type PartialPost, parseCount } from 'mediagate/plugin';
import { lifeOf } from './files.js';
import { postOfSummary } from './item.js';
import { username } from './values.js';

/** What the tags of a page state for search engines. Undefined unless they are of the requested item. */
export function parsePageTags(html: string, id: string): PartialPost | undefined {
  const tags = metaTags(html);
  const stated = [tags.get('og:url'), tags.get('canonical')].filter((value) => value !== undefined);
  if (stated.length === 0 || stated.some((address) => idIn(address) !== id)) return undefined;
  const handle = username(
    stated.map((address) => /\/@([^/?#]+)\//.exec(address)?.[1]).find((one) => one && one !== 'i'),
  );
  if (!handle) return undefined;
  const summary = tags.get('og:description') ?? tags.get('description');
  const { likes, comments, ...read } = readSummary([summary, tags.get('description')], handle);
  const heading = readHeading(tags.get('og:title'), read.name, handle);
  const caption = read.caption ?? heading.caption ?? (heading.name ? summary : undefined);
  if (!caption && !heading.name) return undefined;
  const thumbnail = absoluteUrl(tags.get('og:image'));
  const video = absoluteUrl(tags.get('og:video:secure_url') ?? tags.get('og:video'));
  const post = postOfSummary({ id, caption, name: read.name ?? heading.name, handle, thumbnail });
  return {
    ...post,
    metrics: { likes: likes?.value, comments: comments?.value },
    precision: {
      ...(likes && !likes.exact && { likes: 'rounded' as const }),
      ...(comments && !comments.exact && { comments: 'rounded' as const }),
    },
    media: {
      ...post.media,
      video_urls: video ? [video] : [],
      entries: video ? [{ url: video, kind: 'video', mime: 'video/mp4', ...lifeOf(video) }] : [],
    },
  };
}

interface Summary {
  name?: string;
  caption?: string;
  likes?: Count;
  comments?: Count;
}

/**
 * Reads the summary for search engines. Until 2021 "Name (@handle) has created a short video … | caption", with the
 * name first in every language; after that "4.8K Likes, 52 Comments. TikTok video from Name (@handle): "caption". music".
 */
function readSummary(texts: readonly (string | undefined)[], handle: string): Summary {
  const written = handle.replaceAll('.', '\\.');
  for (const text of texts) {
    const [, likes = '', comments = ''] =
      /^([\d.,]+[KMB]?) likes?, ([\d.,]+[KMB]?) comments?\./i.exec(text ?? '') ?? [];
    const counts = { likes: parseCount(likes), comments: parseCount(comments) };
    const after = new RegExp(`video from ([^|]{1,100}?)\\s*\\(@${written}\\)(?::\\s*["“](.*)["”]\\.)?`, 's').exec(
      text ?? '',
    );
    if (after) return { ...counts, name: after[1], caption: after[2]?.trim() || undefined };
    const before = new RegExp(`^([^|]{1,100}?)\\s*\\(@${written}\\)`).exec(text ?? '');
    if (before) return { name: before[1] };
  }
  return {};
}

/** The title is the caption, or names the author: "Name on TikTok", "Name (@handle) on TikTok". */
function readHeading(title: string | undefined, name: string | undefined, handle: string) {
  const owner = /^(.{1,100}?)(?:\s*\(@([\w.-]+)\))? (?:on TikTok|\| TikTok)$/.exec(title ?? '');
  const isOwner = owner && (owner[2] === undefined ? name === undefined || owner[1] === name : owner[2] === handle);
  return isOwner ? { name: owner[1] } : { caption: title };
}

/** The id in an item's address. */
export function idIn(address: string | undefined): string | undefined {
  return asId(/\/(?:video|photo|v|embed|v2)\/(\d{1,21})(?!\d)/.exec(address ?? '')?.[1]);
}
