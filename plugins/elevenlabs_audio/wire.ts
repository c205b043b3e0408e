import {
  asRecord,
  type BodySource,
  type ChangeVoiceCall,
  encodeForm,
  GatewayError,
  type GenerateSoundCall,
  type SpeakCall,
} from 'mediagate';
import { effectFormat, speechFormat, type VendorFormat } from './formats.js';
import type { Model } from './options.js';
import { voiceId } from './voices.js';

/** A request in the vendor's format, without its credentials. */
export interface WireRequest {
  /** Behind the base address, with its query. */
  path: string;
  contentType: string;
  body: string | BodySource;
  format: VendorFormat['format'];
  /** What the caller calls the text. */
  textParam: 'input' | 'text';
  /** Members of the call that the vendor does not know. */
  ignored: readonly string[];
}

type Voices = Readonly<Record<string, string>>;

/** What the vendor's models can do; others are refused rather than brought into it in silence. */
const SPEEDS = { slowest: 0.7, fastest: 1.2 };

const isNumber = (value: unknown): value is number => typeof value === 'number' && Number.isFinite(value);

export function encodeSpeech(call: SpeakCall, model: Model, voices: Voices): WireRequest {
  const { input, speed, instructions } = call;
  if (speed < SPEEDS.slowest || speed > SPEEDS.fastest) {
    const message = `speed must be ${SPEEDS.slowest} to ${SPEEDS.fastest} for this model.`;
    throw new GatewayError('unsupported_value', message, { param: 'speed' });
  }
  const { maxCharacters = Number.POSITIVE_INFINITY } = model;
  // As the vendor counts, and as people do: what takes two units of UTF-16 is one character.
  if (input.length > maxCharacters && [...input].length > maxCharacters) {
    const message = `input must not be longer than ${maxCharacters} characters for this model.`;
    throw new GatewayError('invalid_value', message, { param: 'input' });
  }
  const { name, format } = speechFormat(call.format);
  const members = {
    text: input,
    model_id: model.upstreamModel,
    ...(speed !== 1 && { voice_settings: { speed } }),
  };
  return {
    path: `/text-to-speech/${encodeURIComponent(voiceId(call.voice, voices))}/stream?output_format=${name}`,
    contentType: 'application/json',
    body: JSON.stringify(members),
    format,
    textParam: 'input',
    ignored: instructions === undefined ? [] : ['instructions'],
  };
}

export function encodeVoiceChange(call: ChangeVoiceCall, model: Model, voices: Voices): WireRequest {
  const { audio, options } = call;
  const { voice_settings: settings, seed, remove_background_noise: removesNoise, ...others } = options;
  const fields = {
    model_id: model.upstreamModel,
    ...(settings !== undefined && { voice_settings: voiceSettings(settings) }),
    ...(seed !== undefined && { seed }),
    ...(removesNoise !== undefined && { remove_background_noise: removesNoise }),
  };
  const file = { name: 'audio', fileName: audio.filename, contentType: audio.contentType, content: audio };
  const { name, format } = speechFormat(call.format);
  return {
    path: `/speech-to-speech/${encodeURIComponent(voiceId(call.voice, voices))}/stream?output_format=${name}`,
    ...encodeForm(fields, [file]),
    format,
    textParam: 'text',
    ignored: Object.keys(others),
  };
}

/** JSON in a field of a form, as the vendor has it; other text would be refused in words that nobody understands. */
function voiceSettings(text: string): string {
  try {
    if (asRecord(JSON.parse(text))) return text;
  } catch {
    // No JSON, which is told below.
  }
  throw new GatewayError('invalid_value', 'voice_settings must be a JSON object.', { param: 'voice_settings' });
}

export function encodeEffect(call: GenerateSoundCall, model: Model): WireRequest {
  const { text, durationSeconds, options } = call;
  const { prompt_influence: influence, loop, ...others } = options;
  if (influence !== undefined && !(isNumber(influence) && influence >= 0 && influence <= 1)) {
    throw new GatewayError('invalid_value', 'prompt_influence must be 0 to 1.', { param: 'prompt_influence' });
  }
  if (loop !== undefined && typeof loop !== 'boolean') {
    throw new GatewayError('invalid_value', 'loop must be true or false.', { param: 'loop' });
  }
  const { name, format } = effectFormat(call.format);
  const members = {
    text,
    model_id: model.upstreamModel,
    ...(durationSeconds !== undefined && { duration_seconds: durationSeconds }),
    ...(influence !== undefined && { prompt_influence: influence }),
    ...(loop !== undefined && { loop }),
  };
  return {
    path: `/sound-generation?output_format=${name}`,
    contentType: 'application/json',
    body: JSON.stringify(members),
    format,
    textParam: 'text',
    ignored: Object.keys(others),
  };
}
