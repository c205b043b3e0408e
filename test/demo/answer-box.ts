/** Boxes of the demo for documents, refusals and amounts. */

import type { HttpAnswer } from '../support/processes/gateway-process.js';
import type { Box } from './terminal.js';

/** A document that was had. */
export function documentBox(url: string, answer: HttpAnswer, ms: number): Box {
  return answer.json.data.product ? productBox(url, answer, ms) : postBox(url, answer, ms);
}

function productBox(url: string, { status, json }: HttpAnswer, ms: number): Box {
  const { product, reviews } = json.data;
  const { price, rating, shop } = product;
  const rows: [string, string | undefined][] = [
    ['product', product.name],
    ['shop', shop.name],
    [
      'price',
      joined([
        price.amount !== null && `${price.amount} ${price.currency ?? ''}`,
        price.original_amount && `was ${price.original_amount}`,
      ]),
    ],
    [
      'counts',
      joined([
        counted(product, 'sold_count')?.replace('_count', ''),
        counted(product, 'stock')?.replace('stock', 'in stock'),
        rating.count && `${rating.average} of 5 from ${rating.count} reviews`,
      ]),
    ],
    [
      'reviews',
      joined([
        amount(reviews.five_star.length, 'five-star review'),
        amount(reviews.one_star.length, 'one-star review'),
      ]),
    ],
    ['media', joined([amount(product.video_urls.length, 'video'), amount(product.image_urls.length, 'image')])],
    ['method', json.extraction_method],
    ...notesOf(json),
  ];
  return { title: url, note: `${status} · ${ms} ms`, good: true, rows: rows.filter(hasText) };
}

function postBox(url: string, { status, json }: HttpAnswer, ms: number): Box {
  const { common, metrics, media } = json.data;
  const { author } = common;
  const rows: [string, string | undefined][] = [
    ['title', common.title],
    ['author', joined([author?.name, author?.username && `@${author.username}`, people(metrics.subscriber_count)])],
    ['published', joined([common.published_at, common.duration_seconds && clock(common.duration_seconds)])],
    ['counts', joined([counted(metrics, 'views'), counted(metrics, 'likes'), counted(metrics, 'comments')])],
    ['media', mediaLine(media)],
    ['method', json.extraction_method],
    ...notesOf(json),
  ];
  return { title: url, note: `${status} · ${ms} ms`, good: true, rows: rows.filter(hasText) };
}

/** An item that cannot be had, and why. */
export function refusalBox(url: string, { status, json }: HttpAnswer, ms: number): Box {
  const { error } = json;
  const rows: [string, string | undefined][] = [
    ['refused', `${error.code}: ${error.message}`],
    ['reason', error.reason],
    ['retry', error.retryable === undefined ? undefined : error.retryable ? 'may help later' : 'will not help'],
  ];
  return { title: url, note: `${status} · ${ms} ms`, good: false, rows: rows.filter(hasText) };
}

/** What a person must know, a sentence each. */
function notesOf(json: HttpAnswer['json']): [string, string][] {
  const notes: { message: string }[] = json.limitation_messages ?? [];
  return notes.map(({ message }, index) => [index === 0 ? 'notes' : '', message]);
}

function hasText(row: [string, string | undefined]): row is [string, string] {
  return Boolean(row[1]);
}

interface MediaFrame {
  video_urls: readonly string[];
  image_urls: readonly string[];
  entries?: readonly { kind: string }[];
  audio_download_links?: { mp3?: string | null } | null;
}

function mediaLine({ video_urls, image_urls, entries = [], audio_download_links }: MediaFrame): string {
  const subtitles = entries.filter(({ kind }) => kind === 'subtitle').length;
  return joined([
    amount(video_urls.length, 'video'),
    amount(image_urls.length, 'image'),
    amount(subtitles, 'subtitle'),
    audio_download_links?.mp3 && 'MP3 link',
  ]);
}

export function amount(count: number, name: string): string | undefined {
  return count === 0 ? undefined : `${count} ${name}${count === 1 ? '' : 's'}`;
}

function counted(metrics: Readonly<Record<string, number | null>>, name: string): string | undefined {
  const value = metrics[name];
  return typeof value === 'number' ? `${value.toLocaleString('en-US')} ${name}` : undefined;
}

function people(count: number | null | undefined): string | undefined {
  return typeof count === 'number' ? `${count.toLocaleString('en-US')} followers` : undefined;
}

/** Seconds as a player shows them. */
export function clock(seconds: number): string {
  const parts = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60, Math.floor(seconds % 60)];
  const shown = parts[0] === 0 ? parts.slice(1) : parts;
  return shown.map((part, index) => (index === 0 ? String(part) : String(part).padStart(2, '0'))).join(':');
}

export function joined(parts: readonly (string | false | null | undefined | 0)[]): string {
  return parts.filter(Boolean).join(' · ');
}
