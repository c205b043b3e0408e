import type { GatewayError } from '../runtime/index.js';
import type { ExtractionData } from './documents.js';
import type { LinkRef } from './extractor.js';
import type { JobFailure, JobState } from './gateway.js';
import type { ByteRange, FileStat, StoredBody } from './services.js';

/** One link to extract. Options of reviews change nothing for platforms that have none. */
export interface ExtractRequest {
  /** Any form of link that people share, short links included; at most 2,048 characters. */
  url: string;
  /** Reviews per star group, 1 to 100. Default 10. */
  clipReviewLimit?: number;
  /** Default `latest`. */
  clipSort?: 'latest' | 'recommended';
  /** Also reviews without text. Default false. */
  includeEmptyReviews?: boolean;
  /** Offer an MP3 link where the item has sound. Default true. */
  includeAudioMp3?: boolean;
  /** One method to ask alone, past the cache and keeping nothing: how the probe tells methods apart. */
  only?: string;
  /** Waiting for an answer ends with it; work that others wait for goes on. */
  signal?: AbortSignal;
}

/** An item's document, and how it was had. */
export interface ExtractResult {
  /** Platform key. */
  platform: string;
  /** The caller's own text. */
  inputUrl: string;
  /** What it led to. */
  link: LinkRef;
  /** As {@link Extraction.method}. */
  method: string;
  data: ExtractionData;
  /** What is best effort in it, or missing: a stable word each, perhaps with a colon and details. */
  limitations: readonly string[];
  /** Present where a hosted MP3 is offered. */
  audioLink?: AudioLink;
  cache: CacheUse;
  /** Milliseconds since the data was fetched; 0 where it was fetched for this call. */
  ageMs: number;
  /** Same object for the same cached extraction: lets an encoder remember its work. */
  identity: object;
}

/** `miss`: fetched for this call or one beside it. `stale`: too old, and given because the source is out. */
export type CacheUse = 'hit' | 'miss' | 'stale';

/** A link that may be answered with a job. */
export interface SubmitRequest extends Omit<ExtractRequest, 'only'> {
  /** Who may look at the job. */
  owner: string;
  /** Names the request in the log of the job. Default: it names none. */
  requestId?: string;
  /** Fetch anew, even where the cache has an answer. Default false. */
  refresh?: boolean;
  /** What the admission hooks of extraction jobs judge, in the transaction that writes the job, and only there. Default: nothing. */
  terms?: unknown;
}

/**
 * What became of a submitted request; `answer` is that of the admission hooks, which judge jobs alone. Where it is
 * `rateLimited`, nothing was done. `refusal` is a definitive "no" that was given a moment ago.
 */
export type Submission = { result: ExtractResult } | { refusal: GatewayError } | AcceptedJob;

export type AcceptedJob = { job: ExtractionJob; answer?: unknown } | { rateLimited: true; answer?: unknown };

/** Several links with the same options. */
export interface BatchRequest extends Omit<SubmitRequest, 'url' | 'terms'> {
  /** Answered in this order; the same link may be there twice. */
  urls: readonly string[];
}

/** One link of a batch. */
export type BatchItem = { url: string } & (
  | { result: ExtractResult }
  | { job: ExtractionJob }
  | { error: GatewayError }
);

/** An extraction in the background. Times in milliseconds since 1970. */
export interface ExtractionJob {
  id: string;
  platform: string;
  link: LinkRef;
  state: JobState;
  /** Runs begun so far. */
  attempts: number;
  createdAt: number;
  /** Of the latest run. */
  startedAt: number | null;
  finishedAt: number | null;
  error: JobFailure | null;
  queue: { active: number; maxActive: number };
  /** Present once completed. Its `inputUrl` is the canonical URL: the job may be shared. */
  result?: ExtractResult;
}

/** A signed link to an MP3 that is made when it is first asked for. */
export interface AudioLink {
  url: string;
  /** ISO 8601. */
  expiresAt: string;
}

/** A request for the MP3 behind a link. */
export interface AudioFileRequest {
  /** The last part of an MP3 link, without `.mp3`. */
  name: string;
  /**
   * Where the file has not been made: `never` makes it, `following` answers with it while it is being made, `whole` once
   * it is stored.
   */
  make: 'never' | 'following' | 'whole';
  /** Waiting for the file ends with it; making it goes on. */
  signal?: AbortSignal;
}

/** The MP3 behind a link. */
export type AudioFile = {
  /** Milliseconds since 1970: when the link ends. */
  expiresAt: number;
  /** A file name to save it under, e.g. `vidsite-dQw4w9WgXcQ.mp3`. */
  downloadName: string;
} & (
  | { kind: 'stored'; file: FileStat; read(range?: ByteRange): Promise<StoredBody | undefined> }
  /** Its bytes as they are made, which are those that will be stored. Fails where it cannot be made to its end. */
  | { kind: 'growing'; body: AsyncIterable<Uint8Array> }
  | { kind: 'unmade' }
);

/** Where hosted MP3 links point, and how they are signed. */
export interface AudioLinkOptions {
  /** Without a trailing slash, e.g. `http://127.0.0.1:8787`. */
  baseUrl: string;
  /** Signing secrets, newest first; links signed with any of them are honoured. At least 32 bytes each. */
  secrets: readonly Uint8Array[];
  /** Default 86,400,000 (24 hours). */
  ttlMs?: number;
}
