/*
 * What programs pass to extraction and get back: one link, a submission that may become a job, a batch, the MP3 behind
 * a link, and media files. A result says whether it came from the source, the cache or an expired cache entry, and how old it
 * is. Ending the wait of one caller does not end work that others wait for. `QueueShare` describes how jobs share a
 * queue: groups take turns, then the keys of a group, and a priority orders the jobs of one group only.
 */

import type { ErrorCode, GatewayError } from '../runtime/index.js';
import type { ExtractionData } from './documents.js';
import type { Extraction, LinkRef, RequestOptions } from './extractor.js';
import type { JobFailure, JobState } from './gateway.js';
import type { ByteRange, FileStat, StoredBody } from './services.js';

/** One link to extract. */
export interface ExtractRequest {
  /** Any form of link that people share, including short links; at most 2,048 characters. */
  url: string;
  /**
   * Options that extractors declare, e.g. `{ clipReviewLimit: 5 }`. One that another platform declares has no effect.
   * Default: the defaults of the platform.
   */
  options?: RequestOptions;
  /** What errors call an option, for callers that have other names for them. Default: its own name. */
  optionName?(option: string): string;
  /** Offer an MP3 link if the item has audio. Default true. */
  includeAudioMp3?: boolean;
  /** Make media links for this key, by its id. Default: none. */
  mediaLinksFor?: string;
  /** Ask the platform whether the media files can be fetched, see {@link MediaCheck}. Default false. */
  verifyMedia?: boolean;
  /** Run only this method, without reading or writing the cache: for the live probe. */
  only?: string;
  /** Ends the wait of this caller; work that other callers wait for continues. */
  signal?: AbortSignal;
}

/**
 * Whether a media file could be fetched: when its first bytes and some past its first minute arrived (ISO 8601), or why
 * they did not.
 */
export type MediaCheck = { ms: number } & ({ verifiedAt: string } | { error: { code: ErrorCode; message: string } });

/** An item's document, and how it was extracted. */
export interface ExtractResult {
  /** Platform key. */
  platform: string;
  /** The link as sent. */
  inputUrl: string;
  /** The item it led to. */
  link: LinkRef;
  /** How the data was extracted, e.g. `innertube+watch_page`. */
  method: string;
  data: ExtractionData;
  /** Stable notes on best-effort or missing parts, some with a colon and details. */
  limitations: readonly string[];
  /** Set if a hosted MP3 is offered. */
  audioLink?: AudioLink;
  /** Whether a hosted MP3 can be made, asked for or not. Default false. */
  hasAudio?: boolean;
  /**
   * Links of the gateway to the media files, in the order of the document's entries; undefined for a manifest. Set if
   * they were asked for.
   */
  mediaLinks?: readonly (MediaFileLinks | undefined)[];
  /** Link of the gateway to an archive of all files of a carousel. Set if media links were asked for. */
  archiveLink?: SignedLink;
  /** A link to the video with picture and sound. Set if media links were asked for and the item has a video. */
  videoLink?: VideoLink;
  /** By entry of the document, as {@link StoredResult.checks}. The entries have the outcomes as well. */
  checks?: readonly (MediaCheck | null)[];
  cache: CacheUse;
  /** Milliseconds since the data was fetched; 0 if it was fetched for this call. */
  ageMs: number;
  /** The same object for the same cached extraction: an encoder can cache its result by it. */
  identity: object;
}

/**
 * `miss`: fetched for this call or a concurrent one. `stale`: expired, and served because the source is unavailable.
 */
export type CacheUse = 'hit' | 'miss' | 'stale';

/** How a job shares the queue of its kind with other jobs. */
export interface QueueShare {
  /** Key within the group: keys of one group take turns. Default: all jobs without a key share one. */
  keyId?: string;
  /** Group of the fair queue, opaque: groups take turns, and then the keys of a group. Default: each key is a group. */
  group?: string;
  /** Share of the queue, above 0 to 1, that queued and running jobs of the group may take. Default: all of it. */
  groupShare?: number;
  /**
   * Order within the group: its jobs of a higher priority run first, of any key. It changes nothing between
   * groups. Default `normal`.
   */
  priority?: JobPriority;
}

export const JOB_PRIORITIES = ['low', 'normal', 'high'] as const;
export type JobPriority = (typeof JOB_PRIORITIES)[number];

/** A link that may be answered with a job. */
export interface SubmitRequest extends Omit<ExtractRequest, 'only'>, QueueShare {
  /** The owner of the job. */
  owner: string;
  /** Id of the request, for log lines about the job. Default: none. */
  requestId?: string;
  /** Answer with a job on any platform, not only where the extractor allows it. Default false. */
  background?: boolean;
  /** Fetch again, even if there is a cached result. Default false. */
  refresh?: boolean;
  /**
   * What the caller wants to know of the request when it answers with the job later; small JSON. A job is shared only
   * with requests that have the same. Default: none.
   */
  fields?: JobFields;
  /** Receives a webhook when the job ends. Such a job is not shared with other requests. Default: none. */
  webhookUrl?: string;
  /** Input for the admission hooks of extraction jobs, in the transaction that inserts the job. Default: none. */
  terms?: unknown;
}

/** Fields of a request, opaque to core. */
export type JobFields = Readonly<Record<string, unknown>>;

/**
 * The result of a submission; `answer` is that of the admission hooks, which apply only to jobs. If it is
 * `rateLimited`, nothing was done. `refusal` is a recently cached definitive refusal.
 */
export type Submission = { result: ExtractResult } | { refusal: GatewayError } | AcceptedJob;

export type AcceptedJob = { job: ExtractionJob; answer?: unknown } | { rateLimited: true; answer?: unknown };

/** Several links with the same options. */
export interface BatchRequest extends Omit<SubmitRequest, 'url' | 'terms' | 'webhookUrl' | 'verifyMedia' | 'fields'> {
  /** Answered in this order; a link may be repeated. */
  urls: readonly string[];
}

/** One link of a batch. */
export type BatchItem = { url: string } & (
  | { result: ExtractResult }
  | { job: ExtractionJob }
  | { error: GatewayError }
);

/** A result without anything that expires, for a program that stores it and answers with it later; JSON. */
export interface StoredResult {
  platform: string;
  link: LinkRef;
  extraction: Extraction;
  /** Milliseconds since 1970. */
  fetchedAt: number;
  /** Whether it was an older result, served because the source was unavailable. */
  isStale: boolean;
  /** By entry of the document: null for those that were not asked for. Set if verification was asked for. */
  checks?: readonly (MediaCheck | null)[];
}

/** With which links the result of a job is answered, from the fields of its submission. */
export type JobAnswerTerms = (fields: JobFields) => Pick<ExtractRequest, 'mediaLinksFor' | 'includeAudioMp3'>;

/** A background extraction job. Times are milliseconds since 1970. */
export interface ExtractionJob {
  id: string;
  platform: string;
  link: LinkRef;
  state: JobState;
  /** Runs begun so far. */
  attempts: number;
  createdAt: number;
  /** When the latest run began. */
  startedAt: number | null;
  finishedAt: number | null;
  error: JobFailure | null;
  /** Those of its submission. Default: none. */
  fields?: JobFields;
  queue: { active: number; maxActive: number };
  /** Set once completed. Its `inputUrl` is the canonical URL, since the job may be shared. */
  result?: ExtractResult;
}

/** A signed link to an MP3 that is made at its first request. */
export type AudioLink = SignedLink;

/** A link of the gateway that works without a key until it expires. */
export interface SignedLink {
  url: string;
  /** ISO 8601. */
  expiresAt: string;
}

/** A signed link to the video of an item, which is merged while it is sent. */
export interface VideoLink extends SignedLink {
  /** By container; `url` is the first. */
  urls: Readonly<Partial<Record<'mp4' | 'webm', string>>>;
  /** Whether picture and sound are apart, or a stream of parts. Otherwise a media link leads to the same file. */
  isMerged: boolean;
}

/** A request for the MP3 behind a link. */
export interface AudioFileRequest {
  /** The last part of an MP3 link, without `.mp3`. */
  name: string;
  /**
   * If the file does not exist: `never` does not make it, `following` streams it while it is being made, `whole` waits
   * until it is stored.
   */
  make: 'never' | 'following' | 'whole';
  /** Ends the wait for the file; the transcode continues. */
  signal?: AbortSignal;
}

/** A request for the audio of an item as a file for audio models. */
export interface LinkAudioRequest {
  link: Pick<LinkRef, 'url' | 'access'>;
  maxBytes: number;
  /** Ends the wait for the audio; its conversion to MP3 continues. */
  signal: AbortSignal;
}

/** The MP3 behind a link. */
export type AudioFile = {
  /** Expiry of the link, in milliseconds since 1970. */
  expiresAt: number;
  /** Download name, e.g. `vidsite-dQw4w9WgXcQ.mp3`. */
  downloadName: string;
} & (
  | { kind: 'stored'; file: FileStat; read(range?: ByteRange): Promise<StoredBody | undefined> }
  /** Its bytes as they are made, the same that will be stored. Fails if the transcode fails. */
  | { kind: 'growing'; body: AsyncIterable<Uint8Array> }
  | { kind: 'unmade' }
);

/** Base URL and signing of hosted MP3 links. */
export interface AudioLinkOptions {
  /** Without a trailing slash, e.g. `http://127.0.0.1:8787`. */
  baseUrl: string;
  /** Signing secrets, newest first; links signed with any of them are valid. At least 32 bytes each. */
  secrets: readonly Uint8Array[];
  /** Default 86,400,000 (24 hours). */
  ttlMs?: number;
}

/** What a media link was made for. */
export interface MediaLink {
  /** Canonical URL of the item. */
  url: string;
  platform: string;
  /** Id of the key that it was made for. */
  issuer: string;
  /** Expiry of the link, in milliseconds since 1970. */
  expiresAt: number;
}

export const SUBTITLE_FORMATS = ['vtt', 'srt', 'txt'] as const;
export type SubtitleFormat = (typeof SUBTITLE_FORMATS)[number];

/** A text of subtitles with its time, in seconds. */
export interface Cue {
  start: number;
  end: number;
  text: string;
}

/** Links of the gateway to one file of an item. */
export interface MediaFileLinks extends SignedLink {
  /** Of subtitles: the same track in each format. */
  subtitles?: Readonly<Record<SubtitleFormat, string>>;
}

export interface MediaFileRequest {
  /** The last part of a media link, without an extension. */
  name: string;
  /** Format of subtitles. Default: the file as the platform has it. */
  subtitles?: SubtitleFormat;
  /** Ends the wait, and what is read of the file. */
  signal: AbortSignal;
}

/** A media file of a platform, as a client gets it. */
export interface MediaFile {
  /** Its tag says that it is the same file of the item with the same length; its bytes are not known. */
  file: FileStat;
  /** Title of the item and the type of the file, e.g. `A morning on the tugs.mp4`; any characters but control ones. */
  fileName: string;
  /** ASCII form of it, e.g. `vidsite-dQw4w9WgXcQ.mp4`. */
  plainName: string;
  /** Expiry of the link, in milliseconds since 1970. */
  expiresAt: number;
  read(range?: ByteRange): Promise<StoredBody>;
  /** Call it in any case, once the client has the answer or has left. */
  release(): void;
}

/** All files of a carousel as one ZIP, as a client gets it. */
export interface MediaArchive extends Pick<MediaFile, 'fileName' | 'plainName' | 'expiresAt' | 'release'> {
  /** Made while it is read; fails if a file of it fails. */
  body: AsyncIterable<Uint8Array>;
}

export interface VideoFileRequest {
  /** The last part of a video link, without its ending. */
  name: string;
  container: 'mp4' | 'webm';
  /** Pixels. Default: the highest. */
  maxHeight?: number | undefined;
  /** Seconds from which it is wanted. Default: its beginning. */
  start?: number | undefined;
  /** Seconds to which it is wanted. Default: its end. */
  end?: number | undefined;
  /** Whether it begins and ends exactly there, encoded anew. Default: at key frames, unchanged. */
  isExact?: boolean | undefined;
  /** As {@link AudioFileRequest.make}; without room for a whole file, `whole` is `following`. */
  make: AudioFileRequest['make'];
  /** Ends the wait, and what is read of the file. */
  signal: AbortSignal;
}

/** A video that is merged while it is sent. */
export type VideoFile = Pick<MediaFile, 'fileName' | 'plainName' | 'expiresAt' | 'release'> & {
  contentType: string;
  /** Seconds of the item at which a cut begins and ends: those of key frames, unless it is exact. Undefined if it is not cut. */
  cut: { start: number; end: number } | undefined;
} & (
    | { kind: 'stored'; file: FileStat; read(range?: ByteRange): Promise<StoredBody> }
    | { kind: 'growing'; body: AsyncIterable<Uint8Array> }
    | { kind: 'unmade' }
  );

/** Base URL, signing and limits of media links. */
export interface MediaLinkOptions extends Pick<AudioLinkOptions, 'baseUrl' | 'secrets'> {
  /** Bytes a second to all clients of one key. Default: no limit. */
  keyBytesPerSecond?: number;
  /** Bytes a second to all clients. Default: no limit. */
  bytesPerSecond?: number;
  /** Bytes on disk of merged videos that viewers share. Default 0: each viewer has its own merge. */
  spoolBytes?: number;
  /** Longest exact cut of a video, in seconds, which is encoded anew. Default 0: there are none. */
  exactCutSeconds?: number;
}
