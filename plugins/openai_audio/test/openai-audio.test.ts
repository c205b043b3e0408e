/** The OpenAI audio provider, checked by the testing kit. */

import { describeAudioProvider, describePlugin } from 'mediagate/testing';
import plugin from '../index.js';

const apiKey = 'key-of-the-upstream-in-this-test';
const url = 'https://audio.example/v1';
const hearing = 'vendor-hearing-x9';
const voice = 'vendor-voice-x9';
const options = {
  upstreams: [{ url, apiKey }],
  models: [
    { id: 'stt-large-v3', operations: ['transcribe', 'translate'], upstreamModel: hearing },
    { id: 'tts_v3', operations: ['speak'], upstreamModel: voice },
    { id: 'tts_flash_v2_5', operations: ['speak'], upstreamModel: voice },
  ],
};

describePlugin({ plugin, folder: import.meta.url, options });

describeAudioProvider({
  plugin,
  options,
  secrets: [apiKey, hearing, voice],
  samples: [
    {
      operation: 'transcribe',
      sends: () => ({
        url: `${url}/audio/transcriptions`,
        fields: { model: hearing, response_format: 'verbose_json' },
        file: 'file',
      }),
    },
    {
      operation: 'transcribe',
      call: { language: 'vi', prompt: 'Hội An', temperature: 0.4, granularity: 'word' },
      sends: () => ({
        url: `${url}/audio/transcriptions`,
        fields: {
          model: hearing,
          response_format: 'verbose_json',
          language: 'vi',
          prompt: 'Hội An',
          temperature: '0.4',
          'timestamp_granularities[]': ['word', 'segment'],
        },
        file: 'file',
      }),
    },
    {
      operation: 'translate',
      call: { prompt: 'Harbours' },
      sends: () => ({
        url: `${url}/audio/translations`,
        fields: { model: hearing, response_format: 'verbose_json', prompt: 'Harbours' },
        file: 'file',
      }),
    },
    {
      operation: 'speak',
      call: { input: 'Six boats.', voice: 'nova', format: 'opus', speed: 0.5, instructions: 'Calmly.' },
      sends: () => ({
        url: `${url}/audio/speech`,
        fields: {
          model: voice,
          input: 'Six boats.',
          voice: 'nova',
          response_format: 'opus',
          speed: 0.5,
          instructions: 'Calmly.',
        },
      }),
    },
  ],
  upstream: {
    transcript: (request, { text, language, durationSeconds, segments, words }) => ({
      body: {
        task: 'transcribe',
        text,
        language,
        duration: durationSeconds,
        segments: segments.map((segment, id) => ({ id, ...segment })),
        ...(Buffer.from(request.body as Uint8Array).includes('timestamp_granularities') && { words }),
        usage: { type: 'duration', seconds: 1 },
      },
    }),
    audio: (request, bytesOf) => ({
      headers: { 'content-type': 'audio/any' },
      body: bytesOf(JSON.parse(String(request.body)).response_format),
    }),
    refusal: {
      status: 400,
      body: {
        error: {
          message: `Not with ${apiKey} at ${url}.`,
          type: 'invalid_request_error',
          param: null,
          code: null,
        },
      },
    },
  },
});
