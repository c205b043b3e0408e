/*
 * The seconds of audio in a request: WAV by its header, and MP3 by the length of each of its frames.
 */

/** Kilobits a second by the index in a frame of layer III: of MPEG 1, and of MPEG 2 and 2.5. */
const BITRATES = [
  [0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320],
  [0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160],
] as const;
const SAMPLE_RATES = [44_100, 48_000, 32_000] as const;
/** Encodings of WAV whose samples all have the same size: whole numbers, fractions, and an extension of these. */
const PLAIN_WAV = [1, 3, 0xfffe];

/** @returns Undefined if the length is not known. */
export function audioSeconds(bytes: Buffer): number | undefined {
  if (bytes.toString('latin1', 0, 4) === 'RIFF' && bytes.toString('latin1', 8, 12) === 'WAVE') return wavSeconds(bytes);
  return mp3Seconds(bytes);
}

function wavSeconds(bytes: Buffer): number | undefined {
  for (let at = 12; at + 24 <= bytes.length; ) {
    const size = bytes.readUInt32LE(at + 4);
    if (bytes.toString('latin1', at, at + 4) !== 'fmt ') {
      at += 8 + size + (size % 2);
      continue;
    }
    const [format, channels, rate] = [
      bytes.readUInt16LE(at + 8),
      bytes.readUInt16LE(at + 10),
      bytes.readUInt32LE(at + 12),
    ];
    const bytesPerSecond = (rate * channels * bytes.readUInt16LE(at + 22)) / 8;
    if (!PLAIN_WAV.includes(format) || bytesPerSecond === 0) return undefined;
    return bytes.length / bytesPerSecond;
  }
  return undefined;
}

/** One begins with a tag or a frame; what is between frames is skipped. */
function mp3Seconds(bytes: Buffer): number | undefined {
  if (bytes.length < 4 || (bytes.toString('latin1', 0, 3) !== 'ID3' && !frameAt(bytes, 0))) return undefined;
  let seconds = 0;
  let frames = 0;
  for (let at = 0; at + 4 <= bytes.length; ) {
    const frame = frameAt(bytes, at);
    if (!frame) {
      at += 1;
      continue;
    }
    frames += 1;
    seconds += frame.seconds;
    at += frame.bytes;
  }
  return frames > 0 ? seconds : undefined;
}

function frameAt(bytes: Buffer, at: number): { bytes: number; seconds: number } | undefined {
  const header = bytes.readUInt32BE(at);
  // Eleven bits that mark a frame, and layer III.
  if (header >>> 21 !== 0x7ff || ((header >>> 17) & 3) !== 1) return undefined;
  const version = (header >>> 19) & 3;
  const rate = SAMPLE_RATES[(header >>> 10) & 3];
  const bitrate = BITRATES[version === 3 ? 0 : 1][(header >>> 12) & 15];
  if (version === 1 || rate === undefined || !bitrate) return undefined;
  const sampleRate = version === 3 ? rate : version === 2 ? rate / 2 : rate / 4;
  const samples = version === 3 ? 1_152 : 576;
  const length = Math.floor((samples / 8) * ((bitrate * 1_000) / sampleRate)) + ((header >>> 9) & 1);
  return { bytes: length, seconds: samples / sampleRate };
}
