import { type ImageType, sniffImage } from './image-type.js';
import { readJpegHeader } from './jpeg-header.js';

/** What a picture says about itself before anything of it is decoded. */
export interface ImageHeader {
  type: ImageType;
  /** Pixels as stored, before the orientation that a camera notes. */
  width: number;
  height: number;
  /** Bytes of one pixel when decoded. */
  pixelBytes: number;
  /** Bytes that its decoder holds at once besides some rows; 0 where it goes from row to row. */
  heldBytes: number;
}

/** A decoder of WebP shrinks while it decodes: of a larger picture it holds this much, twice. As measured. */
const WEBP_HELD_PIXELS = 20_000_000;

/**
 * Reads the header. Quick, and touches no decoder.
 * @returns Undefined where the bytes are none of the types, or their header is cut or makes no sense.
 */
export function readImageHeader(bytes: Uint8Array): ImageHeader | undefined {
  const type = sniffImage(bytes);
  const header = type && READERS[type](Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength));
  return header && header.width > 0 && header.height > 0 ? { type, ...header } : undefined;
}

export type SizeHeader = Omit<ImageHeader, 'type'>;

const READERS: Readonly<Record<ImageType, (bytes: Buffer) => SizeHeader | undefined>> = {
  png: readPngHeader,
  jpeg: readJpegHeader,
  webp: readWebpHeader,
  gif: readGifHeader,
};

/** Samples of a pixel by the colour type; a palette becomes colours, possibly with transparency. */
const PNG_SAMPLES: Readonly<Record<number, number>> = { 0: 1, 2: 3, 3: 4, 4: 2, 6: 4 };

function readPngHeader(bytes: Buffer): SizeHeader | undefined {
  if (bytes.length < 33 || bytes.toString('latin1', 12, 16) !== 'IHDR') return undefined;
  const width = bytes.readUInt32BE(16);
  const height = bytes.readUInt32BE(20);
  const [depth = 0, colourType = 0, , , interlaced] = bytes.subarray(24, 29);
  const pixelBytes = (PNG_SAMPLES[colourType] ?? 4) * (depth > 8 ? 2 : 1);
  return { width, height, pixelBytes, heldBytes: interlaced ? width * height * pixelBytes : 0 };
}

/** The canvas is drawn as a whole, and the colour numbers of the frame are held beside it. */
function readGifHeader(bytes: Buffer): SizeHeader | undefined {
  if (bytes.length < 13) return undefined;
  const width = bytes.readUInt16LE(6);
  const height = bytes.readUInt16LE(8);
  return { width, height, pixelBytes: 4, heldBytes: width * height * 5 };
}

function readWebpHeader(bytes: Buffer): SizeHeader | undefined {
  if (bytes.length < 30) return undefined;
  const kind = bytes.toString('latin1', 12, 16);
  if (kind === 'VP8 ') return readLossy(bytes);
  if (kind === 'VP8L') return readLossless(bytes);
  if (kind !== 'VP8X') return undefined;
  const width = bytes.readUIntLE(24, 3) + 1;
  const height = bytes.readUIntLE(27, 3) + 1;
  return { width, height, pixelBytes: 4, heldBytes: heldByExtended(bytes, width * height) };
}

function readLossy(bytes: Buffer): SizeHeader | undefined {
  if (bytes.readUIntBE(23, 3) !== 0x9d012a) return undefined;
  const width = bytes.readUInt16LE(26) & 0x3fff;
  const height = bytes.readUInt16LE(28) & 0x3fff;
  return { width, height, pixelBytes: 4, heldBytes: heldByLossy(width * height) };
}

function readLossless(bytes: Buffer): SizeHeader | undefined {
  if (bytes[20] !== 0x2f) return undefined;
  const sizes = bytes.readUInt32LE(21);
  const width = (sizes & 0x3fff) + 1;
  const height = ((sizes >>> 14) & 0x3fff) + 1;
  return { width, height, pixelBytes: 4, heldBytes: heldByLossless(width * height) };
}

const ANIMATED = 0x02;

function heldByExtended(bytes: Buffer, pixels: number): number {
  // A frame is drawn onto a canvas, and neither is shrunk on the way.
  if ((bytes[20] ?? 0) & ANIMATED) return 9 * pixels;
  for (let offset = 30; offset + 8 <= bytes.length; ) {
    const kind = bytes.toString('latin1', offset, offset + 4);
    if (kind === 'VP8 ') return heldByLossy(pixels);
    if (kind === 'VP8L') break;
    const length = bytes.readUInt32LE(offset + 4);
    offset += 8 + length + (length % 2);
  }
  return heldByLossless(pixels);
}

function heldByLossy(pixels: number): number {
  return 8 * Math.min(pixels, WEBP_HELD_PIXELS);
}

/** Lossless pixels refer back to any before them, so the decoder keeps all. */
function heldByLossless(pixels: number): number {
  return 4 * pixels + heldByLossy(pixels) / 2;
}
