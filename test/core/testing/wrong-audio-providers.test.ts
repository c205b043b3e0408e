/** Wrong audio providers, each found by the kit. */

import { writeFile } from 'node:fs/promises';
import { buffer } from 'node:stream/consumers';
import { expect } from 'chai';
import {
  type AudioModel,
  type AudioProvider,
  type AudioStream,
  GatewayError,
  type HttpStream,
  type SpeakCall,
  type TranscribeCall,
  type Transcript,
} from 'mediagate';
import { encodeForm, openAudio } from 'mediagate/plugin';
import { type AudioProviderDefinition, type AudioSample, audioProviderChecks } from '../../../core/testing/index.js';
import { firstVariants } from '../../support/runner/variants.js';
import { type Context, failing, failureOf, inventedProvider, KEY, wrongCalls } from './invented-provider.js';

const URL = 'https://invented.example/audio';

interface Invented {
  models: readonly AudioModel[];
  transcribe(call: TranscribeCall, context: Context): Promise<Transcript>;
  speak(call: SpeakCall, context: Context): Promise<AudioStream>;
  methods: Partial<AudioProvider>;
}

const MODELS: readonly AudioModel[] = [
  { id: 'ear-1', operations: ['transcribe'] },
  { id: 'mouth-1', operations: ['speak'] },
];

const SAMPLES: readonly AudioSample[] = [
  {
    operation: 'transcribe',
    call: { language: 'de', granularity: 'word' },
    sends: (model) => ({ url: URL, fields: { model, language: 'de' }, file: 'file' }),
  },
  {
    operation: 'speak',
    call: { input: 'Six boats.', instructions: 'Calmly.' },
    ignores: ['instructions'],
    sends: (model) => ({ url: URL, fields: { model, input: 'Six boats.', format: 'mp3' } }),
  },
];

function definition({ models = MODELS, ...invented }: Partial<Invented>, samples = SAMPLES): AudioProviderDefinition {
  return {
    ...inventedProvider('audio', (context) => ({
      audioProviders: [
        {
          models,
          transcribe: (call) => (invented.transcribe ?? hearing)(call, context),
          speak: (call) => (invented.speak ?? speaking)(call, context),
          ...invented.methods,
        },
      ],
    })),
    secrets: [KEY],
    samples,
    upstream: {
      transcript: (_request, transcript) => ({ body: transcript }),
      audio: (request, bytesOf) => ({ body: bytesOf(JSON.parse(String(request.body)).format) }),
      refusal: { status: 400, body: { error: 'No.' } },
    },
  };
}

async function send(
  call: TranscribeCall | SpeakCall,
  { http, options: { key = '' } }: Context,
  more: object = {},
): Promise<HttpStream> {
  call.signal.throwIfAborted();
  const form =
    'audio' in call
      ? encodeForm({ model: call.model, ...(call.language && { language: call.language }) }, [
          { name: 'file', fileName: call.audio.filename, contentType: call.audio.contentType, content: call.audio },
        ])
      : {
          contentType: 'application/json',
          body: JSON.stringify({ model: call.model, input: call.input, format: call.format, ...more }),
        };
  const answer = await http.stream({
    url: URL,
    method: 'POST',
    headers: { 'content-type': form.contentType, authorization: key },
    body: form.body,
    signal: call.signal,
  });
  try {
    refuse(answer);
  } catch (error) {
    throw await released(answer, error);
  }
  return answer;
}

/** A body that is not read keeps its connection. */
async function released<Thrown>({ body }: Pick<HttpStream, 'body'>, error: Thrown): Promise<Thrown> {
  await body[Symbol.asyncIterator]().return?.();
  return error;
}

function refuse({ status, headers }: HttpStream): void {
  if (status === 400) throw new GatewayError('invalid_value', 'The model refused the request.');
  if (status !== 200 || headers['content-type']?.startsWith('text/')) throw failureOf(status);
}

const unreadable = () => new GatewayError('upstream_changed', 'That is nothing to hear.');

const hearing: Invented['transcribe'] = async (call, context) => {
  const { body } = await send(call, context);
  const text = (await buffer(body)).toString();
  const json = await Promise.resolve(text)
    .then(JSON.parse)
    .catch(() => ({}));
  if (typeof json.text !== 'string') throw unreadable();
  return json;
};

const speaking: Invented['speak'] = async (call, context) => {
  const { body, headers } = await send(call, context);
  const sound = headers['content-type'] === 'application/json' ? undefined : await openAudio(body, call.format);
  if (!sound) throw await released({ body }, unreadable());
  return { ...sound, ...(call.instructions && { ignored: ['instructions'] }) };
};

function speakingWrongly() {
  const wrong = wrongCalls(speaking, {
    usual: 'sample 2: speak',
    refusal: "a caller's fault is asked once, and told",
    refusalCode: 'invalid_value',
    leaving: ['ends at once when the caller leaves'],
  });
  return Object.fromEntries(Object.entries(wrong).map(([name, { ask, finds }]) => [name, { speak: ask, finds }]));
}

describe('the testing kit for audio providers', () => {
  const check = (invented: Partial<Invented>, only?: readonly string[], samples?: readonly AudioSample[]) =>
    failing(audioProviderChecks(definition(invented, samples)), only);
  const altering = (change: (sound: AudioStream) => AudioStream) => async (call: SpeakCall, context: Context) =>
    change(await speaking(call, context));
  const telling = (change: (transcript: Transcript) => Transcript) => async (call: TranscribeCall, context: Context) =>
    change(await hearing(call, context));
  it('passes one that keeps to the rules', async () => expect(await check({})).to.deep.equal([]));

  const wrong: Readonly<
    Record<string, Partial<Invented> & { finds: readonly string[]; samples?: readonly AudioSample[] }>
  > = {
    ...speakingWrongly(),
    'a model named twice': {
      models: [...MODELS, ...MODELS],
      finds: ['names its models and what they do'],
    },
    'a model that does nothing': {
      models: [...MODELS, { id: 'none', operations: [] }],
      finds: ['names its models and what they do'],
    },
    'an operation without a method': {
      models: [...MODELS, { id: 'more', operations: ['translate'] }],
      finds: ['has a method and a sample for each operation that a model lists'],
    },
    'an operation without a sample': {
      samples: SAMPLES.slice(0, 1),
      finds: ['has a method and a sample for each operation that a model lists'],
    },
    'a sample of what nobody offers': {
      models: MODELS.slice(0, 1),
      finds: ['has a method and a sample for each operation that a model lists', 'sample 2: speak'],
    },
    'a file that is cut': {
      transcribe: (call, context) =>
        hearing({ ...call, audio: { ...call.audio, size: call.audio.size - 100 } }, context),
      finds: ['sample 1: transcribe'],
    },
    'a file by another name': {
      transcribe: (call, context) => hearing({ ...call, audio: { ...call.audio, filename: 'upload' } }, context),
      finds: ['sample 1: transcribe'],
    },
    'a file of another type': {
      transcribe: (call, context) =>
        hearing({ ...call, audio: { ...call.audio, contentType: 'application/octet-stream' } }, context),
      finds: ['sample 1: transcribe'],
    },
    'a file that is written into': {
      async transcribe(call, context) {
        const transcript = await hearing(call, context);
        await writeFile(call.audio.path, 'gone');
        return transcript;
      },
      finds: ['sample 1: transcribe', 'leaves what it is given alone'],
    },
    'a setting that is lost': {
      transcribe: (call, context) => hearing({ ...call, language: undefined }, context),
      finds: ['sample 1: transcribe'],
    },
    'a member that nobody asked for': {
      speak: async (call, context) => {
        const { body } = await send(call, context, { extra: true });
        return { body, format: call.format, ignored: ['instructions'] };
      },
      finds: ['sample 2: speak'],
    },
    'words without their times': {
      transcribe: telling(({ words: _, ...transcript }) => transcript),
      finds: ['sample 1: transcribe'],
    },
    'segments in disorder': {
      transcribe: telling((transcript) => ({ ...transcript, segments: transcript.segments.toReversed() })),
      finds: ['sample 1: transcribe'],
    },
    'a length that is no number': {
      transcribe: telling((transcript) => ({ ...transcript, durationSeconds: Number.NaN })),
      finds: ['sample 1: transcribe'],
    },
    'half a transcript for a whole one': {
      async transcribe(call, context) {
        const { body } = await send(call, context);
        const text = await buffer(body).catch(() => Buffer.from('{"text":""}'));
        return { segments: [], ...JSON.parse(text.toString() || '{"text":""}') };
      },
      finds: ['an empty body is named', 'a body that breaks off is named'],
    },
    'bytes that are changed on the way': {
      speak: altering((sound) => ({
        ...sound,
        body: (async function* () {
          yield* sound.body;
          yield Buffer.from([0, 0]);
        })(),
      })),
      finds: ['sample 2: speak'],
    },
    'a format that is called another': {
      speak: altering((sound) => ({ ...sound, format: 'flac' })),
      finds: ['sample 2: speak', 'makes mp3, or says what it makes instead'],
    },
    'half a sound for a whole one': {
      speak: altering((sound) => ({
        ...sound,
        body: (async function* () {
          try {
            yield* sound.body;
          } catch {
            // As if that were all.
          }
        })(),
      })),
      finds: ['a body that breaks off is named', 'ends at once when the caller leaves'],
    },
    'anything that comes as a sound': {
      speak: async (call, context) => {
        const { body } = await send(call, context);
        return { body, format: call.format, ignored: ['instructions'] };
      },
      finds: ['an empty body is named', 'JSON of something else is named'],
    },
    'settings that are ignored in silence': {
      speak: altering(({ ignored: _, ...sound }) => sound),
      finds: ['sample 2: speak'],
    },
    'a text that is cut': {
      speak: (call, context) => speaking({ ...call, input: call.input.slice(0, 1_000) }, context),
      finds: ['takes a text as words: very much'],
    },
    'a text that is escaped': {
      speak: (call, context) => speaking({ ...call, input: call.input.replaceAll('<', '&lt;') }, context),
      finds: ['takes a text as words: markup'],
    },
    'usage that is no number': {
      speak: altering((sound) => ({ ...sound, usage: Promise.resolve({ characters: -1 }) })),
      finds: ['sample 2: speak'],
    },
  };

  for (const [name, { finds, samples, ...invented }] of firstVariants(
    Object.entries(wrong),
    ([, { finds }]) => finds,
  )) {
    it(`finds ${name}`, async () => expect(await check(invented, finds, samples)).to.have.members([...finds]));
  }

  describe('without an upstream', () => {
    const { upstream: _, ...offline } = definition({
      models: MODELS.slice(0, 1),
      transcribe: async ({ signal }) => {
        signal.throwIfAborted();
        // As one that takes some time.
        await new Promise((resolve) => setTimeout(resolve, 20));
        signal.throwIfAborted();
        return { text: 'Six boats.', segments: [] };
      },
    });
    const samples: readonly AudioSample[] = [{ operation: 'transcribe', expectedTranscript: { text: 'Six boats.' } }];

    it('passes one that keeps to the rules', async () => {
      expect(await failing(audioProviderChecks({ ...offline, samples }))).to.deep.equal([]);
    });

    it('finds a provider that transcribes something else', async () => {
      const wrongly: readonly AudioSample[] = [{ operation: 'transcribe', expectedTranscript: { text: 'Six coats.' } }];
      const names = await failing(audioProviderChecks({ ...offline, samples: wrongly }), ['sample 1: transcribe']);
      expect(names).to.have.length(1);
    });

    it('finds a secret request', async () => {
      const { upstream: _, ...asking } = definition({ models: MODELS.slice(0, 1) });
      const names = await failing(audioProviderChecks({ ...asking, samples }), ['sample 1: transcribe']);
      expect(names).to.have.length(1);
    });
  });
});
