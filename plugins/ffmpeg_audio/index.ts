import { definePlugin, Type } from 'mediagate';
import { createVoiceChange } from './change-voice.js';
import { createSoundEffects } from './sound-effects.js';

const options = Type.Object(
  {
    /** Public models that it stands for, and what it does for each. */
    models: Type.Array(
      Type.Object(
        {
          id: Type.String({ minLength: 1 }),
          operations: Type.Array(Type.Union([Type.Literal('changeVoice'), Type.Literal('generateSound')]), {
            minItems: 1,
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
      },
    ),
  },
  { additionalProperties: false },
);

/** Sounds made here, offline, by filters and oscillators; no model has a part in them. */
export default definePlugin<typeof options>({
  name: 'ffmpeg_audio',
  apiVersion: 1,
  summary: 'Stand-in for sound models: changes voices by their pitch, and makes some common sounds, with ffmpeg alone.',
  provides: ['audio'],
  needs: ['ffmpeg'],
  standIn: true,
  options,
  setup: ({ options: { models }, ffmpeg }) => ({
    audioProviders: [{ models, changeVoice: createVoiceChange(ffmpeg), generateSound: createSoundEffects(ffmpeg) }],
  }),
});
