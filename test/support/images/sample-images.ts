/** Small images of a requested format and size, each made once. */

import { crc32, deflateSync } from 'node:zlib';
import sharp from 'sharp';

export interface SampleImage {
  width: number;
  height: number;
  format: 'png' | 'jpeg' | 'webp';
  /** Chooses one of eight colours. */
  seed: number;
  /** Noise cannot be compressed: about three bytes a pixel as PNG. Default: one colour. */
  noise?: boolean;
}

const COLOURS = ['#b3403a', '#2f6f8f', '#5b8c3e', '#c98f2b', '#7a4f9a', '#2b8f7a', '#444b6e', '#a65f7d'];
const made = new Map<string, Promise<Buffer>>();

/** The bytes of an image; equal ones are made once. */
export function sampleImage(wanted: SampleImage): Promise<Buffer> {
  const { width, height, format, noise = false } = wanted;
  const background = COLOURS[wanted.seed % COLOURS.length] ?? '#000';
  const key = JSON.stringify([width, height, format, noise, background]);
  let image = made.get(key);
  if (!image) {
    const create = noise
      ? ({ width, height, channels: 3, background, noise: { type: 'gaussian', mean: 128, sigma: 60 } } as const)
      : ({ width, height, channels: 3, background } as const);
    image = sharp({ create }).toFormat(format).toBuffer();
    made.set(key, image);
  }
  return image;
}

/** A small PNG that says it has that many pixels, and has them: one bit each, all alike. */
export function bombPng(width: number, height: number): Buffer {
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header[8] = 1;
  const rows = Buffer.alloc((Math.ceil(width / 8) + 1) * height);
  return Buffer.concat([
    Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'),
    pngChunk('IHDR', header),
    pngChunk('IDAT', deflateSync(rows, { level: 9 })),
    pngChunk('IEND', Buffer.alloc(0)),
  ]);
}

function pngChunk(type: string, content: Buffer): Buffer {
  const chunk = Buffer.alloc(content.length + 12);
  chunk.writeUInt32BE(content.length, 0);
  chunk.write(type, 4, 'latin1');
  content.copy(chunk, 8);
  chunk.writeUInt32BE(crc32(chunk.subarray(4, content.length + 8)), content.length + 8);
  return chunk;
}
