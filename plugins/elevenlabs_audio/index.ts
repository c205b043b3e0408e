import {
  type AudioProvider,
  type AudioStream,
  createFailOver,
  definePlugin,
  type HttpStream,
  openAudio,
  type PluginContext,
  readRefusal,
  tryUpstream,
  type Usage,
  uselessAnswer,
} from 'mediagate';
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
  setup: (context) => ({ audioProviders: [createElevenlabsAudioProvider(context)] }),
});

/** More than an hour without compression; the body flows, so this is no memory of ours. */
const MAX_SOUND_BYTES = 256 * 1024 * 1024;
/** Clients know how to wait, and give up on who keeps them waiting. */
const LONGEST_WAIT_MS = 5_000;

function createElevenlabsAudioProvider(context: PluginContext<Options>): AudioProvider {
  const { options, http, clock, logger } = context;
  const { models, voices, budgetMs, idleMs, restMs, apiKey } = options;
  const url = options.url.replace(/\/+$/, '');
  const failOver = createFailOver({ upstreams: [url], clock, restMs });

  async function ask(
    { path, contentType, body, format, textParam, ignored }: WireRequest,
    model: Model,
    signal: AbortSignal,
    remainingMs: number,
  ): Promise<AudioStream> {
    const answer = await http.stream({
      url: url + path,
      method: 'POST',
      headers: { 'content-type': contentType, 'xi-api-key': apiKey },
      body,
      signal,
      timeoutMs: Math.max(1, remainingMs),
      idleMs,
      maxBytes: MAX_SOUND_BYTES,
    });
    if (answer.status !== 200) {
      const names = { url, apiKey, model: model.upstreamModel, publicModel: model.id };
      throw refusalFailure(await readRefusal(answer, clock), { names, textParam, now: clock.now() });
    }
    // A page of a proxy would pass for samples.
    const isSound = !/^(?:text|application\/(?:json|xml|problem))/i.test(answer.headers['content-type'] ?? '');
    const sound = isSound ? await openAudio(answer.body, format) : undefined;
    if (!sound) {
      await answer.body[Symbol.asyncIterator]().return?.();
      throw uselessAnswer('The vendor answered with something that is not a sound.');
    }
    const usage = readUsage(answer);
    return { ...sound, ...(usage && { usage: Promise.resolve(usage) }), ...(ignored.length > 0 && { ignored }) };
  }

  function run(call: { model: string; signal: AbortSignal }, encode: (model: Model) => WireRequest) {
    const { signal } = call;
    signal.throwIfAborted();
    const model = models.find(({ id }) => id === call.model);
    if (!model) throw new Error(`${call.model} is not a model of this entry`);
    const request = encode(model);
    return failOver.run({
      budgetMs,
      longestWaitMs: LONGEST_WAIT_MS,
      signal,
      work: (_url, remainingMs) =>
        tryUpstream({ logger, clock, model: model.id, member: 'url', signal, lost: 'nowhere' }, () =>
          ask(request, model, signal, remainingMs),
        ),
    });
  }

  return {
    models,
    upstreams: () => failOver.states().map((state) => ({ ...state, name: 'url' })),
    speak: async (call) => run(call, (model) => encodeSpeech(call, model, voices)),
    changeVoice: async (call) => run(call, (model) => encodeVoiceChange(call, model, voices)),
    generateSound: async (call) => run(call, (model) => encodeEffect(call, model)),
  };
}

/** What the vendor bills; undefined where it does not say. */
function readUsage({ headers }: HttpStream): Usage | undefined {
  const cost = headers['character-cost'] ?? '';
  return /^\d{1,9}$/.test(cost) ? { characters: Number(cost) } : undefined;
}
