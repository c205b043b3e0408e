/** Hostile images of every kind, with what is expected of each. */

import {
  blackPng,
  compressedProfile,
  compressedText,
  plainWebp,
  pngChunk,
  stripes,
  withJpegSize,
  withScans,
} from './images.js';

/**
 * Input images made to do harm, and what becomes of each: the content type that a model gets, or the code of the refusal.
 * @param origins that some of them refer to, where nobody may come by.
 */
export async function makeImageBombs(
  origins: readonly string[],
): Promise<Readonly<Record<string, readonly [verdict: string, bytes: Buffer]>>> {
  const small = stripes(64, 64);
  const jpeg = await small.clone().jpeg().toBuffer();
  const progressive = await small.clone().jpeg({ progressive: true }).toBuffer();
  const gif = await small.clone().gif().toBuffer();
  gif.writeUInt32LE(0xffffffff, 6);
  const animated = await small
    .clone()
    .webp()
    .withExif({ IFD0: { Copyright: 'x' } })
    .toBuffer();
  animated.writeUInt8((animated[20] ?? 0) | 0x02, 20);
  animated.fill(0xff, 24, 30);
  const text = compressedText(60e6);
  const elsewhere = origins.map((origin) => `<image href="${origin}/x"/><use href="${origin}/y#z"/>`).join('');
  const svg = `<?xml version="1.0"?><!DOCTYPE svg [<!ENTITY e SYSTEM "${origins[0]}/e">]><svg xmlns="http://www.w3.org/2000/svg">${elsewhere}&e;</svg>`;

  return {
    '255 megapixels in a PNG of 1 MB': ['image_too_large', blackPng({ width: 15_970, height: 15_970, colourType: 6 })],
    '144 megapixels in a WebP of 34 bytes': ['image_too_large', plainWebp(12_000, 12_000)],
    '268 megapixels, the most a WebP can have': ['image_too_large', plainWebp(16_384, 16_384)],
    '100 megapixels that go row by row': ['image/jpeg', blackPng({ width: 10_000, height: 10_000 })],
    '100 megapixels with 64 bits each': [
      'image_too_large',
      blackPng({ width: 10_000, height: 10_000, depth: 16, colourType: 6 }),
    ],
    '100 megapixels that come interlaced': [
      'image_too_large',
      blackPng({ width: 10_000, height: 10_000, interlaced: true }),
    ],
    '100 megapixels in rows of half a megabyte': [
      'image_too_large',
      blackPng({ width: 65_535, height: 1500, depth: 16, colourType: 6 }),
    ],
    'a row of 50 megapixels': ['image_too_large', blackPng({ width: 50_000_000, height: 1, colourType: 0 })],
    'a column of 50 megapixels': ['image_too_large', blackPng({ width: 1, height: 50_000_000, colourType: 0 })],
    'the most pixels that a PNG can claim': ['image_too_large', blackPng({ width: 9, height: 9 }).fill(0x7f, 16, 24)],
    'a JPEG of 4 gigapixels': ['image_too_large', withJpegSize(jpeg, 65_500, 65_500)],
    '90 megapixels in a progressive JPEG': ['image_too_large', withJpegSize(progressive, 10_000, 9000)],
    'a JPEG of 3000 scans': ['image_too_large', withScans(progressive, 3000)],
    'a GIF of 4 gigapixels': ['image_too_large', gif],
    'an animated WebP of 281 terapixels': ['image_too_large', animated],
    'a hundred texts of 60 MB each': ['image/png', blackPng({ width: 64, height: 64, chunks: Array(100).fill(text) })],
    'a colour profile of 60 MB': ['image/png', blackPng({ width: 64, height: 64, chunks: [compressedProfile(60e6)] })],
    'half a million notes': [
      'image/png',
      blackPng({
        width: 64,
        height: 64,
        chunks: [Buffer.concat(Array(500_000).fill(pngChunk('tEXt', Buffer.from('a\0b'))))],
      }),
    ],
    'an SVG that refers elsewhere': ['unsupported_image_media_type', Buffer.from(svg)],
    'a PNG with the same SVG in its notes': [
      'image/png',
      blackPng({ width: 9, height: 9, chunks: [pngChunk('svGb', Buffer.from(svg))] }),
    ],
    'a PNG with the same SVG behind it': [
      'image/png',
      Buffer.concat([blackPng({ width: 9, height: 9 }), Buffer.from(svg)]),
    ],
  };
}
