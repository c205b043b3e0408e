/*
 * Finds the container of a media file by its first bytes. Its name and content type are not used.
 */

/** A container with audio, by the name of ffmpeg's demuxer for it. */
export type Container = 'mov' | 'matroska' | 'mp3' | 'aac' | 'ogg' | 'flac' | 'wav' | 'mpegts' | 'mpeg';

/** Maximum bytes that {@link sniffContainer} reads. */
export const SNIFF_BYTES = 4096;

/** The first boxes of files of this family, including the oldest forms. */
const MOV_BOXES = new Set(['ftyp', 'styp', 'moov', 'mdat', 'free', 'skip', 'wide']);

const TS_PACKET = 188;

const TS_SYNC = 0x47;

/** The start code of a pack. */
const PROGRAM_STREAM = 0x000001ba;

/**
 * Detects the container by its first bytes; undefined for anything else. Playlists, manifests and scripts that make a
 * player fetch or open something else are text, and no text is accepted.
 */
export function sniffContainer(head: Uint8Array): Container | undefined {
  const bytes = Buffer.from(head.buffer, head.byteOffset, Math.min(head.byteLength, SNIFF_BYTES));
  const at = (offset: number, text: string) =>
    bytes.toString('latin1', offset, offset + text.length) === text && bytes.length >= offset + text.length;
  if (bytes.length < 12) return undefined;
  if (MOV_BOXES.has(bytes.toString('latin1', 4, 8)) && bytes.readUInt32BE(0) !== 0) return 'mov';
  if (bytes.readUInt32BE(0) === 0x1a45dfa3) return 'matroska';
  if (at(0, 'OggS')) return 'ogg';
  if (at(0, 'fLaC')) return 'flac';
  if (at(0, 'RIFF') && at(8, 'WAVE')) return 'wav';
  if (isTransportStream(bytes)) return 'mpegts';
  if (bytes.readUInt32BE(0) === PROGRAM_STREAM) return 'mpeg';
  if (at(0, 'ID3')) return frameKind(bytes, id3Length(bytes)) ?? 'mp3';
  return frameKind(bytes, 0);
}

function isTransportStream(bytes: Buffer): boolean {
  if (bytes.length < 3 * TS_PACKET) return false;
  return [0, TS_PACKET, 2 * TS_PACKET].every((offset) => bytes[offset] === TS_SYNC);
}

/** Length of the tag before the audio, including its header; seven bits a byte. */
function id3Length(bytes: Buffer): number {
  const [a = 0, b = 0, c = 0, d = 0] = bytes.subarray(6, 10);
  return 10 + ((a & 0x7f) << 21) + ((b & 0x7f) << 14) + ((c & 0x7f) << 7) + (d & 0x7f);
}

/** MPEG audio and ADTS begin with the same eleven bits; ADTS uses the one layer number that MPEG audio does not use. */
function frameKind(bytes: Buffer, offset: number): 'mp3' | 'aac' | undefined {
  const [first, second = 0, third = 0] = bytes.subarray(offset, offset + 3);
  if (first !== 0xff || (second & 0xe0) !== 0xe0) return undefined;
  if ((second & 0xf6) === 0xf0) return 'aac';
  const reserved =
    (second & 0x18) === 0x08 || (second & 0x06) === 0 || (third & 0xf0) === 0xf0 || (third & 0x0c) === 0x0c;
  return reserved ? undefined : 'mp3';
}
