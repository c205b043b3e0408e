/*
 * Colours, the wash under the ink, and all image files of the mock. The wash is computed at 240 pixels on its short
 * side and scaled up, because it has no sharp edges. The grain of the paper and the ink are laid on it here, which takes a
 * fraction of what a general composition takes; every few rows the event loop gets a turn. Everything that reads, scales
 * or encodes files uses sharp, which works in threads of its own and is loaded by the first image. References above 24
 * million pixels are refused.
 */

import { setImmediate as breathe } from 'node:timers/promises';
import { GatewayError, type ImageSize, type Media } from 'mediagate/plugin';
import type { Sharp } from 'sharp';
import type { Scene } from './scene.js';
import { type Box, createNoise, createRandom, type Ink, pick, type Random } from './strokes.js';
import { colourNamed } from './words.js';

/** Red, green and blue, 0 to 255. */
export type Colour = readonly [number, number, number];

export interface Palette {
  paper: Colour;
  sky: Colour;
  sun: Colour;
  /** Far to near. */
  land: readonly [Colour, Colour, Colour];
  ink: Colour;
}

type Hexes = readonly [sky: string, sun: string, far: string, middle: string, near: string, ink: string];

const PALETTES: readonly [Hexes, ...Hexes[]] = [
  ['#bcd8e6', '#f2b26b', '#9fb8c6', '#6f97a6', '#3f6d7a', '#1d2b38'],
  ['#f3d3bd', '#e4705c', '#d9a59a', '#a9707d', '#5e4a66', '#2a2036'],
  ['#d7e4c8', '#eec24f', '#b3cc9c', '#7fa776', '#46745a', '#1f3329'],
  ['#d9d3ec', '#f0a0a8', '#b7b1da', '#8683b8', '#54528c', '#222145'],
  ['#f1e2b8', '#d9772f', '#dfc07c', '#b98b4a', '#7c5a36', '#33241a'],
  ['#c6e3dc', '#f08a63', '#93c7bf', '#559d9d', '#2a6a78', '#12313c'],
  ['#e8dcd4', '#c9524a', '#c9bdb4', '#938a86', '#57535a', '#22222a'],
];

const PAPER = '#f7f1e4';
/** How much of a reference's colour gets into the land. */
const REFERENCE_SHARE = 0.55;

/** @param references average colours of the reference images. */
export function choosePalette(prompt: string, references: readonly Colour[], random: Random): Palette {
  const any = pick(random, PALETTES);
  const [sky, sun, far, middle, near, ink] = PALETTES[colourNamed(prompt)] ?? any;
  const land = [far, middle, near].map((hex, index) => {
    const reference = references[index % Math.max(1, references.length)];
    return reference ? mix(colourOf(hex), reference, REFERENCE_SHARE) : colourOf(hex);
  }) as [Colour, Colour, Colour];
  return { paper: colourOf(PAPER), sky: colourOf(sky), sun: colourOf(sun), land, ink: colourOf(ink) };
}

/** `share` 0 is all the first, 1 all the second. */
export function mix(first: Colour, second: Colour, share: number): Colour {
  return [
    first[0] + (second[0] - first[0]) * share,
    first[1] + (second[1] - first[1]) * share,
    first[2] + (second[2] - first[2]) * share,
  ];
}

function colourOf(hex: string): Colour {
  const number = Number.parseInt(hex.slice(1), 16);
  return [number >> 16, (number >> 8) & 255, number & 255];
}

/** Colour as three bytes a pixel, row by row. */
export interface Wash {
  width: number;
  height: number;
  pixels: Uint8Array;
}

export interface WashOptions {
  /** The whole picture in pixels; the wash is smaller, since it has no sharp edges. */
  width: number;
  height: number;
  /** Height of the scene at the top; below it is bare paper. */
  sceneHeight: number;
  /** Bare paper around the scene, in pixels. */
  margin: number;
  scene: Scene;
  palette: Palette;
  random: Random;
  signal: AbortSignal;
}

const SHORT_SIDE = 240;
const ROWS_AT_ONCE = 8;

/** Watercolour under the ink: uneven, and lighter towards its edges. @throws the signal's reason. */
export async function paintWash(options: WashOptions): Promise<Wash> {
  const { scene, palette, margin, sceneHeight, random } = options;
  const scale = Math.min(1, SHORT_SIDE / Math.min(options.width, options.height));
  const width = Math.max(1, Math.round(options.width * scale));
  const height = Math.max(1, Math.round(options.height * scale));
  const noise = createNoise(random);
  const pixels = new Uint8Array(width * height * 3);
  const unit = Math.min(options.width, options.height);
  for (let row = 0; row < height; row++) {
    if (row % ROWS_AT_ONCE === 0) {
      await breathe();
      options.signal.throwIfAborted();
    }
    for (let column = 0; column < width; column++) {
      const [x, y] = [(column + 0.5) / scale, (row + 0.5) / scale];
      const cloud = noise((x / unit) * 4, (y / unit) * 4) * 0.6 + noise((x / unit) * 13, (y / unit) * 13) * 0.4;
      const colour = colourAt(x, y, cloud);
      for (let channel = 0; channel < 3; channel++) pixels[(row * width + column) * 3 + channel] = colour[channel] ?? 0;
    }
  }
  return { width, height, pixels };

  function colourAt(x: number, y: number, cloud: number): Colour {
    // The brush does not stop along a straight line.
    const ragged = cloud * margin * 0.35;
    const inside = Math.min(x - margin, options.width - margin - x, y - margin, sceneHeight - y) + ragged;
    if (inside <= 0) return palette.paper;
    const strength = Math.min(1, inside / (margin * 0.3)) * (0.86 + cloud * 0.2);
    return mix(palette.paper, paintAt(x, y, cloud), Math.max(0, Math.min(1, strength)));
  }

  function paintAt(x: number, y: number, cloud: number): Colour {
    for (let index = scene.ridges.length - 1; index >= 0; index--) {
      const top = scene.ridges[index]?.(x) ?? 0;
      const land = palette.land[index];
      if (land && y > top)
        return mix(land, palette.paper, Math.max(0, 0.3 - ((y - top) / sceneHeight) * 1.5) + cloud * 0.12);
    }
    const { sun } = scene;
    const distance = Math.hypot(x - sun.x, y - sun.y) / sun.radius;
    if (distance < 1.02) return palette.sun;
    const glow = Math.max(0, 1 - (distance - 1) / 3.5) ** 2;
    const sky = mix(palette.sky, palette.paper, Math.min(0.75, (y / sceneHeight) * 0.9 + cloud * 0.25));
    return mix(sky, palette.sun, glow * 0.45);
  }
}

/** Something to lay over a part of the picture: an image file. */
export interface Overlay {
  input: Buffer;
  left: number;
  top: number;
  width: number;
  height: number;
}

export interface PictureParts {
  width: number;
  height: number;
  wash: Wash;
  ink?: Ink & { colour: Colour };
  /** Over the ink, bottom to top. Default: none. */
  overlays?: readonly Overlay[];
}

export interface Encoding {
  format: 'png' | 'jpeg' | 'webp';
  /** 1 to 100; of no meaning for PNG. */
  quality: number;
}

/** Above what a reference may have; a file that says otherwise has not been checked. */
export const MAX_REFERENCE_PIXELS = 24_000_000;
const GRAIN_SIDE = 128;

/** Loads sharp; the only place that does. Its work is done in threads of its own. */
export async function loadSharp() {
  return (await import('sharp')).default;
}

/** A reference that could be read. */
export interface Reference extends Media {
  width: number;
  height: number;
  /** Red, green and blue, 0 to 255. */
  average: readonly [number, number, number];
}

/** @throws GatewayError `invalid_value` where the bytes are no image. */
export async function readReference(media: Media): Promise<Reference> {
  const sharp = await loadSharp();
  try {
    const image = sharp(media.bytes, { limitInputPixels: MAX_REFERENCE_PIXELS });
    const { width, height } = await image.metadata();
    const onePixel = await image.resize(1, 1, { fit: 'fill' }).flatten().toColourspace('srgb').raw().toBuffer();
    const [red = 0, green = 0, blue = 0] = onePixel;
    return { ...media, width, height, average: [red, green, blue] };
  } catch (cause) {
    throw new GatewayError('invalid_value', 'A reference image cannot be read.', { param: 'image', cause });
  }
}

/** A reference as a photograph with a white border, lying a little askew. */
export async function printOf(reference: Reference, box: Box, angle: number): Promise<Overlay> {
  const sharp = await loadSharp();
  const scale = Math.min((box.width * 0.68) / reference.width, (box.height * 0.68) / reference.height);
  const border = Math.max(2, Math.round(Math.min(box.width, box.height) * 0.03));
  const edge = Math.max(1, Math.round(border / 12));
  const [width, height] = [reference.width, reference.height].map((side) => Math.max(1, Math.round(side * scale)));
  const framed = await sharp(reference.bytes, { limitInputPixels: MAX_REFERENCE_PIXELS })
    .resize(width, height, { fit: 'fill' })
    .flatten({ background: '#fff' })
    .toColourspace('srgb')
    .extend({ top: border, left: border, right: border, bottom: border * 2, background: '#fffdf8' })
    .png({ compressionLevel: 0 })
    .toBuffer();
  // A pipeline extends once.
  const edged = await sharp(framed)
    .extend({ top: edge, left: edge, right: edge, bottom: edge, background: '#8a8378' })
    .png({ compressionLevel: 0 })
    .toBuffer();
  const turned = sharp(edged)
    .ensureAlpha()
    .rotate(angle, { background: { r: 0, g: 0, b: 0, alpha: 0 } });
  return centred(turned, box);
}

/** Ink on a slip of paper, lying askew. */
export async function slipOverlay(ink: Ink, colours: { ink: Colour; paper: Colour }, box: Box): Promise<Overlay> {
  const sharp = await loadSharp();
  const { width, height } = ink;
  const text = await inked(sharp, ink, colours.ink).png({ compressionLevel: 0 }).toBuffer();
  const background = { ...channels(colours.paper), alpha: 0.9 };
  const slip = await sharp({ create: { width, height, channels: 4, background } })
    .composite([{ input: text }])
    .png({ compressionLevel: 0 })
    .toBuffer();
  return centred(sharp(slip).rotate(4, { background: { r: 0, g: 0, b: 0, alpha: 0 } }), box);
}

export async function encodePicture(
  parts: PictureParts,
  size: ImageSize,
  encoding: Encoding,
  signal: AbortSignal,
): Promise<Media> {
  const sharp = await loadSharp();
  const { width, height, wash, ink, overlays = [] } = parts;
  const painted = await sharp(wash.pixels, { raw: { width: wash.width, height: wash.height, channels: 3 } })
    .resize(width, height, { fit: 'fill', kernel: 'cubic' })
    .raw()
    .toBuffer();
  await layGrainAndInk({ width, height, pixels: painted }, ink, signal);
  // What is laid over has to fit the size that comes in, and scaling would come before it.
  for (const overlay of overlays) await layOver(sharp, { width, height, pixels: painted }, overlay);
  const picture = sharp(painted, { raw: { width, height, channels: 3 } });
  if (size.width !== width) picture.resize(size.width, size.height, { fit: 'fill' });
  return encodeAs(picture, encoding);
}

const INKED_ROWS_AT_ONCE = 128;

/** Darkens the fibres of the paper, and covers them with ink of one colour. @throws the signal's reason. */
async function layGrainAndInk(picture: Wash, ink: (Ink & { colour: Colour }) | undefined, signal: AbortSignal) {
  const cover = ink?.cover ?? new Uint8Array(picture.width * picture.height);
  const [red, green, blue] = ink?.colour ?? [0, 0, 0];
  const colour = { red: Math.round(red), green: Math.round(green), blue: Math.round(blue) };
  for (let row = 0; row < picture.height; row += INKED_ROWS_AT_ONCE) {
    await breathe();
    signal.throwIfAborted();
    inkRows(picture, row, Math.min(picture.height, row + INKED_ROWS_AT_ONCE), cover, colour);
  }
}

/** Whole numbers alone: `(n * 257 + 32_768) >> 16` is a 255th of n. */
function inkRows(
  { width, pixels }: Wash,
  from: number,
  to: number,
  cover: Uint8Array,
  { red, green, blue }: { red: number; green: number; blue: number },
): void {
  const grain = grainTile();
  for (let row = from, pixel = from * width, at = pixel * 3; row < to; row++) {
    const grainRow = (row % GRAIN_SIDE) * GRAIN_SIDE;
    for (let column = 0; column < width; column++, pixel++, at += 3) {
      const ink = cover[pixel] as number;
      const grey = grain[grainRow + (column % GRAIN_SIDE)] as number;
      if (ink === 0 && grey === 255) continue;
      const paper = ((255 - ink) * grey * 257 + 32_768) >> 16;
      pixels[at] = (((pixels[at] as number) * paper + red * ink) * 257 + 32_768) >> 16;
      pixels[at + 1] = (((pixels[at + 1] as number) * paper + green * ink) * 257 + 32_768) >> 16;
      pixels[at + 2] = (((pixels[at + 2] as number) * paper + blue * ink) * 257 + 32_768) >> 16;
    }
  }
}

/** Lays a small picture over a part of a large one. Only the pixels below it are read: the whole would take five times as long. */
async function layOver(sharp: SharpModule, { width, height, pixels }: Wash, overlay: Overlay): Promise<void> {
  const [left, top] = [Math.max(0, overlay.left), Math.max(0, overlay.top)];
  const right = Math.min(width, overlay.left + overlay.width);
  const bottom = Math.min(height, overlay.top + overlay.height);
  if (left >= right || top >= bottom) return;
  const below = { left, top, width: right - left, height: bottom - top };
  const cut = { ...below, left: left - overlay.left, top: top - overlay.top };
  const laid = await sharp(pixels, { raw: { width, height, channels: 3 } })
    .extract(below)
    .composite([
      { input: await sharp(overlay.input).extract(cut).png({ compressionLevel: 0 }).toBuffer(), left: 0, top: 0 },
    ])
    .removeAlpha()
    .raw()
    .toBuffer();
  for (let row = 0; row < below.height; row++) {
    pixels.set(laid.subarray(row * below.width * 3, (row + 1) * below.width * 3), ((top + row) * width + left) * 3);
  }
}

export async function encodeAs(picture: Sharp, { format, quality }: Encoding): Promise<Media> {
  const encoded = format === 'png' ? picture.png({ compressionLevel: 6 }) : picture.toFormat(format, { quality });
  return { bytes: await encoded.toBuffer(), contentType: `image/${format}` };
}

export type SharpModule = Awaited<ReturnType<typeof loadSharp>>;

function inked(sharp: SharpModule, { width, height, cover }: Ink, colour: Colour): Sharp {
  return sharp({ create: { width, height, channels: 3, background: channels(colour) } }).joinChannel(cover, {
    raw: { width, height, channels: 1 },
  });
}

async function centred(image: Sharp, box: Box): Promise<Overlay> {
  const { data, info } = await image.png({ compressionLevel: 0 }).toBuffer({ resolveWithObject: true });
  return {
    input: data,
    left: Math.round(box.x + (box.width - info.width) / 2),
    top: Math.round(box.y + (box.height - info.height) / 2),
    width: info.width,
    height: info.height,
  };
}

let grain: Uint8Array | undefined;

/** Fibres of the paper as brightness, 0 to 255, row by row; the same for every picture. */
function grainTile(): Uint8Array {
  if (grain) return grain;
  const random = createRandom('paper');
  grain = new Uint8Array(GRAIN_SIDE * GRAIN_SIDE).fill(255);
  for (let pixel = 0; pixel < grain.length; pixel++) {
    if (random() < 0.3) grain[pixel] = 244 + Math.floor(random() * 2) * 5;
  }
  return grain;
}

function channels([r, g, b]: Colour): { r: number; g: number; b: number } {
  return { r: Math.round(r), g: Math.round(g), b: Math.round(b) };
}
