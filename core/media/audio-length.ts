/*
 * Finds the length of audio by decoding it, because headers can state any duration and models are paid for what they
 * decode. ffmpeg decodes every track to 8,000 samples a second and lists the packets; the sum of their samples is the
 * length. Audio that an edit list hides, audio after the stated end of a WAV file, and samples marked as discarded
 * count too, since a lenient decoder could read them.
 */

import { GatewayError } from '../runtime/index.js';
import type { Container } from './containers.js';

/** Samples a second of the decoded audio: its length matters, not its quality. */
const RATE = 8_000;

/** @returns The arguments of ffmpeg between those that restrict the input and the output `pipe:1`. */
export function lengthOptions(container: Container, maxSeconds: number): { input: string[]; output: string[] } {
  const lenient: Partial<Record<Container, string[]>> = {
    mov: ['-ignore_editlist', '1'],
    wav: ['-ignore_length', '1'],
    matroska: ['-flags2', '+skip_manual'],
    ogg: ['-flags2', '+skip_manual'],
  };
  return {
    input: lenient[container] ?? [],
    output: ['-c:a', 'pcm_u8', '-ar', `${RATE}`, '-ac', '1', '-t', `${maxSeconds}`],
  };
}

/** A line has six numbers; the list has no longer ones. */
const MAX_LINE = 1_024;

/** Adds up the packets that ffmpeg lists: `track, dts, pts, samples, bytes, checksum`. */
export class LengthCounter {
  readonly #samples: number[] = [];
  #open = '';
  #longest = 0;

  /** Takes the list of packets, in pieces. @throws GatewayError `audio_unavailable` if it is none. */
  add(chunk: Uint8Array): void {
    const lines = (this.#open + Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength).toString('latin1')).split(
      '\n',
    );
    this.#open = lines.pop() ?? '';
    for (const line of lines) this.#take(line);
    if (this.#open.length > MAX_LINE) this.#take('?');
  }

  /** Seconds of the longest track so far. */
  seconds(): number {
    return this.#longest / RATE;
  }

  #take(line: string): void {
    if (line === '' || line.startsWith('#')) return;
    const [track, , , , bytes] = line.split(',', 5).map(Number);
    if (track === undefined || !Number.isSafeInteger(track) || bytes === undefined || !Number.isSafeInteger(bytes)) {
      throw new GatewayError('audio_unavailable', 'The length of the audio cannot be read.', { retryable: false });
    }
    const total = (this.#samples[track] ?? 0) + bytes;
    this.#samples[track] = total;
    if (total > this.#longest) this.#longest = total;
  }
}
