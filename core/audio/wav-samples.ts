import { PCM_RATE } from '../media/index.js';

const HEAD_BYTES = 36;

/** Whether a WAV begins as ours do: bare samples as `pcm` has them, described at once. */
export function isPlainWav(head: Uint8Array): boolean {
  const bytes = Buffer.from(head.buffer, head.byteOffset, head.byteLength);
  return (
    bytes.length >= HEAD_BYTES &&
    bytes.toString('latin1', 0, 4) === 'RIFF' &&
    bytes.toString('latin1', 8, 16) === 'WAVEfmt ' &&
    bytes.readUInt16LE(20) === 1 &&
    bytes.readUInt16LE(22) === 1 &&
    bytes.readUInt32LE(24) === PCM_RATE &&
    bytes.readUInt16LE(34) === 16
  );
}
