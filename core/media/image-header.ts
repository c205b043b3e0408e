/*
 * Reads type, size and memory need of an image from its header, without a decoder. The need decides whether it may be
 * decoded at all: interlaced PNGs, progressive JPEGs and WebPs hold whole images in memory, and a JPEG with more than
 * 32 scans costs a pass for each, so it is refused. Types are detected by content; none of the four can refer to other
 * files, as SVG can. `withoutNotes` removes PNG chunks that a decoder would inflate before the first pixel. Truncated
 * or unusual headers give no result.
 */

/** The header of an image, read without decoding. */
export interface ImageHeader {
  type: ImageType;
  /** Pixels as stored, before applying the orientation. */
  width: number;
  height: number;
  /** Bytes of one pixel when decoded. */
  pixelBytes: number;
  /** Bytes that its decoder holds at once besides some rows; 0 if it decodes row by row. */
  heldBytes: number;
}

/** A WebP decoder shrinks while it decodes: for a larger image it holds this much, twice. As measured. */
const WEBP_HELD_PIXELS = 20_000_000;

/**
 * Reads the header. Fast, and uses no decoder.
 * @returns Undefined if the type is unknown, or the header is truncated or invalid.
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

/** Samples per pixel by colour type; a palette becomes colours, possibly with transparency. */
const PNG_SAMPLES: Readonly<Record<number, number>> = { 0: 1, 2: 3, 3: 4, 4: 2, 6: 4 };

function readPngHeader(bytes: Buffer): SizeHeader | undefined {
  if (bytes.length < 33 || bytes.toString('latin1', 12, 16) !== 'IHDR') return undefined;
  const width = bytes.readUInt32BE(16);
  const height = bytes.readUInt32BE(20);
  const [depth = 0, colourType = 0, , , interlaced] = bytes.subarray(24, 29);
  const pixelBytes = (PNG_SAMPLES[colourType] ?? 4) * (depth > 8 ? 2 : 1);
  return { width, height, pixelBytes, heldBytes: interlaced ? width * height * pixelBytes : 0 };
}

/** The canvas is drawn as a whole, and the colour numbers of the frame are kept beside it. */
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
  // A frame is drawn onto a canvas, and neither is shrunk during decoding.
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

/** Lossless pixels refer back to any earlier ones, so the decoder keeps all. */
function heldByLossless(pixels: number): number {
  return 4 * pixels + heldByLossy(pixels) / 2;
}

/** An input format. */
export type ImageType = 'png' | 'jpeg' | 'webp' | 'gif';

export const IMAGE_CONTENT_TYPES: Readonly<Record<ImageType, string>> = {
  png: 'image/png',
  jpeg: 'image/jpeg',
  webp: 'image/webp',
  gif: 'image/gif',
};

const PNG_SIGNATURE = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
const JPEG_START = Buffer.from([0xff, 0xd8, 0xff]);

/**
 * Detects the type by the first bytes; undefined for anything else. None of the types can refer to other files, as SVG
 * can, and none needs a rarely audited decoder.
 */
export function sniffImage(bytes: Uint8Array): ImageType | undefined {
  const head = Buffer.from(bytes.buffer, bytes.byteOffset, Math.min(bytes.byteLength, 12));
  const at = (offset: number, text: string) => head.toString('latin1', offset, offset + text.length) === text;
  if (head.subarray(0, PNG_SIGNATURE.length).equals(PNG_SIGNATURE)) return 'png';
  if (head.subarray(0, JPEG_START.length).equals(JPEG_START)) return 'jpeg';
  if (at(0, 'RIFF') && at(8, 'WEBP')) return 'webp';
  if (at(0, 'GIF87a') || at(0, 'GIF89a')) return 'gif';
  return undefined;
}

/** Encoders make about ten. Each costs a pass over the whole image, however few bytes it has. */
const MAX_SCANS = 32;

const FRAMES: Readonly<Record<number, { progressive: boolean }>> = {
  192: { progressive: false },
  193: { progressive: false },
  194: { progressive: true },
};
const START_OF_SCAN = 0xda;
const END_OF_IMAGE = 0xd9;

interface Frame {
  width: number;
  height: number;
  components: number;
  /** Bytes of all coefficients, which are kept if they come in several scans. */
  coefficientBytes: number;
  progressive: boolean;
}

/** Undefined for other kinds of frames: lossless, arithmetic, hierarchical. No browser's decoder reads them. */
export function readJpegHeader(bytes: Buffer): SizeHeader | undefined {
  const frame = findFrame(bytes);
  if (!frame) return undefined;
  const { width, height, components, coefficientBytes, progressive } = frame.found;
  const scan = findMarker(bytes, frame.end, START_OF_SCAN);
  if (scan === undefined) return undefined;
  const inOneScan = !progressive && bytes[scan + 4] === components;
  if (inOneScan) return { width, height, pixelBytes: components, heldBytes: 0 };
  const heldBytes = countScans(bytes, scan) > MAX_SCANS ? Number.POSITIVE_INFINITY : coefficientBytes;
  return { width, height, pixelBytes: components, heldBytes };
}

function findFrame(bytes: Buffer): { found: Frame; end: number } | undefined {
  for (let offset: number | undefined = 2; ; ) {
    offset = nextMarker(bytes, offset);
    if (offset === undefined) return undefined;
    const marker = bytes[offset + 1] ?? END_OF_IMAGE;
    const end = endOfSegment(bytes, offset);
    if (isFrame(marker)) {
      const found = end === undefined ? undefined : readFrame(bytes.subarray(offset, end), marker);
      return found && end !== undefined ? { found, end } : undefined;
    }
    if (end === undefined || marker === START_OF_SCAN || marker === END_OF_IMAGE) return undefined;
    offset = end;
  }
}

/** All of C0 to CF except the tables and the reserved one. */
function isFrame(marker: number): boolean {
  return marker >= 0xc0 && marker <= 0xcf && marker !== 0xc4 && marker !== 0xc8 && marker !== 0xcc;
}

function readFrame(segment: Buffer, marker: number): Frame | undefined {
  const kind = FRAMES[marker];
  const components = segment[9] ?? 0;
  if (!kind || components === 0 || segment.length < 10 + 3 * components) return undefined;
  const height = segment.readUInt16BE(5);
  const width = segment.readUInt16BE(7);
  const samplings = Array.from({ length: components }, (_, index) => {
    const factors = segment[11 + 3 * index] ?? 0;
    return { across: factors >> 4, down: factors & 0x0f };
  });
  if (samplings.some(({ across, down }) => across === 0 || down === 0)) return undefined;
  const max = Math.max(...samplings.map(({ across }) => across)) * Math.max(...samplings.map(({ down }) => down));
  const samples = samplings.reduce((sum, { across, down }) => sum + (across * down) / max, 0);
  return { width, height, components, coefficientBytes: Math.ceil(2 * width * height * samples), ...kind };
}

/** Offset of the next 0xFF that begins a marker; bytes between segments are skipped, as decoders do. */
function nextMarker(bytes: Buffer, from: number): number | undefined {
  for (let offset = from; offset + 1 < bytes.length; offset += 1) {
    if (bytes[offset] !== 0xff) continue;
    const next = bytes[offset + 1] ?? 0;
    // Fill bytes, a stuffed zero, and restart markers.
    if (next === 0xff || next === 0 || next === 0x01 || (next >= 0xd0 && next <= 0xd7)) continue;
    return offset;
  }
  return undefined;
}

function endOfSegment(bytes: Buffer, offset: number): number | undefined {
  if (offset + 4 > bytes.length) return undefined;
  const end = offset + 2 + bytes.readUInt16BE(offset + 2);
  return end <= bytes.length ? end : undefined;
}

function findMarker(bytes: Buffer, from: number, wanted: number): number | undefined {
  for (let offset: number | undefined = from; ; ) {
    offset = nextMarker(bytes, offset);
    if (offset === undefined || bytes[offset + 1] === wanted) return offset;
    const end = endOfSegment(bytes, offset);
    if (end === undefined || bytes[offset + 1] === END_OF_IMAGE) return undefined;
    offset = end;
  }
}

function countScans(bytes: Buffer, first: number): number {
  let count = 0;
  for (let scan: number | undefined = first; scan !== undefined && count <= MAX_SCANS; count += 1) {
    const end = endOfSegment(bytes, scan);
    scan = end === undefined ? undefined : findMarker(bytes, end, START_OF_SCAN);
  }
  return count;
}

/** Chunks that a decoder needs to show the image correctly, including colour profile and orientation. */
const NEEDED: ReadonlySet<number> = new Set(
  ['IHDR', 'PLTE', 'IDAT', 'IEND', 'tRNS', 'gAMA', 'cHRM', 'sRGB', 'iCCP', 'cICP', 'sBIT', 'eXIf'].map(numberOf),
);
const END = numberOf('IEND');

const SIGNATURE_BYTES = 8;
/** Length, type and checksum of a chunk. */
const FRAME_BYTES = 12;

/**
 * Removes unneeded chunks of a PNG. A decoder would inflate compressed texts before the first pixel: a hundred of them
 * cost a second. A truncated file stays unchanged, for the decoder to report.
 */
export function withoutNotes(png: Uint8Array): Uint8Array {
  const bytes = Buffer.from(png.buffer, png.byteOffset, png.byteLength);
  let clean: Buffer | undefined;
  let written = 0;
  let start = 0;
  for (let offset = SIGNATURE_BYTES; offset + FRAME_BYTES <= bytes.length; ) {
    const type = bytes.readUInt32BE(offset + 4);
    const end = offset + FRAME_BYTES + bytes.readUInt32BE(offset);
    if (!NEEDED.has(type)) {
      clean ??= Buffer.allocUnsafe(bytes.length);
      written += bytes.copy(clean, written, start, offset);
      start = end;
    }
    if (type === END) break;
    offset = end;
  }
  if (!clean) return png;
  written += bytes.copy(clean, written, Math.min(start, bytes.length));
  return clean.subarray(0, written);
}

function numberOf(type: string): number {
  return Buffer.from(type, 'latin1').readUInt32BE();
}
