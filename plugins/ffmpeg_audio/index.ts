/*
 * Mock audio models that need only ffmpeg. A voice change shifts pitch and formants by a factor for each voice: the
 * samples are played at another speed and then brought back to their old length, so that words and duration stay.
 * Recordings above 300 seconds are refused; the length is counted by decoding, because the duration that a file states
 * can be wrong. Each call runs ffmpeg as a child process and takes CPU time there, none in the event loop.
 */

import {
  type AudioFilters,
  type AudioInputFile,
  type AudioStream,
  type ChangeVoiceCall,
  definePlugin,
  GatewayError,
  Type,
} from 'mediagate/plugin';
import { begun, createSoundEffects, RATE } from './sounds.js';

const options = Type.Object(
  {
    models: Type.Array(
      Type.Object(
        {
          id: Type.String({ minLength: 1, description: 'Public name of the model.' }),
          operations: Type.Array(Type.Union([Type.Literal('changeVoice'), Type.Literal('generateSound')]), {
            minItems: 1,
            description: 'What the model does.',
          }),
        },
        { additionalProperties: false },
      ),
      {
        minItems: 1,
        default: [
          { id: 'tts_multilingual_sts_v2', operations: ['changeVoice'] },
          { id: 'tts_text_to_sound_v2', operations: ['generateSound'] },
        ],
        description: 'Public names of the mock models, and what each does.',
      },
    ),
  },
  { additionalProperties: false },
);

/** Sounds made here, offline, by filters and oscillators; no model has a part in them. */
export default definePlugin<typeof options>({
  name: 'ffmpeg_audio',
  apiVersion: 1,
  summary: 'Mock audio models: change voices by pitch and create some common sound effects, with ffmpeg only.',
  provides: ['audio'],
  needs: ['ffmpeg'],
  standIn: true,
  options,
  setup: ({ options: { models }, ffmpeg }) => ({
    audioProviders: [{ models, changeVoice: createVoiceChange(ffmpeg), generateSound: createSoundEffects(ffmpeg) }],
  }),
});

/** How a voice is made of another one. */
interface Voice {
  /** Pitch and formants, times those of the speaker: above 1, a smaller throat. */
  throat: number;
  /** Decibels from 3 kHz up. */
  brightness: number;
}

const VOICES: Readonly<Record<string, Voice>> = {
  alloy: { throat: 1.12, brightness: 0 },
  ash: { throat: 0.88, brightness: 1 },
  ballad: { throat: 0.94, brightness: -3 },
  cedar: { throat: 0.8, brightness: -2 },
  coral: { throat: 1.22, brightness: 2 },
  echo: { throat: 0.85, brightness: 2 },
  fable: { throat: 1.06, brightness: 3 },
  marin: { throat: 1.18, brightness: -2 },
  nova: { throat: 1.3, brightness: 3 },
  onyx: { throat: 0.72, brightness: -4 },
  sage: { throat: 1.15, brightness: -4 },
  shimmer: { throat: 1.4, brightness: 5 },
  verse: { throat: 0.92, brightness: 4 },
};
const MAX_SECONDS = 300;
/** Low: these samples are only counted. */
const COUNTING_RATE = 8_000;
const BYTES_PER_SAMPLE = 2;
/** The rate that is pretended to be another: high enough that nothing audible is lost on the way down. */
const WORKING_RATE = 48_000;

/** Moves a voice to another pitch; how long it is, and what is said, stays. */
function createVoiceChange(ffmpeg: AudioFilters) {
  return async ({ audio, voice: name, options, signal }: ChangeVoiceCall): Promise<AudioStream> => {
    const voice = voiceOf(name);
    if (await isTooLong(audio, ffmpeg, signal)) {
      throw new GatewayError('invalid_value', `The audio is longer than ${MAX_SECONDS} seconds.`, { param: 'audio' });
    }
    const filters = filtersOf(voice);
    const samples = ffmpeg.samples({ audio, filters, rate: RATE, maxSeconds: MAX_SECONDS, signal });
    return { body: await begun(samples, failTooShort), format: 'pcm', ignored: Object.keys(options) };
  };
}

/** Counted, whatever duration the file states: half of the audio would be a wrong answer that looks right. */
async function isTooLong(audio: AudioInputFile, ffmpeg: AudioFilters, signal: AbortSignal): Promise<boolean> {
  if (audio.seconds !== undefined && audio.seconds > MAX_SECONDS) return true;
  let bytes = 0;
  const samples = ffmpeg.samples({ audio, filters: 'anull', rate: COUNTING_RATE, maxSeconds: MAX_SECONDS + 1, signal });
  for await (const chunk of samples) bytes += chunk.length;
  return bytes > MAX_SECONDS * COUNTING_RATE * BYTES_PER_SAMPLE;
}

/** The filters need some samples to begin with. */
function failTooShort(): never {
  throw new GatewayError('invalid_value', 'The audio is too short for voice conversion. Send at least 0.1 seconds.', {
    param: 'audio',
  });
}

function voiceOf(name: string): Voice {
  const known = name.toLowerCase();
  if (Object.hasOwn(VOICES, known)) return VOICES[known] as Voice;
  const message = `There is no such offline voice. Available: ${Object.keys(VOICES).join(', ')}.`;
  throw new GatewayError('unsupported_value', message, { param: 'voice' });
}

/** Played faster, it is higher in all its parts; slowed down again without that, it is as long as before. */
function filtersOf({ throat, brightness }: Voice): string {
  return [
    `aresample=${WORKING_RATE}`,
    `asetrate=${Math.round(WORKING_RATE * throat)}`,
    `atempo=${1 / throat}`,
    `aresample=${WORKING_RATE}`,
    `treble=g=${brightness}:f=3000`,
  ].join(',');
}
