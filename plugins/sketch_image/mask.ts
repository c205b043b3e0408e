/*
 * Masks: the part of a reference that is drawn anew. A mask is fitted to the size as the reference is; transparent pixels are
 * the open part. The drawing is cut to the smallest box around it, and laid over the reference.
 */

import { setImmediate as breathe } from 'node:timers/promises';
import { GatewayError, type ImageSize, type Media } from 'mediagate/plugin';
import { type Encoding, encodeAs, loadSharp, MAX_REFERENCE_PIXELS, type SharpModule } from './pixels.js';
import type { Box } from './strokes.js';

/** The part of a picture that a mask leaves open. */
export interface OpenPart {
  /** The smallest box around it. */
  box: Box;
  /** How open each pixel of the box is, 0 to 255, row by row. */
  cover: Uint8Array;
}

const MASK_ROWS_AT_ONCE = 256;
/** Half transparent and more counts for the box. */
const OPEN = 128;

/**
 * Reads a mask, fitted to the size as the reference is. Undefined if it leaves nothing open.
 * @throws GatewayError `invalid_value` where the bytes are no image; the signal's reason.
 */
export async function readMask(mask: Media, size: ImageSize, signal: AbortSignal): Promise<OpenPart | undefined> {
  const { width, height } = size;
  const alpha = await alphaOf(mask, size);
  let [left, top, right, bottom] = [width, height, -1, -1];
  for (let row = 0; row < height; row++) {
    if (row % MASK_ROWS_AT_ONCE === 0) {
      await breathe();
      signal.throwIfAborted();
    }
    for (let column = 0; column < width; column++) {
      if (255 - (alpha[row * width + column] ?? 255) < OPEN) continue;
      left = Math.min(left, column);
      right = Math.max(right, column);
      top = Math.min(top, row);
      bottom = row;
    }
  }
  if (right < 0) return undefined;
  const box = { x: left, y: top, width: right - left + 1, height: bottom - top + 1 };
  const cover = new Uint8Array(box.width * box.height);
  for (let row = 0; row < box.height; row++) {
    const from = (top + row) * width + left;
    for (let column = 0; column < box.width; column++) {
      cover[row * box.width + column] = 255 - (alpha[from + column] ?? 255);
    }
  }
  return { box, cover };
}

async function alphaOf({ bytes }: Media, { width, height }: ImageSize): Promise<Buffer> {
  const sharp = await loadSharp();
  try {
    return await sharp(bytes, { limitInputPixels: MAX_REFERENCE_PIXELS })
      .resize(width, height, { fit: 'cover', position: 'centre' })
      .ensureAlpha()
      .extractChannel('alpha')
      .raw()
      .toBuffer();
  } catch (cause) {
    throw new GatewayError('invalid_value', 'The mask cannot be read.', { param: 'mask', cause });
  }
}

/** The reference, with the drawing in its open part. Without a part it stays as it is. */
export async function encodeEdited(
  { bytes }: Media,
  { width, height }: ImageSize,
  part: (OpenPart & { drawing: Media }) | undefined,
  encoding: Encoding,
): Promise<Media> {
  const sharp = await loadSharp();
  const laid = sharp(bytes, { limitInputPixels: MAX_REFERENCE_PIXELS })
    .resize(width, height, { fit: 'cover', position: 'centre' })
    .flatten({ background: '#fff' })
    .toColourspace('srgb');
  if (part) laid.composite([await patchOf(sharp, part)]);
  return encodeAs(laid.removeAlpha(), encoding);
}

async function patchOf(sharp: SharpModule, { box, cover, drawing }: OpenPart & { drawing: Media }) {
  const { width, height } = box;
  const drawn = await sharp(drawing.bytes).metadata();
  const [left, top] = [Math.floor((drawn.width - width) / 2), Math.floor((drawn.height - height) / 2)];
  const cut = await sharp(drawing.bytes).extract({ left, top, width, height }).removeAlpha().raw().toBuffer();
  const input = await sharp(cut, { raw: { width, height, channels: 3 } })
    .joinChannel(Buffer.from(cover.buffer), { raw: { width, height, channels: 1 } })
    .raw()
    .toBuffer();
  return { input, raw: { width, height, channels: 4 as const }, left: box.x, top: box.y };
}
