/*
 * A streamed answer of a route that waits for its image, in the vendor's events: partial images as the model shows
 * them, and then the image or an error. The stream only follows the job: if the client leaves, the job does what it
 * does for a client that waited for a whole answer. The finished image is encoded to base64 piece by piece while it is sent, so it is never in memory as one text.
 */

import type { Media } from '../../core/contracts/index.js';
import type { FinishedImage, ImageJob, ImageRequest } from '../../core/images/index.js';
import {
  encodeEvent,
  encodeLongEvent,
  encodeTypedEvent,
  GatewayError,
  isGatewayError,
  KEEP_ALIVE,
  withKeepAlive,
} from '../../core/runtime/index.js';
import { encodeError, type RequestContext, type ServerContext, sendEvents } from '../http/index.js';
import { encodeAround } from '../idempotency/index.js';
import { encodeImageEntry, encodeUsage, failureOf, isOpen } from './image-answers.js';

interface ImageStream {
  job: ImageJob;
  /** The settings of the request. */
  image: ImageRequest;
  /** `image_generation` or `image_edit`. */
  events: string;
  /** Resolves when the job has ended, with an open job if the wait is over. */
  wait(): Promise<ImageJob>;
}

type StreamServices = Pick<ServerContext, 'gateway' | 'clock' | 'baseUrl'>;

/** Sends the events of a job until its end. */
export async function sendImageStream(server: StreamServices, context: RequestContext, stream: ImageStream) {
  await sendEvents(context, { status: 200, headers: {} }, withKeepAlive(eventsOf(server, context, stream)));
}

async function* eventsOf(
  server: StreamServices,
  context: RequestContext,
  stream: ImageStream,
): AsyncGenerator<string | AsyncIterable<Uint8Array>> {
  const { gateway, clock, baseUrl } = server;
  const { job, image, events, wait } = stream;
  const settings = settingsOf(image);
  const partials = followPartials(gateway, job.id, image.partialImages);
  const end = wait().then(
    (latest) => ({ job: latest }),
    (error: unknown) => ({ error }),
  );
  try {
    // The head is sent with the first bytes.
    yield KEEP_ALIVE;
    let ended: Awaited<typeof end> | undefined;
    while (!ended) {
      ended = await Promise.race([end, partials.arrived()]);
      for (const partial of partials.take()) {
        yield encodeTypedEvent(`${events}.partial_image`, {
          ...encodePartial(partial),
          created_at: Math.floor(clock.now() / 1000),
          ...settings,
          output_format: formatOf(partial.image.contentType),
        });
      }
    }
    if ('error' in ended) throw ended.error;
    yield await completed(ended.job);
  } catch (error) {
    if (!isGatewayError(error)) throw error;
    const { requestId, imageJob } = context.state;
    yield encodeEvent(encodeError(error, { requestId, ...(imageJob && { imageJob }) }), 'error');
  } finally {
    partials.stop();
  }

  async function completed(latest: ImageJob) {
    const { id, state, image: finished } = latest;
    context.state.imageJob = { id, failed: state === 'failed' };
    if (isOpen(latest)) throw new GatewayError('upstream_timeout', 'The image is not ready in time; poll its job.');
    if (!finished) throw failureOf(latest);
    const file = await gateway.images.content(finished);
    if (!file) throw new GatewayError('file_expired', 'This image has expired.');
    const type = `${events}.completed`;
    const { bytes } = encodeAround(file, (base64) => ({
      type,
      b64_json: base64,
      created_at: Math.floor((latest.finishedAt ?? clock.now()) / 1000),
      ...settings,
      ...describeFinished(finished),
      ...(latest.delivery === 'both' && encodeImageEntry(finished, { delivery: 'url', baseUrl: baseUrl() })),
    }));
    return encodeLongEvent(`event: ${type}`, bytes);
  }
}

interface Partial {
  image: Media;
  index: number;
}

/** The partial images of a job for one reader. */
interface Partials {
  /** Resolves when there is one to take. */
  arrived(): Promise<undefined>;
  /** Those that came since the last call, in order. */
  take(): Partial[];
  stop(): void;
}

/** @param count Maximum number that is wanted. Default: none come. */
export function followPartials(gateway: Pick<ServerContext['gateway'], 'images'>, id: string, count = 0): Partials {
  let waiting: Partial[] = [];
  let wake: () => void = () => {};
  const receive = (image: Media, index: number) => {
    waiting.push({ image, index });
    wake();
  };
  const stop = count > 0 ? gateway.images.onPartial(id, receive) : () => {};
  return {
    stop,
    async arrived() {
      while (waiting.length === 0) {
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
      return undefined;
    },
    take() {
      const taken = waiting;
      waiting = [];
      return taken;
    },
  };
}

export function encodePartial({ image: { bytes }, index }: Partial) {
  const base64 = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64');
  return { b64_json: base64, partial_image_index: index };
}

/** What the vendor's events repeat of the request. */
function settingsOf({ size, options }: ImageRequest) {
  return {
    size: size === 'auto' ? size : `${size.width}x${size.height}`,
    quality: options.quality ?? 'auto',
    background: options.background ?? 'auto',
  };
}

function describeFinished({ width, height, contentType, usage, seed }: FinishedImage) {
  return {
    size: `${width}x${height}`,
    output_format: formatOf(contentType),
    ...(seed !== undefined && { seed }),
    ...(usage && { usage: encodeUsage(usage) }),
  };
}

function formatOf(contentType: string): string {
  return contentType.replace('image/', '');
}
