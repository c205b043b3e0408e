/*
 * The rules that every audio provider must pass: each listed operation has a method and a sample, each format is made
 * or its replacement is named, odd texts reach the upstream unchanged, concurrent calls stay apart, failures of the
 * upstream have the right codes, and a caller who leaves ends the call at once. Rules are rows of a table; a provider
 * without an upstream skips those about upstreams. `describeAudioProvider` registers them with the test runner.
 */

import assert from 'node:assert';
import type {
  AudioModel,
  AudioOperation,
  AudioProvider,
  ChangeVoiceCall,
  GenerateSoundCall,
  SpeakCall,
  SpeechFormat,
  TranscribeCall,
  Transcript,
} from '../../contracts/index.js';
import { createFakeHttp, type FakeReply, type SentRequest } from '../fakes.js';
import { compare } from '../matchers.js';
import { type Check, checksOf, describeChecks, reportAll, type Table, unless } from '../runner.js';
import { audioProviderOf } from '../setup.js';
import {
  type AudioFields,
  type AudioRun,
  audioCall,
  audioProblems,
  ignoredProblems,
  inventAudio,
  modelsFor,
  SPEECH_FORMATS,
  sentProblems,
  TRANSCRIPT,
  takesAudio,
  transcriptProblems,
} from './audio-run.js';
import {
  bodiesOf,
  contributionOf,
  half,
  isSentAsIs,
  leavesBefore,
  leavesDuring,
  leavingAtOnce,
  type ModelDefinition,
  modelNameProblems,
  ODD_TEXTS,
  outcomeOf,
  succeeds,
  UNREADABLE,
  WORDS,
} from './models.js';
import { commonFaults, type ModelFamily, upstreamRules } from './upstream-rules.js';

export interface AudioProviderDefinition extends ModelDefinition {
  /** At least one for each operation that a model lists. */
  samples: readonly AudioSample[];
  /** How its upstream answers. Default: it works without an upstream. */
  upstream?: AudioUpstreamScript;
}

interface AudioCalls {
  transcribe: TranscribeCall;
  translate: TranscribeCall;
  speak: SpeakCall;
  changeVoice: ChangeVoiceCall;
  generateSound: GenerateSoundCall;
}

/** A call that succeeds, with each model that offers its operation. */
export type AudioSample = { [Operation in AudioOperation]: SampleOf<Operation> }[AudioOperation];

export interface SampleOf<Operation extends AudioOperation> {
  operation: Operation;
  /** The fields that matter for the sample; the kit fills the others. */
  call?: Partial<Omit<AudioCalls[Operation], 'sound' | 'model' | 'signal'>>;
  /** The audio input. Default: a tone as WAV, without speech. */
  audio?: { bytes: Uint8Array; contentType: string; filename: string };
  /** The expected upstream request, besides the bytes of the audio. Default: no request, since there is no upstream. */
  sends?(model: string): SentToUpstream;
  /**
   * The expected transcript, in the form that `compare` takes; for a provider without an upstream. Default: anything.
   */
  expectedTranscript?: unknown;
  /** Fields that the model ignores, by the name of the call's field. Default: none. */
  ignores?: readonly string[];
}

export interface SentToUpstream {
  /** The complete path with its query. */
  url: string;
  /** Fields of the JSON, or text fields of the form; a repeated field is a list. */
  fields: Readonly<Record<string, unknown>>;
  /** Form field of the audio. Default: there is no form. */
  file?: string;
}

/** An upstream in its own format. */
export interface AudioUpstreamScript {
  /** The answer with this transcript. Needed if audio is transcribed. */
  transcript?(request: SentRequest, transcript: Transcript): FakeReply;
  /** The answer with audio bytes in the requested format. Needed if audio is produced. */
  audio?(request: SentRequest, bytesOf: (format: SpeechFormat) => Uint8Array): FakeReply;
  /** The refusal of a caller's input: its message is for the caller. */
  refusal: FakeReply;
}

const TEXTS: Readonly<Record<string, string>> = {
  ...ODD_TEXTS,
  markup: '<speak><break time="99s"/></speak> &amp; ]]> <!ENTITY x "y">',
  'very much': `A very ${'long and '.repeat(500)}winding road`.slice(0, 4_096),
};
/** A model may refuse a script, or a text that is too long; it must not speak a different text. */
const CANNOT = ['unsupported_value', 'invalid_value'];

const FAMILY: ModelFamily<AudioProviderDefinition, AudioRun> = {
  kind: 'audio',
  calls: (definition) => definition.samples.map((sample) => audioCall(definition, sample)),
  faults: [
    ...commonFaults(1),
    { name: 'an empty body', codes: UNREADABLE, reply: async (valid) => ({ ...(await valid()), body: '' }) },
    { name: 'JSON of something else', codes: UNREADABLE, reply: () => ({ body: { status: WORDS } }) },
    {
      name: 'a body that breaks off',
      codes: UNREADABLE,
      reply: async (valid) => ({ ...half(await valid()), after: 'break' }),
    },
  ],
  refusal: {
    name: "a caller's fault is asked once, and told",
    expected: "the caller's fault",
    // Errors that a caller can fix.
    codes: ['invalid_value', 'unsupported_value', 'unsupported_parameter', 'moderation_blocked', 'request_too_large'],
    reply: ({ upstream }) => upstream?.refusal ?? {},
  },
};

const AUDIO_RULES: Table<AudioProviderDefinition> = [
  { name: 'names its models and what they do', run: namesModels },
  { name: 'has a method and a sample for each operation that a model lists', run: offersAll },
  ({ samples }) =>
    samples.map((sample, index) => ({
      name: `sample ${index + 1}: ${sample.operation}`,
      run: (definition) => withEachModel(definition, sample),
    })),
  ...SPEECH_FORMATS.map((format) => ({
    name: `makes ${format}, or says what it makes instead`,
    applies: ({ samples }: AudioProviderDefinition) => samples.some(makesAudio),
    run: (definition: AudioProviderDefinition) =>
      each(definition.samples.filter(makesAudio), (sample) => goesWell(definition, sample, { format })),
  })),
  ...Object.entries(TEXTS).map(([name, text]) => ({
    name: `takes a text as words: ${name}`,
    applies: (definition: AudioProviderDefinition) => spokenOf(definition) !== undefined,
    run: (definition: AudioProviderDefinition) => withText(definition, text),
  })),
  {
    name: 'leaves what it is given alone',
    run: (definition) => each(definition.samples, (sample) => leavesAlone(definition, sample)),
  },
  { name: 'keeps calls beside each other apart', run: apart },
  ...upstreamRules(FAMILY),
  {
    name: 'ends at once when the caller leaves',
    run: (definition) => each(definition.samples, (sample) => endsAtOnce(definition, sample)),
  },
];

/** Checks that every audio provider must pass. */
export function audioProviderChecks(definition: AudioProviderDefinition): Check[] {
  return checksOf(AUDIO_RULES, definition);
}

/** Registers {@link audioProviderChecks} with the test runner's global `describe` and `it`. */
export function describeAudioProvider(definition: AudioProviderDefinition): void {
  describeChecks(`audio provider ${definition.plugin.name}`, audioProviderChecks(definition));
}

const makesAudio = ({ operation }: AudioSample) => !takesAudio(operation);

function spokenOf({ samples }: AudioProviderDefinition): AudioSample | undefined {
  return samples.find(({ operation }) => operation === 'speak' || operation === 'generateSound');
}

function each(samples: readonly AudioSample[], run: (sample: AudioSample) => Promise<unknown>): Promise<unknown> {
  return Promise.all(samples.map(run));
}

function providerOf(definition: AudioProviderDefinition): Promise<AudioProvider> {
  return contributionOf(definition, audioProviderOf);
}

async function namesModels(definition: AudioProviderDefinition): Promise<void> {
  const { models } = await providerOf(definition);
  const isOdd = ({ operations }: AudioModel) => operations.length === 0 || new Set(operations).size < operations.length;
  reportAll([
    ...modelNameProblems(models),
    ...models.filter(isOdd).map(({ id }) => `${id} does nothing, or something twice`),
  ]);
}

async function offersAll(definition: AudioProviderDefinition): Promise<void> {
  const provider = await providerOf(definition);
  const listed = new Set<AudioOperation>(provider.models.flatMap(({ operations }) => operations));
  const sampled = new Set<AudioOperation>(definition.samples.map(({ operation }) => operation));
  reportAll([
    ...[...listed].flatMap((operation) => [
      ...unless(typeof provider[operation] === 'function', `${operation} is listed, and there is no such method`),
      ...unless(sampled.has(operation), `${operation} is listed, and has no sample`),
    ]),
    ...[...sampled].flatMap((operation) =>
      unless(listed.has(operation), `there is a sample of ${operation}, which no model lists`),
    ),
  ]);
}

async function withEachModel(definition: AudioProviderDefinition, sample: AudioSample): Promise<void> {
  const models = modelsFor(await providerOf(definition), sample.operation);
  assert(models.length > 0, 'no model offers the operation');
  for (const model of models) await goesWell(definition, sample, {}, model);
}

async function withText(definition: AudioProviderDefinition, text: string): Promise<void> {
  const sample = spokenOf(definition);
  assert(sample);
  const call = sample.operation === 'speak' ? { input: text } : { text };
  const { run: make, answer } = audioCall(definition, sample, { call });
  const http = createFakeHttp(answer);
  const run = await make({ http });
  const code = (run.error as { code?: string } | undefined)?.code ?? '';
  if (run.error !== undefined && CANNOT.includes(code)) return;
  const isSent = isSentAsIs(bodiesOf(http.requests), text);
  reportAll([
    ...unless(run.made !== undefined, `expected audio, got ${outcomeOf(run)}`),
    ...unless(!definition.upstream || isSent, 'the text is not sent as it is'),
  ]);
}

async function leavesAlone(definition: AudioProviderDefinition, sample: AudioSample): Promise<void> {
  // Writing to frozen objects throws.
  const frozen = Object.fromEntries(
    Object.entries(sample.call ?? {}).map(([name, value]) => [name, Object.freeze(structuredClone(value))]),
  );
  await goesWell(definition, sample, frozen);
}

async function apart(definition: AudioProviderDefinition): Promise<void> {
  const formats: readonly SpeechFormat[] = ['mp3', 'opus', 'pcm'];
  const calls = definition.samples.flatMap((sample) =>
    formats.map((format) => goesWell(definition, sample, makesAudio(sample) ? { format } : {})),
  );
  await Promise.all(calls);
}

async function endsAtOnce(definition: AudioProviderDefinition, sample: AudioSample): Promise<void> {
  const call = audioCall(definition, sample);
  await leavesBefore(call);
  if (!definition.upstream) {
    await leavesDuring(leavingAtOnce(call));
    return;
  }
  await leavesDuring(call);
  await leavesDuring(call, async (leave, request) => {
    // A transcript is only returned when it is complete.
    if (takesAudio(sample.operation)) leave();
    return { ...half(await call.answer(request)), after: 'hang' };
  });
}

/** A call that must succeed, and all checks of its result. */
function goesWell(
  definition: AudioProviderDefinition,
  sample: AudioSample,
  call: NonNullable<AudioFields['call']>,
  model?: string,
): Promise<AudioRun> {
  return succeeds(definition, audioCall(definition, sample, { model, call }), async (run, { requests }) => {
    if (!run.transcript && !run.made) return undefined;
    const wanted = model === undefined ? undefined : sample.sends?.(model);
    return [
      ...resultProblems(definition, sample, run),
      ...(wanted ? await sentProblems(requests[0], wanted, run) : []),
      ...unless(run.isAudioUnchanged, 'the file of the sound is changed'),
    ];
  });
}

function resultProblems({ upstream }: AudioProviderDefinition, sample: AudioSample, run: AudioRun): string[] {
  const { transcript, made } = run;
  const ignored = ignoredProblems((transcript ?? made)?.ignored, sample.ignores ?? []);
  if (takesAudio(sample.operation)) {
    if (!transcript) return [`expected a transcript, got ${outcomeOf(run)}`];
    const isTimed = sample.operation === 'transcribe' && sample.call?.granularity === 'word';
    const { words, ...rest } = TRANSCRIPT;
    const wanted = upstream ? { ...rest, ...(isTimed && { words }) } : (sample.expectedTranscript ?? {});
    return [...transcriptProblems(transcript), ...ignored, ...compare(wanted, transcript)];
  }
  if (!made) return [`expected audio, got ${outcomeOf(run)}`];
  const isHandedOn = !upstream || made.bytes.equals(inventAudio(made.format));
  return [
    ...audioProblems(made),
    ...ignored,
    ...unless(isHandedOn, 'the sound of the upstream is not handed on as it is'),
  ];
}
