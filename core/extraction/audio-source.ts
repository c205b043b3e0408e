import type { AudioSource, HttpClient, HttpStream } from '../contracts/index.js';
import { discard, type Hop, nextHop } from '../net/index.js';
import { GatewayError, isGatewayError } from '../runtime/index.js';

/** Bytes of a source at most. */
const MAX_SOURCE_BYTES = 200 * 1024 * 1024;
/** Video sites slow down whoever asks for a long file in one piece. */
const PIECE_BYTES = 10 * 1024 * 1024;
const MAX_REDIRECTS = 5;

export interface SoundFetch {
  http: HttpClient;
  source: AudioSource;
  /** Hosts that may be asked, as {@link Extractor.mediaHosts} has them; asked anew for every redirect. */
  mediaHosts: readonly string[];
  /** Origins that may be reached without TLS. */
  trustedOrigins: readonly string[];
  write(chunk: Uint8Array): Promise<void>;
  signal: AbortSignal;
}

/**
 * Fetches a source from its first byte to its last, piece by piece where the host can do that.
 * @throws GatewayError `audio_unavailable` where it is refused, too large, cut, or elsewhere than it may be;
 *   `audio_timeout`; the signal's reason; what `write` throws.
 */
export async function fetchSound(fetch: SoundFetch): Promise<void> {
  let hop: Hop = { url: parseUrl(fetch.source.url), method: 'GET', headers: fetch.source.headers ?? {} };
  for (let position = 0, total = Number.POSITIVE_INFINITY; position < total; ) {
    const range = `bytes=${position}-${position + PIECE_BYTES - 1}`;
    const reached: { hop: Hop; reply: HttpStream } = await walk(hop, range, fetch);
    // The rest is asked for where the first piece was found.
    hop = reached.hop;
    const { reply } = reached;
    if (reply.status === 200 && position === 0) {
      await copy(reply, fetch);
      return;
    }
    if (reply.status !== 206) {
      discard(reply);
      throw refused(reply.status);
    }
    const piece = readContentRange(reply.headers['content-range']);
    if (piece?.start !== position || piece.total > MAX_SOURCE_BYTES) {
      discard(reply);
      throw piece?.start === position
        ? tooLarge()
        : unavailable('The source answers with another part than asked for.');
    }
    total = piece.total;
    const received = await copy(reply, fetch);
    if (received === 0) throw unavailable('The source ends before it should.');
    position += received;
  }
}

async function walk(start: Hop, range: string, fetch: SoundFetch): Promise<{ hop: Hop; reply: HttpStream }> {
  let hop = start;
  for (let redirects = 0; redirects <= MAX_REDIRECTS; redirects += 1) {
    checkPlace(hop.url, fetch);
    const reply = await explain(fetch, () =>
      fetch.http.stream({
        url: hop.url,
        headers: { ...hop.headers, range, 'accept-encoding': 'identity' },
        signal: fetch.signal,
        maxBytes: MAX_SOURCE_BYTES,
      }),
    );
    const next = nextHop(hop, reply.status, reply.headers.location);
    if (!next) return { hop, reply };
    discard(reply);
    hop = next;
  }
  throw unavailable('The source redirects too often.');
}

async function copy(reply: HttpStream, fetch: SoundFetch): Promise<number> {
  let received = 0;
  const chunks = reply.body[Symbol.asyncIterator]();
  try {
    for (;;) {
      const { done, value } = await explain(fetch, () => chunks.next());
      if (done) return received;
      received += value.byteLength;
      await fetch.write(value);
    }
  } finally {
    await chunks.return?.();
  }
}

/** What the transport reports, as a failure of the sound. */
async function explain<Result>({ signal }: SoundFetch, work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    signal.throwIfAborted();
    if (!isGatewayError(error)) throw error;
    if (error.code === 'upstream_timeout') throw new GatewayError('audio_timeout', error.message, { cause: error });
    if (error.code !== 'upstream_error' && error.code !== 'upstream_refused') throw error;
    throw new GatewayError('audio_unavailable', `The sound could not be fetched. ${error.message}`, {
      cause: error,
      retryable: error.retryable,
    });
  }
}

function checkPlace(url: URL, { mediaHosts, trustedOrigins }: SoundFetch): void {
  const host = url.hostname.replace(/\.$/, '');
  const known = mediaHosts.some((place) =>
    place.startsWith('.') ? host === place.slice(1) || host.endsWith(place) : host === place,
  );
  const secure = url.protocol === 'https:' || trustedOrigins.includes(url.origin);
  if (!known || !secure)
    throw unavailable('The sound lies on a host that the platform does not keep its media on.', false);
}

/** `bytes 0-99/1000`; with an unknown total it is of no use, since nobody could tell the end. */
function readContentRange(text = ''): { start: number; total: number } | undefined {
  const [, start, total] = /^bytes (\d{1,15})-\d{1,15}\/(\d{1,15})$/.exec(text) ?? [];
  return total === undefined ? undefined : { start: Number(start), total: Number(total) };
}

function parseUrl(text: string): URL {
  const url = URL.parse(text);
  if (!url) throw unavailable('The platform names a source that is not a URL.');
  return url;
}

function refused(status: number): GatewayError {
  return unavailable(`The source refuses to give the sound: it answers ${status}.`);
}

function tooLarge(): GatewayError {
  return unavailable(`The source is larger than ${MAX_SOURCE_BYTES / 1024 / 1024} MiB.`, false);
}

function unavailable(message: string, retryable = true): GatewayError {
  return new GatewayError('audio_unavailable', message, { retryable });
}
