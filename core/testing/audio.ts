import assert from 'node:assert';
import type {
  AudioModel,
  AudioOperation,
  ChangeVoiceCall,
  GenerateSoundCall,
  HttpClient,
  Plugin,
  SpeakCall,
  SpeechFormat,
  TranscribeCall,
  Transcript,
} from '../contracts/index.js';
import {
  type AudioRun,
  audioProblems,
  describeAudio,
  ignoredProblems,
  inventAudio,
  modelsFor,
  runAudio,
  SPEECH_FORMATS,
  sentProblems,
  TRANSCRIPT,
  takesAudio,
  transcriptProblems,
  validReply,
  willingUpstream,
} from './audio-run.js';
import { createFakeHttp, type FakeReply, type SentRequest } from './fakes.js';
import { compare } from './matchers.js';
import {
  atOnce,
  type Check,
  describeChecks,
  leakedSecrets,
  MAX_TRIES,
  modelErrorOf,
  modelFaults,
  reportAll,
  UNREADABLE,
  WORDS,
  withWords,
} from './runner.js';
import { audioProviderOf, setUpPlugin } from './setup.js';

export interface AudioProviderDefinition {
  plugin: Plugin;
  /** Options of a valid instance. Default `{}`. */
  options?: Readonly<Record<string, unknown>>;
  /** Texts that must not appear in a result, an error or the log. Default: none. */
  secrets?: readonly string[];
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

/** Texts that intermediate layers may alter. */
const TEXTS: Readonly<Record<string, string>> = {
  markup: '<speak><break time="99s"/></speak> &amp; ]]> <!ENTITY x "y">',
  'a form': 'one\r\n--form\r\nContent-Disposition: form-data; name="model"\r\n\r\nother\r\n--form--',
  JSON: '","model":"x","x":"\\u0000\\"} %s %n {{x}} $x',
  scripts: 'Một ngày ở Hội An, 漢字とかな, 한국어, مرحبا, 🎉👩‍👩‍👧‍👦, Łódź',
  'very much': `A very ${'long and '.repeat(500)}winding road`.slice(0, 4_096),
};
/** A model may refuse a script, or a text that is too long; it must not speak a different text. */
const CANNOT = ['unsupported_value', 'invalid_value'];

/** Checks that every audio provider must pass. */
export function audioProviderChecks(definition: AudioProviderDefinition): Check[] {
  const check = (name: string, run: Check['run']): Check => ({ name, run });
  const { samples } = definition;
  const transcode = samples.filter(({ operation }) => !takesAudio(operation));
  const spoken = samples.find(({ operation }) => operation === 'speak' || operation === 'generateSound');
  return [
    check('names its models and what they do', () => namesModels(definition)),
    check('has a method and a sample for each operation that a model lists', () => offersAll(definition)),
    ...samples.map((sample, index) =>
      check(`sample ${index + 1}: ${sample.operation}`, () => withEachModel(definition, sample)),
    ),
    ...(transcode.length > 0
      ? SPEECH_FORMATS.map((format) =>
          check(`makes ${format}, or says what it makes instead`, () => asFormat(definition, transcode, format)),
        )
      : []),
    ...(spoken
      ? Object.entries(TEXTS).map(([name, text]) =>
          check(`takes a text as words: ${name}`, () => withText(definition, spoken, text)),
        )
      : []),
    check('leaves what it is given alone', () => Promise.all(samples.map((sample) => leavesAlone(definition, sample)))),
    check('keeps calls beside each other apart', () => apart(definition)),
    ...audioFaultChecks(definition),
  ];
}

/** Registers {@link audioProviderChecks} with the test runner's global `describe` and `it`. */
export function describeAudioProvider(definition: AudioProviderDefinition): void {
  describeChecks(`audio provider ${definition.plugin.name}`, audioProviderChecks(definition));
}

async function providerOf({ plugin, options }: AudioProviderDefinition) {
  return audioProviderOf(await setUpPlugin({ plugin, options, http: createFakeHttp([{ fail: 'connection' }]) }));
}

async function namesModels(definition: AudioProviderDefinition): Promise<void> {
  const { models } = await providerOf(definition);
  const ids = models.map(({ id }) => id);
  const isOdd = ({ operations }: AudioModel) => operations.length === 0 || new Set(operations).size < operations.length;
  reportAll([
    ...(models.length > 0 ? [] : ['there are no models']),
    ...(new Set(ids).size === ids.length ? [] : ['a model is named twice']),
    ...ids.filter((id) => !/^[A-Za-z0-9][\w.:/-]{0,99}$/.test(id)).map((id) => `"${id}" is no name of a model`),
    ...models.filter(isOdd).map(({ id }) => `${id} does nothing, or something twice`),
  ]);
}

async function offersAll(definition: AudioProviderDefinition): Promise<void> {
  const provider = await providerOf(definition);
  const listed = new Set<AudioOperation>(provider.models.flatMap(({ operations }) => operations));
  reportAll([
    ...[...listed]
      .filter((operation) => typeof provider[operation] !== 'function')
      .map((operation) => `${operation} is listed, and there is no such method`),
    ...[...listed]
      .filter((operation) => !definition.samples.some((sample) => sample.operation === operation))
      .map((operation) => `${operation} is listed, and has no sample`),
    ...definition.samples
      .filter(({ operation }) => !listed.has(operation))
      .map(({ operation }) => `there is a sample of ${operation}, which no model lists`),
  ]);
}

async function withEachModel(definition: AudioProviderDefinition, sample: AudioSample): Promise<void> {
  const models = modelsFor(await providerOf(definition), sample.operation);
  assert(models.length > 0, 'no model offers the operation');
  for (const model of models) await goesWell(definition, sample, { model });
}

async function asFormat(
  definition: AudioProviderDefinition,
  samples: readonly AudioSample[],
  format: SpeechFormat,
): Promise<void> {
  await Promise.all(samples.map((sample) => goesWell(definition, sample, { call: { format } })));
}

async function withText(definition: AudioProviderDefinition, sample: AudioSample, text: string): Promise<void> {
  const http = willingUpstream(definition, sample);
  const call = sample.operation === 'speak' ? { input: text } : { text };
  const run = await runAudio({ definition, sample, http, call });
  const code = (run.error as { code?: string } | undefined)?.code ?? '';
  if (run.error !== undefined && CANNOT.includes(code)) return;
  const sent = Buffer.concat(http.requests.map(({ body = '' }) => Buffer.from(body as Uint8Array)));
  const isSent = sent.includes(JSON.stringify(text).slice(1, -1)) || sent.includes(text);
  reportAll([
    ...(run.made ? [] : [`expected a sound, got ${describeAudio(run)}`]),
    ...(!definition.upstream || isSent ? [] : ['the text is not sent as it is']),
  ]);
}

async function leavesAlone(definition: AudioProviderDefinition, sample: AudioSample): Promise<void> {
  // Writing to frozen objects throws.
  const frozen = Object.fromEntries(
    Object.entries(sample.call ?? {}).map(([name, value]) => [name, Object.freeze(structuredClone(value))]),
  );
  await goesWell(definition, sample, { call: frozen });
}

async function apart(definition: AudioProviderDefinition): Promise<void> {
  const formats: readonly SpeechFormat[] = ['mp3', 'opus', 'pcm'];
  await Promise.all(
    definition.samples.flatMap((sample) =>
      formats.map((format) => goesWell(definition, sample, { call: takesAudio(sample.operation) ? {} : { format } })),
    ),
  );
}

/** A call that must succeed, and all checks of its result. */
async function goesWell(
  definition: AudioProviderDefinition,
  sample: AudioSample,
  { model, call = {} }: { model?: string; call?: object },
): Promise<void> {
  const http = willingUpstream(definition, sample);
  const run = await runAudio({ definition, sample, http, model, call });
  const wanted = model === undefined ? undefined : sample.sends?.(model);
  const max = definition.upstream ? 1 : 0;
  reportAll([
    ...resultProblems(definition, sample, run),
    ...(wanted ? await sentProblems(http.requests[0], wanted, run) : []),
    ...(http.requests.length <= max ? [] : [`it made ${http.requests.length} requests for one call`]),
    ...(run.isAudioUnchanged ? [] : ['the file of the sound is changed']),
    ...run.setup.undeclared.map((need) => `used the ${need} without naming it in "needs" or "wants"`),
    ...leakedSecrets(definition.secrets ?? [], [run.transcript, run.made, run.error, run.setup.logs]),
  ]);
}

function resultProblems(
  { upstream }: AudioProviderDefinition,
  sample: AudioSample,
  { transcript, made, error }: AudioRun,
): string[] {
  if (takesAudio(sample.operation)) {
    if (!transcript) return [`expected a transcript, got ${describeAudio({ made, error })}`];
    const isTimed = sample.operation === 'transcribe' && sample.call?.granularity === 'word';
    const { words, ...rest } = TRANSCRIPT;
    const wanted = upstream ? { ...rest, ...(isTimed && { words }) } : (sample.expectedTranscript ?? {});
    return [
      ...transcriptProblems(transcript),
      ...ignoredProblems(transcript.ignored, sample.ignores ?? []),
      ...compare(wanted, transcript),
    ];
  }
  if (!made) return [`expected a sound, got ${describeAudio({ transcript, error })}`];
  const isHandedOn = !upstream || made.bytes.equals(inventAudio(made.format));
  return [
    ...audioProblems(made),
    ...ignoredProblems(made.ignored, sample.ignores ?? []),
    ...(isHandedOn ? [] : ['the sound of the upstream is not handed on as it is']),
  ];
}

/** Errors that a caller can fix. */
const CALLER_CODES = [
  'invalid_value',
  'unsupported_value',
  'unsupported_parameter',
  'moderation_blocked',
  'request_too_large',
];

interface Fault {
  name: string;
  codes: readonly string[];
  reply(valid: FakeReply): FakeReply;
}

const FAULTS: readonly Fault[] = [
  ...modelFaults({ retryAfterSeconds: 1 }).map((fault) => ({ ...fault, reply: () => fault.reply })),
  { name: 'an empty body', codes: UNREADABLE, reply: (valid) => ({ ...valid, body: '' }) },
  { name: 'JSON of something else', codes: UNREADABLE, reply: () => ({ body: { status: WORDS } }) },
  { name: 'a body that breaks off', codes: UNREADABLE, reply: (valid) => ({ ...half(valid), after: 'break' }) },
];

/** An upstream that fails in one way for each sample, and a caller that disconnects. */
export function audioFaultChecks(definition: AudioProviderDefinition): Check[] {
  const { upstream, samples } = definition;
  const all = (run: (sample: AudioSample) => Promise<void>) => () => Promise.all(samples.map(run));
  const leaving: Check = {
    name: 'ends at once when the caller leaves',
    run: all((sample) => endsAtOnce(definition, sample)),
  };
  if (!upstream) return [leaving];
  return [
    ...FAULTS.map((fault): Check => {
      return { name: `${fault.name} is named`, run: all((sample) => isNamed(definition, sample, fault)) };
    }),
    {
      name: "a caller's fault is asked once, and told",
      run: all((sample) => isReported(definition, sample, upstream)),
    },
    leaving,
  ];
}

async function isNamed(definition: AudioProviderDefinition, sample: AudioSample, fault: Fault): Promise<void> {
  const secrets = definition.secrets ?? [];
  // Upstreams often quote the request.
  const http = createFakeHttp((request) =>
    withWords(fault.reply(validReply(definition, sample, request)), [WORDS, ...secrets]),
  );
  const run = await runAudio({ definition, sample, http });
  const code = modelErrorOf(run)?.code;
  reportAll(
    [
      ...(code !== undefined && fault.codes.includes(code)
        ? []
        : [`expected ${fault.codes.join(' or ')}, got ${describeAudio(run)}`]),
      ...(http.requests.length <= MAX_TRIES ? [] : [`it asked ${http.requests.length} times`]),
      ...leakedSecrets([...secrets, WORDS], [run.transcript, run.made, run.error, run.setup.logs]),
    ].map((problem) => `${sample.operation}: ${problem}`),
  );
}

async function isReported(
  definition: AudioProviderDefinition,
  sample: AudioSample,
  { refusal }: AudioUpstreamScript,
): Promise<void> {
  const http = createFakeHttp([refusal]);
  const run = await runAudio({ definition, sample, http });
  const error = modelErrorOf(run);
  reportAll(
    [
      ...(error && CALLER_CODES.includes(error.code) ? [] : [`expected the caller's fault, got ${describeAudio(run)}`]),
      ...(error?.retryable === false ? [] : ['it may be asked again, the error says']),
      ...(http.requests.length === 1 ? [] : [`it asked ${http.requests.length} times`]),
      ...leakedSecrets(definition.secrets ?? [], [run.error, run.setup.logs]),
    ].map((problem) => `${sample.operation}: ${problem}`),
  );
}

async function endsAtOnce(definition: AudioProviderDefinition, sample: AudioSample): Promise<void> {
  const gone = new Error('the caller left');
  const ignoring: HttpClient = { request: () => new Promise(() => {}), stream: () => new Promise(() => {}) };
  const before = AbortSignal.abort(gone);
  await endsWith(gone, sample, runAudio({ definition, sample, signal: before, http: ignoring }));
  const leavers: ((leave: () => void, request: SentRequest) => FakeReply)[] = [
    (leave) => {
      setImmediate(leave);
      return { hang: true };
    },
    (leave, request) => {
      const valid = validReply(definition, sample, request);
      // A transcript is only returned when it is complete.
      if (takesAudio(sample.operation)) setImmediate(leave);
      return { ...half(valid), after: 'hang' };
    },
  ];
  if (!definition.upstream) {
    const late = new AbortController();
    setImmediate(() => late.abort(gone));
    await endsWith(gone, sample, runAudio({ definition, sample, signal: late.signal, http: ignoring }));
    return;
  }
  for (const leaver of leavers) {
    const late = new AbortController();
    const leave = () => late.abort(gone);
    const http = createFakeHttp((request) => leaver(leave, request));
    await endsWith(gone, sample, runAudio({ definition, sample, signal: late.signal, http, onChunk: leave }));
  }
}

async function endsWith(reason: Error, { operation }: AudioSample, run: Promise<AudioRun>): Promise<void> {
  const ended = await atOnce(run);
  assert(ended, `${operation} went on after the caller had left`);
  assert.equal(ended.error, reason, `${operation}: expected the reason of the signal, got ${describeAudio(ended)}`);
}

/** The vendors' error formats, all in one. */
function half(reply: FakeReply): Extract<FakeReply, { body?: unknown }> {
  assert('body' in reply, 'the good answer of the script has no body');
  const { body = '' } = reply;
  const isData = typeof body === 'object' && !(body instanceof Uint8Array);
  const whole = Buffer.from(isData ? JSON.stringify(body) : (body as Uint8Array));
  return { ...reply, body: whole.subarray(0, whole.length / 2) };
}
