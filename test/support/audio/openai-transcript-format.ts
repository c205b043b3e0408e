/** Transcription answers in OpenAI's format. */

import { openaiError } from '../models/openai-error.js';
import type { Delivery } from '../models/vendor-delivery.js';
import type { AudioVendorRequest } from './audio-vendor.js';
import { soundSeconds } from './vendor-sounds.js';

/** What it always hears. */
export const HEARD = 'Six small boats left the harbour. Nobody waved.';

const EXTENSIONS = ['flac', 'm4a', 'mp3', 'mp4', 'mpeg', 'mpga', 'oga', 'ogg', 'wav', 'webm'];
const FORMATS = ['json', 'text', 'srt', 'verbose_json', 'vtt', 'diarized_json'];

interface Heard {
  text: string;
  seconds: number;
  segments: { start: number; end: number; text: string }[];
  words: { start: number; end: number; word: string }[];
}

/** A transcription as the vendor makes it, its checks included. */
export async function answerTranscription(
  { members, files }: AudioVendorRequest,
  task: 'transcribe' | 'translate',
  { timed }: { timed: boolean },
): Promise<Delivery> {
  const { model, response_format: format = 'json', language, temperature, stream } = members;
  const granularities = [members['timestamp_granularities[]'] ?? []].flat();
  const refuse = (param: string, message: string, code?: string) => openaiError({ status: 400, param, message, code });
  const [file] = files;
  if (typeof model !== 'string') return refuse('model', 'you must provide a model parameter');
  if (files.length !== 1 || file?.name !== 'file') return refuse('file', "Missing required parameter: 'file'.");
  if (!EXTENSIONS.includes(file.fileName.split('.').at(-1) ?? '')) {
    return refuse('file', `Unrecognized file format. Supported formats: ${JSON.stringify(EXTENSIONS)}`);
  }
  if (typeof format !== 'string' || !FORMATS.includes(format)) return refuse('response_format', 'Invalid format.');
  const isDiarizing = model.endsWith('-diarize');
  if (format === 'diarized_json' && !isDiarizing) {
    return refuse('response_format', `response_format 'diarized_json' is not compatible with model '${model}'.`);
  }
  if (isDiarizing && members.chunking_strategy === undefined && members['chunking_strategy[type]'] === undefined) {
    return refuse('chunking_strategy', 'chunking_strategy is required for diarization models');
  }
  if (!timed && format !== 'json' && format !== 'text') {
    const message = `response_format '${format}' is not compatible with model '${model}-api-ev3'. Use 'json' or 'text' instead.`;
    return refuse('response_format', message, 'unsupported_value');
  }
  if (granularities.length > 0 && format !== 'verbose_json') {
    return refuse('timestamp_granularities', "It needs response_format 'verbose_json'.");
  }
  if (task === 'translate' && language !== undefined) return refuse('language', 'Unrecognized parameter: language.');
  if (language !== undefined && !/^(?:[a-z]{2}|yue|haw)$/.test(String(language))) {
    return refuse(
      'language',
      `Invalid language '${language}'. Language parameter must be specified in ISO-639-1 format.`,
    );
  }
  if (temperature !== undefined && !(Number(temperature) >= 0 && Number(temperature) <= 1)) {
    return refuse('temperature', 'temperature must be between 0 and 1.');
  }
  const seconds = await soundSeconds(file.bytes);
  if (seconds === undefined) {
    return refuse('file', 'The audio file could not be decoded or its format is not supported.', 'invalid_value');
  }
  const heard = hear(Math.round(seconds * 100) / 100);
  if (stream === 'true') return events(heard);
  const textsOf = (name: string) => [members[name] ?? []].flat().map(String);
  return encode(heard, format, task, {
    granularities: granularities.map(String),
    include: textsOf('include[]'),
    speakers: textsOf('known_speaker_names[]'),
  });
}

function hear(seconds: number): Heard {
  const all = HEARD.split(' ');
  const step = seconds / all.length;
  const words = all.map((word, index) => ({
    start: index * step,
    end: (index + 1) * step,
    word: word.replace('.', ''),
  }));
  const sentences = HEARD.match(/[^.]+\./g) ?? [];
  let from = 0;
  const segments = sentences.map((text) => {
    const start = from * step;
    from += text.trim().split(' ').length;
    return { start, end: from * step, text };
  });
  return { text: HEARD, seconds, segments, words };
}

function encode(
  { text, seconds, segments, words }: Heard,
  format: string,
  task: string,
  { granularities, include, speakers }: Readonly<Record<'granularities' | 'include' | 'speakers', readonly string[]>>,
): Delivery {
  const usage = { type: 'duration', seconds: Math.ceil(seconds) };
  if (format === 'json') {
    const logprobs = [{ token: 'Six', logprob: -0.1, bytes: [83, 105, 120] }];
    return json({ text, ...(include.includes('logprobs') && { logprobs }), usage });
  }
  if (format === 'diarized_json') {
    const named = segments.map((one, index) => {
      const speaker = speakers[index] ?? 'AB'.charAt(index);
      return { type: 'transcript.text.segment', id: `seg_${index}`, ...one, speaker };
    });
    return json({ task, duration: seconds, text, segments: named, usage });
  }
  if (format === 'text') return plain(`${text}\n`);
  if (format === 'srt') {
    const cues = segments.map(
      (one, index) => `${index + 1}\n${clock(one.start, ',')} --> ${clock(one.end, ',')}\n${one.text.trim()}\n`,
    );
    return plain(cues.join('\n'));
  }
  if (format === 'vtt') {
    const cues = segments.map((one) => `${clock(one.start, '.')} --> ${clock(one.end, '.')}\n${one.text.trim()}\n`);
    return plain(`WEBVTT\n\n${cues.join('\n')}`);
  }
  const isTimed = granularities.length === 0 || granularities.includes('segment');
  return json({
    task,
    language: 'english',
    duration: seconds,
    text,
    ...(isTimed && {
      segments: segments.map((one, id) => ({
        id,
        seek: 0,
        ...one,
        tokens: [50364, 2407 + id],
        temperature: 0,
        avg_logprob: -0.21,
        compression_ratio: 1.1,
        no_speech_prob: 0.01,
      })),
    }),
    ...(granularities.includes('word') && { words }),
    usage,
  });
}

function events({ text }: Heard): Delivery {
  const usage = { type: 'tokens', input_tokens: 14, output_tokens: 11, total_tokens: 25 };
  const all = [
    ...text.split(/(?<= )/).map((delta) => ({ type: 'transcript.text.delta', delta })),
    { type: 'transcript.text.done', text, usage },
  ];
  const body = `${all.map((event) => `data: ${JSON.stringify(event)}\n\n`).join('')}data: [DONE]\n\n`;
  return { headers: { 'content-type': 'text/event-stream; charset=utf-8' }, body };
}

function json(value: object): Delivery {
  return { headers: { 'content-type': 'application/json' }, body: JSON.stringify(value) };
}

function plain(body: string): Delivery {
  return { headers: { 'content-type': 'text/plain; charset=utf-8' }, body };
}

function clock(seconds: number, mark: string): string {
  return new Date(seconds * 1000).toISOString().slice(11, 23).replace('.', mark);
}
