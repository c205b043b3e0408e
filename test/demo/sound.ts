/** The part of the demo with audio. */

import { mp3Seconds } from '../support/audio/mp3-length.js';
import { clock, joined } from './answer-box.js';
import { linkSamples } from './link-samples.js';
import type { DemoPart } from './stage.js';
import type { Wait } from './terminal.js';

const DOWNLOAD_MS = 130_000;
const MEBIBYTE = 1024 * 1024;

interface Download {
  status: number;
  bytes: Uint8Array;
  headers: Headers;
  firstByteMs: number;
  ms: number;
}

/** The sound of a video as an MP3: made while it is downloaded for the first time, and kept. */
export const soundPart: DemoPart = {
  title: 'A video as MP3    GET /v1/extract/audio/{name}.mp3',
  async play({ gateway, key, terminal, keep }) {
    const [video] = linkSamples;
    if (!video) throw new Error('There is no video to take the sound of.');
    const { json } = await gateway.extract(key, { url: video.url });
    const { mp3, expires_at: expiresAt } = json.data.media.audio_download_links;
    if (!mp3) throw new Error('No MP3 link is offered: is there an ffmpeg? "mediagate doctor" says.');

    const wait = terminal.wait('the first download makes the file');
    const first = await download(mp3, wait).finally(() => wait.end());
    const seconds = mp3Seconds(first.bytes);
    const part = await download(mp3, undefined, { range: 'bytes=0-1023' });
    const file = await keep('sound.mp3', first.bytes);
    terminal.box({
      title: mp3,
      note: `${first.status} · ${first.ms} ms`,
      good: true,
      rows: [
        ['video', joined([json.data.common.title, clock(json.data.common.duration_seconds)])],
        [
          'sound',
          joined([
            clock(seconds),
            `${(first.bytes.length / MEBIBYTE).toFixed(1)} MiB`,
            first.headers.get('content-type'),
          ]),
        ],
        ['made', `while it was sent: the first byte came after ${first.firstByteMs} ms, the last after ${first.ms} ms`],
        ['again', `${part.status} ${part.headers.get('content-range')} in ${part.ms} ms`],
        ['expires', expiresAt],
        ['file', file],
      ],
    });
  },
};

async function download(url: string, wait?: Wait, headers: Record<string, string> = {}): Promise<Download> {
  const began = performance.now();
  const elapsed = () => Math.round(performance.now() - began);
  const response = await fetch(url, { headers, signal: AbortSignal.timeout(DOWNLOAD_MS) });
  if (!response.ok || !response.body) throw new Error(`No sound: ${response.status} ${await response.text()}`);
  const chunks: Uint8Array[] = [];
  let size = 0;
  let firstByteMs = 0;
  for await (const chunk of response.body) {
    if (size === 0) firstByteMs = elapsed();
    chunks.push(chunk);
    size += chunk.length;
    wait?.update(`the first download makes the file: ${Math.floor(size / MEBIBYTE)} MiB so far`);
  }
  return {
    status: response.status,
    bytes: Buffer.concat(chunks),
    headers: response.headers,
    firstByteMs,
    ms: elapsed(),
  };
}
