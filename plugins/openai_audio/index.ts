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
  UpstreamWeights,
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

/** An upstream with its name in the log. */
type Member = Upstream & { member: string; weight: number };

function createOpenaiAudioProvider(context: PluginContext<Options>): AudioProvider {
  const { options, clock, hints, logger } = context;
  const { models, budgetMs, idleMs, restMs } = options;
  const upstreams = options.upstreams.map((one, index) => ({ ...one, member: `upstreams.${index}`, weight: 1 }));
  // The first one that works gets all requests, until an operator weighs them.
  const weights = new Map(models.map(({ id }) => [id, new UpstreamWeights<Member>({ isOrdered: true })]));
  const weightOf = (upstream: Member, model = '') => weights.get(model)?.of(upstream);
  const limits = { budgetMs, restMs, longestWaitMs: LONGEST_WAIT_MS };
  const all = createUpstreams({ upstreams, clock, hints, logger, weightOf, ...limits });
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
    models: models.map((model) => {
      const at = (upstream: Member) => ({ ...upstream, model: modelName({ context, upstream, model: model.id }) });
      const own = upstreams.flatMap((upstream) => weights.get(model.id)?.describe(at(upstream)) ?? []);
      return { ...model, takesOptions: true, upstreams: own };
    }),
    upstreams: () => all.states(),
    weigh: (model, changed) => weights.get(model)?.change(changed),
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
