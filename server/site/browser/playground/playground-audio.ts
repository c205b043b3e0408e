/*
 * The audio forms of the playground: speech and voices to hear, transcription with lines that play from their time,
 * sound effects, and the voice changer. Each result has a player, a download and the code of its request, and says if a
 * mock made it. Work can be cancelled.
 */

import { codeOf } from '../../docs/examples.js';
import { amount, byId, bytes, codeFigure, element, FieldProblem, showProblem, whole } from '../elements.js';
import { arrival, play, textAt } from '../requests.js';
import { fill, textsOf } from '../texts.js';
import { cancellable, type FileDrop, onSubmit, showWork, startFileDrop } from '../work.js';
import { costText } from './chat-request.js';
import { soundPlayer } from './player-controls.js';
import { startRecorder } from './recorder.js';
import { download, linesOf, markPlayed, subtitlesOf } from './timeline.js';

const t = textsOf('playground-audio');

/** A card of the page: its form, its progress and its result. */
class Card {
  readonly form: HTMLFormElement;
  readonly #work: HTMLElement;
  readonly #result: HTMLElement;
  #addresses: string[] = [];
  #startedAt = 0;

  constructor(readonly id: string) {
    this.form = byId(`${id}-form`, HTMLFormElement);
    this.#work = byId(`${id}-work`, HTMLElement);
    this.#result = byId(`${id}-result`, HTMLElement);
  }

  /** Shows the progress of work, and then what it returns. */
  async work(words: string, done: string, run: (signal: AbortSignal) => Promise<readonly Node[]>): Promise<void> {
    let end = (_words?: string): void => {};
    this.#startedAt = performance.now();
    try {
      const parts = await cancellable((signal, cancel) => {
        end = showWork(this.#work, words, () => {
          cancel();
          this.form.querySelector<HTMLElement>('button:not([type])')?.focus();
        });
        return run(signal);
      });
      this.#result.className = 'stack-small';
      this.#result.replaceChildren(...parts);
      end(done);
    } catch (error) {
      end();
      throw error;
    }
  }

  /** The address of a file of the result. Those of earlier results end. */
  addressOf(blob: Blob): string {
    for (const address of this.#addresses) URL.revokeObjectURL(address);
    const made = URL.createObjectURL(blob);
    this.#addresses = [made];
    return made;
  }

  /** What a model made: a player and a download. */
  async audioParts(response: Response, { label, name, source, cost, path, sent }: MadeAudio): Promise<Node[]> {
    const blob = await arrival(response.blob());
    const src = this.addressOf(blob);
    const seconds = `${amount((performance.now() - this.#startedAt) / 1_000)} s`;
    const all = [textAt(sent, 'model'), textAt(sent, 'voice'), bytes(blob.size), cost, seconds];
    const facts = all.filter((fact) => fact !== undefined);
    return [
      soundPlayer(element('audio', { src }), label, blob),
      ...(source === undefined ? [] : [element('p', { class: 'audio-source', dir: 'auto' }, source)]),
      element(
        'div',
        { class: 'row row-apart' },
        element('span', { class: 'small muted figures' }, facts.join(' · ')),
        element('a', { href: src, download: name, class: 'button button-quiet button-small' }, `${t.download} MP3`),
      ),
      ...mockNote(response),
      this.codeOf(path, sent, name),
    ];
  }

  /** The request as a program sends it, folded on a phone. @param sent Fields; a file is given by its name. */
  codeOf(path: string, sent: Readonly<Record<string, unknown>>, saved?: string): HTMLElement {
    const fields = Object.entries(sent);
    const isForm = fields.some(([, value]) => value instanceof File);
    const form = fields.map(([name, value]) =>
      value instanceof File ? { name, value: value.name, isFile: true } : { name, value: String(value), isFile: false },
    );
    const { baseUrl = location.origin } = document.querySelector<HTMLElement>('[data-base-url]')?.dataset ?? {};
    const request = { method: 'POST', url: baseUrl + path, secret: 'MEDIAGATE_API_KEY', file: saved };
    const code = codeOf({ ...request, json: isForm ? undefined : sent, form: isForm ? form : undefined }, 'curl');
    const figure = codeFigure(`${this.id}-code`, t.shell, code, 'sh');
    const open = matchMedia('(min-width: 60rem)').matches;
    return element('details', { open }, element('summary', {}, t.request), figure);
  }
}

/** What a model made, and of what. */
interface MadeAudio {
  label: string;
  /** Of the file. */
  name: string;
  /** The text that it was made of. Default: it was made of a recording. */
  source?: string;
  /** Default: it is not known. */
  cost?: string | undefined;
  path: string;
  /** Fields of the request. */
  sent: Readonly<Record<string, unknown>>;
}

/** Says that a mock made a result. */
function mockNote({ headers }: Response): Node[] {
  if (!headers.has('x-mediagate-stand-in')) return [];
  return [element('p', { class: 'small muted' }, t.mockWords)];
}

function post(path: string, json: unknown, signal?: AbortSignal): Promise<Response> {
  return play(path, { method: 'POST', json, ...(signal && { signal }) });
}

/** With the same fields as a form. */
function postForm(path: string, fields: Readonly<Record<string, unknown>>, signal: AbortSignal): Promise<Response> {
  const form = new FormData();
  for (const [name, value] of Object.entries(fields)) {
    if (value instanceof File) form.set(name, value, value.name);
    else form.set(name, String(value));
  }
  return play(path, { method: 'POST', form, signal });
}

function textOf(fields: FormData, name: string): string {
  return String(fields.get(name) ?? '').trim();
}

const speech = new Card('speech');
const typed = byId('speech-text', HTMLTextAreaElement);
const count = byId('speech-count', HTMLElement);

/** What it costs to speak the text, if the price of the model is known. */
function costOfSpeech(): string | undefined {
  const { rate } = byId('speech-model', HTMLSelectElement).selectedOptions[0]?.dataset ?? {};
  const { currency } = speech.form.querySelector<HTMLElement>('.run-cost')?.dataset ?? {};
  return rate && currency ? costText((Number(rate) * typed.value.trim().length) / 1e9, currency) : undefined;
}

function showCount(): void {
  const words = fill(count.dataset.words ?? '', { count: whole(typed.value.trim().length) });
  count.textContent = [words, costOfSpeech()].filter((part) => part !== undefined).join(' · ');
}

speech.form.addEventListener('input', showCount);
speech.form.addEventListener('change', showCount);
showCount();

onSubmit(speech.form, (fields) =>
  speech.work(t.speaking, t.ready, async (signal) => {
    const speed = Number(textOf(fields, 'speed'));
    const source = textOf(fields, 'text');
    const cost = costOfSpeech();
    const path = '/v1/audio/speech';
    const sent = {
      model: textOf(fields, 'model'),
      voice: textOf(fields, 'voice'),
      input: source,
      ...(speed !== 1 && { speed }),
    };
    const response = await post(path, sent, signal);
    return speech.audioParts(response, { label: t.spoken, name: 'speech.mp3', source, cost, path, sent });
  }),
);

/** Samples by model and voice: hearing one again costs nothing. */
const samples = new Map<string, Blob>();
const sampler = new Audio();

byId('speech-hear', HTMLButtonElement).addEventListener('click', async () => {
  const problem = speech.form.querySelector('.problem');
  showProblem(problem);
  const fields = new FormData(speech.form);
  const wanted = { model: textOf(fields, 'model'), voice: textOf(fields, 'voice') };
  const name = JSON.stringify(wanted);
  try {
    const sample =
      samples.get(name) ??
      (await arrival((await post('/v1/audio/speech', { ...wanted, input: t.voiceSample })).blob()));
    samples.set(name, sample);
    sampler.src = URL.createObjectURL(sample);
    await sampler.play();
  } catch (error) {
    showProblem(problem, error);
  }
});

const hearing = new Card('hearing');
const spoken = recordingsOf('hearing');

onSubmit(hearing.form, async (fields) => {
  const recording = chosenOf(spoken, 'file');
  const language = textOf(fields, 'language');
  const path = '/v1/audio/transcriptions';
  const sent = {
    model: textOf(fields, 'model'),
    response_format: 'verbose_json',
    ...(language !== '' && { language }),
    file: recording,
  };
  await hearing.work(t.transcribing, t.transcribed, async (signal) => {
    const response = await postForm(path, sent, signal);
    const transcript: unknown = await arrival(response.json());
    return [...transcriptParts(transcript, recording), ...mockNote(response), hearing.codeOf(path, sent)];
  });
});

/** The recording, the lines of the transcript, and downloads of both kinds. */
function transcriptParts(transcript: unknown, recording: File): Node[] {
  const text = textAt(transcript, 'text');
  if (text === undefined) return [element('p', {}, t.noSpeech)];
  const audio = element('audio', { src: hearing.addressOf(recording) });
  const playFrom = (seconds: number) => {
    audio.currentTime = seconds;
    void audio.play();
  };
  const lines = linesOf(transcript, { playFrom });
  audio.addEventListener('timeupdate', () => markPlayed(lines, audio.currentTime));
  const words =
    lines.length === 0
      ? element('p', { class: 'transcript', id: 'hearing-text', dir: 'auto' }, text)
      : element('ol', { class: 'timed timed-tall', tabindex: '0', 'aria-label': t.transcript, dir: 'auto' });
  words.append(...lines.map((line) => line.element));
  const name = recording.name.replace(/\.[^.]*$/, '');
  return [
    soundPlayer(audio, recording.name, recording),
    words,
    element(
      'div',
      { class: 'row' },
      download(t.downloadText, `${name}.txt`, `${text}\n`),
      lines.length > 0 && download(t.downloadSubtitles, `${name}.srt`, subtitlesOf(transcript, lines)),
    ),
  ];
}

const sound = new Card('sound');

onSubmit(sound.form, (fields) =>
  sound.work(t.creating, t.ready, async (signal) => {
    const seconds = textOf(fields, 'seconds');
    const source = textOf(fields, 'text');
    const path = '/v1/audio/sound-effects';
    const sent = {
      model: textOf(fields, 'model'),
      text: source,
      ...(seconds !== '' && { duration_seconds: Number(seconds) }),
    };
    const response = await post(path, sent, signal);
    return sound.audioParts(response, { label: t.soundMade, name: 'sound.mp3', source, path, sent });
  }),
);

const changer = new Card('changer');
const changed = recordingsOf('changer');

onSubmit(changer.form, async (fields) => {
  const recording = chosenOf(changed, 'audio');
  const path = '/v1/audio/voice-changer';
  const sent = { model: textOf(fields, 'model'), voice: textOf(fields, 'voice'), audio: recording };
  await changer.work(t.changing, t.ready, async (signal) => {
    const response = await postForm(path, sent, signal);
    return changer.audioParts(response, { label: t.changedVoice, name: 'voice.mp3', path, sent });
  });
});

for (const button of document.querySelectorAll<HTMLElement>('[data-try]')) {
  button.addEventListener('click', () => {
    const field = byId(button.dataset.try ?? '', HTMLTextAreaElement);
    field.value ||= field.placeholder;
    field.dispatchEvent(new Event('input', { bubbles: true }));
    field.form?.requestSubmit();
  });
}

/** One file, which is dropped, chosen or recorded. */
function recordingsOf(id: string): FileDrop {
  const files = startFileDrop(byId(`${id}-file`, HTMLInputElement), 1, playerOf);
  const form = byId(`${id}-form`, HTMLFormElement);
  const elements = {
    button: byId(`${id}-record`, HTMLButtonElement),
    time: byId(`${id}-record-time`, HTMLElement),
    problem: form.querySelector('.problem'),
  };
  startRecorder(elements, files);
  return files;
}

/** The address lasts as long as the page, as the file may be sent again. */
function playerOf(file: File): HTMLElement {
  return soundPlayer(element('audio', { src: URL.createObjectURL(file), preload: 'metadata' }), file.name, file);
}

/** @throws FieldProblem */
function chosenOf({ files: [recording] }: FileDrop, field: string): File {
  if (!recording) throw new FieldProblem(t.chooseRecording, field);
  return recording;
}
