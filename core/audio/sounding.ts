import type { SoundStream, SpeechFormat, Usage } from '../contracts/index.js';
import type { Ffmpeg } from '../media/index.js';
import { SPEECH_FORMATS } from '../media/index.js';
import type { PluginHost } from '../plugins/index.js';
import { GatewayError, unlessAborted, withDeadline } from '../runtime/index.js';
import type { AudioResponse, AudioResponseEnd } from './audio.js';
import { convertSpeech } from './voice-conversion.js';

/** Between two pieces of a model's sound. */
const IDLE_MS = 30_000;
/** More than an hour of the largest format. */
const MAX_BYTES = 256 * 1024 * 1024;
/** A model that tells what was used tells it with the last byte. */
const USAGE_MS = 1_000;

export interface AudioResponseOptions {
  host: Pick<PluginHost, 'call' | 'terms'>;
  entry: string;
  format: SpeechFormat;
  /** Asks the model. Its signal aborts when nobody wants the sound any more, also while it flows. */
  ask(signal: AbortSignal): Promise<SoundStream>;
  /** What was used where the model does not tell. */
  counted: Usage;
  ffmpeg?: Ffmpeg;
  /** The caller's. */
  signal: AbortSignal;
  /** Milliseconds. Default 30,000. */
  idleMs?: number;
}

/** A model's sound in the wanted format, from its first bytes on. */
export async function openAudioResponse(options: AudioResponseOptions): Promise<AudioResponse> {
  const { host, entry, format, ask, counted, ffmpeg, signal, idleMs = IDLE_MS } = options;
  // The entry may be gone before its sound is.
  const { failureOf } = host.terms(entry);
  const life = new AbortController();
  const stop = () => life.abort(signal.reason);
  signal.addEventListener('abort', stop, { once: true });
  const ended = Promise.withResolvers<AudioResponseEnd>();
  // Also where nobody ever began to read.
  life.signal.addEventListener('abort', () => ended.resolve({ usage: counted, failure: unheard() }), { once: true });

  async function begin(callSignal: AbortSignal) {
    callSignal.addEventListener('abort', () => life.abort(callSignal.reason), { once: true });
    const stream = await ask(life.signal);
    const source = limited(stream.body, { signal: life.signal, idleMs });
    const body = convertSpeech({ body: source, from: stream.format, to: format, ffmpeg, signal: life.signal });
    const first = await unlessAborted(life.signal, body.next());
    if (first.done) throw new GatewayError('upstream_changed', 'The model made no sound.');
    return { stream, body, first: first.value };
  }

  /** Of a sound that broke off, nobody may ever tell. */
  async function usageOf({ usage }: SoundStream, failure: GatewayError | undefined): Promise<Usage> {
    if (!usage || failure) return counted;
    const told = await withDeadline(USAGE_MS, () => usage, { error: stoppedInTheMiddle }).catch(() => undefined);
    return told ?? counted;
  }

  async function* flow({ stream, body, first }: Awaited<ReturnType<typeof begin>>): AsyncGenerator<Uint8Array> {
    let failure: GatewayError | undefined = unheard();
    try {
      yield first;
      for (;;) {
        const next = await unlessAborted(life.signal, body.next());
        if (next.done) break;
        yield next.value;
      }
      failure = undefined;
    } catch (error) {
      failure = failureOf('audio', error, life.signal);
      throw failure;
    } finally {
      signal.removeEventListener('abort', stop);
      ended.resolve({ usage: await usageOf(stream, failure), ...(failure && { failure }) });
      life.abort(new Error('the sound has ended'));
    }
  }

  try {
    const begun = await host.call('audio', entry, signal, begin);
    const { contentType } = SPEECH_FORMATS[format];
    return { body: flow(begun), contentType, ignored: begun.stream.ignored ?? [], ended: ended.promise };
  } catch (error) {
    signal.removeEventListener('abort', stop);
    life.abort(error);
    throw error;
  }
}

async function* limited(
  body: AsyncIterable<Uint8Array>,
  { signal, idleMs }: { signal: AbortSignal; idleMs: number },
): AsyncGenerator<Uint8Array> {
  const pieces = body[Symbol.asyncIterator]();
  let bytes = 0;
  try {
    for (;;) {
      const coming = unlessAborted(signal, pieces.next());
      // The first has as long as the call has.
      const next = await (bytes === 0 ? coming : withDeadline(idleMs, () => coming, { error: stoppedInTheMiddle }));
      if (next.done) return;
      bytes += next.value.length;
      if (bytes > MAX_BYTES) throw new GatewayError('upstream_changed', 'The sound of the model does not end.');
      if (next.value.length > 0) yield next.value;
    }
  } finally {
    // It may be waiting for its next piece still; its signal is what ends that.
    pieces.return?.().catch(() => undefined);
  }
}

function stoppedInTheMiddle(): GatewayError {
  return new GatewayError('upstream_timeout', 'The model stopped in the middle of its sound.');
}

function unheard(): GatewayError {
  return new GatewayError('bad_request', 'Nobody heard the sound to its end.');
}
