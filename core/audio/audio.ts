import type {
  AudioOperation,
  AudioProvider,
  SpeechFormat,
  TranscribeCall,
  Transcript,
} from '../contracts/audio-provider.js';
import type { Usage } from '../contracts/media.js';
import type { Logger } from '../contracts/services.js';
import { GatewayError } from '../errors.js';
import type { Ffmpeg } from '../media/ffmpeg.js';
import type { ScratchFolders } from '../media/scratch-folders.js';
import type { PluginHost } from '../plugin-host.js';
import type { Registered, Registry } from '../registry.js';
import type { Audio, Heard, Sounding } from './audio-requests.js';
import { createSoundUploads } from './sound-uploads.js';
import { openSounding } from './sounding.js';
import { checkTranscript } from './transcript-check.js';

export interface AudioServiceOptions {
  registry: Registry;
  host: PluginHost;
  scratch: ScratchFolders;
  /** Default: none, and sound is passed on as the models make it. */
  ffmpeg?: Ffmpeg;
  logger: Logger;
}

interface Call {
  model: string;
  signal: AbortSignal;
}

export function createAudio({ registry, host, scratch, ffmpeg, logger }: AudioServiceOptions): Audio {
  /** The model's provider and its method. */
  function find<Operation extends AudioOperation>(model: string, operation: Operation) {
    const { entry, contribution } = findModel(registry, model, operation);
    const method = contribution[operation] as NonNullable<AudioProvider[Operation]>;
    return { entry, ask: method.bind(contribution) as NonNullable<AudioProvider[Operation]> };
  }

  async function hear(
    call: TranscribeCall,
    { entry, ask }: { entry: string; ask(call: TranscribeCall): Promise<Transcript> },
  ): Promise<Heard> {
    const transcript = await host.call(entry, call.signal, async (signal) =>
      checkTranscript(await ask({ ...call, signal }), call.sound),
    );
    return { ...transcript, usage: transcript.usage ?? { seconds: transcript.durationSeconds } };
  }

  async function sound<Wanted extends Call & { format: SpeechFormat }>(
    call: Wanted,
    counted: Usage,
    { entry, ask }: { entry: string; ask(call: Wanted): ReturnType<NonNullable<AudioProvider['speak']>> },
  ): Promise<Sounding> {
    const { format, signal } = call;
    const asked = (life: AbortSignal) => ask({ ...call, signal: life });
    return openSounding({ host, entry, format, ask: asked, counted, logger, signal, ...(ffmpeg && { ffmpeg }) });
  }

  return {
    receive: createSoundUploads({ scratch, ...(ffmpeg && { ffmpeg }) }),
    entryOf: (model, operation) => findModel(registry, model, operation).entry,
    transcribe: async (call) => hear(call, find(call.model, 'transcribe')),
    translate: async (call) => hear(call, find(call.model, 'translate')),
    speak: async (call) => sound(call, countCharacters(call.input), find(call.model, 'speak')),
    changeVoice: async (call) => sound(call, countSeconds(call.sound.seconds), find(call.model, 'changeVoice')),
    generateSound: async (call) => sound(call, countCharacters(call.text), find(call.model, 'generateSound')),
  };
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
