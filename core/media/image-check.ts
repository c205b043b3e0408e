import { GatewayError } from '../runtime/index.js';
import { type ImageHeader, readImageHeader } from './image-header.js';
import { sniffImage } from './image-type.js';

/** Bytes of one input image at most. */
export const MAX_IMAGE_BYTES = 10 * 1024 * 1024;

/** Pixels of an input image as it reaches a model at most; larger ones are shrunk. */
export const MAX_REFERENCE_PIXELS = 20_000_000;

/** Pixels that are decoded at most, and how many bytes they may become: 100 megapixels of 24-bit colour. */
const MAX_DECODED_PIXELS = 100_000_000;
const MAX_DECODED_BYTES = 3 * MAX_DECODED_PIXELS;
/** Only a PNG can be longer, and no picture is. */
const MAX_SIDE = 65_535;

/** Memory that decoding and shrinking may take. A photograph of 50 megapixels, decoded row by row, takes a fifth of it. */
const MAX_HELD_BYTES = 256 * 1024 * 1024;
/** Rows that pass through memory at a time while a picture shrinks, as measured. */
const ROWS_WHILE_SHRINKING = 1600;

/**
 * Judges an input image by its header, before anything is decoded.
 * @throws GatewayError `image_file_too_large`, `unsupported_image_media_type`, `invalid_image` where its header is cut or
 *   makes no sense, `image_too_large` where decoding it would take too much.
 */
export function checkImage(bytes: Uint8Array): ImageHeader {
  if (bytes.byteLength > MAX_IMAGE_BYTES) throw fileTooLarge();
  return checkHeader(bytes);
}

/** As {@link checkImage}, for bytes whose number somebody else has limited. */
export function checkHeader(bytes: Uint8Array): ImageHeader {
  if (!sniffImage(bytes)) {
    const message = 'The image is not a PNG, JPEG, WebP or GIF file, whatever it is labelled.';
    throw new GatewayError('unsupported_image_media_type', message);
  }
  const header = readImageHeader(bytes);
  if (!header) throw new GatewayError('invalid_image', 'The image is damaged: its header cannot be read.');
  if (!isDecodable(header)) {
    const message = `The image has ${header.width} x ${header.height} pixels, more than are decoded of its kind.`;
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
