/*
 * Reads the subtitles of an item from the platform's media hosts, whole and with a limit of bytes: video sites state no
 * length of them. If the host refuses an address that has expired, the item is resolved again, once.
 */

import { discard } from '../net/index.js';
import { GatewayError, isGatewayError } from '../runtime/index.js';
import { askRange, hopOf } from './media/media-hosts.js';
import { EXPIRED, type MediaReaderOptions, unavailable } from './media/media-reader.js';

/** Several times the captions of a day. */
const MAX_BYTES = 4 * 1024 * 1024;
const TIMEOUT_MS = 20_000;
const SILENCE_MS = 10_000;

/** @throws GatewayError `media_unavailable` if the platform refuses them or breaks off; the signal's reason. */
export async function readSubtitles({
  source,
  renew,
  signal,
  ...access
}: Omit<MediaReaderOptions, 'clock'>): Promise<Buffer> {
  const hosts = { ...access, unavailable };
  const terms = { signal, maxBytes: MAX_BYTES + 1, timeoutMs: TIMEOUT_MS, idleMs: SILENCE_MS };
  const ask = (from: typeof source) => askRange(hosts, hopOf(from, hosts), `bytes=0-${MAX_BYTES}`, terms);
  try {
    let { reply } = await ask(source);
    if (renew && EXPIRED.has(reply.status)) {
      discard(reply);
      ({ reply } = await ask(await renew(signal)));
    }
    if (reply.status !== 200 && reply.status !== 206) {
      discard(reply);
      throw unavailable(`The source refused the subtitles with status ${reply.status}.`, reply.status >= 429);
    }
    const chunks: Uint8Array[] = [];
    let size = 0;
    for await (const chunk of reply.body) {
      size += chunk.byteLength;
      if (size > MAX_BYTES) throw unavailable(`The subtitles are larger than ${MAX_BYTES} bytes.`, false);
      chunks.push(chunk);
    }
    return Buffer.concat(chunks);
  } catch (error) {
    signal.throwIfAborted();
    if (!isGatewayError(error) || error.code === 'media_unavailable') throw error;
    const { retryable, message } = error;
    throw new GatewayError('media_unavailable', `The subtitles could not be fetched. ${message}`, {
      cause: error,
      retryable,
    });
  }
}
