/*
 * One call of an image provider, and what its image must be. The kit's upstream answers with an image of one colour in
 * the size and format that were asked for, so changed bytes are noticed. Images are made and decoded with sharp, which
 * is loaded on demand.
 */

import assert from 'node:assert';
import {
  type GeneratedImage,
  type ImageCall,
  type ImageProvider,
  type ImageSize,
  type Media,
} from '../../contracts/index.js';
import { type FakeReply, type SentRequest } from '../fakes.js';
import { called } from '../limits.js';
import { type Readable, unless } from '../runner.js';
import { imageProviderOf } from '../setup.js';
import { answerPolling, type ImagePollingScript, pollingProblems, runPolling, submitsOf } from './image-polling.js';
import {
  bodiesOf,
  type CallOptions,
  contributionOf,
  isSentAsIs,
  type ModelCall,
  type ModelDefinition,
  runCall,
  succeeds,
  usageProblems,
} from './models.js';

export interface ImageProviderDefinition extends ModelDefinition {
  /** How its upstream answers. Default: it works without an upstream. */
  upstream?: ImageUpstreamScript;
  /** False for models without references, which refuse calls with some. Default true. */
  takesReferences?: boolean;
}

/** An upstream in its own format. */
export interface ImageUpstreamScript {
  /** A successful answer with these bytes. */
  image(request: SentRequest, bytes: Uint8Array): FakeReply;
  /**
   * The refusal of a prompt by its safety system: the answer to the first request. Needed unless the refusal of
   * `polling` is the only one.
   */
  moderation?: FakeReply;
  /** For an upstream that works on a task, which the plugin asks for until it is done. Default: it answers at once. */
  polling?: ImagePollingScript;
}

export const FORMATS = ['png', 'jpeg', 'webp'] as const;

export type ImageFormat = (typeof FORMATS)[number];

export const COLOURS = ['#b3403a', '#2f6f8f', '#5b8c3e', '#c98f2b'] as const;

export interface ImageRun extends Readable {
  image?: GeneratedImage;
}

export function providerOf(definition: ImageProviderDefinition): Promise<ImageProvider> {
  return contributionOf(definition, imageProviderOf);
}

const USUAL = { size: { width: 1024, height: 1024 }, prompt: 'A lighthouse in the fog', references: [], options: {} };

/** One call. Default model: its first. @param pending - polls before its task is done. */
export function imageCall(
  definition: ImageProviderDefinition,
  fields: Partial<ImageCall> = {},
  pending?: number,
): ModelCall<ImageRun> {
  const { upstream } = definition;
  const polling = upstream?.polling;
  const runOnce = (options: CallOptions) =>
    runCall(
      definition,
      options,
      (setup): ImageRun => ({ setup }),
      async (run, signal) => {
        const provider = imageProviderOf(run.setup);
        const model = provider.models[0]?.id ?? '';
        const call = { ...USUAL, model, idempotencyKey: 'job-of-the-test', signal, ...fields };
        run.image = await called('generate()', () => provider.generate(call));
        run.shown = run.image;
      },
    );
  return {
    method: 'generate()',
    result: 'an image',
    run: polling ? (options) => runPolling(options, runOnce) : runOnce,
    async answer(request, bytes) {
      if (!upstream) return { fail: 'connection' };
      const image = async () => upstream.image(request, bytes ?? (await imageOf(fields)));
      return polling ? answerPolling(polling, request, image, pending) : image();
    },
    ...(polling && { triesOf: (requests) => submitsOf(polling, requests).length }),
  };
}

/** The image of a working upstream. */
async function imageOf({ size = USUAL.size, options = {} }: Partial<ImageCall>): Promise<Uint8Array> {
  const wanted = size === 'auto' ? { width: 800, height: 600 } : size;
  return (await inventImage(wanted, formatOf(options.output_format), '#2f6f8f')).bytes;
}

/** A call that must succeed, and all checks of its image. */
export async function makes(
  definition: ImageProviderDefinition,
  fields: Partial<ImageCall>,
  call: ModelCall<ImageRun> = imageCall(definition, fields),
) {
  const { upstream } = definition;
  let sent: readonly SentRequest[] = [];
  const { image } = await succeeds(definition, call, async ({ image }, { requests }) => {
    if (!image) return undefined;
    sent = requests;
    const made = await decodeImage(image.bytes);
    const submits = upstream?.polling ? submitsOf(upstream.polling, requests) : requests;
    const isHandedOn = !upstream || Buffer.from(image.bytes).equals(await imageOf(fields));
    return [
      ...unless(made.contentType === image.contentType, `${image.contentType} is ${made.contentType}`),
      ...unless(isHandedOn, `the ${formatOf(fields.options?.output_format)} of the upstream is not handed on as it is`),
      ...unless(
        !upstream || isSentAsIs(bodiesOf(submits.slice(0, 1)), fields.prompt ?? ''),
        'the prompt is not sent as it is',
      ),
      ...(upstream?.polling ? pollingProblems(requests) : []),
      ...usageProblems(image.usage),
    ];
  });
  assert(image);
  return { image, requests: sent };
}

export function formatOf(outputFormat: unknown): ImageFormat {
  return outputFormat === 'jpeg' || outputFormat === 'webp' ? outputFormat : 'png';
}

const invented = new Map<string, Promise<Buffer>>();

/** An image of one colour. */
export async function inventImage(size: ImageSize, format: ImageFormat, background: string): Promise<Media> {
  const key = `${size.width}x${size.height} ${format} ${background}`;
  const made = invented.get(key) ?? encodeImage(size, format, background);
  invented.set(key, made);
  // A copy each time, since a caller may modify it.
  return { bytes: Buffer.from(await made), contentType: `image/${format}` };
}

async function encodeImage(size: ImageSize, format: ImageFormat, background: string): Promise<Buffer> {
  const sharp = await loadSharp();
  return sharp({ create: { ...size, channels: 3, background } })
    .toFormat(format)
    .toBuffer();
}

/** A mask whose transparent half begins at this column. */
export async function inventMask({ width, height }: ImageSize, left: number): Promise<Media> {
  const sharp = await loadSharp();
  const open = { create: { width: width / 2, height, channels: 4, background: '#fff' } } as const;
  const bytes = await sharp({ create: { width, height, channels: 4, background: '#fff' } })
    .composite([{ input: open, left, top: 0, blend: 'dest-out' }])
    .png()
    .toBuffer();
  return { bytes, contentType: 'image/png' };
}

/** Decodes every pixel of an image. @throws Error if it is no complete image. */
export async function decodeImage(bytes: Uint8Array): Promise<ImageSize & { contentType: string; pixels: Buffer }> {
  const sharp = await loadSharp();
  const { format } = await sharp(bytes).metadata();
  const { data, info } = await sharp(bytes, { failOn: 'warning' }).raw().toBuffer({ resolveWithObject: true });
  return { width: info.width, height: info.height, contentType: `image/${format}`, pixels: data };
}

/** Lazily: only tests of image providers need it. */
async function loadSharp() {
  return (await import('sharp')).default;
}
