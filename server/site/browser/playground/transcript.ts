/*
 * The transcript of a document: a button asks for it, which is one more request of the same link. Its lines play from
 * their time; a search shows the lines with its words, and Enter plays from the next of them. Speech that is still being
 * recognised is asked for again, while the page shows the document. A transcript that is missing is explained in the
 * gateway's own sentence.
 */

import { element, showProblem } from '../elements.js';
import { fieldAt, listAt, notesOf, numberAt, pause, playJson, textAt } from '../requests.js';
import { fill, pageLanguage, textsOf } from '../texts.js';
import { showWork } from '../work.js';
import { type Player, timedButton } from './video-player.js';

const t = textsOf('playground-links');
const ASK_AGAIN_MS = 15_000;
/** Speech recognition ends within this time, or fails. */
const MAX_ASKS = 60;

/** A line with a time. */
export interface Line {
  start: number;
  text: string;
  element: HTMLElement;
  /** Where the text is shown. */
  words: HTMLElement;
}

/** @param body The request of the link. */
export function transcriptSection(
  data: unknown,
  body: Readonly<Record<string, unknown>>,
  player: Player | undefined,
): HTMLElement {
  const languages = languagesOf(data);
  const select = element(
    'select',
    { class: 'input', id: 'transcript-language' },
    ...languages.map((tag) => element('option', { value: tag }, nameOf(tag))),
  );
  const choice =
    languages.length > 1 &&
    element('div', { class: 'field' }, element('label', { for: select.id }, t.language), select);
  const button = element('button', { type: 'button', class: 'button button-quiet button-small' }, t.showTranscript);
  const work = element('p', { class: 'work', role: 'status' });
  const problem = element('p', { class: 'problem', role: 'alert' });
  const result = element('div', { class: 'stack-small', tabindex: '-1' });
  const hint = element('span', { class: 'small muted' }, t.oneMore);
  const section = element(
    'section',
    { class: 'stack-small', 'aria-label': t.transcript },
    element('div', { class: 'row cut-fields' }, choice, button, hint),
    work,
    problem,
    result,
  );
  button.addEventListener('click', async () => {
    if (button.getAttribute('aria-disabled') === 'true') return;
    button.setAttribute('aria-disabled', 'true');
    showProblem(problem);
    const done = showWork(work, t.searching);
    try {
      const wanted = languages.length > 1 ? { transcript_languages: [select.value] } : {};
      const answer = await askFor({ ...body, ...wanted, include_transcript: true }, section);
      done();
      const found = fieldAt(answer, 'data.transcript');
      result.replaceChildren(...(found ? transcriptParts(found, player) : [await missing(answer)]));
      if (found) result.focus({ preventScroll: true });
    } catch (error) {
      done();
      showProblem(problem, error);
    } finally {
      button.removeAttribute('aria-disabled');
    }
  });
  return section;
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

async function missing(answer: unknown): Promise<HTMLElement> {
  const notes = new Map((await notesOf(answer)).map(({ code, message }) => [code, message]));
  const words = notes.get('transcript_unavailable') ?? notes.get('transcript_pending');
  return element('p', { class: 'notice' }, words ?? t.noTranscript);
}

/** Languages of the subtitles, that of the item first. */
function languagesOf(data: unknown): string[] {
  const own = textAt(data, 'common.language');
  const tags = listAt(data, 'media.entries').flatMap((entry) =>
    textAt(entry, 'kind') === 'subtitle' ? (textAt(entry, 'language') ?? []) : [],
  );
  return [...new Set(tags)].sort((one, other) => Number(other === own) - Number(one === own));
}

function nameOf(tag: string): string {
  try {
    return new Intl.DisplayNames(pageLanguage(), { type: 'language' }).of(tag) ?? tag;
  } catch {
    return tag;
  }
}

const SOURCES: Readonly<Record<string, string>> = t.sources;

function transcriptParts(transcript: unknown, player: Player | undefined): HTMLElement[] {
  const language = textAt(transcript, 'language');
  const source = SOURCES[textAt(transcript, 'source') ?? ''] ?? t.found;
  const from = element(
    'p',
    { class: 'small muted' },
    `${source}${language === undefined ? '' : `, ${nameOf(language)}`}.`,
  );
  const lines = linesOf(transcript, player);
  if (lines.length === 0) {
    return [from, element('div', { class: 'transcript', tabindex: '0' }, textAt(transcript, 'text') ?? t.noWords)];
  }
  const list = element(
    'ol',
    { class: 'timed timed-tall', tabindex: '0', 'aria-label': t.lines },
    ...lines.map((one) => one.element),
  );
  player?.onTime((seconds) => markPlayed(lines, seconds));
  return [from, searchField(lines, player), list];
}

/** The segments of a transcript, as buttons that play from their time. */
export function linesOf(transcript: unknown, player: Pick<Player, 'playFrom'> | undefined): Line[] {
  return listAt(transcript, 'segments').flatMap((segment) => {
    const [start, text] = [numberAt(segment, 'start'), textAt(segment, 'text')];
    if (start === undefined || text === undefined) return [];
    const words = element('span', {}, text);
    const button = timedButton(start, words, () => player?.playFrom(start));
    return [{ start, text, words, element: element('li', {}, button) }];
  });
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
  const input = element('input', { class: 'input', id: 'transcript-search', type: 'search', autocomplete: 'off' });
  const count = element('span', { class: 'small muted', role: 'status' });
  let next = 0;
  const matches = () => lines.filter((line) => !line.element.hidden);
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
    { class: 'field' },
    element('label', { for: input.id }, t.searchHint),
    element('div', { class: 'row transcript-search' }, input, count),
  );
}

/** Hides a line without the words, and marks them in others. */
function showMatch({ element: line, words, text }: Line, wanted: string): void {
  const at = wanted === '' ? -1 : text.toLowerCase().indexOf(wanted.toLowerCase());
  line.hidden = wanted !== '' && at < 0;
  const end = at + wanted.length;
  words.replaceChildren(
    ...(at < 0 ? [text] : [text.slice(0, at), element('mark', {}, text.slice(at, end)), text.slice(end)]),
  );
}
