/*
 * Serves transcription, translation and speech from servers of the OpenAI audio format. A transcript with word
 * timestamps goes only to upstreams that give them. A lost answer is not asked for again: it may have been paid for.
 * Speech is streamed.
 */

import {
  type AudioProvider,
  bearerToken,
  checkModelList,
  createUpstreams,
  definePlugin,
  openAudioAnswer,
  type PluginContext,
  type TranscribeCall,
} from 'mediagate/plugin';
import {
  askedFormat,
  type Exchange,
  encodeSpeech,
  modelName,
  type Options,
  OptionsSchema,
  send,
  type Upstream,
} from './requests.js';
import { noWords, type Task, Transcription } from './transcription.js';

/** Speech in both directions from any server of the OpenAI audio format. */
export default definePlugin<typeof OptionsSchema>({
  name: 'openai_audio',
  apiVersion: 1,
  summary: 'Transcription, translation and speech from servers of the OpenAI audio format, with fail-over.',
  provides: ['audio'],
  options: OptionsSchema,
  setup: (context) => ({
    audioProviders: [createOpenaiAudioProvider(context)],
    async checkUpstreams({ signal }) {
      const { upstreams, models } = context.options;
      const checks = upstreams.map((upstream, index) =>
        checkModelList({
          context,
          upstream: `upstreams.${index}`,
          url: upstream.url,
          headers: bearerToken(upstream.apiKey),
          models: models.map(({ id }) => ({ id, upstreamModel: modelName({ context, upstream, model: id }) })),
          signal,
        }),
      );
      return (await Promise.all(checks)).flat();
    },
  }),
});

/** Clients of the format know how to wait, and give up on who keeps them waiting. */
const LONGEST_WAIT_MS = 5_000;

/** More than an hour without compression; the body flows, so this is no memory of ours. */
const MAX_SPEECH_BYTES = 256 * 1024 * 1024;

function createOpenaiAudioProvider(context: PluginContext<Options>): AudioProvider {
  const { options, clock, hints, logger } = context;
  const { upstreams, models, budgetMs, idleMs, restMs } = options;
  const all = createUpstreams({ upstreams, clock, hints, logger, budgetMs, restMs, longestWaitMs: LONGEST_WAIT_MS });
  const transcription = new Transcription();

  function run<Result>(
    { model, signal }: { model: string; signal: AbortSignal },
    ask: (exchange: Exchange) => Promise<Result>,
    suits?: (upstream: Upstream) => boolean,
  ): Promise<Result> {
    return all.run({
      model,
      signal,
      suits,
      lost: 'nowhere',
      ask: (upstream, remainingMs) => ask({ context, upstream, model, signal, end: clock.monotonic() + remainingMs }),
    });
  }

  const transcribe = (task: Task) => async (call: TranscribeCall) => {
    call.signal.throwIfAborted();
    const suits = (upstream: Upstream) => transcription.suits(upstream, task, call);
    if (!upstreams.some(suits)) throw noWords();
    return run(call, (exchange) => transcription.ask(exchange, task, call), suits);
  };

  return {
    models: models.map((model) => ({ ...model, takesOptions: true })),
    upstreams: () => all.states(),
    transcribe: transcribe('transcribe'),
    translate: transcribe('translate'),
    async speak(call) {
      call.signal.throwIfAborted();
      return run(call, async (exchange) => {
        const format = askedFormat(call.format, exchange.upstream);
        const request = encodeSpeech(call, modelName(exchange), format);
        return openAudioAnswer(await send(exchange, request, { maxBytes: MAX_SPEECH_BYTES, idleMs }), format);
      });
    },
  };
}
