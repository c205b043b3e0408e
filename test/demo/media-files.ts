/** The files that the demo's media hosts have: a video of ten minutes in separate tracks, a clip, pictures, subtitles. */

import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { ReplayMedia } from 'mediagate/testing/server';
import { ffmpegPath, runFfmpeg } from '../support/audio/ffmpeg.js';
import { drawScene, SCENES } from '../support/scenes/index.js';
import { inventSound } from './invented-sound.js';
import { CLIP_SUBTITLES, SUBTITLES } from './subtitles.js';

/** Length of the video in separate tracks. */
export const VIDEO_SECONDS = 601;
const CLIP_SECONDS = 34;

/** The picture of a video shows its time, so that a cut can be seen. */
const picture = (size: string, seconds: number) => [
  '-f',
  'lavfi',
  '-i',
  `testsrc2=size=${size}:rate=10:duration=${seconds}`,
];
const H264 = [
  '-c:v',
  'libx264',
  '-preset',
  'ultrafast',
  '-crf',
  '34',
  '-g',
  '20',
  '-keyint_min',
  '20',
  '-sc_threshold',
  '0',
];
const FRAGMENTS = ['-movflags', 'frag_keyframe+empty_moov+default_base_moof+global_sidx', '-f', 'mp4'];
const AAC = ['-c:a', 'aac', '-b:a', '48k'];
const SOUND_FRAGMENTS = ['-frag_duration', '2000000', ...FRAGMENTS];
const OPUS = ['-c:a', 'libopus', '-b:a', '32k', '-dash', '1', '-f', 'webm'];
const VP9 = ['-c:v', 'libvpx-vp9', '-deadline', 'realtime', '-cpu-used', '8', '-b:v', '200k', '-g', '20'];

/**
 * Makes the files, and says which addresses of the recorded documents they answer.
 * @throws Error if there is no ffmpeg.
 */
export async function makeMediaFiles(folder: string): Promise<ReplayMedia[]> {
  if (!ffmpegPath) throw new Error('The demo needs ffmpeg: "npm ci" installs one, or FFMPEG_PATH names one.');
  const at = (name: string) => path.join(folder, name);
  await writeFile(at('sound.wav'), inventSound(VIDEO_SECONDS));
  for (const [language, text] of Object.entries(SUBTITLES)) await writeFile(at(`${language}.vtt`), text);
  for (const [language, text] of Object.entries(CLIP_SUBTITLES)) await writeFile(at(`clip-${language}.vtt`), text);
  await Promise.all([makeVideo(at), makeClips(at), drawPictures(at)]);
  const of = (host: string, files: Readonly<Record<string, string>>): ReplayMedia[] =>
    Object.entries(files).map(([includes, name]) => ({ host, includes, file: at(name) }));
  return [
    ...Object.entries(SCENES).flatMap(([host, scenes]) => of(host, scenes)),
    ...of('.googlevideo.com', {
      'Sh0rt_dog17&itag=135': 'clip-picture.mp4',
      'Sh0rt_dog17&itag=251': 'clip-sound.webm',
      'mime=video%2Fmp4': 'picture.mp4',
      'mime=audio%2Fmp4': 'sound.mp4',
      'mime=video%2Fwebm': 'picture.webm',
      'mime=audio%2Fwebm': 'sound.webm',
    }),
    ...of('www.youtube.com', { 'lang=en&fmt=vtt': 'en.vtt', 'lang=nl&fmt=vtt': 'nl.vtt' }),
    ...of('.tiktok.com', { 'sub-en': 'clip-en.vtt', 'sub-nl': 'clip-nl.vtt', '/video/tos/': 'clip.mp4' }),
    ...of('.tiktokcdn.com', { '/sound/': 'clip-sound.mp4', '/video/tos/': 'clip.mp4' }),
    ...of('.cdninstagram.com', {
      dashsound: 'clip-sound.mp4',
      dash: 'clip-picture.mp4',
      progressive: 'clip.mp4',
    }),
  ];
}

type At = (name: string) => string;

async function makeVideo(at: At): Promise<void> {
  await runFfmpeg(
    ...[...picture('480x270', VIDEO_SECONDS), '-i', at('sound.wav')],
    ...['-map', '0:v', ...H264, ...FRAGMENTS, at('picture.mp4')],
    ...['-map', '1:a', ...AAC, ...SOUND_FRAGMENTS, at('sound.mp4')],
    ...['-map', '1:a', ...OPUS, at('sound.webm')],
  );
}

async function makeClips(at: At): Promise<void> {
  await runFfmpeg(
    ...[...picture('360x640', CLIP_SECONDS), '-t', String(CLIP_SECONDS), '-i', at('sound.wav')],
    ...['-map', '0:v', ...H264, ...FRAGMENTS, at('clip-picture.mp4')],
    ...['-map', '0:v', ...VP9, '-dash', '1', '-f', 'webm', at('minute.webm')],
    ...['-map', '1:a', ...AAC, ...SOUND_FRAGMENTS, at('clip-sound.mp4')],
    ...['-map', '1:a', ...OPUS, at('clip-sound.webm')],
  );
  const webm = ['-cues_to_front', '1', '-reserve_index_space', '65536', '-dash', '1'];
  await runFfmpeg(
    // A longer one would take longer to make.
    ...['-stream_loop', '-1', '-i', at('minute.webm'), '-i', at('clip-picture.mp4'), '-i', at('clip-sound.mp4')],
    ...['-map', '0:v', '-c', 'copy', '-t', String(VIDEO_SECONDS), ...webm, at('picture.webm')],
    ...['-map', '1:v', '-map', '2:a', '-c', 'copy', '-movflags', 'faststart', at('clip.mp4')],
  );
}

async function drawPictures(at: At): Promise<void> {
  const names = new Set(Object.values(SCENES).flatMap((scenes) => Object.values(scenes)));
  await Promise.all([...names].map(async (name) => writeFile(at(name), await drawScene(name))));
}
