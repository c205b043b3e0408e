import {
  asArray,
  asNumber,
  asRecord,
  asString,
  at,
  findJsonAfter,
  type HttpResponse,
  linkedDataNodes,
  matchAddress,
  type Outcome,
  type PartialPost,
  parseCount,
  readLinkedItem,
  readStatus,
  splitScripts,
  toIsoTime,
  tryParseJson,
} from 'mediagate-plugin';
import type { SiteConfig } from './fetch.js';
import { canonicalUrl, matchLink } from './links.js';

type Found = Outcome<PartialPost>;

/** Data in, data out: nothing here makes a request or throws. */
export function readApiReply(response: HttpResponse, id: string): Found {
  const reply = tryParseJson(response.text());
  const failure = readStatus(response, { 404: 'removed' });
  if (failure) return { ...failure, reason: asString(at(reply, 'error')) ?? failure.reason };
  const clip = asRecord(at(reply, 'clip'));
  if (!clip || clip.id !== id) return { kind: 'transient', code: 'upstream_changed', reason: 'another clip, or none' };
  if (clip.visibility === 'private') {
    return { kind: 'definitive', code: 'private', reason: asString(clip.notice) };
  }
  const views = asNumber(at(clip, 'stats', 'views'));
  const url = asString(at(clip, 'files', 0, 'url'));
  const width = asNumber(at(clip, 'files', 0, 'width'));
  const height = asNumber(at(clip, 'files', 0, 'height'));
  const expires_at = toIsoTime(at(clip, 'files', 0, 'expires'));
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
      media: url
        ? { video_urls: [url], entries: [{ url, kind: 'video', mime: 'video/mp4', width, height, expires_at }] }
        : {},
      raw_stats: views === undefined ? {} : { views },
    },
  };
}

export function readPage(html: string, id: string, { markers }: SiteConfig): Found {
  if (html.includes(markers.robotCheck)) return { kind: 'transient', code: 'bot_check' };
  const isClip = (address: string) => matchAddress(matchLink, address)?.id === id;
  const items = linkedDataNodes(splitScripts(html).scripts).map((node) => readLinkedItem(node));
  const item = items.find(({ type, addresses }) => type === 'VideoObject' && addresses.some(isClip));
  if (!item) return { kind: 'transient', code: 'upstream_changed', reason: 'no clip in the page' };
  const clip = asRecord(findJsonAfter(html, markers.clip)?.value);
  const text = clip?.id === id ? asString(clip.viewsText) : undefined;
  const views = parseCount(text ?? '');
  return {
    kind: 'found',
    limitations: ['metadata_only'],
    found: {
      common: {
        title: item.name,
        description: item.description,
        author: { name: item.author?.name, url: item.author?.url },
        thumbnail: item.thumbnail,
        published_at: item.publishedAt,
        duration_seconds: item.durationSeconds,
      },
      ids: { video_id: id, canonical_url: canonicalUrl(id) },
      metrics: { views: views?.value, comments: item.counts.comments },
      ...(views && { precision: { views: views.exact ? 'exact' : 'rounded' } }),
      raw_stats: text ? { views_text: text } : {},
    },
  };
}
