/*
 * The words that are spoken in an extracted item. Subtitles come first: those in a preferred language, and written ones
 * before automatic ones. Otherwise the configured model recognises the speech, if the key has the grant
 * `audio` and the price of the model is known. That is a background job (`transcript-jobs.ts`), whose cost is held by the
 * duration that the platform states, before anything is fetched; longer audio is refused. An answer waits
 * for it only so long. All requests of an account for the words of an item find the same job for a day, so they are paid
 * for once. A transcript that is missing is no failure of the request: the limitations say why.
 */

import type { Clock, ExtractResult } from '../../core/contracts/index.js';
import type { JobRecord, Jobs } from '../../core/jobs/index.js';
import { GatewayError, isGatewayError } from '../../core/runtime/index.js';
import type { RequestContext, ServerContext } from '../http/index.js';
import { keyOf, queueShareOf, rateLimitOf } from '../keys/index.js';
import { type HighestUse, highestOfAudio, type Prices } from '../prices/index.js';
import { checkModel, costOfUsage, jobBudgetsOf, toJobTerms } from '../usage/index.js';
import { findCaptions, type TranscriptAnswer, without } from './captions.js';
import type { TranscriptInput, TranscriptResult, TranscriptSummary } from './transcript-jobs.js';

export interface TranscriptOptions {
  /** Model that recognises speech. Default: the first one that is no mock. */
  model?: string;
  /** Longest audio that is recognised. */
  maxMinutes: number;
  /** Longest time that an answer waits for speech recognition. */
  waitSeconds: number;
}

export interface TranscriptServices extends Pick<ServerContext, 'gateway'> {
  clock: Clock;
  jobs: Pick<Jobs, 'accept' | 'waitFor'>;
  /** Default: none. */
  prices?: Prices;
  transcripts: TranscriptOptions;
  /** Share of a queue, above 0 to 1, that open jobs of a site account may take. */
  accountQueueShare: number;
}

export interface TranscriptRequest {
  /** Preferred ones, best first. Default: that of the item. */
  languages?: readonly string[] | undefined;
  /** Whether the answer waits for speech recognition. Default true. */
  waits?: boolean;
  signal: AbortSignal;
}

/** Audio may be this much longer than the platform says. */
const MARGIN_SECONDS = 5;
/** A failure is not tried again within this time, and so often in a day. */
const FAILED_MS = 60_000;
const MAX_TRIES = 10;
/** Queued and running jobs, over all processes. */
const MAX_ACTIVE = 1_000;
const ASK_AGAIN_SECONDS = 15;

/** Finds the words of extracted items. */
export class LinkTranscripts {
  readonly #services: TranscriptServices;

  constructor(services: TranscriptServices) {
    this.#services = services;
  }

  async find(
    context: RequestContext,
    result: ExtractResult,
    { languages = [], signal, waits = true }: TranscriptRequest,
  ): Promise<TranscriptAnswer> {
    const captions = await findCaptions(this.#services.gateway, result, { languages, signal });
    if (captions) return captions;
    try {
      return await this.#speechOf(context, result, { waits, signal });
    } catch (error) {
      if (!isGatewayError(error)) throw error;
      return without(`no subtitles, and speech recognition is refused: ${error.code}`);
    }
  }

  async #speechOf(
    context: RequestContext,
    result: ExtractResult,
    asking: Pick<SpeechTerms, 'waits' | 'signal'>,
  ): Promise<TranscriptAnswer> {
    const { gateway, prices, transcripts } = this.#services;
    const { maxMinutes } = transcripts;
    const key = keyOf(context);
    if (!key.grants.includes('audio')) return without('no subtitles, and the API key has no grant audio');
    const model = transcripts.model ?? this.#firstModel();
    if (model === undefined) return without('no subtitles, and no speech recognition is configured');
    checkModel(key, model, (name) => gateway.resolveModel(name));
    gateway.audio.match(model, 'transcribe');
    const seconds = 'product' in result.data ? undefined : result.data.common.duration_seconds;
    if (!result.hasAudio || seconds === undefined) return without('no subtitles, and no audio of a known duration');
    if (seconds > maxMinutes * 60) return without(`no subtitles, and the audio is longer than ${maxMinutes} minutes`);
    const reserved = Math.ceil(seconds) + MARGIN_SECONDS;
    const id = gateway.resolveModel(model);
    const uses = { model: id, characters: 0, ...highestOfAudio(reserved) };
    if (prices && prices.highestCostOf(uses) === null) {
      return without(`no subtitles, and no price of ${model} is known`);
    }
    return this.#recognized(context, result, { ...asking, model, id, reserved, uses });
  }

  #firstModel(): string | undefined {
    const { gateway } = this.#services;
    const mocks = new Set(gateway.plugins().flatMap(({ id, standIn }) => (standIn ? [id] : [])));
    return gateway
      .models()
      .find(
        ({ kind, operations, aliasOf, entry }) =>
          kind === 'audio' && aliasOf === undefined && operations?.includes('transcribe') && !mocks.has(entry),
      )?.id;
  }

  /** The job that recognises the speech, or did so in the last day: all requests of an account have the same. */
  async #recognized(context: RequestContext, result: ExtractResult, terms: SpeechTerms): Promise<TranscriptAnswer> {
    const { jobs, prices, transcripts } = this.#services;
    const { job: submitted, isOwn } = await this.#submit(context, result, terms);
    let job = submitted;
    if (isOpen(job) && terms.waits) {
      const wait = { timeoutMs: transcripts.waitSeconds * 1000, signal: terms.signal };
      job = (await jobs.waitFor(job.id, keyOf(context).accountId, wait)) ?? job;
    }
    if (isOpen(job)) return pending();
    if (job.state === 'completed') {
      const { transcript, usage } = job.result as TranscriptResult;
      const cost = prices && isOwn ? costOfUsage(prices, terms.id, usage) : null;
      return { transcript, notes: [], ...(cost !== null && { cost }) };
    }
    return without(`no subtitles, and speech recognition failed: ${job.error?.code ?? 'cancelled'}`);
  }

  /**
   * Submits the job, or finds it. One that failed is followed by another, which is that of all later requests: the name
   * of the second has the id of the first.
   */
  async #submit(context: RequestContext, result: ExtractResult, terms: SpeechTerms): Promise<Submitted> {
    const { clock } = this.#services;
    const { url, access = '' } = result.link;
    const first = `${terms.id} ${url} ${access}`;
    let found = await this.#accept(context, result, { ...terms, name: first });
    for (let tries = 1; tries < MAX_TRIES && hasFailed(found.job, clock.now() - FAILED_MS); tries += 1) {
      found = await this.#accept(context, result, { ...terms, name: `${first} after ${found.job.id}` });
    }
    return found;
  }

  async #accept(
    context: RequestContext,
    { platform, link }: ExtractResult,
    { name, id, model, reserved, uses }: SpeechTerms & { name: string },
  ): Promise<Submitted> {
    const { jobs, accountQueueShare } = this.#services;
    const key = keyOf(context);
    const summary: TranscriptSummary = { platform, item: link.id, model: id };
    const { url, access } = link;
    const input: TranscriptInput = { link: { url, ...(access !== undefined && { access }) }, model, reserved };
    const { job, replayed } = await jobs.accept({
      terms: toJobTerms({
        rateLimit: rateLimitOf(key, 'model'),
        idempotency: { scope: `transcript ${key.accountId}`, key: name, fingerprint: '' },
        budgets: jobBudgetsOf(key, 'audio', uses),
      }),
      job: {
        kind: 'transcript',
        owner: key.accountId,
        requestId: context.state.requestId,
        summary,
        input,
        maxActive: MAX_ACTIVE,
        ...queueShareOf(key, accountQueueShare),
      },
    });
    if (job) return { job, isOwn: !replayed };
    throw new GatewayError('rate_limit_exceeded', 'This API key has no free slot.');
  }
}

interface Submitted {
  job: JobRecord;
  /** Whether this request created it. */
  isOwn: boolean;
}

interface SpeechTerms extends Required<Pick<TranscriptRequest, 'waits' | 'signal'>> {
  /** Name of the model, and its id. */
  model: string;
  id: string;
  /** Seconds that are reserved. */
  reserved: number;
  /** The most that it uses. */
  uses: HighestUse;
}

function isOpen({ state }: JobRecord): boolean {
  return state === 'queued' || state === 'running';
}

/** Whether the job ended without words before that time. */
function hasFailed({ state, finishedAt }: JobRecord, before: number): boolean {
  return (state === 'failed' || state === 'cancelled') && finishedAt !== null && finishedAt <= before;
}

function pending(): TranscriptAnswer {
  const notes = [`transcript_pending: speech recognition runs; send the request again in ${ASK_AGAIN_SECONDS} seconds`];
  return { transcript: null, notes };
}
