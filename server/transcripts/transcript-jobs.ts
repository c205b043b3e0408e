/*
 * Recognises the speech of links in background jobs: ids begin with `transcript_`, and an ended job is kept for a day
 * with the words. So a crash loses none, and the words of an item are paid for once: the charge is written in the
 * transaction that ends the job, in any process. A job whose process died runs again; the vendor is then asked again, as
 * the answer was lost. What an interrupted run may have cost is stored before the vendor is asked.
 */

import type { Gateway } from 'mediagate';
import type { LinkRef, Logger, Usage } from '../../core/contracts/index.js';
import { type Charge, declareJobKind, type JobRun, type Jobs, type JobWorkers } from '../../core/jobs/index.js';
import { GatewayError, isGatewayError } from '../../core/runtime/index.js';
import { type LinkTranscript, wordsOf } from './transcript-fields.js';

declare module '../../core/jobs/kinds.js' {
  interface JobKinds {
    transcript: true;
  }
}

const DAY_MS = 24 * 60 * 60 * 1000;
/** Deadline of a run. */
const RUN_MS = 15 * 60_000;
/** Runs whose process may die before the job fails: the audio may be what kills them. */
const MAX_RUNS = 3;

declareJobKind('transcript', { prefix: 'transcript_', retentionMs: DAY_MS });

/** The `summary` of its record. */
export interface TranscriptSummary {
  platform: string;
  /** Id of the item. */
  item: string;
  /** Id of the model. */
  model: string;
}

export interface TranscriptInput {
  link: Pick<LinkRef, 'url' | 'access'>;
  /** Name of the model. */
  model: string;
  /** Seconds that are reserved: longer audio is refused. */
  reserved: number;
}

export interface TranscriptResult {
  transcript: LinkTranscript;
  /** As the vendor reports it. Absent if it reports none. */
  usage?: Usage;
}

export interface TranscriptWorkOptions {
  jobs: Pick<Jobs, 'work'>;
  gateway: Pick<Gateway, 'audio' | 'linkAudio' | 'noteAnswered' | 'resolveModel'>;
  /** Maximum concurrent jobs in this process. */
  concurrency: number;
  /** Maximum bytes of audio that a model gets. */
  audioMaxBytes: number;
  logger: Logger;
}

/** Starts the workers of transcripts in this process. */
export function startTranscripts(options: TranscriptWorkOptions): JobWorkers {
  const { jobs, concurrency, logger } = options;
  return jobs.work({
    kind: 'transcript',
    concurrency,
    maxAttempts: MAX_RUNS,
    timeoutMs: RUN_MS,
    async run(job, signal, ask) {
      try {
        return await recognize(options, job, signal, ask);
      } catch (error) {
        if (!signal.aborted && isGatewayError(error)) {
          const { platform, item } = job.summary as TranscriptSummary;
          logger.warn('the speech of a link could not be recognised', { platform, id: item, jobId: job.id, error });
        }
        throw error;
      }
    },
    charge: chargeOf,
  });
}

function chargeOf({ summary }: JobRun, result: unknown): Charge {
  const { model } = summary as TranscriptSummary;
  const { usage } = result as TranscriptResult;
  return { model, units: 1, ...(usage && { usage }) };
}

async function recognize(
  { gateway, audioMaxBytes: maxBytes }: TranscriptWorkOptions,
  { input, summary }: JobRun,
  signal: AbortSignal,
  ask: (charge: Charge) => Promise<void>,
): Promise<TranscriptResult> {
  const { link, model, reserved } = input as TranscriptInput;
  const { model: id } = summary as TranscriptSummary;
  const audio = await gateway.linkAudio({ link, maxBytes, signal });
  try {
    const seconds = (await audio.measure(signal)) ?? audio.seconds;
    if (seconds === undefined || seconds > reserved) {
      throw new GatewayError('audio_unavailable', 'The audio is longer than the platform says.');
    }
    await ask({ model: id, units: 1, usage: { seconds, estimated: true } });
    const call = { model, granularity: 'segment', audio: { ...audio, seconds }, signal } as const;
    const exchange = gateway.audio.transcribe(call);
    const { text, language = null, segments } = await exchange.answer;
    const { usage } = await exchange.ended;
    gateway.noteAnswered(id);
    const { segments: timed } = wordsOf(segments);
    const transcript = { source: 'speech', language, model, text: text.trim(), segments: timed } as const;
    return { transcript, ...(usage && { usage }) };
  } finally {
    await audio.remove();
  }
}
