import assert from 'node:assert';
import type { GeneratedImage, HttpClient, ImageCall, ImageSize, Media } from '../contracts/index.js';
import { isGatewayError } from '../runtime/index.js';
import { createFakeHttp, type FakeHttp } from './fake-http.js';
import type { ImageProviderDefinition } from './image-definition.js';
import { imageProviderOf, setUpPlugin, type TestSetup } from './setup.js';

export type ImageFormat = 'png' | 'jpeg' | 'webp';

export interface ImageRun {
  setup: TestSetup;
  image?: GeneratedImage;
  error?: unknown;
}

/** One call of a plugin that was set up for it alone. Default model: its first. */
export async function runImage(
  definition: ImageProviderDefinition,
  call: Partial<ImageCall>,
  http: HttpClient,
): Promise<ImageRun> {
  const setup = await setUpPlugin({ plugin: definition.plugin, options: definition.options, http });
  const provider = imageProviderOf(setup);
  const run: ImageRun = { setup };
  try {
    run.image = await provider.generate({
      model: provider.models[0] ?? '',
      prompt: 'A lighthouse in the fog',
      size: { width: 1024, height: 1024 },
      references: [],
      options: {},
      idempotencyKey: 'job-of-the-test',
      signal: new AbortController().signal,
      ...call,
    });
  } catch (error) {
    run.error = error;
  }
  await setup.contributions.dispose?.();
  return run;
}

/** A working upstream; if the definition has none, a network that fails. */
export async function willingUpstream(
  definition: ImageProviderDefinition,
  call: Partial<ImageCall>,
): Promise<{ http: FakeHttp; bytes: Uint8Array }> {
  const { size = { width: 1024, height: 1024 }, options = {} } = call;
  const format = formatOf(options.output_format);
  const { bytes } = await inventImage(size === 'auto' ? { width: 800, height: 600 } : size, format, '#2f6f8f');
  const { upstream } = definition;
  const http = createFakeHttp(upstream ? (request) => upstream.image(request, bytes) : [{ fail: 'connection' }]);
  return { http, bytes };
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

/** Decodes every pixel of an image. @throws Error if it is no complete image. */
export async function decodeImage(bytes: Uint8Array): Promise<ImageSize & { contentType: string; pixels: Buffer }> {
  const sharp = await loadSharp();
  const { format } = await sharp(bytes).metadata();
  const { data, info } = await sharp(bytes, { failOn: 'warning' }).raw().toBuffer({ resolveWithObject: true });
  return { width: info.width, height: info.height, contentType: `image/${format}`, pixels: data };
}

/** The image of a run that must succeed. */
export function imageOf({ image, error }: ImageRun): GeneratedImage {
  if (image) return image;
  throw new assert.AssertionError({ message: `expected an image, got ${describeOutcome({ error })}` });
}

export function describeOutcome({ image, error }: Pick<ImageRun, 'image' | 'error'>): string {
  if (image) return 'an image';
  return isGatewayError(error) ? `${error.code}: ${error.message}` : String(error);
}

/** Lazily: only tests of image providers need it. */
async function loadSharp() {
  return (await import('sharp')).default;
}
