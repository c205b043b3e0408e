/*
 * The timeline of a document: its chapters, and among them the words that are spoken once they are asked for, which is one
 * more request of the same link. Lines play from their time; a search shows the lines with its words, and Enter plays from
 * the next of them. Speech that is still being recognised is asked for again, while the page shows the document. A
 * transcript that is missing is explained in the gateway's own sentence.
 */

import { element, showProblem } from '../elements.js';
import { arrival, ask, fieldAt, listAt, notesOf, numberAt, ownAddress, pause, playJson, textAt } from '../requests.js';
import { fill, pageLanguage, textsOf } from '../texts.js';
import { showWork } from '../work.js';
import { type Player, timedButton } from './video-player.js';

const t = textsOf('playground-links');
const ASK_AGAIN_MS = 15_000;
/** Speech recognition ends within this time, or fails. */
const MAX_ASKS = 60;

/** A line with a time. */
export interface Line {
  /** Whether it is the title of a chapter: a search leaves it out. */
  isChapter: boolean;
  start: number;
  text: string;
  element: HTMLElement;
  /** Where the text is shown. */
  words: HTMLElement;
}

/**
 * The chapters of an item and the words that are spoken in it, as one list by time.
 * @param body The request of the link.
 */
export function timeline(
  data: unknown,
  body: Readonly<Record<string, unknown>>,
  player: Player | undefined,
): HTMLElement {
  const chapters = player ? chaptersOf(data, player) : [];
  let lines: readonly Line[] = chapters;
  player?.onTime((seconds) => markPlayed(lines, seconds));
  const result = element('div', { class: 'stack-small', tabindex: '-1' }, chapters.length > 0 && listOf(chapters));
  const title = element('h4', {}, chapters.length > 0 ? t.chapters : t.transcript);
  const show = (transcript: unknown) => {
    title.textContent = t.transcript;
    const text = textOf(transcript);
    const spoken = linesOf(transcript, player);
    lines = [...chapters, ...spoken].sort((one, other) => one.start - other.start);
    const timed = spoken.length > 0 ? lines : [];
    result.replaceChildren(...transcriptParts({ transcript, timed, spoken, text, player }));
    return questionButton(textAt(data, 'common.title') ?? t.untitled, text);
  };
  return element(
    'section',
    { class: 'stack-small timeline', 'aria-label': t.transcript },
    ...transcriptForm(data, body, { title, result, show }),
    result,
  );
}

/** Chapters, which play from their beginning. */
function chaptersOf(data: unknown, player: Player): Line[] {
  return listAt(data, 'common.chapters').flatMap((chapter) => {
    const [text, start] = [textAt(chapter, 'title'), numberAt(chapter, 'start_seconds')];
    if (text === undefined || start === undefined) return [];
    return [lineOf({ start, text, isChapter: true }, player)];
  });
}

interface TranscriptPlace {
  title: HTMLElement;
  /** Where the words are shown; focused then. */
  result: HTMLElement;
  /** @returns A button that asks about the words. */
  show(transcript: unknown): HTMLElement;
}

/** Asks for the transcript in one of its languages. */
function transcriptForm(
  data: unknown,
  body: Readonly<Record<string, unknown>>,
  { title, result, show }: TranscriptPlace,
): HTMLElement[] {
  const languages = languagesOf(data);
  const select = element(
    'select',
    { class: 'input', id: 'transcript-language' },
    ...languages.map((tag) => element('option', { value: tag }, nameOf(tag))),
  );
  const label = element('label', { for: select.id, class: 'visually-hidden' }, t.language);
  const button = element('button', { type: 'button', class: 'button button-quiet button-small' }, t.showTranscript);
  // What it costs, and then what can be done with it.
  let first: HTMLElement = element('span', { class: 'small muted timeline-hint' }, t.oneMore);
  const work = element('p', { class: 'work', role: 'status' });
  const problem = element('p', { class: 'problem', role: 'alert' });
  const note = element('div');
  const form = element(
    'div',
    { class: 'row row-apart' },
    title,
    element('div', { class: 'row' }, first, ...(languages.length > 1 ? [label, select] : []), button),
  );
  select.addEventListener('change', () => {
    button.hidden = false;
  });
  button.addEventListener('click', async () => {
    if (button.getAttribute('aria-disabled') === 'true') return;
    button.setAttribute('aria-disabled', 'true');
    showProblem(problem);
    note.replaceChildren();
    const done = showWork(work, t.searching);
    try {
      const wanted = languages.length > 1 ? { transcript_languages: [select.value] } : {};
      const answer = await askFor({ ...body, ...wanted, include_transcript: true }, form);
      done();
      const found = fieldAt(answer, 'data.transcript');
      if (found) {
        const question = show(found);
        first.replaceWith(question);
        first = question;
        // Another language is another request.
        button.hidden = true;
        result.focus({ preventScroll: true });
      } else {
        note.replaceChildren(await missing(answer, { data, hasMore: languages.length > 1, problem, work }));
      }
    } catch (error) {
      done();
      showProblem(problem, error);
    } finally {
      button.removeAttribute('aria-disabled');
    }
  });
  return [form, work, problem, note];
}

/** The answer with the transcript, or with the reason that there is none. */
async function askFor(body: Readonly<Record<string, unknown>>, section: HTMLElement): Promise<unknown> {
  for (let asks = 1; ; asks += 1) {
    const answer = await playJson('/v1/extract', { method: 'POST', json: body });
    if (!isPending(answer) || asks === MAX_ASKS || !section.isConnected) return answer;
    await pause(ASK_AGAIN_MS);
  }
}

function isPending(answer: unknown): boolean {
  return listAt(answer, 'limitation_messages').some((note) => textAt(note, 'code') === 'transcript_pending');
}

interface MissingPlace {
  data: unknown;
  /** Whether there are other languages to ask for. */
  hasMore: boolean;
  problem: Element;
  work: HTMLElement;
}

/** Why there is no transcript, and the ways to one: another language, or the MP3 in the form for transcription. */
async function missing(answer: unknown, { data, hasMore, problem, work }: MissingPlace): Promise<HTMLElement> {
  const notes = new Map((await notesOf(answer)).map(({ code, message }) => [code, message]));
  const words = notes.get('transcript_unavailable') ?? notes.get('transcript_pending') ?? t.noTranscript;
  const mp3 = textAt(data, 'media.audio_download_links.mp3');
  const input = document.querySelector<HTMLInputElement>('#hearing-file:enabled');
  const notice = element('div', { class: 'notice row row-apart' });
  notice.append(element('p', {}, hasMore ? `${words} ${t.otherLanguage}` : words));
  if (mp3 === undefined || !input) return notice;
  const button = element('button', { type: 'button', class: 'button button-quiet button-small' }, t.transcribeMp3);
  button.addEventListener('click', async () => {
    showProblem(problem);
    const done = showWork(work, t.loadingMp3);
    try {
      const sound = await arrival((await ask(ownAddress(mp3), {})).blob());
      done();
      handOver(sound, input, textAt(data, 'common.title') ?? t.untitled);
    } catch (error) {
      done();
      showProblem(problem, error);
    }
  });
  notice.append(button);
  return notice;
}

/** Puts an MP3 into the form for transcription, and shows the form. */
function handOver(sound: Blob, input: HTMLInputElement, title: string): void {
  const chosen = new DataTransfer();
  chosen.items.add(new File([sound], `${title}.mp3`, { type: 'audio/mpeg' }));
  input.files = chosen.files;
  input.dispatchEvent(new Event('change'));
  document.querySelector<HTMLInputElement>('[name="audio-part"][value="hearing"]')?.click();
  document.getElementById('tab-audio')?.click();
  input.form?.querySelector<HTMLElement>('button:not([type])')?.focus();
}

/** Languages of the subtitles: that of the page first, then English, that of the item, and the others by name. */
function languagesOf(data: unknown): string[] {
  const order = [document.documentElement.lang, 'en', textAt(data, 'common.language')].map(baseOf);
  const rank = (tag: string) => (order.indexOf(baseOf(tag)) + order.length + 1) % (order.length + 1);
  const tags = listAt(data, 'media.entries').flatMap((entry) =>
    textAt(entry, 'kind') === 'subtitle' ? (textAt(entry, 'language') ?? []) : [],
  );
  return [...new Set(tags)].sort((one, other) => rank(one) - rank(other) || nameOf(one).localeCompare(nameOf(other)));
}

/** `en` of `en-GB`. */
function baseOf(tag = ''): string {
  return tag.split('-')[0] ?? '';
}

function nameOf(tag: string): string {
  try {
    return new Intl.DisplayNames(pageLanguage(), { type: 'language' }).of(tag) ?? tag;
  } catch {
    return tag;
  }
}

const SOURCES: Readonly<Record<string, string>> = t.sources;

interface TranscriptView {
  transcript: unknown;
  /** Lines with a time, chapters among them; without any the text alone is shown. */
  timed: readonly Line[];
  /** The lines that are spoken. */
  spoken: readonly Line[];
  /** All of the words. */
  text: string;
  player: Player | undefined;
}

function transcriptParts({ transcript, timed, spoken, text, player }: TranscriptView): HTMLElement[] {
  const language = textAt(transcript, 'language');
  const source = SOURCES[textAt(transcript, 'source') ?? ''] ?? t.found;
  const from = `${source}${language === undefined ? '' : `, ${nameOf(language)}`}.`;
  const note = (words: string) => element('p', { class: 'small muted' }, words);
  if (timed.length === 0) {
    const save = download(t.saveText, 'transcript.txt', text);
    return [
      element('div', {}, save),
      element('p', { class: 'transcript', tabindex: '0' }, text || t.noWords),
      note(from),
    ];
  }
  const saves = [
    download('TXT', 'transcript.txt', text),
    download('SRT', 'transcript.srt', subtitlesOf(transcript, spoken)),
  ];
  const tools = element('div', { class: 'row transcript-tools' }, searchField(timed, player), ...saves);
  return [tools, listOf(timed), note(player ? `${from} ${t.searchKeys}` : from)];
}

function textOf(transcript: unknown): string {
  const spoken = listAt(transcript, 'segments').flatMap((segment) => textAt(segment, 'text') ?? []);
  return textAt(transcript, 'text') ?? spoken.join('\n');
}

/** A link that saves a text. */
export function download(label: string, name: string, text: string): HTMLElement {
  const href = URL.createObjectURL(new Blob([text], { type: 'text/plain;charset=utf-8' }));
  return element('a', { href, download: name, class: 'button button-quiet button-small' }, label);
}

/** SubRip. */
export function subtitlesOf(transcript: unknown, lines: readonly Line[]): string {
  const ends = listAt(transcript, 'segments').map((segment) => numberAt(segment, 'end'));
  const cues = lines.map(({ start, text }, index) => {
    const end = ends[index] ?? start + 2;
    return `${index + 1}\n${subtitleTime(start)} --> ${subtitleTime(end)}\n${text}\n`;
  });
  return cues.join('\n');
}

/** `00:01:02,500`. */
function subtitleTime(seconds: number): string {
  return new Date(Math.round(seconds * 1_000)).toISOString().slice(11, 23).replace('.', ',');
}

/** A button that asks a model about the words in the chat. */
function questionButton(title: string, text: string): HTMLElement {
  const question = element('button', { type: 'button', class: 'button button-quiet button-small' }, t.askAbout);
  question.addEventListener('click', () => {
    const field = document.getElementById('chat-text');
    if (!(field instanceof HTMLTextAreaElement)) return;
    field.value = `${fill(t.asked, { title })}\n\n${text}`;
    document.getElementById('tab-chat')?.click();
    field.focus();
  });
  return question;
}

function listOf(lines: readonly Line[]): HTMLElement {
  return element(
    'ol',
    { class: 'timed timed-tall', tabindex: '0', 'aria-label': t.lines },
    ...lines.map((one) => one.element),
  );
}

/** The segments of a transcript, as buttons that play from their time. */
export function linesOf(transcript: unknown, player: Pick<Player, 'playFrom'> | undefined): Line[] {
  return listAt(transcript, 'segments').flatMap((segment) => {
    const [start, text] = [numberAt(segment, 'start'), textAt(segment, 'text')];
    return start === undefined || text === undefined ? [] : [lineOf({ start, text, isChapter: false }, player)];
  });
}

function lineOf(line: Pick<Line, 'start' | 'text' | 'isChapter'>, player: Pick<Player, 'playFrom'> | undefined): Line {
  const words = element('span', {}, line.text);
  const button = timedButton(line.start, words, () => player?.playFrom(line.start));
  return { ...line, words, element: element('li', { class: line.isChapter && 'timed-chapter' }, button) };
}

/** Marks the line that is being spoken. */
export function markPlayed(lines: readonly Line[], seconds: number): void {
  const played = lines.findLast(({ start }) => start <= seconds + 0.2);
  for (const line of lines) {
    if (line === played) line.element.setAttribute('aria-current', 'true');
    else line.element.removeAttribute('aria-current');
  }
}

function searchField(lines: readonly Line[], player: Player | undefined): HTMLElement {
  const id = 'transcript-search';
  const input = element('input', {
    class: 'input',
    id,
    type: 'search',
    autocomplete: 'off',
    placeholder: t.searchHint,
  });
  const count = element('span', { class: 'small muted', role: 'status' });
  let next = 0;
  const matches = () => lines.filter((line) => !line.element.hidden && !line.isChapter);
  input.addEventListener('input', () => {
    next = 0;
    const wanted = input.value.trim();
    for (const line of lines) showMatch(line, wanted);
    const found = matches().length;
    count.textContent = wanted === '' ? '' : found === 1 ? t.oneLine : fill(t.countedLines, { count: found });
  });
  input.addEventListener('keydown', (event) => {
    if (event.key !== 'Enter' || input.value.trim() === '') return;
    event.preventDefault();
    const found = matches();
    const line = found[next % Math.max(1, found.length)];
    next += 1;
    if (!line) return;
    line.element.scrollIntoView({ block: 'nearest' });
    player?.playFrom(line.start);
  });
  return element(
    'div',
    { class: 'row transcript-search' },
    element('label', { for: id, class: 'visually-hidden' }, t.searchHint),
    input,
    count,
  );
}

/** Hides a line without the words, and marks them in others. */
function showMatch({ element: line, words, text, isChapter }: Line, wanted: string): void {
  const at = wanted === '' || isChapter ? -1 : text.toLowerCase().indexOf(wanted.toLowerCase());
  line.hidden = wanted !== '' && at < 0;
  const end = at + wanted.length;
  words.replaceChildren(
    ...(at < 0 ? [text] : [text.slice(0, at), element('mark', {}, text.slice(at, end)), text.slice(end)]),
  );
}
