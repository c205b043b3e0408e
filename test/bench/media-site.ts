/** Starts everything that the media benchmark needs: files, their origin, a client, the gateway, and nginx if it is installed. */

import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, open, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { runFfmpeg, tone } from '../support/audio/ffmpeg.js';
import { packageRoot } from '../support/package-root.js';
import { type GatewayProcess, startGatewayProcess } from '../support/processes/gateway-process.js';
import { launcherEnvironment } from './image-server.js';
import type { MediaOrder, MediaReport } from './media-load.js';
import type { FILES } from './media-platform.js';
import { startNginx } from './nginx.js';
import { LOADING_CORE, MEASURED_CORE, pin } from './pinning.js';

/** Of `file.mp4`. */
export const FILE_BYTES = 192 * 1024 * 1024;
/** Of the two-hour files. */
export const LONG_SECONDS = 7_200;
const CLIP_SECONDS = 10;
const MERGED_SECONDS = 300;

export interface MediaSite {
  readonly origin: string;
  readonly gateway: GatewayProcess;
  /** Undefined where it is not installed. */
  readonly nginx: { url: string; pid: number } | undefined;
  /** Links of a new item: of its file, and of the merged video. */
  linksOf(kind: keyof typeof FILES): Promise<{ file: string; video: string }>;
  /** @throws Error if an answer is no file, or is cut off. */
  load(order: MediaOrder): Promise<MediaReport>;
  stop(): Promise<void>;
}

export async function startMediaSite(): Promise<MediaSite> {
  const folder = await mkdtemp(path.join(tmpdir(), 'mediagate-media-'));
  const children: ChildProcess[] = [];
  let gateway: GatewayProcess | undefined;
  const stop = async () => {
    for (const child of children) child.kill();
    await gateway?.stop();
    await rm(folder, { recursive: true, force: true });
  };
  const start = (name: string, ...args: string[]) => {
    const child = fork(path.join(packageRoot, 'dist', 'test', 'bench', name), args);
    children.push(child);
    pin(child.pid ?? 0, LOADING_CORE);
    return child;
  };
  try {
    await makeFiles(folder);
    const loader = start('media-load.js');
    const [origin] = (await once(start('media-origin.js', folder), 'message')) as [string];
    const running = await startGateway(folder, origin);
    gateway = running;
    const { key } = await running.makeKey({ grants: ['extract'], rpm: 1_000_000 });
    const nginx = await startNginx(
      folder,
      `location / {
        proxy_pass ${origin}; proxy_http_version 1.1; proxy_set_header Connection ""; proxy_max_temp_file_size 0;
      }`,
      MEASURED_CORE,
    );
    if (nginx) children.push(nginx.process);
    let count = 0;
    return {
      origin,
      gateway: running,
      nginx,
      async linksOf(kind) {
        count += 1;
        const url = `https://invented.example/item/${kind}${String(count).padStart(5, '0')}`;
        const { json } = await running.extract(key, { url, include_media_links: true });
        const here = (link: string) => running.url + new URL(link).pathname;
        const { entries, video_download_links: videos } = json.data.media;
        return { file: here(entries[0].proxy_url ?? videos.mp4), video: here(videos.mp4) };
      },
      async load(order) {
        loader.send(order);
        const [{ done, failed }] = (await once(loader, 'message')) as [{ done?: MediaReport; failed?: string }];
        if (!done) throw new Error(failed);
        return done;
      },
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

const KEY_FRAMES = ['-g', '20', '-keyint_min', '20', '-sc_threshold', '0'];
const FRAGMENTS = ['-movflags', 'frag_keyframe+empty_moov+default_base_moof+global_sidx', '-f', 'mp4'];

/** A clip of ten seconds is repeated, which takes seconds where encoding takes minutes. */
async function makeFiles(folder: string): Promise<void> {
  const at = (name: string) => path.join(folder, name);
  const encode = (name: string, size: string, rate: string) => {
    const picture = ['-f', 'lavfi', '-i', `testsrc2=size=${size}:rate=10:duration=${CLIP_SECONDS}`];
    const codecs = [
      '-c:v',
      'libx264',
      '-preset',
      'ultrafast',
      '-b:v',
      rate,
      ...KEY_FRAMES,
      '-c:a',
      'aac',
      '-b:a',
      '64k',
    ];
    return runFfmpeg(...picture, ...tone(CLIP_SECONDS), ...codecs, at(name));
  };
  await encode('clip.mp4', '1280x720', '3M');
  await encode('small.mp4', '64x48', '20k');
  const repeat = (clip: string, seconds: number, ...output: string[]) => {
    return runFfmpeg('-stream_loop', String(seconds / CLIP_SECONDS), '-i', at(clip), '-t', String(seconds), ...output);
  };
  const apart = (prefix: string) => [
    ...['-map', '0:v', '-c', 'copy', ...FRAGMENTS, at(`${prefix}picture.mp4`)],
    ...['-map', '0:a', '-c', 'copy', '-frag_duration', '10000000', ...FRAGMENTS, at(`${prefix}sound.mp4`)],
  ];
  const list = ['-c', 'copy', '-f', 'hls', '-hls_time', '6', '-hls_playlist_type', 'vod'];
  await repeat('clip.mp4', MERGED_SECONDS, ...apart(''), ...list, at('list.m3u8'));
  await repeat('small.mp4', LONG_SECONDS, ...apart('long-'), '-c', 'copy', '-movflags', 'faststart', at('long.mp4'));
  // Its first bytes are those of a video; the rest is not read.
  const file = await open(at('file.mp4'), 'w');
  await file.write(Buffer.from('\0\0\0\x18ftypisom', 'latin1'));
  await file.truncate(FILE_BYTES);
  await file.close();
}

/** One worker, without limits of bandwidth. */
async function startGateway(folder: string, origin: string): Promise<GatewayProcess> {
  const names = (await readdir(folder)).filter((name) => name.endsWith('.mp4'));
  const sizes = await Promise.all(names.map(async (name) => [name, (await stat(path.join(folder, name))).size]));
  const use = path.join(packageRoot, 'dist', 'test', 'bench', 'media-platform.js');
  const plugin = { use, trustedOrigins: [origin], options: { origin, sizes: Object.fromEntries(sizes) } };
  const plugins = path.join(folder, 'plugins.config.json');
  await writeFile(plugins, JSON.stringify({ plugins: [plugin] }));
  const media = { MEDIA_PROXY: 'on', MEDIA_KEY_MBITS: '0' };
  const gateway = await startGatewayProcess({
    environment: { PLUGINS_CONFIG: plugins, WORKERS: '1', ...media, ...launcherEnvironment() },
  });
  pin(gateway.pid, MEASURED_CORE);
  return gateway;
}
