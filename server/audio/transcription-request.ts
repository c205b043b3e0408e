import { GatewayError, type TranscribeCall } from 'mediagate';
import { type FormFields, fieldOf, requiredField } from '../http/index.js';
import { MAX_NAME_LENGTH, MAX_TEXT_LENGTH } from './audio-members.js';

export const TRANSCRIPTION_FORMATS = ['json', 'text', 'srt', 'verbose_json', 'vtt'] as const;
export type TranscriptionFormat = (typeof TRANSCRIPTION_FORMATS)[number];
type Granularity = 'segment' | 'word';

/** What is asked for of a sound, and how it is to be answered. */
export interface TranscriptionWish {
  call: Omit<TranscribeCall, 'sound' | 'signal'>;
  format: TranscriptionFormat;
  /** What `verbose_json` shows. */
  granularities: readonly Granularity[];
  stream: boolean;
  /** Names of fields that were sent and that nobody looks at. */
  ignored: readonly string[];
}

const FIELDS: ReadonlySet<string> = new Set([
  'model',
  'prompt',
  'temperature',
  'response_format',
  'timestamp_granularities',
  'timestamp_granularities[]',
  'stream',
]);

/**
 * Reads the fields of a transcription or a translation.
 * @throws GatewayError `missing_required_parameter`, `invalid_value` with `param`.
 */
export function decodeTranscription(fields: FormFields, task: 'transcribe' | 'translate'): TranscriptionWish {
  const model = requiredField(fields, 'model', 'the name of a model that hears');
  if (model.length > MAX_NAME_LENGTH) throw invalid('model', 'the name of a model');
  const prompt = fieldOf(fields, 'prompt');
  if (prompt !== undefined && prompt.length > MAX_TEXT_LENGTH) {
    throw invalid('prompt', `a text of at most ${MAX_TEXT_LENGTH} characters`);
  }
  const language = task === 'transcribe' ? readLanguage(fieldOf(fields, 'language')) : undefined;
  const temperature = readTemperature(fieldOf(fields, 'temperature'));
  const format = oneOf('response_format', TRANSCRIPTION_FORMATS, fieldOf(fields, 'response_format') ?? 'json');
  const granularities = readGranularities(fields, format);
  const call = {
    model,
    granularity: granularities.includes('word') ? ('word' as const) : ('segment' as const),
    ...(language !== undefined && { language }),
    ...(prompt !== undefined && { prompt }),
    ...(temperature !== undefined && { temperature }),
  };
  return {
    call,
    format,
    granularities,
    stream: oneOf('stream', ['true', 'false'], fieldOf(fields, 'stream') ?? 'false') === 'true',
    ignored: [...fields.keys()].filter((name) => !FIELDS.has(name) && !(name === 'language' && task === 'transcribe')),
  };
}

/** Read when first asked for: that takes longer than loading most of the gateway's files. */
let languages: Intl.DisplayNames | undefined;

function isLanguage(code: string): boolean {
  languages ??= new Intl.DisplayNames('en', { type: 'language', fallback: 'none' });
  return /^[a-z]{2}$/.test(code) && languages.of(code) !== undefined;
}

function readLanguage(text: string | undefined): string | undefined {
  const code = text?.toLowerCase();
  if (code === undefined || isLanguage(code)) return code;
  throw invalid('language', 'a language code of two letters (ISO 639-1), e.g. "en"');
}

function readTemperature(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  // As clients print them: 0.1 + 0.2 has 17 digits.
  const value = /^\d(\.\d{1,20})?$/.test(text) ? Number(text) : Number.NaN;
  if (value >= 0 && value <= 1) return value;
  throw invalid('temperature', 'a number from 0 to 1');
}

function readGranularities(fields: FormFields, format: TranscriptionFormat): readonly Granularity[] {
  const param = 'timestamp_granularities';
  const sent = [...(fields.get(`${param}[]`) ?? []), ...(fields.get(param) ?? [])];
  if (sent.length === 0) return ['segment'];
  if (format !== 'verbose_json') {
    const message = `${param} needs response_format=verbose_json: no other format shows such times.`;
    throw new GatewayError('invalid_value', message, { param });
  }
  return sent.map((one) => oneOf(param, ['segment', 'word'], one));
}

function oneOf<Choice extends string>(param: string, choices: readonly Choice[], text: string): Choice {
  const found = choices.find((choice) => choice === text);
  if (found !== undefined) return found;
  throw invalid(param, choices.map((choice) => `"${choice}"`).join(' or '));
}

function invalid(param: string, accepted: string): GatewayError {
  return new GatewayError('invalid_value', `${param} must be ${accepted}.`, { param });
}
