/** What a decoder needs to show the picture as it is meant; colour profile and orientation included. */
const NEEDED: ReadonlySet<number> = new Set(
  ['IHDR', 'PLTE', 'IDAT', 'IEND', 'tRNS', 'gAMA', 'cHRM', 'sRGB', 'iCCP', 'cICP', 'sBIT', 'eXIf'].map(numberOf),
);
const END = numberOf('IEND');

const SIGNATURE_BYTES = 8;
/** Length, type and checksum of a chunk. */
const FRAME_BYTES = 12;

/**
 * A PNG without the chunks that nothing is made of. Compressed texts would be inflated by the decoder before the first
 * pixel: a hundred of them cost a second. What is cut stays as it is, for the decoder to find.
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
