/** The sound of the demo's videos. */

const RATE = 16_000;
const HEADER_BYTES = 44;
const BYTES_PER_SAMPLE = 2;
/** A signal for ships: two low tones, a pause. */
const TONES = [110, 110, 0, 147] as const;

/** A WAV of so many seconds, second by second. */
export async function* inventSound(seconds: number): AsyncGenerator<Uint8Array> {
  yield header(seconds * RATE * BYTES_PER_SAMPLE);
  const tones = TONES.map(secondOf);
  for (let second = 0; second < seconds; second += 1) yield tones[second % tones.length] ?? Buffer.alloc(0);
}

/** PCM, one channel, 16 bits. */
function header(dataBytes: number): Buffer {
  const bytes = Buffer.alloc(HEADER_BYTES);
  bytes.write('RIFF', 0);
  bytes.writeUInt32LE(dataBytes + HEADER_BYTES - 8, 4);
  bytes.write('WAVEfmt ', 8);
  bytes.writeUInt32LE(16, 16);
  bytes.writeUInt16LE(1, 20);
  bytes.writeUInt16LE(1, 22);
  bytes.writeUInt32LE(RATE, 24);
  bytes.writeUInt32LE(RATE * BYTES_PER_SAMPLE, 28);
  bytes.writeUInt16LE(BYTES_PER_SAMPLE, 32);
  bytes.writeUInt16LE(BYTES_PER_SAMPLE * 8, 34);
  bytes.write('data', 36);
  bytes.writeUInt32LE(dataBytes, 40);
  return bytes;
}

/** One second of a tone, whole waves only, so that seconds join without a click. */
function secondOf(hertz: number): Buffer {
  const bytes = Buffer.alloc(RATE * BYTES_PER_SAMPLE);
  for (let at = 0; at < RATE; at += 1) {
    bytes.writeInt16LE(Math.round(9_000 * Math.sin((2 * Math.PI * hertz * at) / RATE)), at * BYTES_PER_SAMPLE);
  }
  return bytes;
}
