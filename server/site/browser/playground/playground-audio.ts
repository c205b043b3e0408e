/*
 * The audio forms of the playground: speech and voices to hear, transcription with lines that play from their time,
 * sound effects, and the voice changer. Each result has a player and a download, and says if a mock made it.
 */

import { byId, element, FieldProblem, showProblem } from '../elements.js';
import { arrival, listAt, numberAt, play, textAt } from '../requests.js';
import { textsOf } from '../texts.js';
import { type FileDrop, onSubmit, showWork, startFileDrop } from '../work.js';
import { soundPlayer } from './player-controls.js';
import { startRecorder } from './recorder.js';
import { type Line, linesOf, markPlayed } from './timeline.js';

const t = textsOf('playground-audio');

/** A card of the page: its form, its progress and its result. */
class Card {
  readonly form: HTMLFormElement;
  readonly #work: HTMLElement;
  readonly #result: HTMLElement;
  #addresses: string[] = [];

  constructor(readonly id: string) {
    this.form = byId(`${id}-form`, HTMLFormElement);
    this.#work = byId(`${id}-work`, HTMLElement);
    this.#result = byId(`${id}-result`, HTMLElement);
  }

  /** Shows the progress of work, and then what it returns. */
  async work(words: string, done: string, run: () => Promise<readonly Node[]>): Promise<void> {
    const end = showWork(this.#work, words);
    try {
      const parts = await run();
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
  async audioParts(response: Response, label: string, name: string): Promise<Node[]> {
    const src = this.addressOf(await arrival(response.blob()));
    return [
      soundPlayer(element('audio', { src }), label),
      element('a', { href: src, download: name, class: 'button button-quiet button-small' }, `${t.download} MP3`),
      ...mockNote(response),
    ];
  }
}

/** Says that a mock made a result. */
function mockNote({ headers }: Response): Node[] {
  if (!headers.has('x-mediagate-stand-in')) return [];
  return [element('p', { class: 'small muted' }, t.mockWords)];
}

function post(path: string, json: unknown): Promise<Response> {
  return play(path, { method: 'POST', json });
}

function textOf(fields: FormData, name: string): string {
  return String(fields.get(name) ?? '').trim();
}

const speech = new Card('speech');

onSubmit(speech.form, (fields) =>
  speech.work(t.speaking, t.ready, async () => {
    const speed = Number(textOf(fields, 'speed'));
    const response = await post('/v1/audio/speech', {
      model: textOf(fields, 'model'),
      voice: textOf(fields, 'voice'),
      input: textOf(fields, 'text'),
      ...(speed !== 1 && { speed }),
    });
    return speech.audioParts(response, t.spoken, 'speech.mp3');
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
  const form = new FormData();
  form.set('model', textOf(fields, 'model'));
  form.set('response_format', 'verbose_json');
  if (textOf(fields, 'language') !== '') form.set('language', textOf(fields, 'language'));
  form.set('file', recording, recording.name);
  await hearing.work(t.transcribing, t.transcribed, async () => {
    const response = await play('/v1/audio/transcriptions', { method: 'POST', form });
    const transcript: unknown = await arrival(response.json());
    return [...transcriptParts(transcript, recording), ...mockNote(response)];
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
    soundPlayer(audio, recording.name),
    words,
    element(
      'div',
      { class: 'row' },
      download(t.downloadText, `${name}.txt`, `${text}\n`),
      lines.length > 0 && download(t.downloadSubtitles, `${name}.srt`, subtitles(transcript, lines)),
    ),
  ];
}

function download(label: string, name: string, text: string): HTMLElement {
  const href = URL.createObjectURL(new Blob([text], { type: 'text/plain;charset=utf-8' }));
  return element('a', { href, download: name, class: 'button button-quiet button-small' }, label);
}

/** SubRip. */
function subtitles(transcript: unknown, lines: readonly Line[]): string {
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

const sound = new Card('sound');

onSubmit(sound.form, (fields) =>
  sound.work(t.creating, t.ready, async () => {
    const seconds = textOf(fields, 'seconds');
    const response = await post('/v1/audio/sound-effects', {
      model: textOf(fields, 'model'),
      text: textOf(fields, 'text'),
      ...(seconds !== '' && { duration_seconds: Number(seconds) }),
    });
    return sound.audioParts(response, t.soundMade, 'sound.mp3');
  }),
);

const changer = new Card('changer');
const changed = recordingsOf('changer');

onSubmit(changer.form, async (fields) => {
  const recording = chosenOf(changed, 'audio');
  const form = new FormData();
  form.set('model', textOf(fields, 'model'));
  form.set('voice', textOf(fields, 'voice'));
  form.set('audio', recording, recording.name);
  await changer.work(t.changing, t.ready, async () => {
    const response = await play('/v1/audio/voice-changer', { method: 'POST', form });
    return changer.audioParts(response, t.changedVoice, 'voice.mp3');
  });
});

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
  return soundPlayer(element('audio', { src: URL.createObjectURL(file), preload: 'metadata' }), file.name);
}

/** @throws FieldProblem */
function chosenOf({ files: [recording] }: FileDrop, field: string): File {
  if (!recording) throw new FieldProblem(t.chooseRecording, field);
  return recording;
}
