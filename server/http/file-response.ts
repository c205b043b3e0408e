import type { IncomingHttpHeaders } from 'node:http';
import { Readable } from 'node:stream';
import fresh from 'fresh';
import { type ByteRange, type FileStat, GatewayError, type StoredBody } from 'mediagate';
import parseRange from 'range-parser';
import { IDLE_MS } from './http-server.js';
import type { RequestContext } from './koa-app.js';

export interface ServedFile {
  file: FileStat;
  read(range?: ByteRange): Promise<StoredBody | undefined>;
}

export interface FileTerms {
  /** Name to save it under; ASCII letters, digits, `.`, `_` and `-`. */
  downloadName: string;
  /** Whole seconds that anybody may keep a copy. */
  maxAgeSeconds: number;
  /** Whether a browser shows it rather than saving it; then nobody asks for it again within its time. Default false. */
  shown?: boolean;
}

type Bytes = AsyncIterable<Uint8Array>;
interface Validators {
  etag: string;
  'last-modified': string;
}

const BUFFERED_BYTES = 64 * 1024;
const WHOLE = 'bytes=0-';

/**
 * Answers GET and HEAD with a stored file (RFC 9110): 200, 206 for one range, 304 for a copy that is still good, 412 for
 * another file than the client has a part of, 416 for a range that lies outside. Several ranges at once get the whole file.
 */
export async function sendFile(context: RequestContext, { file, read }: ServedFile, terms: FileTerms): Promise<void> {
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
  if (method === 'GET' && !found) throw new GatewayError('file_not_found', 'The file is gone.');
  // More than the announced length would be taken for the answer to the next request on the connection, less be waited for.
  if (found && (found.etag !== file.etag || found.size !== file.size)) {
    throw new GatewayError('upstream_unavailable', 'The file was replaced while it was asked for.');
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

/** Whether the client has what bears this tag already. */
export function hasCurrentCopy({ req: request }: RequestContext, etag: string): boolean {
  return fresh({ 'if-none-match': request.headers['if-none-match'] }, { etag });
}

/** Whether the client wants no other file than one that this is not: it goes on with what it has a part of. */
function isOfAnother(headers: IncomingHttpHeaders, { etag, 'last-modified': modified }: Validators): boolean {
  const { 'if-match': tags, 'if-unmodified-since': since = '' } = headers;
  if (tags === undefined) return Date.parse(modified) > Date.parse(since);
  return tags !== '*' && !tags.split(',').some((tag) => tag.trim() === etag);
}

/** What the client has. What it tells caches on the way (`fetch` says no-cache with these) is not for us. */
function conditionsOf(headers: IncomingHttpHeaders): IncomingHttpHeaders {
  const { 'if-none-match': tags, 'if-modified-since': since } = headers;
  return { 'if-none-match': tags, 'if-modified-since': since };
}

/** Answers GET with a file whose length is not known yet. */
export function sendGrowing(context: RequestContext, contentType: string, body: Bytes, terms: FileTerms): void {
  setFileHeaders(context, terms);
  context.status = 200;
  context.set('Content-Type', contentType);
  sendBytes(context, body);
}

/** What goes with a public file. Pages of other origins may use it; nothing in it can run. */
function setFileHeaders(context: RequestContext, terms: FileTerms): void {
  const { downloadName, maxAgeSeconds, shown = false } = terms;
  context.set({
    'Cache-Control': `public, max-age=${maxAgeSeconds}${shown ? ', immutable' : ''}`,
    'Content-Disposition': `${shown ? 'inline' : 'attachment'}; filename="${downloadName}"`,
    'Content-Security-Policy': "default-src 'none'; sandbox",
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

/** Sends bytes as the client takes them, a few at a time in memory. A failure of theirs cuts the connection. */
export function sendBytes(context: RequestContext, bytes: Bytes): void {
  const { res: response } = context;
  response.setTimeout(IDLE_MS, () => response.destroy());
  context.body = Readable.from(bytes, { objectMode: false, highWaterMark: BUFFERED_BYTES });
}

/** Undefined where the whole file is to be sent, which a client that asks for anything unusual must accept. */
function rangeOf(
  headers: IncomingHttpHeaders,
  size: number,
  validators: Validators,
): ByteRange | 'outside' | undefined {
  const { range } = headers;
  if (!range?.startsWith('bytes=')) return undefined;
  const condition = headers['if-range'];
  const current = condition === undefined || Object.values(validators).includes(condition);
  // The parser takes "the last n bytes" of a shorter file for a mistake; it means all of them (RFC 9110, 14.1.2).
  const last = Number(/^bytes=-(\d+)$/.exec(range)?.[1] ?? 0);
  const ranges = current ? parseRange(size, last > size ? WHOLE : range) : [];
  if (ranges === -1) return 'outside';
  return ranges === -2 || ranges.length !== 1 ? undefined : ranges[0];
}
