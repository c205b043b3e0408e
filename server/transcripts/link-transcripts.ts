/*
 * The words that are spoken in an extracted item. Subtitles come first: those in a preferred language, and written ones
 * before automatic ones. Otherwise the configured model recognises the speech, if the key has the grant
 * `audio` and the price of the model is known. That is a request of the model like any other: it is reserved by the
 * duration that the platform states, before anything is fetched, and audio that is longer is refused. An answer waits
 * for it only so long; the work goes on, and its result is cached for the account for a day, so that the next request gets
 * it without another charge. A transcript that is missing is no failure of the request: the limitations say why.
 */

import type { Cache, Clock, Cue, ExtractResult, MediaEntry } from '../../core/contracts/index.js';
import { type ErrorCode, GatewayError, isGatewayError } from '../../core/runtime/index.js';
import { partOf, type RequestContext, type ServerContext } from '../http/index.js';
import { followKey, type KeyTable, keyOf } from '../keys/index.js';
import { highestOfAudio, type Prices } from '../prices/index.js';
import { checkModel, type UsageService } from '../usage/index.js';
import type { LinkTranscript } from './transcript-fields.js';

export interface TranscriptOptions {
  /** Model that recognises speech. Default: the first one that is no mock. */
  model?: string;
  /** Longest audio that is recognised. */
  maxMinutes: number;
  /** Longest time that an answer waits for speech recognition. */
  waitSeconds: number;
}

export interface TranscriptServices extends Pick<ServerContext, 'gateway' | 'logger'> {
  clock: Clock;
  keys: KeyTable;
  usage: UsageService;
  cache: Cache;
  /** Default: none. */
  prices?: Prices;
  /** Maximum bytes of audio that a model gets. */
  audioMaxBytes: number;
  transcripts: TranscriptOptions;
}

export interface TranscriptRequest {
  /** Preferred ones, best first. Default: that of the item. */
  languages?: readonly string[] | undefined;
  /** Whether the answer waits for speech recognition. Default true. */
  waits?: boolean;
  signal: AbortSignal;
}

export interface TranscriptAnswer {
  transcript: LinkTranscript | null;
  /** For `limitations`. */
  notes: readonly string[];
  /** Of the speech recognition that this request began, in millionths of the currency. Default: there was none. */
  cost?: number;
}

/** Tracks that are tried before the speech. */
const MAX_TRACKS = 3;
/** Audio may be this much longer than the platform says. */
const MARGIN_SECONDS = 5;
/** Deadline of the whole work on one recording. */
const WORK_MS = 15 * 60_000;
const CACHED_MS = 86_400_000;
/** A failure is not tried again within this time. */
const FAILED_MS = 60_000;
const ASK_AGAIN_SECONDS = 15;

/** What the cache has of a recording. */
type Ended = { state: 'done'; transcript: LinkTranscript } | { state: 'failed'; note: string };
type Known = Ended | { state: 'running' };

/** Work that has ended, and what it cost, if that is known. */
interface Work {
  ended: Ended;
  cost: number | null;
}

/** Finds the words of extracted items. */
export class LinkTranscripts {
  readonly #services: TranscriptServices;
  /** Work of this process that has not ended, by the name of its recording. It never rejects. */
  readonly #running = new Map<string, Promise<Work>>();

  constructor(services: TranscriptServices) {
    this.#services = services;
  }

  async find(
    context: RequestContext,
    result: ExtractResult,
    { languages = [], signal, waits = true }: TranscriptRequest,
  ): Promise<TranscriptAnswer> {
    const captions = await this.#captionsOf(result, languages, signal);
    if (captions) return captions;
    try {
      return await this.#speechOf(context, result, waits);
    } catch (error) {
      if (!isGatewayError(error)) throw error;
      return without(`no subtitles, and speech recognition is refused: ${error.code}`);
    }
  }

  async #captionsOf(
    result: ExtractResult,
    languages: readonly string[],
    signal: AbortSignal,
  ): Promise<TranscriptAnswer | undefined> {
    const { gateway } = this.#services;
    for (const track of orderTracks(result, languages).slice(0, MAX_TRACKS)) {
      try {
        const cues = await gateway.captions(result, track, signal);
        if (cues.length === 0) continue;
        const language = track.language ?? null;
        const isWanted = languages.length === 0 || languages.some((one) => isSameLanguage(one, track.language));
        const transcript = {
          source: track.auto_generated ? 'auto_captions' : 'captions',
          language,
          ...wordsOf(cues),
        } as const;
        return { transcript, notes: isWanted ? [] : [`transcript_language: ${language ?? 'unknown'}`] };
      } catch (error) {
        signal.throwIfAborted();
        if (!isGatewayError(error)) throw error;
      }
    }
    return undefined;
  }

  async #speechOf(context: RequestContext, result: ExtractResult, waits: boolean): Promise<TranscriptAnswer> {
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
    if (prices && prices.highestCostOf({ model: id, characters: 0, ...highestOfAudio(reserved) }) === null) {
      return without(`no subtitles, and no price of ${model} is known`);
    }
    return this.#recognized(context, result, { model, reserved, waits });
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

  /** What is known of the recording, or what the work on it gives in time. */
  async #recognized(context: RequestContext, result: ExtractResult, terms: SpeechTerms): Promise<TranscriptAnswer> {
    const { cache, clock, transcripts } = this.#services;
    const { url, access = '' } = result.link;
    const name = `transcript:${keyOf(context).accountId}:${terms.model}:${url} ${access}`;
    let running = this.#running.get(name);
    let isOwn = false;
    if (!running) {
      const known = await cache.get<Known>(name);
      // Another process of this gateway works on it.
      if (known?.state === 'running') return pending();
      if (known) return answerOf(known);
      running = this.#running.get(name);
      isOwn = running === undefined;
      running ??= this.#start(name, context, result, terms);
    }
    const ended = new AbortController();
    const waitMs = terms.waits ? transcripts.waitSeconds * 1000 : 0;
    const late = clock.sleep(waitMs, ended.signal).catch(() => undefined);
    const work = await Promise.race([running, late]);
    ended.abort();
    if (!work) return pending();
    return { ...answerOf(work.ended), ...(isOwn && work.cost !== null && { cost: work.cost }) };
  }

  #start(name: string, context: RequestContext, result: ExtractResult, terms: SpeechTerms): Promise<Work> {
    const { cache, logger } = this.#services;
    const { platform } = result;
    const work = async (): Promise<Work> => {
      await cache.set<Known>(name, { state: 'running' }, WORK_MS);
      let known: Ended;
      let cost: number | null = null;
      try {
        const recognized = await this.#recognize(context, result, terms);
        known = { state: 'done', transcript: recognized.transcript };
        cost = recognized.cost;
      } catch (error) {
        logger.warn('the speech of a link could not be recognised', { platform, id: result.link.id, error });
        known = { state: 'failed', note: `speech recognition failed: ${codeOf(error)}` };
      }
      await cache.set<Known>(name, known, known.state === 'done' ? CACHED_MS : FAILED_MS);
      return { ended: known, cost };
    };
    const running = work().finally(() => this.#running.delete(name));
    this.#running.set(name, running);
    return running;
  }

  /** One request of the model, with a response of its own: that of the client has the headers of the link. */
  async #recognize(context: RequestContext, { link }: ExtractResult, terms: SpeechTerms): Promise<Recognized> {
    const { gateway, usage, keys, audioMaxBytes: maxBytes } = this.#services;
    const { model, reserved } = terms;
    const { ended, leave } = followKey(keys, keyOf(context).id);
    const signal = AbortSignal.any([ended, AbortSignal.timeout(WORK_MS)]);
    const request = { route: '/v1/extract', model, tokens: 1, spendsTokens: false, outlivesClient: true };
    try {
      return await usage.admitted(partOf(context), { ...request, uses: highestOfAudio(reserved) }, async (work) => {
        const audio = await gateway.linkAudio({ link, maxBytes, signal });
        try {
          const seconds = (await audio.measure(signal)) ?? audio.seconds;
          if (seconds === undefined || seconds > reserved) {
            throw new GatewayError('audio_unavailable', 'The audio is longer than the platform says.');
          }
          const call = { model, granularity: 'segment', audio: { ...audio, seconds }, signal } as const;
          const exchange = gateway.audio.transcribe(call);
          work.uses(exchange.ended);
          const { text, language, segments } = await exchange.answer;
          const { segments: timed } = wordsOf(segments);
          const spoken = { language: language ?? null, model, text: text.trim(), segments: timed };
          return { transcript: { source: 'speech', ...spoken }, cost: (await work.cost?.()) ?? null };
        } finally {
          await audio.remove();
        }
      });
    } finally {
      leave();
    }
  }
}

interface Recognized extends Pick<Work, 'cost'> {
  transcript: LinkTranscript;
}

interface SpeechTerms {
  model: string;
  /** Seconds that are reserved. */
  reserved: number;
  waits: boolean;
}

function answerOf(known: Ended): TranscriptAnswer {
  return known.state === 'done'
    ? { transcript: known.transcript, notes: [] }
    : without(`no subtitles, and ${known.note}`);
}

function without(why: string): TranscriptAnswer {
  return { transcript: null, notes: [`transcript_unavailable: ${why}`] };
}

function pending(): TranscriptAnswer {
  const notes = [`transcript_pending: speech recognition runs; send the request again in ${ASK_AGAIN_SECONDS} seconds`];
  return { transcript: null, notes };
}

function codeOf(error: unknown): ErrorCode {
  return isGatewayError(error) ? error.code : 'internal_error';
}

function wordsOf(cues: readonly Cue[]): Pick<LinkTranscript, 'text' | 'segments'> {
  const segments = cues.map(({ start, end, text }) => ({
    start: milliseconds(start),
    end: milliseconds(end),
    text: text.replace(/\s+/g, ' ').trim(),
  }));
  return { text: segments.map(({ text }) => text).join(' '), segments };
}

function milliseconds(seconds: number): number {
  return Math.round(seconds * 1000) / 1000;
}

/** Subtitles in the order in which they serve: by language, and written ones before automatic ones. */
function orderTracks({ data }: ExtractResult, languages: readonly string[]): MediaEntry[] {
  if ('product' in data) return [];
  const { common, media } = data;
  const wanted = common.language === undefined ? languages : [...languages, common.language];
  const rank = ({ language, auto_generated: isAutomatic }: MediaEntry) => {
    const at = wanted.findIndex((one) => isSameLanguage(one, language));
    return (at < 0 ? wanted.length : at) * 2 + (isAutomatic ? 1 : 0);
  };
  const tracks = (media.entries ?? []).filter(({ kind }) => kind === 'subtitle');
  return tracks.sort((one, other) => rank(one) - rank(other));
}

/** Whether they are the same language, in any region. */
function isSameLanguage(one: string, other: string | undefined): boolean {
  const plain = (tag: string) => tag.toLowerCase().split(/[-_]/)[0];
  return other !== undefined && plain(one) === plain(other);
}
