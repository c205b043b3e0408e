import type { ByteRange, FileSource, FileStat, ImageSize, StoredBody, Usage } from '../contracts/index.js';
import type { JobFailure, JobState, WaitOptions } from '../jobs/index.js';
import type { ReferenceInput } from './references.js';

/** One picture that is wanted. */
export interface ImageRequest {
  model: string;
  prompt: string;
  /** Exact canvas in pixels, or `auto` to leave it to the model. */
  size: ImageSize | 'auto';
  /** Input images in the caller's order; at most 4. */
  references: readonly ReferenceInput[];
  /** Members handed through to the model; see {@link ImageCall}. */
  options: Readonly<Record<string, unknown>>;
  /** `url`: as public files. `inline`: for those alone who may look at the job. `both`: the one and the other. */
  delivery: ImageDelivery;
}

export type ImageDelivery = 'url' | 'inline' | 'both';

export interface ImageSubmitRequest extends ImageRequest {
  /** Who may look at the job. */
  owner: string;
  /** Keys take turns. Default: all requests without one take the turns of one key. */
  keyId?: string;
  /** Names the request in the log and in the job's failure. */
  requestId?: string;
  /** What the admission hooks of image jobs judge, in the transaction that writes the job. Default: nothing. */
  terms?: unknown;
  /** Where an event tells of the job's end; see Webhooks. Default: nowhere. */
  webhookUrl?: string;
}

/** What each look at the job shows or needs: `summary` of its record. */
export interface ImageJobSummary extends Pick<ImageSubmitRequest, 'model' | 'delivery'> {
  requestId: string | null;
  owner: string;
  /** Files of input images, which go when the job has ended. */
  files: readonly string[];
}

/** What became of a request; `answer` is that of the admission hooks. Without a job it was refused, and nothing was done. */
export type ImageSubmission =
  | { job: ImageJob; replayed: boolean; answer?: unknown }
  | { rateLimited: true; answer?: unknown };

/** A picture in the making, or made. Times in milliseconds since 1970. */
export interface ImageJob {
  /** `imgjob_`, 32 bits of the time and 96 random ones. */
  id: string;
  state: JobState;
  model: string;
  delivery: ImageDelivery;
  requestId: string | null;
  /** Runs begun so far. */
  attempts: number;
  createdAt: number;
  /** Of the latest run. */
  startedAt: number | null;
  finishedAt: number | null;
  /** When the job is forgotten. */
  expiresAt: number | null;
  /** Present while it is queued: 1 is next. */
  queuePosition?: number;
  /** Once failed or cancelled. */
  error: JobFailure | null;
  /** Once completed. */
  image?: FinishedImage;
}

export interface FinishedImage {
  /** Name of its file. Public unless the delivery is `inline`. */
  name: string;
  /** The model's own picture, before it was brought to the canvas; the same as `name` where it was that already. */
  rawName: string;
  contentType: string;
  /** Pixels. */
  width: number;
  height: number;
  bytes: number;
  /** Where the file was kept when the picture was done. */
  source: FileSource;
  usage?: Usage;
  /** Settings that the model ignored, in words. */
  warnings?: readonly string[];
}

/** A public file. */
export interface ImageFile {
  file: FileStat;
  read(range?: ByteRange): Promise<StoredBody | undefined>;
}

/** Pictures as durable jobs: each accepted request makes exactly one. */
export interface Images {
  /**
   * Checks the request, stores its input images, and accepts it in one transaction.
   * @throws GatewayError `model_not_supported`; `too_many_images`, `invalid_image_url`, `invalid_base64_image` and the like
   * of an input image; `queue_full`, and what the admission hooks refuse with; `storage_error`, `upstream_unavailable` where
   * it cannot be stored.
   */
  submit(request: ImageSubmitRequest): Promise<ImageSubmission>;
  /** @throws GatewayError `job_not_found` where there is none, or none of this owner. */
  find(id: string, owner: string): Promise<ImageJob>;
  /** As `find`, once the job has ended or the time is over. */
  wait(id: string, owner: string, options: WaitOptions): Promise<ImageJob>;
  /**
   * Ends a job that is queued or running. One that was cancelled before is answered the same again.
   * @throws GatewayError `job_not_found`, `job_already_terminal`.
   */
  cancel(id: string, owner: string): Promise<ImageJob>;
  /** The picture of a completed job; undefined where its time is over. */
  content(image: FinishedImage): Promise<StoredBody | undefined>;
  /**
   * A public file by its name.
   * @throws GatewayError `file_not_found` where there is no such file, `file_expired` where its time is over.
   */
  file(name: string): Promise<ImageFile>;
}

export function hasEnded({ state }: Pick<ImageJob, 'state'>): boolean {
  return state !== 'queued' && state !== 'running';
}
