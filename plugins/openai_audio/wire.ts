import { type BodySource, encodeForm, type SpeakCall, type SpeechFormat, type TranscribeCall } from 'mediagate';
import type { Upstream } from './upstream.js';

/** A request in the upstream's format, without its credentials. */
export interface WireRequest {
  path: '/audio/transcriptions' | '/audio/translations' | '/audio/speech';
  contentType: string;
  body: string | BodySource;
}

export type TranscriptFormat = Upstream['transcripts'];

/** @param model the upstream's name of it. */
export function encodeTranscription(
  task: 'transcribe' | 'translate',
  call: TranscribeCall,
  model: string,
  format: TranscriptFormat,
): WireRequest {
  const { audio, prompt, temperature } = call;
  const language = task === 'transcribe' ? call.language : undefined;
  const isTimed = task === 'transcribe' && format === 'verbose_json' && call.granularity === 'word';
  const fields = {
    model,
    response_format: format,
    ...(language !== undefined && { language }),
    ...(prompt !== undefined && { prompt }),
    ...(temperature !== undefined && { temperature: String(temperature) }),
    // Segments are what is given without it; with words alone there would be none.
    ...(isTimed && { 'timestamp_granularities[]': ['word', 'segment'] }),
  };
  const file = { name: 'file', fileName: audio.filename, contentType: audio.contentType, content: audio };
  const path = task === 'transcribe' ? '/audio/transcriptions' : '/audio/translations';
  return { path, ...encodeForm(fields, [file]) };
}

/** The format to ask for: the caller's where the upstream makes it. */
export function askedFormat(wanted: SpeechFormat, { formats }: Pick<Upstream, 'formats'>): SpeechFormat {
  return formats.includes(wanted) ? wanted : (formats[0] ?? wanted);
}

/** @param model the upstream's name of it. */
export function encodeSpeech(call: SpeakCall, model: string, format: SpeechFormat): WireRequest {
  const { input, voice, speed, instructions } = call;
  const members = {
    model,
    input,
    // The vendor takes ids of voices that somebody had made as an object.
    voice: /^voice_/.test(voice) ? { id: voice } : voice,
    response_format: format,
    // Left out where it changes nothing: not every look-alike knows it.
    ...(speed !== 1 && { speed }),
    ...(instructions !== undefined && { instructions }),
  };
  return { path: '/audio/speech', contentType: 'application/json', body: JSON.stringify(members) };
}
