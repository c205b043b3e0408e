/** A kind of picture that is read. */
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
 * What a file is by its first bytes; undefined for anything that is not one of these. None of them can refer to something
 * else, as SVG can, and none needs a decoder that is seldom looked at.
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
