/*
 * One call of an audio provider, and what its result and its upstream request must be. Each run writes the audio to a
 * temporary folder, which is removed afterwards, and notices whether the provider changed the file. The kit's upstream
 * answers with a fixed transcript, or with bytes that only begin like the format: a provider that passes them on sees
 * no difference. Requests are compared completely, also the fields and files of forms, so an unexpected field is a
 * problem as well.
 */

import assert from 'node:assert';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type {
  AudioInputFile,
  AudioOperation,
  AudioProvider,
  AudioStream,
  SpeechFormat,
  Transcript,
  Usage,
} from '../../contracts/index.js';
import { audioFormat, PCM_RATE, wavHeader } from '../../media/index.js';
import type { FakeReply, SentRequest } from '../fakes.js';
import { called } from '../limits.js';
import { compare } from '../matchers.js';
import { type Readable, unless } from '../runner.js';
import { audioProviderOf } from '../setup.js';
import type { AudioProviderDefinition, AudioSample, SentToUpstream } from './audio.js';
import { type ModelCall, runCall, usageProblems } from './models.js';

/** The result of one sample's call. */
export interface AudioRun extends Readable {
  audio: AudioInputFile;
  audioBytes: Uint8Array;
  /** Whether the audio file is unchanged. */
  isAudioUnchanged: boolean;
  transcript?: Transcript;
  made?: MadeAudio;
}

export interface MadeAudio extends Omit<AudioStream, 'body' | 'usage'> {
  bytes: Buffer;
  usage?: Usage;
}

export interface AudioFields {
  /** Default: the first that offers the operation. */
  model?: string;
  /** Fields of the call besides those of the sample. */
  call?: object;
}

export function takesAudio(operation: AudioOperation): boolean {
  return operation === 'transcribe' || operation === 'translate';
}

/** One call; produced audio is read to its end. */
export function audioCall(
  definition: AudioProviderDefinition,
  sample: AudioSample,
  { model, call }: AudioFields = {},
): ModelCall<AudioRun> {
  const { operation } = sample;
  return {
    method: `${operation}()`,
    result: takesAudio(operation) ? 'a transcript' : 'audio',
    answer: (request) => answerOf(definition, operation, request),
    async run(options) {
      const folder = await mkdtemp(path.join(tmpdir(), 'mediagate-kit-'));
      const { audio, bytes: audioBytes } = await writeAudio(folder, sample);
      try {
        const run = await runCall(
          definition,
          options,
          (setup): AudioRun => ({ setup, audio, audioBytes, isAudioUnchanged: true }),
          async (made, signal) => {
            const provider = audioProviderOf(made.setup);
            const used = model ?? modelsFor(provider, operation)[0] ?? '';
            await called(`${operation}()`, async () => {
              const result = await invoke(provider, operation, {
                ...callOf(sample, audio),
                ...call,
                model: used,
                signal,
              });
              if ('body' in result) made.made = await readAudio(result, options.onChunk);
              else made.transcript = result;
            });
            made.shown = made.transcript ?? made.made;
          },
        );
        run.isAudioUnchanged = (await readFile(audio.path)).equals(audioBytes);
        return run;
      } finally {
        await rm(folder, { recursive: true, force: true });
      }
    },
  };
}

/** The answer of a working upstream; without one, a network that fails. */
function answerOf({ upstream }: AudioProviderDefinition, operation: AudioOperation, request: SentRequest): FakeReply {
  if (!upstream) return { fail: 'connection' };
  const reply = takesAudio(operation)
    ? upstream.transcript?.(request, TRANSCRIPT)
    : upstream.audio?.(request, inventAudio);
  assert(reply, `the script of the upstream does not answer ${operation}`);
  return reply;
}

export function modelsFor({ models }: AudioProvider, operation: AudioOperation): string[] {
  return models.filter(({ operations }) => operations.includes(operation)).map(({ id }) => id);
}

async function invoke(
  provider: AudioProvider,
  operation: AudioOperation,
  call: object,
): Promise<Transcript | AudioStream> {
  assert(provider[operation], `there is no method ${operation}`);
  // `callOf` and the sample's type make sure that call and method match.
  return (provider[operation] as (call: object) => Promise<Transcript | AudioStream>)(call);
}

function callOf({ operation, call }: AudioSample, audio: AudioInputFile): object {
  const made = { voice: 'alloy', format: 'mp3' };
  if (takesAudio(operation)) return { audio, ...call };
  if (operation === 'speak') return { input: 'Six boats left the harbour.', speed: 1, ...made, ...call };
  if (operation === 'changeVoice') return { audio, options: {}, ...made, ...call };
  return { text: 'Rain on a tin roof', options: {}, format: 'mp3', ...call };
}

async function writeAudio(folder: string, sample: AudioSample): Promise<{ audio: AudioInputFile; bytes: Uint8Array }> {
  const tone = { bytes: inventWav(1), contentType: 'audio/wav', filename: 'sound.wav' };
  const { bytes, contentType, filename } = sample.audio ?? tone;
  const file = path.join(folder, 'sound');
  await writeFile(file, bytes);
  const seconds = sample.audio ? {} : { seconds: 1 };
  return { bytes, audio: { path: file, size: bytes.length, contentType, filename, ...seconds } };
}

/** A tone as WAV. */
function inventWav(seconds: number): Buffer {
  const samples = Int16Array.from({ length: seconds * PCM_RATE }, (_, index) =>
    Math.round(8_000 * Math.sin((index * 2 * Math.PI * 440) / PCM_RATE)),
  );
  return Buffer.concat([wavHeader(), Buffer.from(samples.buffer)]);
}

async function readAudio({ body, usage, ...rest }: AudioStream, onChunk?: () => void): Promise<MadeAudio> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of body) {
    chunks.push(chunk);
    onChunk?.();
  }
  return { ...rest, bytes: Buffer.concat(chunks), usage: await usage };
}

export const SPEECH_FORMATS: readonly SpeechFormat[] = ['mp3', 'opus', 'aac', 'flac', 'wav', 'pcm'];

/** The transcript of the kit's upstream. */
export const TRANSCRIPT = {
  text: 'Six boats left. Nobody waved.',
  language: 'english',
  durationSeconds: 1,
  segments: [
    { start: 0, end: 0.5, text: 'Six boats left.' },
    { start: 0.5, end: 1, text: ' Nobody waved.' },
  ],
  words: [
    { start: 0, end: 0.25, word: 'Six' },
    { start: 0.25, end: 0.5, word: 'boats' },
  ],
} as const satisfies Transcript;

const HEADS: Readonly<Record<SpeechFormat, string>> = {
  mp3: '\xff\xfb\x90\x64',
  opus: 'OggS\x00\x02',
  aac: '\xff\xf1\x50\x80',
  flac: 'fLaC\x00\x00',
  wav: 'RIFF\x24\x10\x00\x00WAVEfmt ',
  // Samples that look like the beginning of an MP3, as samples may.
  pcm: '\xff\xfb\x90\x64',
};

/** Bytes that begin like a format; a provider that only passes them on does not see the difference. */
export function inventAudio(format: SpeechFormat): Buffer {
  const noise = Buffer.from(Array.from({ length: 4_096 }, (_, index) => (index * 167 + format.length) % 251));
  return Buffer.concat([Buffer.from(HEADS[format], 'latin1'), noise]);
}

/** Contract violations, one line each. */
export function transcriptProblems({
  text,
  language,
  durationSeconds,
  segments,
  words = [],
  usage,
}: Transcript): string[] {
  const isAmount = (value: unknown) => typeof value === 'number' && Number.isFinite(value) && value >= 0;
  const isTimed = ({ start, end }: { start: number; end: number }, part: unknown) =>
    isAmount(start) && isAmount(end) && end >= start && typeof part === 'string';
  const odd = [...segments.filter((one) => !isTimed(one, one.text)), ...words.filter((one) => !isTimed(one, one.word))];
  const areSorted = [segments, words].every((list) =>
    list.every(({ start }, index) => start >= (list[index - 1]?.start ?? start)),
  );
  return [
    ...unless(typeof text === 'string', 'the text is no text'),
    ...unless(language !== '', 'the language is empty'),
    ...unless(durationSeconds === undefined || isAmount(durationSeconds), `durationSeconds is ${durationSeconds}`),
    ...odd.map((one) => `no time of a text: ${JSON.stringify(one)}`),
    ...unless(areSorted, 'segments or words are not in order of time'),
    ...usageProblems(usage),
  ];
}

export function audioProblems({ bytes, format, usage }: MadeAudio): string[] {
  const found = audioFormat(bytes);
  const isSo = format === 'pcm' ? bytes.length % 2 === 0 : found === format;
  return [
    ...unless(SPEECH_FORMATS.includes(format), `${format} is no format`),
    ...unless(bytes.length > 0, 'the sound is empty'),
    ...unless(isSo, `what is called ${format} is ${found ?? 'something else'}`),
    ...usageProblems(usage),
  ];
}

export function ignoredProblems(ignored: AudioStream['ignored'] = [], wanted: readonly string[]): string[] {
  return compare([...wanted].sort(), [...ignored].sort(), 'ignored');
}

/** Problems of a request, one line each; every field must be expected. */
export async function sentProblems(
  request: SentRequest | undefined,
  wanted: SentToUpstream,
  { audio, audioBytes }: AudioRun,
): Promise<string[]> {
  if (!request) return ['nothing was sent'];
  const content = await readContent(request);
  if (typeof content === 'string') return [content];
  const { fields, files } = content;
  const expected =
    wanted.file === undefined ? [] : [{ field: wanted.file, name: audio.filename, type: audio.contentType }];
  const [file] = files;
  return [
    ...compare(wanted.url, String(request.url), 'url'),
    ...compare(wanted.fields, fields, 'members'),
    ...Object.keys(fields)
      .filter((name) => !Object.hasOwn(wanted.fields, name))
      .map((name) => `members.${name} is sent, and not expected`),
    // Vendors detect formats by the extension.
    ...compare(expected, files, 'files of the form'),
    ...unless(!file || file.bytes.equals(audioBytes), `the file is sent with ${file?.bytes.length} other bytes`),
  ];
}

interface SentContent {
  fields: Record<string, unknown>;
  files: { field: string; name: string; type: string; bytes: Buffer }[];
}

/** Fields of the JSON, or fields and files of the form; a text if it is neither. */
async function readContent({ headers = {}, body = '' }: SentRequest): Promise<SentContent | string> {
  const contentType = headers['content-type'] ?? '';
  const bytes = Buffer.from(body as Uint8Array);
  try {
    if (!contentType.startsWith('multipart/form-data')) {
      if (contentType !== 'application/json') return `the content type is ${contentType || 'not told'}`;
      return { fields: JSON.parse(bytes.toString('utf8')), files: [] };
    }
    const form = await new Response(Uint8Array.from(bytes), { headers: { 'content-type': contentType } }).formData();
    const content: SentContent = { fields: {}, files: [] };
    for (const field of new Set(form.keys())) {
      const values = form.getAll(field);
      const texts = values.filter((value) => typeof value === 'string');
      if (texts.length > 0) content.fields[field] = texts.length > 1 ? texts : texts[0];
      for (const file of values.filter((value) => typeof value !== 'string')) {
        content.files.push({ field, name: file.name, type: file.type, bytes: Buffer.from(await file.arrayBuffer()) });
      }
    }
    return content;
  } catch {
    return `the body is not what its type says (${contentType})`;
  }
}
