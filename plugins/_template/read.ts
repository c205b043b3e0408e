/*
 * Turn each reply of the platform into a part of the document here. Make no requests and throw no errors: return
 * `found`, a `definitive` reason such as "private", or a `transient` one. Check the id first, because platforms
 * sometimes send another item. Leave out what the reply does not state; never guess it.
 */

import {
  asArray,
  asNumber,
  asRecord,
  asString,
  at,
  findJsonAfter,
  metaTags,
  type Outcome,
  type PartialPost,
  parseCount,
  toIsoTime,
} from 'mediagate/plugin';
import type { SiteConfig } from './fetch.js';
import { canonicalUrl } from './links.js';

type Found = Outcome<PartialPost>;

/** Data in, data out: nothing here makes a request or throws. */
export function readApiReply(reply: unknown, id: string): Found {
  const clip = asRecord(at(reply, 'clip'));
  if (!clip || clip.id !== id) return { kind: 'transient', code: 'upstream_changed', reason: 'another clip, or none' };
  if (clip.visibility === 'private') {
    return { kind: 'definitive', code: 'private', reason: asString(clip.notice) };
  }
  const views = asNumber(at(clip, 'stats', 'views'));
  const url = asString(at(clip, 'files', 0, 'url'));
  const width = asNumber(at(clip, 'files', 0, 'width'));
  const height = asNumber(at(clip, 'files', 0, 'height'));
  return {
    kind: 'found',
    found: {
      common: {
        title: asString(clip.title),
        description: asString(clip.text),
        caption: asString(clip.text),
        author: { id: asString(at(clip, 'owner', 'id')), name: asString(at(clip, 'owner', 'name')) },
        published_at: toIsoTime(clip.created),
        duration_seconds: asNumber(clip.seconds),
        tags: asArray(clip.tags)?.flatMap((tag) => asString(tag) ?? []),
      },
      ids: { video_id: id, canonical_url: canonicalUrl(id) },
      metrics: { views, likes: asNumber(at(clip, 'stats', 'likes')) },
      media: url ? { video_urls: [url], entries: [{ url, kind: 'video', mime: 'video/mp4', width, height }] } : {},
      raw_stats: views === undefined ? {} : { views },
    },
  };
}

export function readPage(html: string, id: string, { markers }: SiteConfig): Found {
  if (html.includes(markers.robotCheck)) return { kind: 'transient', code: 'bot_check' };
  const clip = asRecord(findJsonAfter(html, markers.clip)?.value);
  if (!clip || clip.id !== id) return { kind: 'transient', code: 'upstream_changed', reason: 'no clip in the page' };
  const views = parseCount(asString(clip.viewsText) ?? '');
  const tags = metaTags(html);
  return {
    kind: 'found',
    limitations: ['metadata_only'],
    found: {
      common: { title: asString(clip.title) ?? tags.get('og:title'), thumbnail: tags.get('og:image') },
      ids: { video_id: id, canonical_url: canonicalUrl(id) },
      metrics: { views: views?.value },
      ...(views && { precision: { views: views.exact ? 'exact' : 'rounded' } }),
      raw_stats: views ? { views_text: asString(clip.viewsText) ?? '' } : {},
    },
  };
}
