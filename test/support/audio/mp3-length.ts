/** The length of an MP3 file, frame by frame. */

/** Length in seconds of an MP3 of one constant rate, found by walking from frame to frame. Throws at anything else. */
export function mp3Seconds(bytes: Uint8Array): number {
  let seconds = 0;
  for (let offset = 0; offset < bytes.length; ) {
    const [first, second = 0, third = 0] = bytes.subarray(offset, offset + 4);
    if (first !== 0xff || (second & 0xfe) !== 0xfa) throw new Error(`no MPEG-1 layer III frame at byte ${offset}`);
    const rate = BIT_RATES[third >> 4] ?? 0;
    const frequency = [44_100, 48_000, 32_000][(third >> 2) & 3] ?? 0;
    seconds += 1152 / frequency;
    offset += Math.floor((144_000 * rate) / frequency) + ((third >> 1) & 1);
  }
  return seconds;
}

const BIT_RATES = [0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320];
