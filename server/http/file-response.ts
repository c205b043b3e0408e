/*
 * Answers GET and HEAD with a stored file by RFC 9110: the whole file, one range (206), 304 for a valid cached copy,
 * 412 if the client has a part of another file, 416 for a range outside. The body must have the size and tag that the
 * headers state; if the file was replaced meanwhile, the request fails instead of sending wrong bytes. Bytes are read
 * at the client's pace with about 64 KiB in memory. A client that reads nothing for two minutes is disconnected. Pages
 * of other origins may use files, but nothing in a file can run.
 */

import type { IncomingHttpHeaders } from 'node:http';
import { Readable } from 'node:stream';
import fresh from 'fresh';
import type { ByteRange, FileStat, StoredBody } from '../../core/contracts/index.js';
import { GatewayError } from '../../core/runtime/index.js';
import type { RequestContext } from './koa-app.js';

export interface ServedFile {
  file: FileStat;
  read(range?: ByteRange): Promise<StoredBody | undefined>;
}

export interface FileOptions {
  /** Download name; ASCII letters, digits, `.`, `_` and `-`. */
  downloadName: string;
  /** Any other form of the name, for clients that read it. Default: none. */
  readableName?: string;
  /** Seconds of caching, a whole number. */
  maxAgeSeconds: number;
  /** Whether only the client may cache it, and search engines leave it out. Default false. */
  isPrivate?: boolean;
  /** Whether a browser displays it rather than saving it; then it is also immutable within its time. Default false. */
  isInline?: boolean;
}

type Bytes = AsyncIterable<Uint8Array>;
interface Validators {
  etag: string;
  'last-modified': string;
}

const BUFFERED_BYTES = 64 * 1024;

/**
 * Answers GET and HEAD with a stored file (RFC 9110): 200, 206 for one range, 304 for a valid cached copy, 412 if the
 * client has a part of another file, 416 for a range outside of the file. Several ranges at once get the whole file.
 */
export async function sendFile(context: RequestContext, { file, read }: ServedFile, terms: FileOptions): Promise<void> {
  const { req: request, method } = context;
  const validators = { etag: file.etag, 'last-modified': file.modifiedAt.toUTCString() };
  if (isOfAnother(request.headers, validators)) {
    context.status = 412;
    setSharing(context);
    context.body = '';
    return;
  }
  if (fresh(conditionsOf(request.headers), validators)) {
    setFileHeaders(context, terms);
    setValidators(context, validators);
    context.status = 304;
    return;
  }
  const range = method === 'GET' ? rangeOf(request.headers, file.size, validators) : undefined;
  if (range === 'outside') {
    context.status = 416;
    setSharing(context);
    context.set({ 'Accept-Ranges': 'bytes', 'Content-Range': `bytes */${file.size}` });
    context.body = '';
    return;
  }
  const found = method === 'GET' ? await read(range) : undefined;
  if (method === 'GET' && !found) throw new GatewayError('file_not_found', 'The file no longer exists.');
  // Extra bytes would be read as the answer to the next request on the connection, and missing bytes would be waited
  // for.
  if (found && (found.etag !== file.etag || found.size !== file.size)) {
    throw new GatewayError('upstream_unavailable', 'The file was replaced during the request.');
  }
  const { start, end } = range ?? { start: 0, end: file.size - 1 };
  setFileHeaders(context, terms);
  setValidators(context, validators);
  context.status = range ? 206 : 200;
  if (range) context.set('Content-Range', `bytes ${start}-${end}/${file.size}`);
  context.set('Content-Type', file.contentType);
  context.length = end + 1 - start;
  if (found) sendBytes(context, found.body);
}

/** Whether the client has the version with this tag. */
export function hasCurrentCopy({ req: request }: RequestContext, etag: string): boolean {
  return fresh({ 'if-none-match': request.headers['if-none-match'] }, { etag });
}

/** Whether the client requires another version than this one: it has a part of that. */
function isOfAnother(headers: IncomingHttpHeaders, { etag, 'last-modified': modified }: Validators): boolean {
  const { 'if-match': tags, 'if-unmodified-since': since = '' } = headers;
  if (tags === undefined) return Date.parse(modified) > Date.parse(since);
  return tags !== '*' && !tags.split(',').some((tag) => tag.trim() === etag);
}

/**
 * The cached version of the client. Its directives for intermediate caches (`fetch` sends no-cache with these) are
 * ignored.
 */
function conditionsOf(headers: IncomingHttpHeaders): IncomingHttpHeaders {
  const { 'if-none-match': tags, 'if-modified-since': since } = headers;
  return { 'if-none-match': tags, 'if-modified-since': since };
}

/** Answers GET with a file of unknown length. */
export function sendGrowing(context: RequestContext, contentType: string, body: Bytes, terms: FileOptions): void {
  setFileHeaders(context, terms);
  context.status = 200;
  context.set('Content-Type', contentType);
  sendBytes(context, body);
}

/** Headers of a public file. Pages of other origins may use it; nothing in it can run. */
function setFileHeaders(context: RequestContext, terms: FileOptions): void {
  const { downloadName, readableName, maxAgeSeconds, isInline = false, isPrivate = false } = terms;
  const caching = `${isPrivate ? 'private' : 'public'}, max-age=${maxAgeSeconds}`;
  context.attachment(readableName ?? downloadName, {
    type: isInline ? 'inline' : 'attachment',
    fallback: downloadName,
  });
  context.set({
    'Cache-Control': isInline && !isPrivate ? `${caching}, immutable` : caching,
    'Content-Security-Policy': "default-src 'none'; sandbox",
    ...(isPrivate && { 'X-Robots-Tag': 'noindex' }),
  });
  setSharing(context);
}

/** Pages of other origins may read the answer. */
function setSharing(context: RequestContext): void {
  context.set({
    'Access-Control-Allow-Origin': '*',
    'Access-Control-Expose-Headers': 'Accept-Ranges, Content-Length, Content-Range, ETag',
    'Cross-Origin-Resource-Policy': 'cross-origin',
  });
}

function setValidators(context: RequestContext, validators: Validators): void {
  context.set({ 'Accept-Ranges': 'bytes', ETag: validators.etag, 'Last-Modified': validators['last-modified'] });
}

/** Sends bytes at the client's pace, with few in memory. An error of the bytes closes the connection. */
export function sendBytes(context: RequestContext, bytes: Bytes): void {
  const { res: response } = context;
  response.setTimeout(IDLE_MS, () => response.destroy());
  context.body = Readable.from(bytes, { objectMode: false, highWaterMark: BUFFERED_BYTES });
}

/** One range of bytes, also among empty elements of a list (RFC 9110, 5.6.1 and 14.1.2). */
const ONE_RANGE = /^bytes=[ \t,]*(\d*)-(\d*)[ \t,]*$/;

/** Undefined if the whole file is to be sent: for several ranges and for what is no range, which RFC 9110 allows. */
function rangeOf(
  headers: IncomingHttpHeaders,
  size: number,
  validators: Validators,
): ByteRange | 'outside' | undefined {
  const [found, first = '', last = ''] = ONE_RANGE.exec(headers.range ?? '') ?? [];
  if (found === undefined || first + last === '') return undefined;
  const condition = headers['if-range'];
  if (condition !== undefined && !Object.values(validators).includes(condition)) return undefined;
  // Without a first byte, the last n bytes.
  const start = first === '' ? Math.max(0, size - Number(last)) : Number(first);
  const end = first === '' || last === '' ? size - 1 : Number(last);
  const isBackwards = first !== '' && last !== '' && end < start;
  if (isBackwards) return undefined;
  return start >= size ? 'outside' : { start, end: Math.min(end, size - 1) };
}

/** Milliseconds: a client that reads nothing for this time has disconnected without closing. */
export const IDLE_MS = 120_000;
