import { type AudioProvider, createFailOver, type PluginContext, type TranscribeCall, tryUpstream } from 'mediagate';
import type { Exchange } from './exchange.js';
import { askForSpeech } from './speech.js';
import { createTranscription, noWords, type Task } from './transcription.js';
import type { Options, Upstream } from './upstream.js';

/** Clients of the format know how to wait, and give up on who keeps them waiting. */
const LONGEST_WAIT_MS = 5_000;

interface Call {
  model: string;
  signal: AbortSignal;
}

export function createOpenaiAudioProvider(context: PluginContext<Options>): AudioProvider {
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
