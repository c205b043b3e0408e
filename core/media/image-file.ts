/*
 * Decodes and encodes images: normalizes input images for models, fits a model's image to the requested canvas, and makes
 * small pictures for lists. The
 * header decides before decoding whether size and memory are within limits, and the decoder may not find more pixels
 * than the header states. Two images are decoded at once, because each occupies a thread of the pool that files and
 * lookups use too. Only PNG, JPEG, WebP and GIF can be loaded, for the whole process. An image that already matches
 * keeps its bytes, after one complete decoding. Metadata of input images is removed.
 */

import pLimit from 'p-limit';
import type { Sharp } from 'sharp';
import type { ImageSize, Media } from '../contracts/index.js';
import { inSpan } from '../observability/index.js';
import { type ErrorCode, GatewayError, isGatewayError } from '../runtime/index.js';
import { IMAGE_CONTENT_TYPES, type ImageHeader, readImageHeader, sniffImage, withoutNotes } from './image-header.js';

/** An output format. */
export type OutputFormat = 'png' | 'jpeg' | 'webp';

export interface Canvas {
  /** Exact canvas in pixels, or `auto` to keep the model's size. */
  size: ImageSize | 'auto';
  /** Default: the model's format; PNG if that is another one. */
  format?: OutputFormat;
  /** 0 to 100, for JPEG and WebP that are encoded again. Default 92. */
  quality?: number;
  /**
   * Called once if the bytes will change, as soon as that is certain: while they are being decoded, which may still
   * fail.
   */
  redraws?(): void;
  signal: AbortSignal;
}

export interface FittedImage extends Media {
  /** Pixels. */
  width: number;
  height: number;
  /** Whether the bytes are the model's own. */
  untouched: boolean;
}

/**
 * Each of them occupies one thread of the pool that files, name lookups and compression use too. With eight at a time
 * those wait for seconds; with two they do not notice.
 */
const AT_A_TIME = 2;
const MAX_WAITING = 256;
const TIMEOUT_SECONDS = 10;
const QUALITY = 92;
const THUMBNAIL_QUALITY = 80;
/** Twice as fast as the best compression, for a file that is sent once. */
const QUICK_COMPRESSION = 2;

/** Every loader of libvips is disabled except these, which read from memory. */
const LOADERS = ['Png', 'Jpeg', 'Webp', 'Nsgif'].map((kind) => `VipsForeignLoad${kind}Buffer`);

/**
 * Decodes and encodes images: few concurrently, in memory, each within limits of size and time. Nothing is loaded
 * before the first image. From then on, sharp reads no other formats in this whole process.
 */
export class ImageFiles {
  readonly #limit = pLimit(AT_A_TIME);

  /**
   * Normalizes an input image for a model: upright, sRGB, at most 20 megapixels, encoded again as JPEG or PNG, without
   * metadata. For an animation, its first frame.
   * @throws GatewayError as {@link checkImage} does; `invalid_image` if it cannot be decoded completely,
   *   `image_too_large` if that takes too long, `queue_full`, `plugin_unavailable` if sharp cannot be loaded; the
   *   signal's reason.
   */
  async normalize(bytes: Uint8Array, signal: AbortSignal): Promise<Media> {
    const header = checkImage(bytes);
    return this.#inTurn(signal, (sharp) => explainDecoding(() => normalize(open(sharp, bytes, header), header)));
  }

  /**
   * Fits a model's image to the requested canvas: it covers the canvas, is cropped evenly, and is never stretched. If
   * the bytes match already they stay the same, after one complete decoding.
   * @throws GatewayError `upstream_error` if the model's image is incomplete, or a bomb; `queue_full`,
   *   `plugin_unavailable`; the signal's reason.
   */
  async fitCanvas(media: Media, canvas: Canvas): Promise<FittedImage> {
    try {
      const header = checkHeader(media.bytes);
      return await this.#inTurn(canvas.signal, (sharp) =>
        explainDecoding(() => fit(() => open(sharp, media.bytes, header), { media, header, canvas })),
      );
    } catch (error) {
      throw ofModel(error);
    }
  }

  /**
   * A picture of an image for lists, as WebP without metadata. A smaller image keeps its size.
   * @param side Maximum width and height in pixels.
   * @throws GatewayError as {@link normalize} does, without a limit for the number of bytes.
   */
  async shrink(bytes: Uint8Array, side: number, signal: AbortSignal): Promise<Media> {
    const header = checkHeader(bytes);
    return this.#inTurn(signal, (sharp) =>
      explainDecoding(() => {
        const image = open(sharp, bytes, header).resize(side, side, { fit: 'inside', withoutEnlargement: true });
        return encode(image.toColourspace('srgb').webp({ quality: THUMBNAIL_QUALITY }), 'webp');
      }),
    );
  }

  async #inTurn<Result>(signal: AbortSignal, work: (sharp: SharpFactory) => Promise<Result>): Promise<Result> {
    signal.throwIfAborted();
    if (this.#limit.pendingCount >= MAX_WAITING) {
      throw new GatewayError('queue_full', 'Too many images are waiting to be decoded.');
    }
    const result = await this.#limit(async () => {
      signal.throwIfAborted();
      return inSpan({ name: 'image pass' }, async () => work(await loadSharp()));
    });
    signal.throwIfAborted();
    return result;
  }
}

type SharpFactory = typeof import('sharp').default;

let loading: Promise<SharpFactory> | undefined;

function loadSharp(): Promise<SharpFactory> {
  loading ??= import('sharp').then(
    ({ default: sharp }) => {
      // One thread per image, and no caching between images.
      sharp.concurrency(1);
      sharp.cache(false);
      sharp.block({ operation: ['VipsForeignLoad'] });
      sharp.unblock({ operation: LOADERS });
      return sharp;
    },
    (cause) => {
      loading = undefined;
      throw new GatewayError('plugin_unavailable', 'Images cannot be decoded: sharp could not be loaded.', { cause });
    },
  );
  return loading;
}

function open(sharp: SharpFactory, bytes: Uint8Array, { type, width, height }: ImageHeader): Sharp {
  const input = type === 'png' ? withoutNotes(bytes) : bytes;
  return sharp(input, {
    // Broken and truncated images fail; oddities of cameras, which every viewer ignores, do not.
    failOn: 'error',
    // A decoder that finds more than the header states reads a different format.
    limitInputPixels: width * height,
    autoOrient: true,
  }).timeout({ seconds: TIMEOUT_SECONDS });
}

async function normalize(image: Sharp, { type, width, height }: ImageHeader): Promise<Media> {
  const { hasAlpha, autoOrient } = await image.metadata();
  const shrinks = width * height > MAX_REFERENCE_PIXELS;
  if (shrinks) {
    const scale = Math.sqrt(MAX_REFERENCE_PIXELS / (width * height));
    image.resize(Math.floor(autoOrient.width * scale), Math.floor(autoOrient.height * scale), { fit: 'fill' });
  }
  image.toColourspace('srgb');
  const lossy = !hasAlpha && (shrinks || type === 'jpeg' || type === 'webp');
  return lossy
    ? // Optimized codes would need all coefficients in memory at once, 120 MB of them.
      encode(image.jpeg({ quality: QUALITY, chromaSubsampling: '4:4:4', optimiseCoding: false }), 'jpeg')
    : encode(image.png({ compressionLevel: QUICK_COMPRESSION }), 'png');
}

async function encode(image: Sharp, format: OutputFormat): Promise<Media> {
  return { bytes: await image.toBuffer(), contentType: IMAGE_CONTENT_TYPES[format] };
}

interface Fitting {
  media: Media;
  header: ImageHeader;
  canvas: Canvas;
}

async function fit(opened: () => Sharp, { media, header, canvas }: Fitting): Promise<FittedImage> {
  const format = canvas.format ?? (header.type === 'gif' ? 'png' : header.type);
  const contentType = IMAGE_CONTENT_TYPES[format];
  const image = opened();
  const { autoOrient, orientation = 1 } = await image.metadata();
  const stays =
    format === header.type && (canvas.size === 'auto' || (isOfSize(header, canvas.size) && orientation === 1));
  const decoded = decodeToTheEnd(opened(), autoOrient.height);
  if (!stays) canvas.redraws?.();
  await decoded;
  const { width, height } = canvas.size === 'auto' ? autoOrient : canvas.size;
  if (stays) return { bytes: media.bytes, contentType, width, height, untouched: true };
  image.resize(width, height, { fit: 'cover', position: 'centre' }).toColourspace('srgb');
  return { ...(await encodeAs(image, format, canvas.quality)), width, height, untouched: false };
}

function isOfSize(header: ImageHeader, { width, height }: ImageSize): boolean {
  return header.width === width && header.height === height;
}

/** A crop would not notice missing rows; requesting the last one makes the decoder read all. */
async function decodeToTheEnd(image: Sharp, height: number): Promise<void> {
  await image
    .extract({ left: 0, top: height - 1, width: 1, height: 1 })
    .raw()
    .toBuffer();
}

function encodeAs(image: Sharp, format: OutputFormat, asked = QUALITY): Promise<Media> {
  const quality = Math.max(1, asked);
  if (format === 'png') return encode(image.png(), format);
  if (format === 'webp') return encode(image.webp({ quality }), format);
  return encode(image.flatten({ background: 'white' }).jpeg({ quality, chromaSubsampling: '4:4:4' }), format);
}

/** Maximum bytes of one input image. */
export const MAX_IMAGE_BYTES = 10 * 1024 * 1024;

/** Maximum pixels of an input image for a model; larger ones are shrunk. */
export const MAX_REFERENCE_PIXELS = 20_000_000;

/** Maximum pixels that are decoded, and their bytes: 100 megapixels of 24-bit colour. */
const MAX_DECODED_PIXELS = 100_000_000;
const MAX_DECODED_BYTES = 3 * MAX_DECODED_PIXELS;
/** Only a PNG can be longer, and no real image is. */
const MAX_SIDE = 65_535;

/**
 * Maximum memory for decoding and shrinking. A photograph of 50 megapixels, decoded row by row, takes a fifth of it.
 */
const MAX_HELD_BYTES = 256 * 1024 * 1024;
/** Rows in memory while an image shrinks, as measured. */
const ROWS_WHILE_SHRINKING = 1600;

/**
 * Checks an input image by its header, before decoding.
 * @throws GatewayError `image_file_too_large`, `unsupported_image_media_type`, `invalid_image` if its header is
 *   truncated or invalid, `image_too_large` if decoding it would need too much memory.
 */
export function checkImage(bytes: Uint8Array): ImageHeader {
  if (bytes.byteLength > MAX_IMAGE_BYTES) throw fileTooLarge();
  return checkHeader(bytes);
}

/** Checks an image by its header, without a limit for the number of its bytes. */
export function checkHeader(bytes: Uint8Array): ImageHeader {
  if (!sniffImage(bytes)) {
    const message = 'The image is not a PNG, JPEG, WebP or GIF file, although its label may say so.';
    throw new GatewayError('unsupported_image_media_type', message);
  }
  const header = readImageHeader(bytes);
  if (!header) throw new GatewayError('invalid_image', 'The image is damaged: its header cannot be read.');
  if (!isDecodable(header)) {
    const message = `The image has ${header.width} x ${header.height} pixels, more than the limit for its format.`;
    throw new GatewayError('image_too_large', message);
  }
  return header;
}

export function fileTooLarge(): GatewayError {
  return new GatewayError('image_file_too_large', `The image is larger than ${MAX_IMAGE_BYTES / 1024 / 1024} MiB.`);
}

function isDecodable({ width, height, pixelBytes, heldBytes }: ImageHeader): boolean {
  const pixels = width * height;
  const shrinking = pixels > MAX_REFERENCE_PIXELS ? ROWS_WHILE_SHRINKING * width * pixelBytes : 0;
  return (
    Math.max(width, height) <= MAX_SIDE &&
    pixels <= MAX_DECODED_PIXELS &&
    pixels * pixelBytes <= MAX_DECODED_BYTES &&
    heldBytes + shrinking <= MAX_HELD_BYTES
  );
}

/** A decoder's error with a message that is safe to show. The original is kept as `cause`. */
export async function explainDecoding<Result>(decode: () => Promise<Result>): Promise<Result> {
  try {
    return await decode();
  } catch (cause) {
    if (cause instanceof Error && cause.message.startsWith('timeout')) {
      throw new GatewayError('image_too_large', 'Decoding the image takes too long.', { cause });
    }
    throw new GatewayError('invalid_image', 'The image is damaged: it cannot be decoded completely.', { cause });
  }
}

/** Failures that are the caller's fault, unless the image is a model's. */
const OF_INPUTS: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  'unsupported_image_media_type',
  'invalid_image',
  'image_too_large',
]);

/** Turns a fault of the caller's image into one of the model's image; other failures stay unchanged. */
export function ofModel(error: unknown): unknown {
  if (!isGatewayError(error) || !OF_INPUTS.has(error.code)) return error;
  return new GatewayError('upstream_error', `The image of the model cannot be used. ${error.message}`, {
    cause: error,
  });
}
