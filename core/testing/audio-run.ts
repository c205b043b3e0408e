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
} from '../contracts/index.js';
import { audioFormat } from '../media/index.js';
import type { AudioProviderDefinition, AudioSample, SentToUpstream } from './audio.js';
import type { SentRequest } from './fakes.js';
import { called } from './limits.js';
import { compare } from './matchers.js';
import { type CallOptions, describeError, type ModelRun, runModel, usageProblems } from './models.js';
import { unless } from './runner.js';
import { audioProviderOf } from './setup.js';

/** The result of one sample's call. */
export interface AudioRun extends ModelRun {
  audio: AudioInputFile;
  audioBytes: Uint8Array;
  /** Whether the audio file is unchanged. */
  isAudioUnchanged: boolean;
  transcript?: Transcript;
  made?: MadeAudio;
}

export interface MadeAudio {
  bytes: Buffer;
  format: SpeechFormat;
  usage?: Usage;
  ignored: readonly string[];
}

interface AudioRunOptions extends CallOptions {
  definition: AudioProviderDefinition;
  sample: AudioSample;
  /** Default: the first that offers the operation. */
  model?: string;
  /** Fields of the call besides those of the sample. */
  call?: object;
}

export function takesAudio(operation: AudioOperation): boolean {
  return operation === 'transcribe' || operation === 'translate';
}

/** One call; produced audio is read to its end. */
export async function runAudio(options: AudioRunOptions): Promise<AudioRun> {
  const { definition, sample, signal = new AbortController().signal } = options;
  const { operation } = sample;
  const folder = await mkdtemp(path.join(tmpdir(), 'mediagate-kit-'));
  const { audio, bytes: audioBytes } = await writeAudio(folder, sample);
  try {
    const run = await runModel<AudioRun>(
      definition,
      options,
      async (setup, made) => {
        const provider = audioProviderOf(setup);
        const model = options.model ?? modelsFor(provider, operation)[0] ?? '';
        const call = { ...callOf(sample, audio), ...options.call, model, signal };
        await called(`${operation}()`, async () => {
          const result = await invoke(provider, operation, call);
          if ('body' in result) made.made = await readAudio(result, options.onChunk);
          else made.transcript = result;
        });
        made.shown = [made.transcript, made.made];
      },
      (setup) => ({ setup, audio, audioBytes, isAudioUnchanged: true }),
    );
    run.isAudioUnchanged = (await readFile(audio.path)).equals(audioBytes);
    return run;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
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

/** A tone: 16,000 samples a second, 16 bits, one channel. */
function inventWav(seconds: number): Buffer {
  const samples = Math.round(seconds * 16_000);
  const wav = Buffer.alloc(44 + samples * 2);
  wav.write('RIFF', 0);
  wav.writeUInt32LE(wav.length - 8, 4);
  wav.write('WAVEfmt ', 8);
  wav.writeUInt32LE(16, 16);
  wav.writeUInt16LE(1, 20);
  wav.writeUInt16LE(1, 22);
  wav.writeUInt32LE(16_000, 24);
  wav.writeUInt32LE(32_000, 28);
  wav.writeUInt16LE(2, 32);
  wav.writeUInt16LE(16, 34);
  wav.write('data', 36);
  wav.writeUInt32LE(samples * 2, 40);
  for (let index = 0; index < samples; index++) {
    wav.writeInt16LE(Math.round(8_000 * Math.sin((index * 2 * Math.PI * 440) / 16_000)), 44 + index * 2);
  }
  return wav;
}

async function readAudio(stream: AudioStream, onChunk?: () => void): Promise<MadeAudio> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of stream.body) {
    chunks.push(chunk);
    onChunk?.();
  }
  const usage = await stream.usage;
  return {
    bytes: Buffer.concat(chunks),
    format: stream.format,
    ignored: stream.ignored ?? [],
    ...(usage && { usage }),
  };
}

export function describeAudio({ transcript, made, error }: Pick<AudioRun, 'transcript' | 'made' | 'error'>): string {
  if (transcript) return 'a transcript';
  return made ? `a sound of ${made.bytes.length} bytes` : describeError(error);
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
  words,
  usage,
  ignored,
}: Transcript): string[] {
  const isAmount = (value: unknown) => typeof value === 'number' && Number.isFinite(value) && value >= 0;
  const timed = [
    ...segments.map((one) => [one, one.text] as const),
    ...(words ?? []).map((one) => [one, one.word] as const),
  ];
  const outOfOrder = [segments, words ?? []].some((list) =>
    list.some((one, index) => index > 0 && one.start < (list[index - 1]?.start ?? 0)),
  );
  return [
    ...unless(typeof text === 'string', 'the text is no text'),
    ...unless(language !== '', 'the language is empty'),
    ...unless(durationSeconds === undefined || isAmount(durationSeconds), `durationSeconds is ${durationSeconds}`),
    ...timed
      .filter(([{ start, end }, text]) => !isAmount(start) || !isAmount(end) || end < start || typeof text !== 'string')
      .map(([one]) => `no time of a text: ${JSON.stringify(one)}`),
    ...unless(!outOfOrder, 'segments or words are not in order of time'),
    ...usageProblems(usage),
    ...ignoredProblems(ignored, []),
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

interface SentContent {
  fields: Record<string, unknown>;
  files: { field: string; file: File; bytes: Buffer }[];
}

/** Problems of a request, one line each; every field must be expected. */
export async function sentProblems(
  request: SentRequest | undefined,
  wanted: SentToUpstream,
  { audio, audioBytes }: Pick<AudioRun, 'audio' | 'audioBytes'>,
): Promise<string[]> {
  if (!request) return ['nothing was sent'];
  const content = await readContent(request);
  if (typeof content === 'string') return [content];
  const { fields, files } = content;
  const [first] = files;
  const isForm = wanted.file !== undefined;
  return [
    ...compare(wanted.url, String(request.url), 'url'),
    ...compare(wanted.fields, fields, 'members'),
    ...Object.keys(fields)
      .filter((name) => !Object.hasOwn(wanted.fields, name))
      .map((name) => `members.${name} is sent, and not expected`),
    ...unless(!isForm || first !== undefined, 'the sound is not sent as a file of a form'),
    ...unless(files.length <= (isForm ? 1 : 0), `${files.length} files are sent`),
    ...(first && isForm ? fileProblems(first, wanted.file, audio, audioBytes) : []),
  ];
}

function fileProblems(
  { field, file, bytes }: SentContent['files'][number],
  wanted: string | undefined,
  audio: AudioInputFile,
  audioBytes: Uint8Array,
): string[] {
  return [
    ...compare(wanted, field, 'field of the file'),
    // Vendors detect formats by the extension.
    ...compare(audio.filename, file.name, 'name of the file'),
    ...compare(audio.contentType, file.type, 'type of the file'),
    ...unless(bytes.equals(audioBytes), `the file is sent with ${bytes.length} other bytes`),
  ];
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
    const fields: SentContent['fields'] = {};
    const files: SentContent['files'] = [];
    for (const [name, value] of form) {
      if (typeof value === 'string') fields[name] = name in fields ? [fields[name], value].flat() : value;
      else files.push({ field: name, file: value, bytes: Buffer.from(await value.arrayBuffer()) });
    }
    return { fields, files };
  } catch {
    return `the body is not what its type says (${contentType})`;
  }
}
