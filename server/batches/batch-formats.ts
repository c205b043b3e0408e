/*
 * The results of a batch as text: JSON lines, an info dict of a playlist for yt-dlp, an M3U playlist, and a JSON Feed.
 * Each is written link by link, so a batch is never in memory as a whole. Of these, the lines alone have the links that
 * failed; the others leave out what they cannot show. `batch-tables.ts` has the table and the archive.
 */

import type { ExtractResult } from '../../core/contracts/index.js';
import { storable } from '../../core/database/index.js';
import { isGatewayError } from '../../core/runtime/index.js';
import { describeFailure } from '../http/index.js';
import { encodeExtraction, encodeInfoDict, videoAddress, withMediaLinks } from '../links/index.js';
import type { Batch, BatchResult } from './batches.js';

const MAX_TITLE_LENGTH = 300;

export interface FormatOptions {
  batch: Batch;
  /** Address of this page, and of the next one. */
  url: string;
  nextUrl?: string | undefined;
  /** Limitations from the options of the batch, by platform. */
  notesFor(platform: string): readonly string[];
}

/** @param results They can be read several times. */
export type ResultFormat = (results: AsyncIterable<BatchResult>, options: FormatOptions) => AsyncIterable<Uint8Array>;

/** A line of JSON for each link, as the items of a direct batch. */
export const formatLines: ResultFormat = async function* (results, options) {
  for await (const result of results) yield encodeLine(result, options);
};

/** A link and its document or error in JSON, with a line feed. */
export function encodeLine(
  { position: index, url, attempts, platform, outcome }: BatchResult,
  { notesFor }: Pick<FormatOptions, 'notesFor'>,
): Buffer {
  if ('error' in outcome) {
    const failure = {
      ok: false,
      status: 'failed',
      ...(platform && { platform }),
      error: describeFailure(outcome.error),
    };
    return Buffer.from(`${JSON.stringify({ index, url, attempts, ...failure })}\n`);
  }
  const head = JSON.stringify({ index, url, attempts, ok: true, status: 'completed' });
  const { result, words } = outcome;
  const document = encodeExtraction(result, {
    notes: [...notesFor(result.platform), ...(words?.notes ?? [])],
    ...(words && { data: { transcript: words.transcript } }),
  });
  return Buffer.concat([Buffer.from(`${head.slice(0, -1)},"result":`), document, Buffer.from('}\n')]);
}

/** A playlist for `yt-dlp --load-info-json`. */
export const formatInfoDict: ResultFormat = async function* (results, { batch: { id } }) {
  const playlist = { _type: 'playlist', id, title: id, extractor: 'mediagate', extractor_key: 'mediagate' };
  yield* list(playlist, 'entries', results, (result) => {
    try {
      return encodeInfoDict(result);
    } catch (error) {
      // An item without video and audio.
      if (isGatewayError(error)) return undefined;
      throw error;
    }
  });
};

/** For players: each item with a file of video or audio. */
export const formatM3u: ResultFormat = async function* (results) {
  yield Buffer.from('#EXTM3U\n');
  for await (const { outcome } of results) {
    if ('error' in outcome) continue;
    const file = playableOf(outcome.result);
    if (!file) continue;
    const { title, seconds } = describe(outcome.result);
    yield Buffer.from(
      `#EXTINF:${seconds === undefined ? -1 : Math.round(seconds)},${title}\n${new URL(file.url).href}\n`,
    );
  }
};

/** https://jsonfeed.org/version/1.1 */
export const formatFeed: ResultFormat = async function* (results, { batch: { id }, url, nextUrl }) {
  const feed = {
    version: 'https://jsonfeed.org/version/1.1',
    title: id,
    feed_url: url,
    ...(nextUrl !== undefined && { next_url: nextUrl }),
  };
  yield* list(feed, 'items', results, (result) => Buffer.from(JSON.stringify(feedItem(result))));
};

/** An object whose last field is a list, of those results that `encode` has a form of. */
async function* list(
  head: object,
  field: string,
  results: AsyncIterable<BatchResult>,
  encode: (result: ExtractResult) => Buffer | undefined,
): AsyncGenerator<Buffer> {
  yield Buffer.from(`${JSON.stringify(head).slice(0, -1)},"${field}":[`);
  let isFirst = true;
  for await (const { outcome } of results) {
    const encoded = 'error' in outcome ? undefined : encode(outcome.result);
    if (!encoded) continue;
    yield isFirst ? encoded : Buffer.concat([Buffer.from(','), encoded]);
    isFirst = false;
  }
  yield Buffer.from(']}');
}

function feedItem(result: ExtractResult) {
  const { data, link, audioLink } = result;
  const { title, seconds } = describe(result);
  const file = playableOf(result);
  const attachments = [
    ...(file
      ? [
          {
            url: file.url,
            mime_type: file.mime,
            size_in_bytes: file.size,
            duration_in_seconds: seconds,
          },
        ]
      : []),
    ...(audioLink ? [{ url: audioLink.url, mime_type: 'audio/mpeg', duration_in_seconds: seconds }] : []),
  ];
  const common = {
    id: link.url,
    url: link.url,
    title,
    ...(attachments.length > 0 && { attachments }),
  };
  if ('product' in data) {
    const { description, image_urls: images = [] } = data.product;
    return { ...common, content_text: description ?? title, image: images[0] };
  }
  const { author, caption, description, thumbnail, published_at: published, tags, language } = data.common;
  const authors =
    author?.name === undefined ? undefined : [{ name: author.name, url: author.url, avatar: author.avatar }];
  return {
    ...common,
    content_text: description ?? caption ?? title,
    image: thumbnail ?? data.media.image_urls[0],
    date_published: published,
    authors,
    tags,
    language,
  };
}

function describe({ data, link }: ExtractResult): { title: string; seconds?: number | undefined } {
  if ('product' in data) return { title: titleOf(data.product.name, link.id) };
  const { title, caption, duration_seconds: seconds } = data.common;
  return { title: titleOf(title ?? caption, link.id), seconds };
}

/** One line, since the formats of playlists are lines. */
function titleOf(text: string | undefined, otherwise: string): string {
  return storable(text ?? '', MAX_TITLE_LENGTH) || otherwise;
}

/** A file with video and audio, else one with audio alone. */
function playableOf({ data: found, mediaLinks, videoLink }: ExtractResult) {
  const data = mediaLinks ? withMediaLinks(found, mediaLinks) : found;
  const entries = ('product' in data ? data.product.media : data.media.entries) ?? [];
  const url = videoAddress(data, videoLink);
  if (url !== null) {
    const { mime = 'video/mp4', size } = entries.find((entry) => entry.url === url || entry.proxy_url === url) ?? {};
    return { url, mime, size };
  }
  const audio = entries.find(({ kind }) => kind === 'audio');
  return audio && { url: audio.proxy_url ?? audio.url, mime: audio.mime ?? 'audio/mp4', size: audio.size };
}
