/** Benchmark of an MP3 link: time, first byte and memory from the platform's file to the last byte of the MP3. */

import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { get, type IncomingMessage } from 'node:http';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { answersFromSamples, linkSamples } from '../demo/link-samples.js';
import { ffmpegPath, runFfmpeg } from '../support/audio/ffmpeg.js';
import { type ProxyRequest, startReplayingProxy } from '../support/links/replaying-proxy.js';
import { startGatewayProcess } from '../support/processes/gateway-process.js';
import { type Figure, median } from './measure.js';

const ROUNDS = 5;
const SAMPLE_MS = 50;
/** As the sample's page says. */
const SECONDS = 601;
const VIDEO = 'https://www.youtube.com/watch?v=Tugs0fOst3n';
const TARGET_RATIO = 1.3;
const TARGET_GAP_MS = 1_000;
const TARGET_MEGABYTES = 32;

interface Round {
  /** Milliseconds from the request to the last byte. */
  wall: number;
  /** Milliseconds from the start of ffmpeg, which is before its first byte, to the client's first byte. */
  gap: number;
  /** Resident memory before, and at its highest. */
  megabytes: readonly [before: number, peak: number];
}

/** A first download of ten minutes, from the request to the last byte, beside the same ffmpeg command run by hand. */
export async function measureAudio(): Promise<Figure[]> {
  if (!ffmpegPath) throw new Error('There is no ffmpeg on this machine.');
  const folder = await mkdtemp(path.join(tmpdir(), 'mediagate-bench-audio-'));
  const source = path.join(folder, 'source.m4a');
  const tones = [440, 660].flatMap((hertz) => ['-f', 'lavfi', '-i', `sine=frequency=${hertz}:duration=${SECONDS}`]);
  await runFfmpeg(...tones, '-filter_complex', 'amerge=inputs=2', '-c:a', 'aac', '-b:a', '128k', source);
  const sound = await readFile(source);
  const pages = answersFromSamples(linkSamples);
  const proxy = await startReplayingProxy({
    answer: (request) => (request.url.hostname.endsWith('.googlevideo.com') ? piece(sound, request) : pages(request)),
  });
  try {
    const byHand: number[] = [];
    const rounds: Round[] = [];
    for (let round = 0; round < ROUNDS; round += 1) {
      byHand.push(await convertByHand(source, path.join(folder, 'by-hand.mp3')));
      rounds.push(await download(proxy, folder));
    }
    return figures(byHand, rounds);
  } finally {
    await proxy.close();
    await rm(folder, { recursive: true, force: true });
  }
}

async function convertByHand(source: string, target: string): Promise<number> {
  const began = performance.now();
  const coding = ['-acodec', 'libmp3lame', '-b:a', '128k', '-ac', '2', '-ar', '44100', '-threads', '1'];
  await runFfmpeg('-f', 'mov', '-i', source, '-vn', '-map', '0:a:0', ...coding, '-f', 'mp3', target);
  return performance.now() - began;
}

/** Through a process of its own with an empty data folder, so that nothing has been made before. */
async function download(proxy: { url: string; caPath: string }, folder: string): Promise<Round> {
  const mark = path.join(folder, 'started');
  const program = path.join(folder, 'ffmpeg');
  await writeFile(program, `#!/bin/sh\n: > '${mark}'\nexec '${ffmpegPath}' "$@"\n`);
  await chmod(program, 0o755);
  const gateway = await startGatewayProcess({ proxy, environment: { FFMPEG_PATH: program } });
  try {
    const { key } = await gateway.makeKey();
    const { json } = await gateway.extract(key, { url: VIDEO });
    const before = await memoryOf(gateway.pid);
    const watch = watchMemory(gateway.pid);
    const began = performance.now();
    const response = await new Promise<IncomingMessage>((resolve, reject) =>
      get(json.data.media.audio_download_links.mp3, resolve).once('error', reject),
    );
    if (response.statusCode !== 200) throw new Error(`The MP3 was answered with ${response.statusCode}.`);
    let firstAt = 0;
    let bytes = 0;
    response.on('data', (chunk: Buffer) => {
      firstAt ||= Date.now();
      bytes += chunk.length;
    });
    await once(response, 'end');
    const wall = performance.now() - began;
    if (Math.abs(bytes / 16_000 - SECONDS) > 2) throw new Error(`The MP3 has ${bytes} bytes.`);
    const { mtimeMs } = await stat(mark);
    await rm(mark);
    return { wall, gap: firstAt - mtimeMs, megabytes: [before, await watch.stop()] };
  } finally {
    await gateway.kill();
  }
}

/** Megabytes. */
async function memoryOf(pid: number): Promise<number> {
  const { stdout } = await promisify(execFile)('ps', ['-o', 'rss=', '-p', String(pid)]);
  return Number(stdout) / 1024;
}

/** The highest that is seen until it is stopped. */
function watchMemory(pid: number): { stop(): Promise<number> } {
  let watching = true;
  let highest = 0;
  const watched = (async () => {
    while (watching) {
      highest = Math.max(highest, await memoryOf(pid));
      await sleep(SAMPLE_MS);
    }
  })();
  return {
    async stop() {
      watching = false;
      await watched;
      return highest;
    },
  };
}

function piece(sound: Buffer, { headers }: ProxyRequest) {
  const [, first = '0', last = '0'] = /^bytes=(\d+)-(\d+)$/.exec(headers.range ?? '') ?? [];
  const body = sound.subarray(Number(first), Number(last) + 1);
  const range = `bytes ${first}-${Number(first) + body.length - 1}/${sound.length}`;
  return { status: 206, headers: { 'content-range': range }, body };
}

function figures(byHand: readonly number[], rounds: readonly Round[]): Figure[] {
  // The best of each: other work of the machine makes single rounds longer, never shorter.
  const hand = Math.min(...byHand);
  const wall = Math.min(...rounds.map((round) => round.wall));
  const gap = Math.max(...rounds.map((round) => round.gap));
  const before = median(rounds.map(({ megabytes }) => megabytes[0]));
  const peak = median(rounds.map(({ megabytes }) => megabytes[1]));
  return [
    {
      what: 'First download of a 10-minute MP3 (fetch, convert, stream, store), beside the same ffmpeg command by hand',
      measured: `${(wall / 1000).toFixed(2)} s, ${(hand / 1000).toFixed(2)} s: ${(wall / hand).toFixed(2)}x`,
      target: `≤ ${TARGET_RATIO}x`,
      met: wall <= hand * TARGET_RATIO,
    },
    {
      what: "Its first byte at the client, after ffmpeg's start (worst round)",
      measured: `${Math.round(gap)} ms`,
      target: `≤ ${TARGET_GAP_MS.toLocaleString('en-US')} ms`,
      met: gap <= TARGET_GAP_MS,
    },
    {
      what: 'Resident memory of the gateway while it fetches, converts and sends the MP3',
      measured: `${before.toFixed(0)} MB before, ${peak.toFixed(0)} MB at the highest`,
      target: `≤ ${TARGET_MEGABYTES} MB more`,
      met: peak - before <= TARGET_MEGABYTES,
    },
  ];
}
