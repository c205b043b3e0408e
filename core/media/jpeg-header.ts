import type { SizeHeader } from './image-header.js';

/** Encoders make about ten. Each costs a pass over the whole picture, however few bytes it has. */
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
  /** Bytes of all coefficients, which are held where they come in several scans. */
  coefficientBytes: number;
  progressive: boolean;
}

/** Undefined for frames of other kinds too: lossless, arithmetic, hierarchical. No decoder of a browser reads them. */
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

/** All of C0 to CF but the tables and the one that is reserved. */
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
  const most = Math.max(...samplings.map(({ across }) => across)) * Math.max(...samplings.map(({ down }) => down));
  const samples = samplings.reduce((sum, { across, down }) => sum + (across * down) / most, 0);
  return { width, height, components, coefficientBytes: Math.ceil(2 * width * height * samples), ...kind };
}

/** Offset of the next 0xFF that begins a marker; what lies between segments is skipped, as decoders do. */
function nextMarker(bytes: Buffer, from: number): number | undefined {
  for (let offset = from; offset + 1 < bytes.length; offset += 1) {
    if (bytes[offset] !== 0xff) continue;
    const next = bytes[offset + 1] ?? 0;
    // Filling, a stuffed zero, and the marks between restart intervals.
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
