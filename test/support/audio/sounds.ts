/** Audio in every container, and what is in it. */

import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { ffmpegPath, runFfmpeg, tone } from './ffmpeg.js';

/** Every container that callers may send, and how ffmpeg makes it. */
export const CONTAINERS: Readonly<Record<string, readonly string[]>> = {
  flac: ['-c:a', 'flac'],
  mp3: ['-c:a', 'libmp3lame'],
  mp4: ['-c:a', 'aac', '-f', 'mp4'],
  mpeg: ['-c:a', 'mp2', '-f', 'mpeg'],
  mpga: ['-c:a', 'mp2', '-f', 'mp2'],
  m4a: ['-c:a', 'aac', '-f', 'ipod'],
  ogg: ['-c:a', 'libvorbis'],
  wav: ['-c:a', 'pcm_s16le'],
  webm: ['-c:a', 'libopus'],
};

/** A tone of so many seconds in a container. */
export async function makeSound(folder: string, extension: string, seconds = 2): Promise<Buffer> {
  const file = path.join(folder, `tone-${seconds}.${extension}`);
  await runFfmpeg(...tone(seconds), ...(CONTAINERS[extension] ?? []), file);
  return readFile(file);
}

/** Samples of a tone as `pcm` has them. */
export function tonePcm(seconds: number, hertz = 440): Buffer {
  const samples = Math.round(seconds * 24_000);
  const bytes = Buffer.alloc(samples * 2);
  for (let index = 0; index < samples; index += 1) {
    bytes.writeInt16LE(Math.round(8_000 * Math.sin((2 * Math.PI * hertz * index) / 24_000)), index * 2);
  }
  return bytes;
}

export interface HeardSound {
  codec: string;
  rate: number;
  channels: string;
  /** Of the sound decoded, not as the header has it. */
  seconds: number;
  /** Crossings of zero a second: twice the frequency of a tone. */
  crossings: number;
}

/** What ffmpeg finds in a file that it is told nothing about. */
export async function hearSound(file: string, ...input: readonly string[]): Promise<HeardSound> {
  const { stdout, stderr } = await promisify(execFile)(
    ffmpegPath ?? 'ffmpeg',
    ['-nostdin', '-hide_banner', ...input, '-i', file, '-ac', '1', '-ar', '24000', '-f', 's16le', 'pipe:1'],
    { encoding: 'buffer', maxBuffer: 64 * 1024 * 1024 },
  );
  const [, codec = '', rate = '0', channels = ''] =
    /Stream #0:0.*: Audio: (\w+).*?, (\d+) Hz, (\w+)/.exec(stderr.toString()) ?? [];
  let crossings = 0;
  let isAbove = false;
  for (let at = 0; at + 1 < stdout.length; at += 2) {
    const sample = stdout.readInt16LE(at);
    // What an encoder leaves of silence swings as well.
    if (Math.abs(sample) < 500 || sample > 0 === isAbove) continue;
    isAbove = !isAbove;
    crossings += 1;
  }
  const seconds = stdout.length / 48_000;
  return { codec, rate: Number(rate), channels, seconds, crossings: crossings / seconds };
}
