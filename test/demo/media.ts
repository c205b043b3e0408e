/** The part of the demo with media files: a video, a cut of it, subtitles, a carousel and the words that are spoken. */

import path from 'node:path';
import { readZip } from '../support/links/read-zip.js';
import { inspect } from '../support/links/video-clips.js';
import type { HttpAnswer } from '../support/processes/gateway-process.js';
import { clock, joined } from './answer-box.js';
import { type Download, download, mebibytes, whileSent } from './download.js';
import { carouselSample, videoSample } from './link-samples.js';
import type { DemoPart, Stage } from './stage.js';

const CUT = { start: 95, end: 108 } as const;
const SHOWN_LINES = 3;

/** What a page or a player needs of a link: files that play anywhere. */
export const mediaPart: DemoPart = {
  title: 'Files that play anywhere    POST /v1/extract with include_media_links and include_transcript',
  async play(stage) {
    stage.terminal.line(
      'The links in the answer need no key and work for six hours. Paste one into a browser or a player.',
    );
    const began = performance.now();
    const video = await read(stage, videoSample.url, { include_transcript: true, transcript_languages: ['en'] });
    const ms = Math.round(performance.now() - began);
    await showVideo(stage, video);
    await showCut(stage, video);
    await showSubtitles(stage, video);
    await showTranscript(stage, video, ms);
    await showCarousel(stage, await read(stage, carouselSample.url));
  },
};

async function read({ gateway, key }: Stage, url: string, more: object = {}): Promise<HttpAnswer> {
  const answer = await gateway.extract(key, { url, include_media_links: true, ...more });
  if (answer.status !== 200) throw new Error(`The link was refused: ${answer.status} ${answer.text}`);
  return answer;
}

function mp4Of({ json }: HttpAnswer): string {
  const { mp4 } = json.data.media.video_download_links ?? {};
  if (!mp4) throw new Error('No video link is offered: is there an ffmpeg? "mediagate doctor" says.');
  return mp4;
}

/** Picture and sound of the platform, in one file. */
async function showVideo({ terminal, keep }: Stage, answer: HttpAnswer): Promise<void> {
  const { common, media } = answer.json.data;
  const link = mp4Of(answer);
  const wait = terminal.wait('picture and sound are merged');
  const first = await download(link, { wait }).finally(() => wait.end());
  const part = await download(link, { range: 'bytes=-1024' });
  terminal.box({
    title: link,
    note: noteOf(first),
    good: true,
    rows: [
      ['video', joined([common.title, clock(common.duration_seconds)])],
      ['platform', 'has the picture and the sound as two files, which only work from this gateway'],
      ['file', joined([await tracksOf(first), mebibytes(first.bytes), 'not converted'])],
      ['made', whileSent(first)],
      ['again', `${part.status} ${part.headers.get('content-range')} in ${part.ms} ms`],
      ['expires', media.video_download_links.expires_at],
      ['saved', await keep('video.mp4', first.bytes)],
    ],
  });
}

async function showCut({ terminal, keep }: Stage, answer: HttpAnswer): Promise<void> {
  const link = `${mp4Of(answer)}?start=${CUT.start}&end=${CUT.end}`;
  const cut = await download(link);
  const [from, to] = ['x-cut-start', 'x-cut-end'].map((name) => Number(cut.headers.get(name)));
  terminal.box({
    title: `…?start=${CUT.start}&end=${CUT.end}`,
    note: noteOf(cut),
    good: true,
    rows: [
      ['asked', `${clock(CUT.start)} to ${clock(CUT.end)}`],
      ['cut', `${clock(from ?? 0)} to ${clock(to ?? 0)}, at the key frames around it (X-Cut-Start, X-Cut-End)`],
      ['file', joined([await tracksOf(cut), mebibytes(cut.bytes)])],
      ['saved', await keep('cut.mp4', cut.bytes)],
    ],
  });
}

async function showSubtitles({ terminal, keep }: Stage, { json }: HttpAnswer): Promise<void> {
  const track = json.data.media.entries.find(
    (entry: { kind: string; language?: string }) => entry.kind === 'subtitle' && entry.language === 'en',
  );
  const formats = Object.keys(track.subtitle_urls);
  const files = await Promise.all(formats.map((format) => download(track.subtitle_urls[format])));
  const saved = await Promise.all(files.map(({ bytes }, index) => keep(`subtitles.${formats[index]}`, bytes)));
  terminal.box({
    title: `Subtitles, ${track.label}`,
    note: files[0] ? noteOf(files[0]) : '',
    good: true,
    rows: [
      ...formats.map((format, index): [string, string] => [format, firstLinesOf(files[index])]),
      ['saved', saved.map((file, index) => (index === 0 ? file : path.extname(file))).join(', ')],
    ],
  });
}

function firstLinesOf({ bytes }: Pick<Download, 'bytes'> = { bytes: Buffer.alloc(0) }): string {
  const lines = bytes
    .toString()
    .split('\n')
    .filter((line) => line !== '' && line !== 'WEBVTT');
  return lines.slice(0, SHOWN_LINES).join(' / ');
}

async function showTranscript({ terminal, keep }: Stage, { json }: HttpAnswer, ms: number): Promise<void> {
  const { source, language, text, segments } = json.data.transcript;
  const lines = segments
    .slice(0, SHOWN_LINES)
    .map((one: { start: number; text: string }) => [clock(one.start), one.text]);
  terminal.box({
    title: 'What is said',
    note: `200 · ${ms} ms`,
    good: true,
    rows: [
      ['from', `${source}, ${language}; without subtitles a speech model writes it, if one is connected`],
      ...lines,
      ['words', `${text.split(' ').length} in ${segments.length} segments with their times`],
      ['saved', await keep('transcript.json', JSON.stringify(json.data.transcript, null, 2))],
    ],
  });
}

async function showCarousel({ terminal, keep }: Stage, { json }: HttpAnswer): Promise<void> {
  const { archive: link } = json.data.media.download_links;
  const zip = await download(link);
  const files = readZip(zip.bytes);
  terminal.box({
    title: link,
    note: noteOf(zip),
    good: true,
    rows: [
      ['carousel', json.data.common.title],
      ['archive', joined([mebibytes(zip.bytes), `${files.length} files, fetched while it was sent`])],
      ...files
        .slice(0, SHOWN_LINES)
        .map(({ name, content }): [string, string] => ['', `${name} · ${mebibytes(content)}`]),
      ['saved', await keep('carousel.zip', zip.bytes)],
    ],
  });
}

function noteOf({ status, ms }: Download): string {
  return `${status} · ${ms} ms`;
}

/** `picture h264 · sound aac`, by ffmpeg. */
async function tracksOf({ bytes, headers }: Download): Promise<string> {
  const tracks = await inspect(bytes);
  return joined([headers.get('content-type'), tracks.map(({ codec }) => codec).join(' and ')]);
}
