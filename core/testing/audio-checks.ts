import assert from 'node:assert';
import type { AudioModel, AudioOperation, SpeechFormat } from '../contracts/index.js';
import type { AudioProviderDefinition, AudioSample } from './audio-definition.js';
import { audioFaultChecks } from './audio-fault-checks.js';
import {
  audioProblems,
  ignoredProblems,
  inventAudio,
  SPEECH_FORMATS,
  TRANSCRIPT,
  transcriptProblems,
} from './audio-results.js';
import { type AudioRun, describeAudio, modelsFor, runAudio, takesAudio } from './audio-run.js';
import { sentProblems } from './audio-sent.js';
import { willingUpstream } from './audio-upstream.js';
import { type Check, describeChecks, reportAll } from './check.js';
import { createFakeHttp } from './fake-http.js';
import { compare } from './matchers.js';
import { leakedSecrets } from './secrets.js';
import { audioProviderOf, setUpPlugin } from './setup.js';

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
