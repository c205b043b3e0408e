/*
 * Benchmark of media links: two hundred streams at once, CPU beside nginx, merging beside ffmpeg by hand, and jumps in a
 * video of two hours. The origin and the client of streams are on one core, what is measured on the other; merging may use
 * all cores, as ffmpeg by hand may.
 */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { ffmpegPath } from '../support/audio/ffmpeg.js';
import { watchHealthDuring } from './health-watch.js';
import { cpuOfProcess, type Figure, median, percentile, residentMegabytes } from './measure.js';
import { FILE_BYTES, LONG_SECONDS, type MediaSite, startMediaSite } from './media-site.js';
import { unpin } from './pinning.js';

const STREAMS = 200;
/** A link has four connections at a time. */
const STREAMS_OF_LINK = 4;
/** A link gives three times its file. */
const READS_OF_LINK = 3;
const STREAM_BYTES_PER_SECOND = 5_000_000 / 8;
const STREAM_SECONDS = 15;
const HEALTH_P99_MS = 100;
const KILOBYTES_OF_STREAM = 256;
const ROUNDS = 3;
const NGINX_RATIO = 3;
const MERGE_RATIO = 1.2;
const SEEK_MS = 1_000;
/** What a player has before it shows a picture. */
const SEEK_BYTES = 16_384;

export async function measureMedia(): Promise<Figure[]> {
  if (!ffmpegPath) throw new Error('there is no ffmpeg');
  const site = await startMediaSite();
  try {
    const streams = [...(await measureStreams(site)), await measureCpu(site)];
    unpin(site.gateway.pid);
    return [
      ...streams,
      await measureMerge(site, { kind: 2, what: 'picture and sound apart', inputs: ['picture.mp4', 'sound.mp4'] }),
      await measureMerge(site, { kind: 3, what: 'a playlist', inputs: ['list.m3u8'] }),
      ...(await measureSeeks(site)),
    ];
  } finally {
    await site.stop();
  }
}

async function measureStreams(site: MediaSite): Promise<Figure[]> {
  const { gateway } = site;
  const links: string[] = [];
  while (links.length < STREAMS) links.push(...Array(STREAMS_OF_LINK).fill((await site.linksOf(1)).file));
  // What compilers and the first connections take is not that of a stream.
  await site.load({ urls: links, bytesPerSecond: STREAM_BYTES_PER_SECOND, seconds: 2 });
  await site.load({ urls: links.slice(0, 4), bytes: FILE_BYTES / 4 });
  const before = residentMegabytes(gateway.pid);
  let highest = before;
  const watch = setInterval(() => {
    highest = Math.max(highest, residentMegabytes(gateway.pid));
  }, 100);
  let leastBytes = 0;
  const times = await watchHealthDuring(gateway.url, async () => {
    const order = { urls: links, bytesPerSecond: STREAM_BYTES_PER_SECOND, seconds: STREAM_SECONDS };
    leastBytes = (await site.load(order)).leastBytes;
  }).finally(() => clearInterval(watch));
  const p99 = percentile(times, 0.99);
  const kilobytes = ((highest - before) * 1000) / STREAMS;
  const least = (leastBytes * 8) / STREAM_SECONDS / 1e6;
  const streams = `${STREAMS} streams of 5 Mbit/s`;
  return [
    {
      what: `\`/health\` beside ${streams} by media links (99th percentile)`,
      measured: `${p99.toFixed(1)} ms; the slowest stream had ${least.toFixed(2)} Mbit/s`,
      target: `< ${HEALTH_P99_MS} ms`,
      met: p99 < HEALTH_P99_MS && least > 4.5,
    },
    {
      what: `Memory of the gateway for each of ${streams}`,
      measured: `${kilobytes.toFixed(0)} kB (${highest.toFixed(0)} MB in all)`,
      target: `≤ ${KILOBYTES_OF_STREAM} kB`,
      met: kilobytes <= KILOBYTES_OF_STREAM,
    },
  ];
}

async function measureCpu(site: MediaSite): Promise<Figure> {
  const { gateway, nginx } = site;
  const cpu = async (pid: number, url: string) => {
    const before = cpuOfProcess(pid);
    const { bytes } = await site.load({ urls: Array(READS_OF_LINK).fill(url) });
    return (cpuOfProcess(pid) - before) / (bytes / 1e9);
  };
  const rounds: { ours: number; nginx: number }[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    const ours = await cpu(gateway.pid, (await site.linksOf(1)).file);
    rounds.push({ ours, nginx: nginx ? await cpu(nginx.pid, `${nginx.url}/file.mp4`) : Number.NaN });
  }
  const ours = median(rounds.map((round) => round.ours));
  const ratio = median(rounds.map((round) => round.ours / round.nginx));
  const beside = nginx
    ? `${median(rounds.map((round) => round.nginx)).toFixed(0)} ms: ${ratio.toFixed(2)}x`
    : 'no nginx';
  return {
    what: 'CPU for a gigabyte by a media link, beside `proxy_pass` of nginx',
    measured: `${ours.toFixed(0)} ms, ${beside}`,
    target: nginx ? `≤ ${NGINX_RATIO}x` : '',
    met: !nginx || ratio <= NGINX_RATIO,
  };
}

interface Merged {
  kind: 2 | 3;
  what: string;
  inputs: readonly string[];
}

async function measureMerge(site: MediaSite, { kind, what, inputs }: Merged): Promise<Figure> {
  const rounds: { ours: number; byHand: number }[] = [];
  for (let round = 0; round <= ROUNDS; round += 1) {
    const { video } = await site.linksOf(kind);
    const merged = await site.load({ urls: [video] });
    const byHand = await mergeByHand(inputs.map((name) => `${site.origin}/${name}`));
    // Times that are written differently take some bytes.
    if (Math.abs(merged.bytes / byHand.bytes - 1) > 0.01)
      throw new Error(`${what}: ${merged.bytes} bytes, by hand ${byHand.bytes}`);
    const measured = { ours: merged.seconds, byHand: byHand.seconds };
    if (round > 0) rounds.push(measured);
  }
  const ratio = median(rounds.map((round) => round.ours / round.byHand));
  const [ours, byHand] = (['ours', 'byHand'] as const).map((side) => median(rounds.map((round) => round[side])));
  return {
    what: `Merging ${what}, beside ffmpeg by hand at the same origin`,
    measured: `${ours?.toFixed(2)} s, ${byHand?.toFixed(2)} s: ${ratio.toFixed(2)}x`,
    target: `≤ ${MERGE_RATIO}x`,
    met: ratio <= MERGE_RATIO,
  };
}

/** Seconds of the same command with addresses in place of pipes, whose output is read to its end. */
async function mergeByHand(urls: readonly string[]): Promise<{ seconds: number; bytes: number }> {
  const began = performance.now();
  const inputs = urls.flatMap((url) => ['-i', url]);
  const framed = urls.length > 1 ? [] : ['-bsf:a', 'aac_adtstoasc'];
  const maps = ['-map', '0:v:0', '-map', urls.length > 1 ? '1:a:0' : '0:a:0'];
  const fragments = ['-movflags', 'frag_keyframe+empty_moov+default_base_moof+delay_moov', '-f', 'mp4', 'pipe:1'];
  const command = ['-nostdin', '-loglevel', 'error', ...inputs, ...maps, '-c', 'copy', ...framed, ...fragments];
  const child = spawn(ffmpegPath ?? 'ffmpeg', command, { stdio: ['ignore', 'pipe', 'inherit'] });
  let bytes = 0;
  child.stdout.on('data', (chunk: Buffer) => {
    bytes += chunk.byteLength;
  });
  const [code] = await once(child, 'close');
  if (code !== 0) throw new Error('ffmpeg by hand failed');
  return { seconds: (performance.now() - began) / 1000, bytes };
}

/** From the request to the bytes of a first picture, in the last minute of a video of two hours. */
async function measureSeeks(site: MediaSite): Promise<Figure[]> {
  const last = LONG_SECONDS - 60;
  const cases = [
    { what: 'a merged video that nobody has asked for, by `start`', kind: 4, of: 'start' },
    { what: 'a merged video that is kept, by a range', kind: 4, of: 'range' },
    { what: 'a file of the platform, by a range', kind: 5, of: 'file' },
  ] as const;
  const figures: Figure[] = [];
  for (const { what, kind, of } of cases) {
    const times: number[] = [];
    for (let round = 0; round < ROUNDS; round += 1) {
      const { file, video } = await site.linksOf(kind);
      const url = of === 'file' ? file : video;
      if (of === 'range') await site.load({ urls: [video] });
      const target =
        of === 'start' ? { urls: [`${url}?start=${last}`] } : { urls: [url], headers: { range: 'bytes=-65536' } };
      times.push((await site.load({ ...target, bytes: SEEK_BYTES })).seconds * 1000);
    }
    const ms = median(times);
    figures.push({
      what: `Jump to the last minute of two hours: ${what}`,
      measured: `${ms.toFixed(0)} ms`,
      target: `≤ ${SEEK_MS} ms`,
      met: ms <= SEEK_MS,
    });
  }
  return figures;
}
