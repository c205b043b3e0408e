import type { AudioStream, SpeechFormat, Transcript } from '../contracts/index.js';
import { audioFormat } from '../media/index.js';
import type { MadeAudio } from './audio-run.js';
import { compare } from './matchers.js';

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
    ...(typeof text === 'string' ? [] : ['the text is no text']),
    ...(language === '' ? ['the language is empty'] : []),
    ...(durationSeconds === undefined || isAmount(durationSeconds) ? [] : [`durationSeconds is ${durationSeconds}`]),
    ...timed
      .filter(([{ start, end }, text]) => !isAmount(start) || !isAmount(end) || end < start || typeof text !== 'string')
      .map(([one]) => `no time of a text: ${JSON.stringify(one)}`),
    ...(outOfOrder ? ['segments or words are not in order of time'] : []),
    ...usageProblems(usage),
    ...ignoredProblems(ignored, []),
  ];
}

export function audioProblems({ bytes, format, usage }: MadeAudio): string[] {
  const found = audioFormat(bytes);
  const isSo = format === 'pcm' ? bytes.length % 2 === 0 : found === format;
  return [
    ...(SPEECH_FORMATS.includes(format) ? [] : [`${format} is no format`]),
    ...(bytes.length > 0 ? [] : ['the sound is empty']),
    ...(isSo ? [] : [`what is called ${format} is ${found ?? 'something else'}`]),
    ...usageProblems(usage),
  ];
}

function usageProblems(usage: object = {}): string[] {
  return Object.entries(usage)
    .filter(([, value]) => typeof value === 'number' && !(Number.isFinite(value) && value >= 0))
    .map(([name, value]) => `usage.${name} is ${value}`);
}

export function ignoredProblems(ignored: AudioStream['ignored'] = [], wanted: readonly string[]): string[] {
  return compare([...wanted].sort(), [...ignored].sort(), 'ignored');
}
