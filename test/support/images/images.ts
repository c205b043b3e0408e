/** Images with given bytes: sizes, chunks, scans and profiles. */

import { crc32, deflateRawSync, deflateSync, constants as zlib } from 'node:zlib';
import sharp from 'sharp';

/** Pictures of every kind, sound and broken, made on the spot. */

const PNG_SIGNATURE = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);

/** Three stripes of equal width: red, green, blue. */
export function stripes(width: number, height: number) {
  const pixels = Buffer.alloc(width * height * 3);
  for (let index = 0; index < width * height; index += 1) {
    pixels[index * 3 + Math.floor(((index % width) * 3) / width)] = 255;
  }
  return sharp(pixels, { raw: { width, height, channels: 3 } });
}

/** Every pixel another one: nothing to compress, and a cut anywhere is a cut in the picture. */
export function noise(width: number, height: number) {
  let state = 1;
  const pixels = Buffer.from(
    Array.from({ length: width * height * 3 }, () => {
      state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
      return state >>> 24;
    }),
  );
  return sharp(pixels, { raw: { width, height, channels: 3 } });
}

export function pngChunk(type: string, data: Uint8Array): Buffer {
  const chunk = Buffer.alloc(12 + data.length);
  chunk.writeUInt32BE(data.length, 0);
  chunk.write(type, 4, 'latin1');
  chunk.set(data, 8);
  chunk.writeUInt32BE(crc32(chunk.subarray(4, 8 + data.length)), 8 + data.length);
  return chunk;
}

export interface BlackPng {
  width: number;
  height: number;
  /** Bits of a sample. Default 8. */
  depth?: 8 | 16;
  /** As PNG numbers them: 0 grey, 2 colour, 6 colour and alpha. Default 2. */
  colourType?: 0 | 2 | 6;
  interlaced?: boolean;
  /** Put before the pixels. */
  chunks?: readonly Uint8Array[];
}

/** A black PNG of any size, valid to its last byte, without its pixels ever being in memory. */
export function blackPng({ width, height, depth = 8, colourType = 2, interlaced, chunks = [] }: BlackPng): Buffer {
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.set([depth, colourType, 0, 0, interlaced ? 1 : 0], 8);
  const samples = { 0: 1, 2: 3, 6: 4 }[colourType];
  const rowBytes = 1 + (width * samples * depth) / 8;
  return Buffer.concat([
    PNG_SIGNATURE,
    pngChunk('IHDR', header),
    ...chunks,
    pngChunk('IDAT', deflatedZeros(rowBytes * height)),
    pngChunk('IEND', Buffer.alloc(0)),
  ]);
}

const BLOCK = 1024 * 1024;

/** A zlib stream of so many zeros, made of one block again and again. */
function deflatedZeros(length: number): Buffer {
  const zeros = (count: number) => deflateRawSync(Buffer.alloc(count), { level: 9, finishFlush: zlib.Z_FULL_FLUSH });
  const end = Buffer.from([0x03, 0, 0, 0, 0, 0]);
  // Adler-32 of zeros: the first sum stays 1, the second counts them.
  end.writeUInt32BE((length % 65_521) * 65_536 + 1, 2);
  const blocks = Array<Buffer>(Math.floor(length / BLOCK)).fill(zeros(BLOCK));
  return Buffer.concat([Buffer.from([0x78, 0xda]), ...blocks, zeros(length % BLOCK), end]);
}

/** A text chunk of a PNG that is short in the file and long when inflated. */
export function compressedText(inflatedBytes: number): Buffer {
  return pngChunk('zTXt', Buffer.concat([Buffer.from('Comment\0\0'), deflateSync(Buffer.alloc(inflatedBytes))]));
}

/** The colour profile likewise. */
export function compressedProfile(inflatedBytes: number): Buffer {
  return pngChunk('iCCP', Buffer.concat([Buffer.from('profile\0\0'), deflateSync(Buffer.alloc(inflatedBytes))]));
}

/** One colour over any number of pixels, at most 16384 x 16384, in a lossless WebP of 34 bytes: its codes take no bits. */
export function plainWebp(width: number, height: number): Buffer {
  const bits: number[] = [];
  const put = (value: number, count: number) => {
    for (let bit = 0; bit < count; bit += 1) bits.push((value >> bit) & 1);
  };
  put(0x2f, 8);
  put(width - 1, 14);
  put(height - 1, 14);
  // No alpha, version 0, and then neither transform nor colour cache nor several groups of codes.
  put(0, 1 + 3 + 1 + 1 + 1);
  for (const level of [30, 200, 90, 255]) {
    // A simple code of one symbol, of eight bits.
    put(0b101, 3);
    put(level, 8);
  }
  put(0b001, 3);
  put(0, 1);
  const stream = Buffer.alloc(14);
  for (const [index, bit] of bits.entries()) stream[index >> 3] = (stream[index >> 3] ?? 0) | (bit << (index & 7));
  const head = Buffer.from('RIFF....WEBPVP8L....');
  head.writeUInt32LE(12 + stream.length, 4);
  head.writeUInt32LE(stream.length, 16);
  return Buffer.concat([head, stream]);
}

/** A JPEG whose header says another size than its picture has. */
export function withJpegSize(jpeg: Uint8Array, width: number, height: number): Buffer {
  const bytes = Buffer.from(jpeg);
  const frame = bytes.findIndex((byte, at) => byte === 0xff && [0xc0, 0xc2].includes(bytes[at + 1] ?? 0));
  bytes.writeUInt16BE(height, frame + 5);
  bytes.writeUInt16BE(width, frame + 7);
  return bytes;
}

/** A JPEG whose last scan is repeated. */
export function withScans(jpeg: Uint8Array, times: number): Buffer {
  const bytes = Buffer.from(jpeg);
  const scan = bytes.lastIndexOf(Buffer.from([0xff, 0xda]));
  const end = bytes.length - 2;
  const last = bytes.subarray(scan, end);
  return Buffer.concat([bytes.subarray(0, end), ...Array<Buffer>(times).fill(last), bytes.subarray(end)]);
}
