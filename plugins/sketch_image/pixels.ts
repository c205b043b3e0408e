import { GatewayError, type ImageSize, type Media } from 'mediagate';
import type { Sharp } from 'sharp';
import type { Ink } from './ink.js';
import type { Box, Reference } from './layout.js';
import type { Colour } from './palette.js';
import { createRandom } from './random.js';
import type { Wash } from './wash.js';

/** Something to lay over the picture. */
export interface Overlay {
  input: Buffer;
  raw?: { width: number; height: number; channels: 4 };
  left: number;
  top: number;
}

export interface PictureParts {
  width: number;
  height: number;
  wash: Wash;
  /** Bottom to top. */
  overlays: readonly Overlay[];
}

export interface Encoding {
  format: 'png' | 'jpeg' | 'webp';
  /** 1 to 100; of no meaning for PNG. */
  quality: number;
}

/** Above what a reference may have; a file that says otherwise has not been checked. */
const MAX_REFERENCE_PIXELS = 24_000_000;
const GRAIN_SIDE = 128;

/** Loads sharp; the only place that does. Its work is done in threads of its own. */
async function loadSharp() {
  return (await import('sharp')).default;
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

/** Ink in one colour. */
export async function inkOverlay(ink: Ink, colour: Colour): Promise<Overlay> {
  const { width, height } = ink;
  const input = await inked(await loadSharp(), ink, colour)
    .raw()
    .toBuffer();
  return { input, raw: { width, height, channels: 4 }, left: 0, top: 0 };
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

export async function encodePicture(parts: PictureParts, size: ImageSize, encoding: Encoding): Promise<Media> {
  const sharp = await loadSharp();
  const { width, height, wash, overlays } = parts;
  // Three steps: what is laid over has to fit the size that comes in, and scaling would come before it.
  const painted = await sharp(wash.pixels, { raw: { width: wash.width, height: wash.height, channels: 3 } })
    .resize(width, height, { fit: 'fill', kernel: 'cubic' })
    .raw()
    .toBuffer();
  const grain = { input: await grainTile(), tile: true, blend: 'multiply' } as const;
  const laid = await sharp(painted, { raw: { width, height, channels: 3 } })
    .composite([grain, ...overlays])
    .removeAlpha()
    .raw()
    .toBuffer();
  const picture = sharp(laid, { raw: { width, height, channels: 3 } });
  if (size.width !== width) picture.resize(size.width, size.height, { fit: 'fill' });
  const { format, quality } = encoding;
  const encoded = format === 'png' ? picture.png({ compressionLevel: 6 }) : picture.toFormat(format, { quality });
  return { bytes: await encoded.toBuffer(), contentType: `image/${format}` };
}

type SharpModule = Awaited<ReturnType<typeof loadSharp>>;

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
  };
}

let grain: Promise<Buffer> | undefined;

/** Fibres of the paper; the same for every picture. */
function grainTile(): Promise<Buffer> {
  grain ??= loadSharp().then((sharp) => {
    const random = createRandom('paper');
    const pixels = Buffer.alloc(GRAIN_SIDE * GRAIN_SIDE * 3, 255);
    for (let pixel = 0; pixel < GRAIN_SIDE * GRAIN_SIDE; pixel++) {
      if (random() < 0.3) pixels.fill(244 + Math.floor(random() * 2) * 5, pixel * 3, pixel * 3 + 3);
    }
    const raw = { width: GRAIN_SIDE, height: GRAIN_SIDE, channels: 3 } as const;
    return sharp(pixels, { raw }).png().toBuffer();
  });
  return grain;
}

function channels([r, g, b]: Colour): { r: number; g: number; b: number } {
  return { r: Math.round(r), g: Math.round(g), b: Math.round(b) };
}
