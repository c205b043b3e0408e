import type {
  AudioOperation,
  AudioProvider,
  ChangeVoiceCall,
  GenerateSoundCall,
  SoundFile,
  SoundStream,
  SpeakCall,
  SpeechFormat,
  TranscribeCall,
  Transcript,
  Usage,
} from '../contracts/index.js';
import { type Ffmpeg, type ScratchFolders, SPEECH_FORMATS } from '../media/index.js';
import { inSpan, modelSpan } from '../observability/index.js';
import type { PluginHost, Registered, Registry } from '../plugins/index.js';
import { GatewayError, isGatewayError, unlessAborted, withDeadline } from '../runtime/index.js';
import { checkTranscript, convertSpeech, createSoundUploads } from './voice-conversion.js';

/** A sound that somebody sends. */
export interface SoundUpload {
  chunks: AsyncIterable<Uint8Array>;
  maxBytes: number;
  /** Name of the request's member, for errors. */
  param: string;
  signal: AbortSignal;
}

export interface UploadedSound extends SoundFile {
  /** To be called once nobody uses it any more. */
  remove(): Promise<void>;
}

/** One call of a model. */
export interface AudioExchange<Answer> {
  answer: Promise<Answer>;
  /** What was used, where anything was. Resolves when all has ended; never rejects. */
  ended: Promise<{ usage?: Usage }>;
}

/** Who does a piece of work. */
export interface AudioModelMatch {
  /** Plugin that only stands for something better that is not configured, where it does. */
  standIn?: string;
}

export interface Heard extends Transcript {
  durationSeconds: number;
  usage: Usage;
}

export interface AudioResponse {
  /** To be read once, to its end or until it is told to return. What it throws is a GatewayError. */
  body: AsyncIterable<Uint8Array>;
  contentType: string;
  ignored: readonly string[];
  /** Resolves when the body has ended, whole or not. */
  ended: Promise<AudioResponseEnd>;
}

export interface AudioResponseEnd {
  usage: Usage;
  /** Why it is not whole. */
  failure?: GatewayError;
}

/**
 * What audio models do. Answers reject with GatewayError: `model_not_found`, `model_not_supported` for a model of another
 * kind of work, what the model said, `upstream_timeout`, `queue_full`, `plugin_unavailable` where ffmpeg is needed and not
 * there; or with the reason of the call's signal.
 */
export interface Audio {
  /**
   * Takes a sound into a file of ours and looks at what it is.
   * @throws GatewayError `invalid_value` where it is no sound of a known container, or longer than three hours,
   *   `request_too_large`, `upstream_unavailable` where the disk is full; what the chunks throw.
   */
  receive(upload: SoundUpload): Promise<UploadedSound>;
  /**
   * Without any I/O.
   * @param input what is to be spoken, where anything is.
   * @throws GatewayError `model_not_found`, `model_not_supported`, `invalid_value` for an input longer than the model takes.
   */
  match(model: string, operation: AudioOperation, input?: string): AudioModelMatch;
  transcribe(call: TranscribeCall): AudioExchange<Heard>;
  /** To English. */
  translate(call: TranscribeCall): AudioExchange<Heard>;
  /** Answers with the first bytes; so do the others that make sound. */
  speak(call: SpeakCall): AudioExchange<AudioResponse>;
  changeVoice(call: ChangeVoiceCall): AudioExchange<AudioResponse>;
  generateSound(call: GenerateSoundCall): AudioExchange<AudioResponse>;
}

/** Of a model that says nothing: as many as the open format lets clients send. */
const MAX_CHARACTERS = 4_096;

export interface AudioServiceOptions {
  registry: Registry;
  host: PluginHost;
  scratch: ScratchFolders;
  /** Default: none, and sound is passed on as the models make it. */
  ffmpeg?: Ffmpeg;
}

interface SoundCall {
  model: string;
  format: SpeechFormat;
  signal: AbortSignal;
}

export function createAudio({ registry, host, scratch, ffmpeg }: AudioServiceOptions): Audio {
  const media = ffmpeg && { ffmpeg };

  function hear(operation: 'transcribe' | 'translate', call: TranscribeCall): AudioExchange<Heard> {
    const { model, sound } = call;
    const ask = async (): Promise<Heard> => {
      const { entry, contribution } = findModel(registry, model, operation);
      const transcript = await inSpan(modelSpan(operation, model, entry), () =>
        host.call('audio', entry, call.signal, async (signal) =>
          checkTranscript(offered(await contribution[operation]?.({ ...call, signal })), sound),
        ),
      );
      return { ...transcript, usage: transcript.usage ?? { seconds: transcript.durationSeconds } };
    };
    const answer = ask();
    return { answer, ended: endOf(answer, async (heard) => heard, call.signal, countSeconds(sound.seconds)) };
  }

  function sound(
    operation: 'speak' | 'changeVoice' | 'generateSound',
    { model, format, signal }: SoundCall,
    counted: Usage,
    make: (provider: AudioProvider, signal: AbortSignal) => Promise<SoundStream> | undefined,
  ): AudioExchange<AudioResponse> {
    const open = async (): Promise<AudioResponse> => {
      const { entry, contribution } = findModel(registry, model, operation);
      const ask = (life: AbortSignal) =>
        inSpan(modelSpan(operation, model, entry), async () => offered(await make(contribution, life)));
      return openAudioResponse({ host, entry, format, ask, counted, signal, ...media });
    };
    const answer = open();
    return { answer, ended: endOf(answer, ({ ended }) => ended, signal, counted) };
  }

  return {
    receive: createSoundUploads({ scratch, ...media }),
    match(model, operation, input) {
      const { entry, contribution } = findModel(registry, model, operation);
      if (input !== undefined) checkLength(input, longestText(contribution, model));
      const { standIn } = host.terms(entry);
      return standIn === undefined ? {} : { standIn };
    },
    transcribe: (call) => hear('transcribe', call),
    translate: (call) => hear('translate', call),
    speak: (call) =>
      sound('speak', call, countCharacters(call.input), (provider, signal) => provider.speak?.({ ...call, signal })),
    changeVoice: (call) =>
      sound('changeVoice', call, countSeconds(call.sound.seconds), (provider, signal) =>
        provider.changeVoice?.({ ...call, signal }),
      ),
    generateSound: (call) =>
      sound('generateSound', call, countCharacters(call.text), (provider, signal) =>
        provider.generateSound?.({ ...call, signal }),
      ),
  };
}

function longestText({ models }: AudioProvider, model: string): number {
  return models.find(({ id }) => id === model)?.maxCharacters ?? MAX_CHARACTERS;
}

/** As people count: what takes two units of UTF-16 is one character. */
function checkLength(input: string, maxCharacters: number): void {
  if (input.length <= maxCharacters || [...input].length <= maxCharacters) return;
  const message = `input must be a text of 1 to ${maxCharacters} characters for this model.`;
  throw new GatewayError('invalid_value', message, { param: 'input' });
}

/** The registry finds a provider for an operation only where it has the method. */
function offered<Value>(value: Value | undefined): Value {
  if (value === undefined) throw new Error('a provider answered nothing');
  return value;
}

/** A model that was told to stop, or was too slow, has worked all the same; one that failed has not. */
async function endOf<Answer>(
  answer: Promise<Answer>,
  lookAt: (answer: Answer) => Promise<{ usage: Usage }>,
  signal: AbortSignal,
  counted: Usage,
): Promise<{ usage?: Usage }> {
  try {
    const { usage } = await lookAt(await answer);
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
  const found = registry.audioProvider(model, operation);
  if (found) return found;
  const fitting = registry.audioModels(operation).join(', ') || 'none, since no provider of such models is ready';
  const isKnown = registry.models().some(({ id }) => id === model);
  const message = isKnown ? 'This model does other work' : 'There is no model of this name';
  throw new GatewayError(isKnown ? 'model_not_supported' : 'model_not_found', `${message}. Here work: ${fitting}.`, {
    param: 'model',
  });
}

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
