import {
  GatewayError,
  type HttpStream,
  type TranscribeCall,
  type Transcript,
  TryFailure,
  uselessAnswer,
} from 'mediagate';
import { type Exchange, modelName, namesOf, send } from './exchange.js';
import { refusalFailure, refusesTimes } from './failures.js';
import { readTranscript } from './transcript.js';
import type { Upstream } from './upstream.js';
import { encodeTranscription, type TranscriptFormat } from './wire.js';

/** Words of many hours, each with its times. */
const MAX_TRANSCRIPT_BYTES = 32 * 1024 * 1024;

export type Task = 'transcribe' | 'translate';

/** Transcripts of several upstreams; remembers which of them gave times for which model. */
export interface Transcription {
  /** Whether the upstream may be able to do it. */
  suits(upstream: Upstream, task: Task, call: TranscribeCall): boolean;
  /** One try. @throws TryFailure, or what the request threw. */
  ask(exchange: Exchange, task: Task, call: TranscribeCall): Promise<Transcript>;
}

export function createTranscription(): Transcription {
  const untimed = new Map<Upstream, Set<string>>();

  const formatOf = (upstream: Upstream, model: string): TranscriptFormat =>
    untimed.get(upstream)?.has(model) ? 'json' : upstream.transcripts;
  const isWordly = (task: Task, call: TranscribeCall) => task === 'transcribe' && call.granularity === 'word';

  async function ask(exchange: Exchange, task: Task, call: TranscribeCall): Promise<Transcript> {
    const { upstream, model, context } = exchange;
    const format = formatOf(upstream, model);
    const request = encodeTranscription(task, call, modelName(exchange), format);
    const sent = await send(exchange, request, { maxBytes: MAX_TRANSCRIPT_BYTES });
    if ('refusal' in sent) {
      if (format === 'json' || !refusesTimes(sent.refusal)) {
        throw refusalFailure(sent.refusal, namesOf(exchange), context.clock.now());
      }
      untimed.set(upstream, (untimed.get(upstream) ?? new Set()).add(model));
      // Nothing was heard yet, so asking once more, without times, costs nothing.
      if (!isWordly(task, call)) return ask(exchange, task, call);
      throw new TryFailure(noWords(), { again: 'elsewhere', counts: false });
    }
    const transcript = readTranscript(await readJson(sent.answer));
    if (!transcript) throw uselessAnswer('The upstream answered with something that is not a transcript.');
    return transcript;
  }

  return {
    suits: (upstream, task, call) => !isWordly(task, call) || formatOf(upstream, call.model) === 'verbose_json',
    ask,
  };
}

export function noWords(): GatewayError {
  return new GatewayError('unsupported_value', 'The model gives no times of words.', {
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
