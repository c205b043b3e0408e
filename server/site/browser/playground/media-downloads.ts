/*
 * Buttons that save the files of a document: the video, the MP3, all files of a carousel, and a cut of the video. A cut
 * begins and ends at key frames, so its beginning and end are asked for first and shown. A folded list has each file.
 */

import { amount, bytes, clock, element, showProblem, webLink } from '../elements.js';
import { listAt, numberAt, ownAddress, textAt } from '../requests.js';
import { fill, textsOf } from '../texts.js';

const t = textsOf('playground-links');

const BUTTON = { class: 'button button-quiet button-small' };
/** `95`, `1:35`, `1:02:03`. */
const TIME = /^(?:(?:(\d{1,3}):)?(\d{1,3}):)?(\d{1,6})$/;

/** The files that a person wants most, the best first. */
export function downloadsOf(data: unknown): HTMLElement[] {
  const video = textAt(data, 'media.download_links.video');
  const mp3 = textAt(data, 'media.audio_download_links.mp3');
  const archive = textAt(data, 'media.download_links.archive');
  return [
    ...(video === undefined ? [] : [videoButton(video)]),
    ...(mp3 === undefined ? [] : [saving(ownAddress(mp3), t.downloadMp3, BUTTON)]),
    ...(archive === undefined ? [] : [saving(ownAddress(archive), t.downloadAll, BUTTON)]),
  ];
}

/** The best one first. */
export function downloadButtons(data: unknown): HTMLElement[] {
  const buttons = downloadsOf(data);
  buttons[0]?.classList.remove('button-quiet');
  return buttons;
}

/** A file of the platform cannot be saved by a page of another origin: it is opened. */
function videoButton(url: string): HTMLElement {
  const own = ownAddress(url);
  if (!own.startsWith('/v1/')) return webLink(url, t.downloadVideo, BUTTON);
  return saving(`${own}?download=1`, t.downloadVideo, BUTTON);
}

function saving(href: string, words: string, attributes: Readonly<Record<string, string>> = {}): HTMLElement {
  return element('a', { href, download: true, ...attributes }, words);
}

/** A form that saves a part of the video. */
export function cutForm(data: unknown): HTMLElement | false {
  const url = textAt(data, 'media.video_download_links.mp4') ?? textAt(data, 'media.video_download_links.webm');
  const length = numberAt(data, 'common.duration_seconds');
  if (url === undefined || length === undefined || length < 4) return false;
  const end = clock(Math.min(length, 30));
  const from = timeField('cut-start', t.cutFrom, '0:00');
  const to = timeField('cut-end', t.cutTo, end);
  const news = element('p', { class: 'small muted', role: 'status' }, t.cutWords);
  const problem = element('p', { class: 'problem', role: 'alert' });
  const form = element(
    'form',
    { class: 'stack-small' },
    element('div', { class: 'row cut-fields' }, from.field, to.field, element('button', BUTTON, t.downloadCut)),
    problem,
    news,
  );
  form.addEventListener('submit', async (event) => {
    event.preventDefault();
    showProblem(problem);
    const [start, stop] = [secondsOf(from.input.value), secondsOf(to.input.value)];
    if (start === undefined || stop === undefined || stop <= start) {
      return showProblem(problem, new Error(t.twoTimes));
    }
    const href = `${ownAddress(url)}?start=${start}&end=${stop}&download=1`;
    const answer = await fetch(href, { method: 'HEAD' }).catch(() => undefined);
    if (!answer?.ok) {
      return showProblem(problem, new Error(t.noCut));
    }
    const [begins, ends] = ['x-cut-start', 'x-cut-end'].map((name) => Number(answer.headers.get(name)));
    news.textContent = fill(t.cutDone, { start: clock(begins ?? start), end: clock(ends ?? stop) });
    saving(href, t.downloadCut).click();
  });
  return element('details', {}, element('summary', {}, t.cut), form);
}

function timeField(id: string, label: string, value: string) {
  const attributes = { class: 'input', id, value, type: 'text', inputmode: 'numeric', autocomplete: 'off', size: '7' };
  const input = element('input', attributes);
  return { input, field: element('div', { class: 'field' }, element('label', { for: id }, label), input) };
}

function secondsOf(text: string): number | undefined {
  const [, hours = '0', minutes = '0', seconds] = TIME.exec(text.trim()) ?? [];
  return seconds === undefined ? undefined : Number(hours) * 3_600 + Number(minutes) * 60 + Number(seconds);
}

/** Every file of the document, folded. */
export function fileList(data: unknown): HTMLElement | false {
  const entries = listAt(data, 'media.entries');
  if (entries.length === 0) return false;
  return element(
    'details',
    {},
    element('summary', {}, fill(t.files, { count: entries.length })),
    element('ul', { class: 'downloads' }, ...entries.map(fileEntry)),
  );
}

const KINDS: Readonly<Record<string, string>> = t.kinds;

function fileEntry(entry: unknown): HTMLElement {
  const [width, height, size, bitrate] = ['width', 'height', 'size', 'bitrate'].map((name) => numberAt(entry, name));
  const facts = [
    textAt(entry, 'mime'),
    width !== undefined && height !== undefined && `${width} × ${height}`,
    size !== undefined && bytes(size),
    bitrate !== undefined && `${amount(bitrate / 1_000)} kbit/s`,
    textAt(entry, 'language'),
  ].filter((fact) => !!fact);
  const kind = textAt(entry, 'kind') ?? '';
  const name = textAt(entry, 'quality') ?? textAt(entry, 'label');
  const words = [KINDS[kind] ?? t.file, name].filter((part) => part !== undefined).join(', ');
  const own = textAt(entry, 'proxy_url');
  return element(
    'li',
    {},
    own === undefined ? webLink(textAt(entry, 'url'), words) : saving(`${ownAddress(own)}?download=1`, words),
    element('span', { class: 'small muted figures' }, facts.join(' · ')),
    ...subtitleLinks(entry),
  );
}

/** A subtitle track in the formats of the gateway. */
function subtitleLinks(entry: unknown): (HTMLElement | string)[] {
  return ['vtt', 'srt', 'txt'].flatMap((format) => {
    const url = textAt(entry, `subtitle_urls.${format}`);
    return url === undefined ? [] : [' ', saving(ownAddress(url), format.toUpperCase(), { class: 'small' })];
  });
}
