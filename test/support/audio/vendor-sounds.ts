/** Audio as vendors of speech return it. */

import { spawn } from 'node:child_process';
import { buffer } from 'node:stream/consumers';
import type { SpeechFormat } from 'mediagate';
import { ffmpegPath } from './ffmpeg.js';

/** As vendors of speech make them. */
const ENCODINGS: Readonly<Record<SpeechFormat, readonly string[]>> = {
  mp3: ['-c:a', 'libmp3lame', '-b:a', '128k', '-ar', '44100', '-f', 'mp3'],
  opus: ['-c:a', 'libopus', '-b:a', '96k', '-ar', '48000', '-f', 'ogg'],
  aac: ['-c:a', 'aac', '-b:a', '96k', '-ar', '44100', '-f', 'adts'],
  flac: ['-c:a', 'flac', '-ar', '24000', '-f', 'flac'],
  wav: ['-c:a', 'pcm_s16le', '-ar', '24000', '-f', 'wav'],
  pcm: ['-c:a', 'pcm_s16le', '-ar', '24000', '-f', 's16le'],
};

const made = new Map<string, Promise<Buffer>>();

/** Seconds of the tone that stands for words: a twentieth of one a character, and five at most. */
export function spokenSeconds(text: string): number {
  return Math.min(5, Math.max(0.5, text.length / 20));
}

/** A tone as a file in memory; equal ones are made once. */
export function makeSound(format: SpeechFormat, seconds: number): Promise<Buffer> {
  const key = `${format} ${seconds}`;
  const source = ['-f', 'lavfi', '-i', `sine=frequency=330:duration=${seconds}`];
  const sound = made.get(key) ?? run([...source, '-ac', '1', ...ENCODINGS[format], 'pipe:1']);
  made.set(key, sound);
  return sound;
}

/**
 * Seconds of sound in a file; undefined where it cannot be decoded.
 * @param format of samples that have no header.
 */
export async function soundSeconds(bytes: Uint8Array, format?: 'pcm'): Promise<number | undefined> {
  const input = format === 'pcm' ? ['-f', 's16le', '-ar', '24000', '-ac', '1'] : [];
  try {
    const samples = await run(
      [...input, '-i', 'pipe:0', '-vn', '-f', 's16le', '-ar', '8000', '-ac', '1', 'pipe:1'],
      bytes,
    );
    return samples.length > 0 ? samples.length / 16_000 : undefined;
  } catch {
    // ffmpeg does not take it for a sound, which is the answer.
    return undefined;
  }
}

async function run(parameters: readonly string[], input: Uint8Array = new Uint8Array()): Promise<Buffer> {
  const child = spawn(ffmpegPath ?? 'ffmpeg', ['-hide_banner', '-loglevel', 'error', ...parameters]);
  // It leaves its input alone once it has seen enough.
  child.stdin.on('error', () => {}).end(input);
  const [output, words, code] = await Promise.all([
    buffer(child.stdout),
    buffer(child.stderr),
    new Promise<number | null>((resolve, reject) => child.once('error', reject).once('close', resolve)),
  ]);
  if (code !== 0) throw new Error(`ffmpeg ended with ${code}: ${words}`);
  return output;
}
