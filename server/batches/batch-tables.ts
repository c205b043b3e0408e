/*
 * The results of a batch as files for people: a table of all links in CSV, and a ZIP archive with this table and the
 * document of each link. Both have the links that failed, and are written link by link: the archive reads the results
 * once for the table and once for the documents. The table begins with a byte order mark, since spreadsheets read
 * titles in other scripts wrongly without one. A cell that a spreadsheet would take for a formula is text.
 */

import type { ExtractionData } from '../../core/contracts/index.js';
import { type ZipFile, zip } from '../../core/media/index.js';
import { csvLine } from '../format/index.js';
import { encodeLine, type FormatOptions, type ResultFormat } from './batch-formats.js';
import type { BatchResult } from './batches.js';

const BYTE_ORDER_MARK = '\ufeff';
/** Rows of the table that are sent together. */
const ROWS = 50;
/** Digits of the highest position. */
const DIGITS = 5;

const COLUMNS = [
  'index',
  'url',
  'status',
  'platform',
  'title',
  'author',
  'published_at',
  'duration_seconds',
  'views',
  'likes',
  'comments',
  'shares',
  'price',
  'currency',
  'rating',
  'sold_count',
  'error_code',
  'error_message',
] as const;
type Row = Partial<Record<(typeof COLUMNS)[number], string | number | undefined>>;

/** A row for each link, below the names of the columns. */
export const formatTable: ResultFormat = async function* (results) {
  let lines = [`${BYTE_ORDER_MARK}${csvLine(COLUMNS)}`];
  for await (const result of results) {
    lines.push(csvLine(COLUMNS, rowOf(result)));
    if (lines.length < ROWS) continue;
    yield Buffer.from(lines.join(''));
    lines = [];
  }
  yield Buffer.from(lines.join(''));
};

/** An archive with `links.csv` and a file in JSON for each link, named by its number in the batch, from `00001.json`. */
export const formatArchive: ResultFormat = (results, options) => zip(filesOf(results, options), new Date());

async function* filesOf(results: AsyncIterable<BatchResult>, options: FormatOptions): AsyncGenerator<ZipFile> {
  yield { name: 'links.csv', bytes: formatTable(results, options), isDeflated: true };
  for await (const result of results) {
    const name = `${String(result.position + 1).padStart(DIGITS, '0')}.json`;
    yield { name, bytes: once(encodeLine(result, options)), isDeflated: true };
  }
}

async function* once(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}

function rowOf({ position: index, url, platform, outcome }: BatchResult): Row {
  if ('error' in outcome) {
    const { code, message } = outcome.error;
    return { index, url, status: 'failed', platform, error_code: code, error_message: message };
  }
  return { index, url, status: 'completed', platform: outcome.result.platform, ...cellsOf(outcome.result.data) };
}

function cellsOf(data: ExtractionData): Row {
  if ('product' in data) {
    const { name, shop, price, rating, sold_count } = data.product;
    return {
      title: name,
      author: shop?.name,
      price: price?.amount,
      currency: price?.currency,
      rating: rating?.average,
      sold_count,
    };
  }
  const { title, caption, author, published_at, duration_seconds } = data.common;
  const { views, likes, comments, shares } = data.metrics;
  const name = author?.name ?? author?.username;
  return { title: title ?? caption, author: name, published_at, duration_seconds, views, likes, comments, shares };
}
