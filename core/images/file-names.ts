import { crc32 } from 'node:zlib';
import { drawRandomBytes } from '../runtime/index.js';

const RANDOM_BYTES = 16;
const STEM_BYTES = RANDOM_BYTES + 8;
const PUBLIC = /^img_([0-9a-f]{48})(?:_raw)?\.(?:png|jpg|webp|gif)$/;

const EXTENSIONS: Readonly<Record<string, string>> = {
  'image/png': 'png',
  'image/jpeg': 'jpg',
  'image/webp': 'webp',
  'image/gif': 'gif',
};

/** What a file is called after: 128 random bits. */
export function newFileStem(): string {
  return drawRandomBytes(RANDOM_BYTES).toString('hex');
}

/**
 * What a public file is called after: 128 random bits, when its time is over, and a sum of both. So a link that is too old
 * is told from one that never was, long after the file and whatever was known of it are gone.
 */
export function newPublicStem(expiresAt: number): string {
  const stem = Buffer.alloc(STEM_BYTES);
  drawRandomBytes(RANDOM_BYTES).copy(stem);
  stem.writeUInt32BE(Math.floor(expiresAt / 1000), RANDOM_BYTES);
  stem.writeUInt32BE(crc32(stem.subarray(0, STEM_BYTES - 4)), STEM_BYTES - 4);
  return stem.toString('hex');
}

/** When a public file's time is over; undefined where the name is none that was made here. */
export function expiryOf(name: string): number | undefined {
  const stem = Buffer.from(PUBLIC.exec(name)?.[1] ?? '', 'hex');
  if (stem.length !== STEM_BYTES) return undefined;
  const genuine = stem.readUInt32BE(STEM_BYTES - 4) === crc32(stem.subarray(0, STEM_BYTES - 4));
  return genuine ? stem.readUInt32BE(RANDOM_BYTES) * 1000 : undefined;
}

export function fileName(prefix: 'img' | 'inline' | 'ref', stem: string, contentType: string): string {
  const extension = EXTENSIONS[contentType];
  if (extension === undefined) throw new Error(`no file is kept of ${contentType}`);
  return `${prefix}_${stem}.${extension}`;
}
