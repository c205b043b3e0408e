/** The ElevenLabs audio provider, checked by the testing kit. */

import { describeAudioProvider, describePlugin } from 'mediagate/testing';
import plugin from '../index.js';

const apiKey = 'key-of-the-vendor-in-this-test';
const url = 'https://voices.example/v1';
const NAMES: Readonly<Record<string, string>> = {
  tts_v3: 'vendor_speech_x9',
  tts_flash_v2_5: 'vendor_speech_x9',
  tts_multilingual_sts_v2: 'vendor_change_x9',
  tts_text_to_sound_v2: 'vendor_effect_x9',
};
const options = {
  url,
  apiKey,
  models: Object.entries(NAMES).map(([id, upstreamModel]) => ({
    id,
    upstreamModel,
    operations: [id.includes('sts') ? 'changeVoice' : id.includes('sound') ? 'generateSound' : 'speak'],
  })),
};
const FORMATS = { mp3_44100_128: 'mp3', opus_48000_128: 'opus', pcm_24000: 'pcm' } as const;

describePlugin({ plugin, folder: import.meta.url, options });

describeAudioProvider({
  plugin,
  options,
  secrets: [apiKey, ...Object.values(NAMES)],
  samples: [
    {
      operation: 'speak',
      call: { input: 'Six boats.', voice: 'fable', format: 'wav', speed: 0.8, instructions: 'Calmly.' },
      ignores: ['instructions'],
      sends: (model) => ({
        url: `${url}/text-to-speech/JBFqnCBsd6RMkjVDRZzb/stream?output_format=pcm_24000`,
        fields: { text: 'Six boats.', model_id: NAMES[model], voice_settings: { speed: 0.8 } },
      }),
    },
    {
      operation: 'changeVoice',
      call: { voice: 'a1B2c3D4e5F6g7H8i9J0', format: 'opus', options: { seed: '7', file_format: 'other' } },
      ignores: ['file_format'],
      sends: (model) => ({
        url: `${url}/speech-to-speech/a1B2c3D4e5F6g7H8i9J0/stream?output_format=opus_48000_128`,
        fields: { model_id: NAMES[model], seed: '7' },
        file: 'audio',
      }),
    },
    {
      operation: 'generateSound',
      call: { text: 'Rain', durationSeconds: 1.5, options: { prompt_influence: 0.4 } },
      sends: (model) => ({
        url: `${url}/sound-generation?output_format=mp3_44100_128`,
        fields: { text: 'Rain', model_id: NAMES[model], duration_seconds: 1.5, prompt_influence: 0.4 },
      }),
    },
  ],
  upstream: {
    audio: (request, bytesOf) => {
      const asked = new URL(request.url).searchParams.get('output_format') as keyof typeof FORMATS;
      return { headers: { 'content-type': 'audio/any', 'character-cost': '12' }, body: bytesOf(FORMATS[asked]) };
    },
    refusal: {
      status: 422,
      body: { detail: [{ loc: ['body', 'text'], msg: `Not with ${apiKey} at ${url}.`, type: 'x' }] },
    },
  },
});
