/** Answers of ElevenLabs on the wire. */

import type { SpeechFormat } from 'mediagate';
import type { Delivery } from '../models/vendor-delivery.js';
import { elevenlabsError, issueList } from './elevenlabs-error.js';
import type { ElevenlabsRequest } from './elevenlabs-upstream.js';
import { makeSound, soundSeconds, spokenSeconds } from './vendor-sounds.js';

const FORMATS: Readonly<Record<string, { format: SpeechFormat; type: string }>> = {
  mp3_44100_128: { format: 'mp3', type: 'audio/mpeg' },
  pcm_24000: { format: 'pcm', type: 'audio/pcm' },
  opus_48000_128: { format: 'opus', type: 'audio/opus' },
};
const LIMITS: Readonly<Record<string, number>> = {
  eleven_v3: 5_000,
  eleven_multilingual_v2: 10_000,
  eleven_flash_v2_5: 40_000,
  eleven_turbo_v2_5: 40_000,
};
/** It has every voice but those that begin so. */
const UNKNOWN_VOICE = /^gone/;

/** What the vendor makes, its checks included. */
export async function answerElevenlabs(request: ElevenlabsRequest, silent: boolean): Promise<Delivery> {
  const output = FORMATS[request.outputFormat ?? ''];
  if (!output)
    return issueList([{ loc: ['query', 'output_format'], msg: 'Input should be mp3_44100_128, pcm_24000 …' }]);
  const [, kind, voice] =
    /^\/v1\/(text-to-speech|speech-to-speech|sound-generation)(?:\/([^/]+)\/stream)?$/.exec(request.path) ?? [];
  if (kind === undefined || (kind === 'sound-generation') !== (voice === undefined)) {
    return { status: 404, headers: { 'content-type': 'application/json' }, body: '{"detail":"Not Found"}' };
  }
  if (voice !== undefined && UNKNOWN_VOICE.test(voice)) {
    const message = `A voice for the voice_id ${voice} was not found.`;
    return elevenlabsError({ status: 404, code: 'voice_not_found', form: 'old', message });
  }
  const made =
    kind === 'text-to-speech'
      ? speak(request)
      : kind === 'speech-to-speech'
        ? await changeVoice(request)
        : generateSound(request);
  if (!('seconds' in made)) return made;
  return {
    headers: {
      'content-type': output.type,
      'request-id': 'Zq3vJ8',
      'current-concurrent-requests': '1',
      'maximum-concurrent-requests': '5',
      ...(!silent && { 'character-cost': String(made.cost) }),
    },
    body: await makeSound(output.format, made.seconds),
  };
}

interface Made {
  seconds: number;
  cost: number;
}

function speak({ members }: ElevenlabsRequest): Made | Delivery {
  const {
    text,
    model_id: model,
    voice_settings: settings,
  } = members as {
    text?: unknown;
    model_id?: string;
    voice_settings?: { speed?: unknown };
  };
  if (typeof text !== 'string') return issueList([{ loc: ['body', 'text'], msg: 'Field required' }]);
  const limit = LIMITS[model ?? ''];
  if (limit === undefined) {
    const message = `A model with model ID ${model} does not exist`;
    return elevenlabsError({ status: 400, code: 'model_not_found', form: 'old', message });
  }
  if ([...text].length > limit) {
    const message = `This request's text has ${text.length} characters and exceeds the limit of ${limit}.`;
    return elevenlabsError({ status: 400, code: 'max_character_limit_exceeded', form: 'old', message });
  }
  const speed = settings?.speed ?? 1;
  if (typeof speed !== 'number' || speed < 0.7 || speed > 1.2) {
    const message = 'Invalid setting for speed received, expected to be between 0.7 and 1.2.';
    return elevenlabsError({ status: 400, code: 'invalid_voice_settings', form: 'old', message });
  }
  return { seconds: spokenSeconds(text) / speed, cost: [...text].length };
}

async function changeVoice({ members, files }: ElevenlabsRequest): Promise<Made | Delivery> {
  const [audio] = files;
  if (files.length !== 1 || audio?.name !== 'audio') {
    return issueList([{ loc: ['body', 'audio'], msg: 'Field required' }]);
  }
  if (typeof members.voice_settings === 'string') {
    try {
      JSON.parse(members.voice_settings);
    } catch {
      const message = 'voice_settings is not valid JSON';
      return elevenlabsError({
        status: 400,
        code: 'invalid_parameters',
        form: 'new',
        message,
        param: 'voice_settings',
      });
    }
  }
  if (members.seed !== undefined && !/^\d+$/.test(String(members.seed))) {
    return issueList([{ loc: ['body', 'seed'], msg: 'Input should be a valid integer' }]);
  }
  const seconds = await soundSeconds(audio.bytes);
  if (seconds === undefined) {
    return elevenlabsError({
      status: 400,
      code: 'invalid_audio',
      form: 'old',
      message: 'The audio could not be read.',
    });
  }
  const rounded = Math.max(0.5, Math.round(seconds * 2) / 2);
  // A thousand characters a minute.
  return { seconds: rounded, cost: Math.ceil((seconds / 60) * 1000) };
}

function generateSound({ members }: ElevenlabsRequest): Made | Delivery {
  const { text, duration_seconds: duration, prompt_influence: influence } = members;
  if (typeof text !== 'string') return issueList([{ loc: ['body', 'text'], msg: 'Field required' }]);
  if (duration !== undefined && !(Number(duration) >= 0.5 && Number(duration) <= 30)) {
    return issueList([{ loc: ['body', 'duration_seconds'], msg: 'Input should be between 0.5 and 30' }]);
  }
  if (influence !== undefined && !(Number(influence) >= 0 && Number(influence) <= 1)) {
    return issueList([{ loc: ['body', 'prompt_influence'], msg: 'Input should be between 0 and 1' }]);
  }
  return { seconds: duration === undefined ? 2 : Number(duration), cost: duration === undefined ? 100 : 40 };
}
