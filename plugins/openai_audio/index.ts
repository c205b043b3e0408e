import {
  type AudioProvider,
  type AudioStream,
  createFailOver,
  definePlugin,
  openAudio,
  type PluginContext,
  type SpeakCall,
  type TranscribeCall,
  tryUpstream,
  uselessAnswer,
} from 'mediagate';
import {
  askedFormat,
  type Exchange,
  encodeSpeech,
  modelName,
  namesOf,
  type Options,
  OptionsSchema,
  refusalFailure,
  send,
  type Upstream,
} from './requests.js';
import { createTranscription, noWords, type Task } from './transcription.js';

/** Speech in both directions from any server of the OpenAI audio format. */
export default definePlugin<typeof OptionsSchema>({
  name: 'openai_audio',
  apiVersion: 1,
  summary: 'Transcription, translation and speech from servers of the OpenAI audio format, with fail-over.',
  provides: ['audio'],
  options: OptionsSchema,
  setup: (context) => ({ audioProviders: [createOpenaiAudioProvider(context)] }),
});

/** Clients of the format know how to wait, and give up on who keeps them waiting. */
const LONGEST_WAIT_MS = 5_000;

interface Call {
  model: string;
  signal: AbortSignal;
}

function createOpenaiAudioProvider(context: PluginContext<Options>): AudioProvider {
  const { options, clock, logger } = context;
  const { upstreams, models, budgetMs, restMs } = options;
  const failOver = createFailOver({ upstreams, clock, restMs });
  const transcription = createTranscription();

  function run<Result>(
    { model, signal }: Call,
    ask: (exchange: Exchange) => Promise<Result>,
    suits: (upstream: Upstream) => boolean = () => true,
  ): Promise<Result> {
    return failOver.run({
      budgetMs,
      longestWaitMs: LONGEST_WAIT_MS,
      signal,
      suits,
      work(upstream, remainingMs) {
        const member = `upstreams.${upstreams.indexOf(upstream)}`;
        const end = clock.monotonic() + remainingMs;
        return tryUpstream({ logger, clock, model, member, signal, lost: 'nowhere' }, () =>
          ask({ context, upstream, model, signal, end }),
        );
      },
    });
  }

  const transcribe = (task: Task) => async (call: TranscribeCall) => {
    call.signal.throwIfAborted();
    const suits = (upstream: Upstream) => transcription.suits(upstream, task, call);
    if (!upstreams.some(suits)) throw noWords();
    return run(call, (exchange) => transcription.ask(exchange, task, call), suits);
  };

  return {
    models,
    upstreams: () => failOver.states(),
    transcribe: transcribe('transcribe'),
    translate: transcribe('translate'),
    async speak(call) {
      call.signal.throwIfAborted();
      return run(call, (exchange) => askForSpeech(exchange, call));
    },
  };
}

/** More than an hour without compression; the body flows, so this is no memory of ours. */
const MAX_SPEECH_BYTES = 256 * 1024 * 1024;

/** One try. @throws TryFailure, or what the request threw, before the first byte; never after. */
async function askForSpeech(exchange: Exchange, call: SpeakCall): Promise<AudioStream> {
  const format = askedFormat(call.format, exchange.upstream);
  const { idleMs } = exchange.context.options;
  const request = encodeSpeech(call, modelName(exchange), format);
  const sent = await send(exchange, request, { maxBytes: MAX_SPEECH_BYTES, idleMs });
  if ('refusal' in sent) {
    throw refusalFailure(sent.refusal, namesOf(exchange), exchange.context.clock.now());
  }
  const { body, headers } = sent.answer;
  // A page of a proxy would pass for samples.
  const isSound = !/^(?:text|application\/(?:json|xml|problem))/i.test(headers['content-type'] ?? '');
  const sound = isSound ? await openAudio(body, format) : undefined;
  if (sound) return sound;
  await body[Symbol.asyncIterator]().return?.();
  throw uselessAnswer('The upstream answered with something that is not a sound.');
}
