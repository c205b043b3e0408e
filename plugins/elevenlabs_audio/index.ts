/*
 * Serves speech, changed voices and sound effects from ElevenLabs. Audio is streamed as it arrives, up to 256 MiB, with
 * a limit on silence but none on the total time. A lost answer is not asked for again. The usage is the number of
 * characters that the vendor bills.
 */

import {
  type AudioProvider,
  type AudioStream,
  askUpstream,
  at,
  checkModelList,
  createUpstreams,
  definePlugin,
  type HttpStream,
  openAudioAnswer,
  type PluginContext,
  type UpstreamCheck,
  type Usage,
} from 'mediagate/plugin';
import {
  encodeEffect,
  encodeSpeech,
  encodeVoiceChange,
  type Model,
  type Options,
  OptionsSchema,
  refusalFailure,
  type WireRequest,
} from './requests.js';

/** Speech, changed voices and sound effects from ElevenLabs. */
export default definePlugin<typeof OptionsSchema>({
  name: 'elevenlabs_audio',
  apiVersion: 1,
  summary: 'Speech, changed voices and sound effects from ElevenLabs.',
  provides: ['audio'],
  options: OptionsSchema,
  setup: (context) => ({
    audioProviders: [createElevenlabsAudioProvider(context)],
    checkUpstreams: ({ signal }) => checkVendor(context, signal),
  }),
});

/** More than an hour without compression; the body flows, so this is no memory of ours. */
const MAX_SOUND_BYTES = 256 * 1024 * 1024;
/** Clients know how to wait, and give up on who keeps them waiting. */
const LONGEST_WAIT_MS = 5_000;

function createElevenlabsAudioProvider(context: PluginContext<Options>): AudioProvider {
  const { options, clock, hints, logger } = context;
  const { url, models, voices, budgetMs, idleMs, restMs, apiKey } = options;
  const limits = { budgetMs, restMs, longestWaitMs: LONGEST_WAIT_MS };
  const vendor = createUpstreams({ upstreams: [url], names: ['url'], clock, hints, logger, ...limits });

  async function ask(
    { path, contentType, body, format, textParam, ignored }: WireRequest,
    model: Model,
    signal: AbortSignal,
    timeoutMs: number,
  ): Promise<AudioStream> {
    const headers = { 'content-type': contentType, 'xi-api-key': apiKey };
    const request = { url, path, headers, body, signal, timeoutMs, idleMs, maxBytes: MAX_SOUND_BYTES };
    const names = { url, apiKey, model: model.upstreamModel, publicModel: model.id };
    const answer = await askUpstream(context, request, (refusal) =>
      refusalFailure(refusal, { names, textParam, now: clock.now() }),
    );
    const usage = readUsage(answer);
    return {
      ...(await openAudioAnswer(answer, format)),
      ...(usage && { usage: Promise.resolve(usage) }),
      ...(ignored.length > 0 && { ignored }),
    };
  }

  async function run(call: { model: string; signal: AbortSignal }, encode: (model: Model) => WireRequest) {
    const { signal } = call;
    signal.throwIfAborted();
    const model = models.find(({ id }) => id === call.model);
    if (!model) throw new Error(`${call.model} is not a model of this entry`);
    const request = encode(model);
    return vendor.run({
      model: model.id,
      signal,
      lost: 'nowhere',
      ask: (_url, remainingMs) => ask(request, model, signal, remainingMs),
    });
  }

  return {
    models,
    upstreams: () => vendor.states(),
    speak: (call) => run(call, (model) => encodeSpeech(call, model, voices)),
    changeVoice: (call) => run(call, (model) => encodeVoiceChange(call, model, voices)),
    generateSound: (call) => run(call, (model) => encodeEffect(call, model)),
  };
}

/** Its list of models needs the key. A key without that permission is a key nevertheless. */
function checkVendor(context: PluginContext<Options>, signal: AbortSignal): Promise<UpstreamCheck[]> {
  const { url, apiKey, models } = context.options;
  return checkModelList({
    context,
    upstream: 'url',
    url,
    headers: { 'xi-api-key': apiKey },
    models,
    options: { url: 'url', key: 'apiKey', model: 'models' },
    nameField: 'model_id',
    isLimitedKey: (json) => at(json, 'detail', 'status') === 'missing_permissions',
    signal,
  });
}

/** What the vendor bills; undefined where it does not say. */
function readUsage({ headers }: HttpStream): Usage | undefined {
  const cost = headers['character-cost'] ?? '';
  return /^\d{1,9}$/.test(cost) ? { characters: Number(cost) } : undefined;
}
