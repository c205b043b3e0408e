/** What a decoder needs to show the picture as it is meant; colour profile and orientation included. */
const NEEDED = new Set([
  'IHDR',
  'PLTE',
  'IDAT',
  'IEND',
  'tRNS',
  'gAMA',
  'cHRM',
  'sRGB',
  'iCCP',
  'cICP',
  'sBIT',
  'eXIf',
]);

const SIGNATURE_BYTES = 8;
/** Length, type and checksum of a chunk. */
const FRAME_BYTES = 12;

/**
 * A PNG without the chunks that nothing is made of. Compressed texts would be inflated by the decoder before the first
 * pixel: a hundred of them cost a second. Bytes after the end, and a last chunk that is cut, stay out or as they are.
 */
export function withoutNotes(png: Uint8Array): Uint8Array {
  const bytes = Buffer.from(png.buffer, png.byteOffset, png.byteLength);
  const kept: Buffer[] = [];
  let start = 0;
  for (let offset = SIGNATURE_BYTES; offset + FRAME_BYTES <= bytes.length; ) {
    const type = bytes.toString('latin1', offset + 4, offset + 8);
    const end = offset + FRAME_BYTES + bytes.readUInt32BE(offset);
    if (!NEEDED.has(type)) {
      kept.push(bytes.subarray(start, offset));
      start = end;
    }
    if (type === 'IEND') break;
    offset = end;
  }
  if (kept.length === 0) return png;
  kept.push(bytes.subarray(start));
  return Buffer.concat(kept);
}
