import { GatewayError, isGatewayError, type PluginContext, TRUST } from 'mediagate';
import type { Options, Upstream } from './upstream.js';

/** Largest image taken from an upstream, in bytes. */
export const MAX_IMAGE_BYTES = 48 * 1024 * 1024;

const MAX_REDIRECTS = 3;
/** A file may be announced a moment before it is there. Milliseconds before each further try. */
const PAUSES = [250, 1_000];

export interface Download {
  context: Pick<PluginContext<Options>, 'http' | 'clock' | 'options'>;
  /** As the upstream gave it. */
  url: string;
  upstream: Upstream;
  signal: AbortSignal;
  /** Monotonic milliseconds by which it must be done. */
  end: number;
}

/**
 * An image that an upstream made and laid somewhere. It is there already, so asking again costs nothing.
 * @throws GatewayError `upstream_changed` for an address that is not https, `upstream_*` where it cannot be had.
 */
export async function downloadImage(download: Download): Promise<Uint8Array> {
  const { context, upstream, signal, end } = download;
  const url = URL.parse(download.url);
  // No credentials go there, and the guard looks at the address; an upstream without TLS may serve its own files so.
  const isOwn = url?.origin === new URL(upstream.url).origin;
  // What the operator trusts as another upstream is not this one's to name.
  const isOthers = context.options.upstreams.some((other) => new URL(other.url).origin === url?.origin);
  if (!url || (!isOwn && (url.protocol !== 'https:' || isOthers))) {
    throw new GatewayError('upstream_changed', 'The upstream laid its image where it is not fetched from.');
  }
  for (let tries = 0; ; tries++) {
    const outcome = await fetchOnce(url, download);
    if (outcome instanceof Uint8Array) return outcome;
    const pause = PAUSES[tries];
    if (pause === undefined || context.clock.monotonic() + pause >= end) throw outcome;
    await context.clock.sleep(pause, signal);
  }
}

async function fetchOnce(url: URL, { context, signal, end }: Download): Promise<Uint8Array | GatewayError> {
  try {
    const { status, body } = await context.http.request({
      url,
      signal,
      timeoutMs: Math.max(1, end - context.clock.monotonic()),
      maxBytes: MAX_IMAGE_BYTES,
      maxRedirects: MAX_REDIRECTS,
    });
    if (status === 200) return body;
    return new GatewayError('upstream_error', `The image of the upstream could not be fetched (status ${status}).`);
  } catch (error) {
    if (signal.aborted || !isGatewayError(error)) throw error;
    if (error.code === 'upstream_refused') {
      const message = `The image of the upstream lies at an address that is refused. ${error.message} ${TRUST}`;
      throw new GatewayError('upstream_refused', message, { retryable: false, cause: error });
    }
    if (!error.retryable) throw error;
    return error;
  }
}
