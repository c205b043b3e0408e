/** Small clips as platforms have them: picture and sound apart, as fragments, as WebM, and as parts of manifests. */

import { execFile } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { ffmpegPath, runFfmpeg, tone } from '../audio/ffmpeg.js';

/** Seconds of every clip. Key frames are two seconds apart. */
export const SECONDS = 8;
export const KEY_SECONDS = 2;
const PICTURE = ['-f', 'lavfi', '-i', `testsrc2=size=64x48:rate=10:duration=${SECONDS}`];
const H264 = ['-c:v', 'libx264', '-preset', 'ultrafast', '-g', '20', '-keyint_min', '20', '-sc_threshold', '0'];
const AAC = ['-c:a', 'aac', '-b:a', '32k'];
const FRAGMENTS = ['-movflags', 'frag_keyframe+empty_moov+default_base_moof+global_sidx', '-f', 'mp4'];
const WEBM = ['-dash', '1', '-cues_to_front', '1', '-reserve_index_space', '2048', '-f', 'webm'];

export type Clips = Awaited<ReturnType<typeof makeClips>>;

/** Files by name. */
export async function makeClips() {
  const folder = await mkdtemp(path.join(tmpdir(), 'mediagate-clips-'));
  const at = (name: string) => path.join(folder, name);
  try {
    await runFfmpeg(
      ...[...PICTURE, ...tone(SECONDS)],
      ...['-map', '0:v', ...H264, ...FRAGMENTS, at('picture.mp4')],
      ...['-map', '1:a', ...AAC, '-frag_duration', '1000000', ...FRAGMENTS, at('sound.mp4')],
      ...[
        '-map',
        '0:v',
        '-c:v',
        'libvpx',
        '-deadline',
        'realtime',
        '-cpu-used',
        '8',
        '-g',
        '20',
        ...WEBM,
        at('picture.webm'),
      ],
      ...['-map', '1:a', '-c:a', 'libopus', '-b:a', '32k', ...WEBM, at('sound.webm')],
    );
    const [picture, sound] = [at('picture.mp4'), at('sound.mp4')];
    const hls = (name: string) => [
      '-f',
      'hls',
      '-hls_time',
      '2',
      '-hls_playlist_type',
      'vod',
      '-hls_segment_filename',
      at(`${name}%d.ts`),
      at(`${name}.m3u8`),
    ];
    await runFfmpeg(
      ...['-i', picture, '-i', sound, '-c', 'copy'],
      ...['-map', '0:v', '-map', '1:a', ...hls('both')],
      ...['-map', '0:v', '-c', 'copy', ...hls('video')],
      ...['-map', '1:a', '-c', 'copy', ...hls('audio')],
      ...['-map', '0:v', '-map', '1:a', '-c', 'copy', '-movflags', 'faststart', at('whole.mp4')],
      // Their index is at the end, as encoders leave it.
      ...['-map', '0:v', '-map', '1:a', '-c', 'copy', at('late.mp4')],
      ...['-map', '0:v', '-map', '1:a', '-c', 'copy', '-f', 'mov', at('late.mov')],
      ...['-map', '0:v', '-c', 'copy', at('late-picture.mp4'), '-map', '1:a', '-c', 'copy', at('late-sound.mp4')],
      ...['-map', '0:v', '-map', '1:a', '-c', 'copy', '-f', 'dash', '-seg_duration', '2', at('dash.mpd')],
    );
    const files = new Map<string, Buffer>();
    for (const name of await readdir(folder)) files.set(name, await readFile(at(name)));
    return {
      get(name: string): Buffer {
        const file = files.get(name);
        if (!file) throw new Error(`there is no clip ${name}`);
        return file;
      },
      /** All whose name matches. */
      matching: (pattern: RegExp) => Object.fromEntries([...files].filter(([name]) => pattern.test(name))),
    };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

export interface TrackReport {
  type: string;
  codec: string;
  /** Times of its packets, in seconds. */
  first: number;
  last: number;
  packets: number;
}

/** What a file has, by ffmpeg itself. */
export async function inspect(content: Uint8Array): Promise<TrackReport[]> {
  const folder = await mkdtemp(path.join(tmpdir(), 'mediagate-inspected-'));
  const file = path.join(folder, 'file');
  try {
    await writeFile(file, content);
    const { stdout } = await promisify(execFile)(ffmpegPath ?? 'ffmpeg', [
      ...['-nostdin', '-loglevel', 'error', '-xerror', '-i', file, '-map', '0', '-c', 'copy', '-f', 'framecrc', '-'],
    ]);
    const stated = (key: string, index: number) => new RegExp(`^#${key} ${index}: (.*)$`, 'm').exec(stdout)?.[1] ?? '';
    const count = [...stdout.matchAll(/^#media_type /gm)].length;
    return Array.from({ length: count }, (_, index) => {
      const [over, under] = stated('tb', index).split('/').map(Number);
      const times = [...stdout.matchAll(new RegExp(`^${index},\\s*-?\\d+,\\s*(-?\\d+),`, 'gm'))].map(
        ([, time]) => (Number(time) * (over ?? 0)) / (under ?? 1),
      );
      return {
        type: stated('media_type', index),
        codec: stated('codec_id', index),
        first: Math.min(...times),
        last: Math.max(...times),
        packets: times.length,
      };
    });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** The pictures of a file in grey, 64 by 48 bytes each. */
export async function picturesOf(content: Uint8Array): Promise<Buffer[]> {
  const folder = await mkdtemp(path.join(tmpdir(), 'mediagate-pictures-'));
  const file = path.join(folder, 'file');
  try {
    await writeFile(file, content);
    const { stdout } = await promisify(execFile)(
      ffmpegPath ?? 'ffmpeg',
      [
        ...['-nostdin', '-loglevel', 'error', '-xerror', '-i', file, '-map', '0:v', '-fps_mode', 'passthrough'],
        ...['-pix_fmt', 'gray', '-f', 'rawvideo', '-'],
      ],
      { encoding: 'buffer', maxBuffer: 16 * 1024 * 1024 },
    );
    const bytes = 64 * 48;
    return Array.from({ length: stdout.length / bytes }, (_, index) =>
      stdout.subarray(index * bytes, (index + 1) * bytes),
    );
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Seconds that a file states before its first media, as a player that receives it learns them; undefined if none. */
export async function statedDuration(content: Buffer): Promise<number | undefined> {
  const isMp4 = content.toString('latin1', 4, 8) === 'ftyp';
  const end = isMp4 ? content.indexOf('moof') - 4 : content.indexOf(Buffer.from('1f43b675', 'hex'));
  const head = content.subarray(0, end);
  if (!isMp4) {
    const at = head.indexOf(Buffer.from('448988', 'hex'));
    return at < 0 ? undefined : head.readDoubleBE(at + 3) / 1000;
  }
  const secondsOf = (type: string) => {
    return [...head.toString('latin1').matchAll(new RegExp(type, 'g'))].map(({ index }) => {
      return head.readUInt32BE(index + 20) / head.readUInt32BE(index + 16);
    });
  };
  const [seconds = 0] = secondsOf('mvhd');
  const extended = head.readUInt32BE(head.indexOf('mehd') + 8) / head.readUInt32BE(head.indexOf('mvhd') + 16);
  return [extended, ...secondsOf('mdhd')].every((one) => Math.abs(one - seconds) < 0.01) ? seconds : undefined;
}
