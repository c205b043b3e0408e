/** Kilobits per second by index, layer III: of MPEG 1, and of MPEG 2 and 2.5. */
const BITRATES = [
  [0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320],
  [0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160],
] as const;
const ID3_HEADER = 10;

/**
 * Seconds that an MP3 of a constant bitrate plays, from its first frame and its size.
 * @throws Error where it does not begin with one.
 */
export function mp3Seconds(bytes: Uint8Array): number {
  const start = afterTag(bytes);
  const [sync = 0, version = 0, rates = 0] = bytes.subarray(start);
  const isLayer3 = sync === 0xff && (version & 0xe6) === 0xe2;
  const isMpeg1 = (version & 0x18) === 0x18;
  const bitrate = BITRATES[isMpeg1 ? 0 : 1][rates >> 4];
  if (!isLayer3 || !bitrate) throw new Error('It is no MP3.');
  return ((bytes.length - start) * 8) / (bitrate * 1000);
}

/** Where the frames begin: an ID3 tag before them says its size in four times seven bits. */
function afterTag(bytes: Uint8Array): number {
  if (String.fromCharCode(...bytes.subarray(0, 3)) !== 'ID3') return 0;
  return bytes.subarray(6, ID3_HEADER).reduce((size, byte) => size * 128 + byte, 0) + ID3_HEADER;
}
