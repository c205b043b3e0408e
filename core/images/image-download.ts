import type { HttpClient, HttpStream } from '../contracts/index.js';
import { fileTooLarge, MAX_IMAGE_BYTES } from '../media/index.js';
import { discard, type Hop, nextHop } from '../net/index.js';
import { GatewayError, isGatewayError, withDeadline } from '../runtime/index.js';

const DEADLINE_MS = 15_000;
const MAX_REDIRECTS = 3;

export interface ImageDownload {
  /** Guards every address, and has no cookies or credentials. */
  http: HttpClient;
  url: string;
  signal: AbortSignal;
}

/**
 * Fetches what lies behind an https URL, redirects and all within 15 seconds. What it is, is for others to say.
 * @throws GatewayError `failed_to_download_image`, `image_file_too_large`; the signal's reason.
 */
export async function downloadImage(download: ImageDownload): Promise<Uint8Array> {
  const { signal } = download;
  try {
    return await withDeadline(
      { timeoutMs: DEADLINE_MS, signals: [signal], message: 'It took too long.' },
      async (deadline) => readBody(await walk({ ...download, signal: deadline })),
    );
  } catch (error) {
    signal.throwIfAborted();
    if (!isGatewayError(error) || !error.code.startsWith('upstream_')) throw error;
    throw failed(error.message, { cause: error, retryable: error.retryable });
  }
}

async function walk({ http, url, signal }: ImageDownload): Promise<HttpStream> {
  let hop: Hop = { url: new URL(url), method: 'GET', headers: {} };
  for (let redirects = 0; redirects <= MAX_REDIRECTS; redirects += 1) {
    if (hop.url.protocol !== 'https:') throw failed('Its host redirects to another scheme.', { retryable: false });
    const reply = await http.stream({
      url: hop.url,
      // A picture is compressed already; whoever compresses it once more hides its size.
      headers: { accept: 'image/*', 'accept-encoding': 'identity' },
      signal,
      timeoutMs: DEADLINE_MS,
      // The cap is kept here, where going beyond it has a name of its own.
      maxBytes: Number.MAX_SAFE_INTEGER,
    });
    const next = nextHop(hop, reply.status, reply.headers.location);
    if (!next) return reply;
    discard(reply);
    hop = next;
  }
  throw failed('Its host redirects too often.');
}

async function readBody(reply: HttpStream): Promise<Uint8Array> {
  const { 'content-encoding': coding = 'identity', 'content-length': length } = reply.headers;
  if (reply.status !== 200) {
    discard(reply);
    throw failed(`Its host answers ${reply.status}.`);
  }
  if (coding.toLowerCase() !== 'identity') {
    discard(reply);
    throw failed('Its host encodes it in a way that was not asked for.', { retryable: false });
  }
  if (Number(length) > MAX_IMAGE_BYTES) {
    discard(reply);
    throw fileTooLarge();
  }
  const chunks: Uint8Array[] = [];
  let total = 0;
  for await (const chunk of reply.body) {
    total += chunk.byteLength;
    if (total > MAX_IMAGE_BYTES) throw fileTooLarge();
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

function failed(why: string, details: { cause?: unknown; retryable?: boolean } = {}): GatewayError {
  return new GatewayError('failed_to_download_image', `The image could not be downloaded. ${why}`, details);
}
