/*
 * The service of audio models: transcription, translation, speech, voice conversion, sound effects. Every call ends
 * with a usage: the reported one, or the counted characters or seconds if the client left or the model was too slow; a
 * failed model has used nothing. A response is answered at its first bytes, so an earlier failure is still an HTTP
 * error. A stream that is silent for 30 seconds or exceeds 256 MiB ends. The policy of the plugin instance is read
 * before the stream begins, because the instance may be unloaded meanwhile.
 */

import type {
  AudioInputFile,
  AudioOperation,
  AudioProvider,
  AudioStream,
  ChangeVoiceCall,
  GenerateSoundCall,
  SpeakCall,
  SpeechFormat,
  TranscribeCall,
  Transcript,
  Usage,
} from '../contracts/index.js';
import { type Ffmpeg, type ScratchFolders, SPEECH_FORMATS } from '../media/index.js';
import { inSpan, modelSpan } from '../observability/index.js';
import { type PluginHost, type Registered, type Registry, readReportedUsage } from '../plugins/index.js';
import { GatewayError, isGatewayError, unlessAborted, withDeadline } from '../runtime/index.js';
import { checkTranscript, convertSpeech, receiveAudio } from './voice-conversion.js';

/** An audio file sent by a client. */
export interface AudioUpload {
  chunks: AsyncIterable<Uint8Array>;
  maxBytes: number;
  /** Name of the request's field, for errors. */
  param: string;
  signal: AbortSignal;
}

export interface UploadedAudio extends AudioInputFile {
  /**
   * Decodes the whole file, in at most two minutes, for its length in seconds; `seconds` is only what the file states.
   * Undefined without ffmpeg.
   * @throws GatewayError `invalid_value` if it is longer than three hours, or only a part of it can be decoded,
   *   `queue_full`; the signal's reason.
   */
  measure(signal: AbortSignal): Promise<number | undefined>;
  /** Must be called when the file is no longer used. */
  remove(): Promise<void>;
}

/** One call of a model. */
export interface AudioExchange<Answer> {
  answer: Promise<Answer>;
  /** What was used, if anything. Resolves when everything has ended; never rejects. */
  ended: Promise<{ usage?: Usage }>;
}

/** Which provider handles a model. */
export interface AudioModelMatch {
  /** Name of the plugin, if it only replaces a provider that is not configured. */
  standIn?: string;
  /** Whether options and speakers of a transcription are sent to the vendor. */
  takesOptions: boolean;
}

export interface TranscriptionResult extends Transcript {
  durationSeconds: number;
  usage: Usage;
}

export interface AudioResponse {
  /** Must be read once, to its end or until `return` is called. It throws GatewayErrors. */
  body: AsyncIterable<Uint8Array>;
  contentType: string;
  ignored: readonly string[];
  /** Resolves when the body has ended, complete or not. */
  ended: Promise<AudioResponseEnd>;
}

export interface AudioResponseEnd {
  usage: Usage;
  /** Why it is incomplete. */
  failure?: GatewayError;
}

/** Limit of a model that states none: the maximum of the open format. */
const MAX_CHARACTERS = 4_096;

export interface AudioServiceOptions {
  registry: Registry;
  host: PluginHost;
  scratch: ScratchFolders;
  /** Default: none, and audio is passed on as the models produce it. */
  ffmpeg?: Ffmpeg;
}

/** What the gateway sets of a call. */
interface CallLife {
  /** Id of the model. */
  model: string;
  signal: AbortSignal;
}

interface InputCall {
  model: string;
  format: SpeechFormat;
  signal: AbortSignal;
}

/**
 * The operations of audio models. Answers reject with GatewayError: `model_not_found`, `model_not_supported` for a
 * model of another operation, errors of the model, `upstream_timeout`, `queue_full`, `plugin_unavailable` if ffmpeg is
 * needed and missing; or with the reason of the call's signal.
 */
export class Audio {
  readonly #options: AudioServiceOptions;

  constructor(options: AudioServiceOptions) {
    this.#options = options;
  }

  /**
   * Writes an audio upload to a local file and probes it.
   * @throws GatewayError `invalid_value` if it is no audio of a known container, or longer than three hours,
   *   `request_too_large`, `upstream_unavailable` if the disk is full; what the chunks throw.
   */
  receive(upload: AudioUpload): Promise<UploadedAudio> {
    return receiveAudio(upload, this.#options);
  }

  /**
   * As {@link receive}, of an MP3 that this gateway has made: for models it is made smaller, if there is an ffmpeg.
   */
  receiveMp3({ chunks, ...upload }: AudioUpload): Promise<UploadedAudio> {
    const { ffmpeg } = this.#options;
    const { signal } = upload;
    const body = ffmpeg ? convertSpeech({ body: chunks, from: 'mp3', to: 'opus', ffmpeg, signal }) : chunks;
    return this.receive({ ...upload, chunks: body });
  }

  /**
   * Without any I/O.
   * @param input The text to be spoken, if any.
   * @throws GatewayError `model_not_found`, `model_not_supported`, `invalid_value` for an input longer than the model
   *   accepts.
   */
  match(asked: string, operation: AudioOperation, input?: string): AudioModelMatch {
    const { registry, host } = this.#options;
    const model = registry.resolve(asked);
    const { entry, contribution } = findModel(registry, model, operation);
    if (input !== undefined) checkLength(input, longestText(contribution, model));
    const { standIn } = host.policy(entry);
    const takesOptions = contribution.models.find(({ id }) => id === model)?.takesOptions ?? false;
    return { takesOptions, ...(standIn !== undefined && { standIn }) };
  }

  transcribe(call: TranscribeCall): AudioExchange<TranscriptionResult> {
    return this.#transcribeWith('transcribe', call);
  }

  /** Translates to English. */
  translate(call: TranscribeCall): AudioExchange<TranscriptionResult> {
    return this.#transcribeWith('translate', call);
  }

  /** Answers with the first bytes, as do the other methods that produce audio. */
  speak(call: SpeakCall): AudioExchange<AudioResponse> {
    return this.#make('speak', call, countCharacters(call.input), (provider, life) =>
      provider.speak?.({ ...call, ...life }),
    );
  }

  changeVoice(call: ChangeVoiceCall): AudioExchange<AudioResponse> {
    return this.#make('changeVoice', call, countSeconds(call.audio.seconds), (provider, life) =>
      provider.changeVoice?.({ ...call, ...life }),
    );
  }

  generateSound(call: GenerateSoundCall): AudioExchange<AudioResponse> {
    return this.#make('generateSound', call, countCharacters(call.text), (provider, life) =>
      provider.generateSound?.({ ...call, ...life }),
    );
  }

  #transcribeWith(operation: 'transcribe' | 'translate', call: TranscribeCall): AudioExchange<TranscriptionResult> {
    const { registry, host } = this.#options;
    const { audio } = call;
    const model = registry.resolve(call.model);
    const ask = async (): Promise<TranscriptionResult> => {
      const { entry, contribution } = findModel(registry, model, operation);
      const transcript = await inSpan(modelSpan(operation, model, entry), () =>
        host.call('audio', entry, call.signal, async (signal) =>
          checkTranscript(offered(await contribution[operation]?.({ ...call, model, signal })), audio),
        ),
      );
      // A vendor that reports tokens may still be paid by the second.
      const usage = { seconds: transcript.durationSeconds, ...readReportedUsage(transcript.usage) };
      return { ...transcript, usage };
    };
    const answer = ask();
    return { answer, ended: endOf(answer, async (transcript) => transcript, call.signal, countSeconds(audio.seconds)) };
  }

  #make(
    operation: 'speak' | 'changeVoice' | 'generateSound',
    { model: asked, format, signal }: InputCall,
    counted: Usage,
    make: (provider: AudioProvider, life: CallLife) => Promise<AudioStream> | undefined,
  ): AudioExchange<AudioResponse> {
    const { registry, host, ffmpeg } = this.#options;
    const model = registry.resolve(asked);
    const open = async (): Promise<AudioResponse> => {
      const { entry, contribution } = findModel(registry, model, operation);
      const ask = (life: AbortSignal) =>
        inSpan(modelSpan(operation, model, entry), async () =>
          offered(await make(contribution, { model, signal: life })),
        );
      return openAudioResponse({ host, entry, format, ask, counted, signal, ffmpeg });
    };
    const answer = open();
    return { answer, ended: endOf(answer, ({ ended }) => ended, signal, counted) };
  }
}

function longestText({ models }: AudioProvider, model: string): number {
  return models.find(({ id }) => id === model)?.maxCharacters ?? MAX_CHARACTERS;
}

/** Counts characters: a surrogate pair counts as one. */
function checkLength(input: string, maxCharacters: number): void {
  if (input.length <= maxCharacters || [...input].length <= maxCharacters) return;
  const message = `input must be a text of 1 to ${maxCharacters} characters for this model.`;
  throw new GatewayError('invalid_value', message, { param: 'input' });
}

/** The registry returns a provider for an operation only if it has the method. */
function offered<Value>(value: Value | undefined): Value {
  if (value === undefined) throw new Error('a provider answered nothing');
  return value;
}

/** A model that was aborted or too slow has done work; a failed one has not. */
async function endOf<Answer>(
  answer: Promise<Answer>,
  readUsage: (answer: Answer) => Promise<{ usage: Usage }>,
  signal: AbortSignal,
  counted: Usage,
): Promise<{ usage?: Usage }> {
  try {
    const { usage } = await readUsage(await answer);
    return { usage };
  } catch (error) {
    const isLate = isGatewayError(error) && error.code === 'upstream_timeout';
    return signal.aborted || isLate ? { usage: counted } : {};
  }
}

function countCharacters(text: string): Usage {
  return { characters: [...text].length, estimated: true };
}

function countSeconds(seconds: number | undefined): Usage {
  return { ...(seconds !== undefined && { seconds }), estimated: true };
}

function findModel(registry: Registry, model: string, operation: AudioOperation): Registered<AudioProvider> {
  registry.checkOpen(model);
  const found = registry.audioProvider(model, operation);
  if (found) return found;
  const fitting = registry.audioModels(operation).join(', ') || 'none, since no provider of such models is ready';
  const isKnown = registry.models().some(({ id }) => id === model);
  const message = isKnown ? 'This model is of another kind' : 'There is no model with this name';
  throw new GatewayError(isKnown ? 'model_not_supported' : 'model_not_found', `${message}. Available: ${fitting}.`, {
    param: 'model',
  });
}

/** Maximum time between two chunks of a model's audio. */
const IDLE_MS = 30_000;
/** More than an hour of the largest format. */
const MAX_BYTES = 256 * 1024 * 1024;
/** A model reports its usage, if at all, with the last byte. */
const USAGE_MS = 1_000;

export interface AudioResponseOptions {
  host: Pick<PluginHost, 'call' | 'policy'>;
  entry: string;
  format: SpeechFormat;
  /** Calls the model. Its signal aborts when the client no longer needs the audio, also while it streams. */
  ask(signal: AbortSignal): Promise<AudioStream>;
  /** Usage if the model reports none. */
  counted: Usage;
  ffmpeg?: Ffmpeg;
  /** The caller's signal. */
  signal: AbortSignal;
  /** Milliseconds. Default 30,000. */
  idleMs?: number;
}

/** A model's audio in the requested format, from its first bytes on. */
export async function openAudioResponse(options: AudioResponseOptions): Promise<AudioResponse> {
  const { host, entry, format, ask, counted, ffmpeg, signal, idleMs = IDLE_MS } = options;
  // The plugin instance may be unloaded before its audio has ended.
  const { failureOf } = host.policy(entry);
  const life = new AbortController();
  const stop = () => life.abort(signal.reason);
  signal.addEventListener('abort', stop, { once: true });
  const ended = Promise.withResolvers<AudioResponseEnd>();
  // Also if reading never started.
  life.signal.addEventListener('abort', () => ended.resolve({ usage: counted, failure: abandoned() }), { once: true });

  async function begin(callSignal: AbortSignal) {
    callSignal.addEventListener('abort', () => life.abort(callSignal.reason), { once: true });
    const stream = await ask(life.signal);
    const source = limited(stream.body, { signal: life.signal, idleMs });
    const body = convertSpeech({ body: source, from: stream.format, to: format, ffmpeg, signal: life.signal });
    const first = await unlessAborted(life.signal, body.next());
    if (first.done) throw new GatewayError('upstream_changed', 'The model returned no audio.');
    return { stream, body, first: first.value };
  }

  /** A model may never report the usage of audio that broke off. */
  async function usageOf({ usage }: AudioStream, failure: GatewayError | undefined): Promise<Usage> {
    if (!usage || failure) return counted;
    const reported = await withDeadline(USAGE_MS, () => usage, { error: stoppedInTheMiddle }).catch(() => undefined);
    return readReportedUsage(reported) ?? counted;
  }

  async function* flow({ stream, body, first }: Awaited<ReturnType<typeof begin>>): AsyncGenerator<Uint8Array> {
    let failure: GatewayError | undefined = abandoned();
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
      life.abort(new Error('the audio has ended'));
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
      // The first chunk may take as long as the call.
      const next = await (bytes === 0 ? coming : withDeadline(idleMs, () => coming, { error: stoppedInTheMiddle }));
      if (next.done) return;
      bytes += next.value.length;
      if (bytes > MAX_BYTES) throw new GatewayError('upstream_changed', 'The audio of the model does not end.');
      if (next.value.length > 0) yield next.value;
    }
  } finally {
    // It may still wait for the next chunk; its signal ends that.
    pieces.return?.().catch(() => undefined);
  }
}

function stoppedInTheMiddle(): GatewayError {
  return new GatewayError('upstream_timeout', 'The model stopped in the middle of its audio.');
}

function abandoned(): GatewayError {
  return new GatewayError('bad_request', 'The client left before the end of the audio.');
}
