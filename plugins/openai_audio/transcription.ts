/*
 * Requests transcripts and reads them in three formats: `verbose_json`, `json` and `diarized_json`. An upstream that
 * refuses `verbose_json` for a model is remembered as long as the plugin runs, and is asked in `json` at once, which
 * costs one more request the first time. Calls for word timestamps skip such an upstream. Answers above 32 MiB fail. An
 * answer that is not JSON is an error without its text, because logs must not contain what a client recorded.
 */

import {
  asNumber,
  asString,
  at,
  GatewayError,
  type HttpStream,
  openaiUsage,
  type SegmentDetails,
  type TranscribeCall,
  type Transcript,
  type TranscriptSegment,
  type TranscriptWord,
  TryFailure,
  type UpstreamRefusal,
  uselessAnswer,
} from 'mediagate/plugin';
import {
  type Exchange,
  encodeTranscription,
  modelName,
  refusalFailure,
  refusesTimes,
  send,
  type TranscriptFormat,
  type Upstream,
} from './requests.js';

/** Words of many hours, each with its times. */
const MAX_TRANSCRIPT_BYTES = 32 * 1024 * 1024;

export type Task = 'transcribe' | 'translate';

/** Transcripts of several upstreams; remembers which of them gave times for which model. */
export class Transcription {
  readonly #untimed = new Map<Upstream, Set<string>>();

  /** Whether the upstream may be able to do it. */
  suits(upstream: Upstream, task: Task, call: TranscribeCall): boolean {
    return !this.#isWordly(task, call) || this.#formatOf(upstream, call.model) === 'verbose_json';
  }

  /** One try. @throws TryFailure, or what the request threw. */
  async ask(exchange: Exchange, task: Task, call: TranscribeCall): Promise<Transcript> {
    const { upstream, model } = exchange;
    const format = askedFormatOf(call) ?? this.#formatOf(upstream, model);
    const request = encodeTranscription(task, call, modelName(exchange), format);
    let lacksTimes = false;
    const refuse = (refusal: UpstreamRefusal) => {
      lacksTimes = format === 'verbose_json' && refusesTimes(refusal);
      if (!lacksTimes) return refusalFailure(refusal, exchange);
      this.#untimed.set(upstream, (this.#untimed.get(upstream) ?? new Set()).add(model));
      return new TryFailure(noWords(), { again: 'elsewhere', counts: false });
    };
    const sent = send(exchange, request, { maxBytes: MAX_TRANSCRIPT_BYTES }, refuse);
    const answer = await sent.catch((error: unknown) => {
      // Nothing was heard yet, so asking once more, without times, costs nothing.
      if (lacksTimes && !this.#isWordly(task, call)) return undefined;
      throw error;
    });
    if (!answer) return this.ask(exchange, task, call);
    const transcript = readTranscript(await readJson(answer));
    if (!transcript) throw uselessAnswer('The upstream answered with something that is not a transcript.');
    return transcript;
  }

  #formatOf(upstream: Upstream, model: string): TranscriptFormat {
    return this.#untimed.get(upstream)?.has(model) ? 'json' : upstream.transcripts;
  }

  #isWordly(task: Task, call: TranscribeCall): boolean {
    return task === 'transcribe' && call.granularity === 'word';
  }
}

/** Some parts of an answer exist in one format only. */
function askedFormatOf({ speakers, options = {} }: TranscribeCall): TranscriptFormat | undefined {
  if (speakers) return 'diarized_json';
  const included = [...(options.include ?? []), ...(options['include[]'] ?? [])];
  return included.includes('logprobs') ? 'json' : undefined;
}

export function noWords(): GatewayError {
  return new GatewayError('unsupported_value', 'The model has no word timestamps.', {
    param: 'timestamp_granularities[]',
  });
}

/** Undefined where it is not JSON. */
async function readJson({ body }: HttpStream): Promise<unknown> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of body) chunks.push(chunk);
  try {
    return JSON.parse(Buffer.concat(chunks).toString('utf8'));
  } catch {
    // The parser's own error quotes the text, and no log shall hold what somebody said.
    return undefined;
  }
}

/** What an answer in `json` or `verbose_json` says; undefined where it is no transcript. */
function readTranscript(json: unknown): Transcript | undefined {
  const text = at(json, 'text');
  if (typeof text !== 'string') return undefined;
  const words = listAt(json, 'words').flatMap(readWord);
  const logprobs = listAt(json, 'logprobs');
  const usage = openaiUsage(json);
  const language = asString(at(json, 'language'));
  const durationSeconds = amount(at(json, 'duration')) ?? usage?.seconds;
  return {
    text,
    segments: listAt(json, 'segments').flatMap(readSegment).sort(byTime),
    ...(words.length > 0 && { words: words.sort(byTime) }),
    ...(logprobs.length > 0 && { logprobs }),
    ...(language && { language }),
    ...(durationSeconds !== undefined && { durationSeconds }),
    ...(usage && { usage }),
  };
}

function readSegment(node: unknown): TranscriptSegment[] {
  const times = readTimes(node);
  const text = at(node, 'text');
  if (!times || typeof text !== 'string') return [];
  const details = readDetails(node);
  const speaker = asString(at(node, 'speaker'));
  return [
    { ...times, text, ...(speaker !== undefined && { speaker }), ...(Object.keys(details).length > 0 && { details }) },
  ];
}

function readWord(node: unknown): TranscriptWord[] {
  const times = readTimes(node);
  const word = at(node, 'word');
  return times && typeof word === 'string' ? [{ ...times, word }] : [];
}

function readTimes(node: unknown): { start: number; end: number } | undefined {
  const start = amount(at(node, 'start'));
  const end = amount(at(node, 'end'));
  // Some models let a segment end before it begins, by rounding.
  return start === undefined || end === undefined ? undefined : { start, end: Math.max(start, end) };
}

function readDetails(node: unknown): SegmentDetails {
  const tokens = at(node, 'tokens');
  const found: { [Name in keyof SegmentDetails]: SegmentDetails[Name] | undefined } = {
    seek: asNumber(at(node, 'seek')),
    tokens: Array.isArray(tokens) && tokens.every(Number.isSafeInteger) ? tokens : undefined,
    temperature: asNumber(at(node, 'temperature')),
    averageLogProbability: asNumber(at(node, 'avg_logprob')),
    compressionRatio: asNumber(at(node, 'compression_ratio')),
    noSpeechProbability: asNumber(at(node, 'no_speech_prob')),
  };
  return Object.fromEntries(Object.entries(found).filter(([, value]) => value !== undefined));
}

function amount(value: unknown): number | undefined {
  const number = asNumber(value);
  return number !== undefined && Number.isFinite(number) && number >= 0 ? number : undefined;
}

function listAt(json: unknown, name: string): readonly unknown[] {
  const list = at(json, name);
  return Array.isArray(list) ? list : [];
}

function byTime(one: { start: number }, other: { start: number }): number {
  return one.start - other.start;
}
