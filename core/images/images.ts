/*
 * The service of image jobs. `submit` checks the model, stores the input images and accepts a job whose input is the
 * task (`core/jobs/service.ts`); files are written before the job that names them, and removed if it is refused. A
 * worker claims the job (`core/jobs/workers.ts`) and makes the image (`image-run.ts`). The job ends with the names of
 * its files. `find` and `wait` show the job, `file` opens a public file. When a job has ended, its input images are
 * deleted, and so is an image that came too late. Files that cannot be deleted expire.
 */

import type {
  Clock,
  JobFailure,
  JobState,
  Logger,
  Media,
  QueueShare,
  Storage,
  StoredBody,
} from '../contracts/index.js';
import {
  type Accepted,
  filesOfJob,
  type JobFilter,
  type JobRecord,
  type JobRun,
  type Jobs,
  type JobWorkers,
  kindOfJob,
  type WaitOptions,
} from '../jobs/index.js';
import type { ImageFiles } from '../media/index.js';
import type { PluginHost, Registry } from '../plugins/index.js';
import { GatewayError, isGatewayError, type Siblings } from '../runtime/index.js';
import { filesOfResult, type ImageCharge } from './image-jobs.js';
import { checkModel, type ImageRequest, type ImageResult, ImageRun, type ImageTask } from './image-run.js';
import { PartialImagesOfJobs, type PartialListener } from './partial-images.js';
import {
  fileNamesOf,
  type ImageJobSummary,
  ReferenceFiles,
  type References,
  type StoredImageRequest,
  type StoredReference,
} from './references.js';
import { type FinishedImage, type ImageDelivery, type ImageFile, ResultFiles, targetOfRun } from './result-files.js';
import { Thumbnails, type ThumbnailUse } from './thumbnails.js';

export interface ImageSubmitRequest extends ImageRequest, QueueShare {
  /** The owner, who may read the job. */
  owner: string;
  /** Names the request in the log and in the job's failure. */
  requestId?: string;
  /** Input for the admission hooks of image jobs, in the transaction that inserts the job. Default: none. */
  terms?: unknown;
  /** URL of the webhook for the job's end; see Webhooks. Default: none. */
  webhookUrl?: string;
  /**
   * Whether the job shows its prompt and settings until it is deleted, as for a gallery. Default false: they are deleted
   * when the job has ended.
   */
  keepsRequest?: boolean;
}

/**
 * The result of a submission; `answer` is that of the admission hooks. Without a job it was refused, and nothing was
 * done.
 */
export type ImageSubmission =
  | { job: ImageJob; replayed: boolean; answer?: unknown }
  | { rateLimited: true; answer?: unknown };

/** An image job. Times are milliseconds since 1970. */
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
  /** When the latest run began. */
  startedAt: number | null;
  finishedAt: number | null;
  /** When the job is deleted. */
  expiresAt: number | null;
  /** Present while it is queued: 1 is next. */
  queuePosition?: number;
  /** Once failed or cancelled. */
  error: JobFailure | null;
  /** Once completed. */
  image?: FinishedImage;
  /** What was asked for, if the request is kept. */
  request?: StoredImageRequest;
  /** Maximum number of partial images, if any are wanted. */
  partialImages?: number;
  /** Name of the plugin that makes or made the image, if it only replaces a provider that is not configured. */
  standIn?: string;
}

/** Image jobs: each accepted request makes exactly one image. */
export interface Images {
  /**
   * Checks the request, stores its input images, and accepts it in one transaction.
   * @throws GatewayError `model_not_supported`; `unsupported_value`, `too_many_images`, `invalid_image_url`,
   *   `invalid_base64_image` and other errors of an input image or mask; `queue_full`, and what the admission hooks refuse with; `storage_error`,
   *   `upstream_unavailable` if it cannot be stored.
   */
  submit(request: ImageSubmitRequest): Promise<ImageSubmission>;
  /** @throws GatewayError `job_not_found` if there is none, or it belongs to another owner. */
  find(id: string, owner: string): Promise<ImageJob>;
  /** Finds the job once it has ended or the time is over. */
  wait(id: string, owner: string, options: WaitOptions): Promise<ImageJob>;
  /**
   * The jobs that the owner submitted, newest first; at most `limit`. Without `queuePosition`.
   * @throws GatewayError `job_not_found` if the owner has no job `after`.
   */
  list(owner: string, limit: number, filter?: Pick<JobFilter, 'state' | 'after'>): Promise<readonly ImageJob[]>;
  /**
   * Ends a queued or running job. A job that was cancelled before is returned again.
   * @throws GatewayError `job_not_found`, `job_already_terminal`.
   */
  cancel(id: string, owner: string): Promise<ImageJob>;
  /**
   * Deletes a job with its image; a job that has not ended is cancelled before.
   * @throws GatewayError `job_not_found`.
   */
  delete(id: string, owner: string): Promise<void>;
  /**
   * Notifies of the partial images of a job that runs: of those that were shown already, and of each further one. Some
   * may be missing if another process runs the job. Call the result to stop.
   */
  onPartial(id: string, listener: PartialListener): () => void;
  /** The image of a completed job; undefined if it has expired. */
  content(image: FinishedImage): Promise<StoredBody | undefined>;
  /**
   * A public file by name.
   * @throws GatewayError `file_not_found` if there is no such file, `file_expired` if it has expired.
   */
  file(name: string): Promise<ImageFile>;
  /**
   * A small picture of a public file, for lists: WebP of at most 640 pixels on each side, or 96 for a line.
   * @throws GatewayError as {@link file}; `queue_full`, `plugin_unavailable`.
   */
  thumbnail(name: string, use?: ThumbnailUse): Promise<Media>;
}

export function isTerminal({ state }: Pick<ImageJob, 'state'>): boolean {
  return state !== 'queued' && state !== 'running';
}

const DEFAULT_WORKERS = 4;
const DEFAULT_MAX_ACTIVE = 1_000;
const DEFAULT_FILE_MS = 7 * 24 * 60 * 60 * 1000;
/** Time for input images, the slowest model with its retries, decoding and storing. */
const RUN_MS = 360_000;
const QUEUED_MS = 60 * 60 * 1000;
const RUNS = 2;
/** A finished run is written within moments, unless the database is unavailable. */
const END_MS = 60_000;

export interface ImagesOptions {
  /** Maximum concurrent images in this process; 0 leaves the work to other processes. Default 4. */
  workers?: number;
  /** Maximum concurrent images of one key, over all processes. Default: the number of workers. */
  maxPerKey?: number;
  /** Maximum number of queued and running jobs, over all processes. Default 1,000. */
  maxActive?: number;
  /** Milliseconds that public files are kept. Default: 7 days. */
  fileMs?: number;
  /**
   * What happens to an image if its process dies: `requeue` makes it again, which a model's vendor may bill twice;
   * `fail` fails the job. Default `requeue`.
   */
  restartPolicy?: 'requeue' | 'fail';
  /**
   * Grace period in milliseconds for running images when the gateway closes. An interrupted image is made, and may be
   * billed, again. Default 0.
   */
  graceMs?: number;
}

export interface ImageServiceOptions extends ImagesOptions {
  store: Jobs;
  storage: Storage;
  siblings: Siblings;
  registry: Registry;
  host: PluginHost;
  references: References;
  imageFiles: ImageFiles;
  clock: Clock;
  logger: Logger;
}

export class ImageService implements Images {
  readonly #options: ImageServiceOptions;
  readonly #referenceFiles: ReferenceFiles;
  readonly #resultFiles: ResultFiles;
  readonly #thumbnails: Thumbnails;
  readonly #partials: PartialImagesOfJobs;
  readonly #run: ImageRun;
  readonly #stopping = new AbortController();
  readonly #tidying = new Set<Promise<void>>();
  #running: JobWorkers | undefined;

  constructor(options: ImageServiceOptions) {
    const { storage, siblings, clock, logger, fileMs = DEFAULT_FILE_MS } = options;
    this.#options = options;
    this.#referenceFiles = new ReferenceFiles({ storage, clock, logger });
    // The retention of files starts at completion, so they exist for the promised time.
    this.#resultFiles = new ResultFiles({ storage, clock, logger, publicMs: fileMs + QUEUED_MS });
    this.#thumbnails = new Thumbnails(this.#resultFiles, options.imageFiles);
    this.#partials = new PartialImagesOfJobs({ storage, siblings, clock, logger });
    const files = { referenceFiles: this.#referenceFiles, resultFiles: this.#resultFiles };
    this.#run = new ImageRun({
      ...options,
      ...files,
      showPartial: (jobId, image) => this.#partials.show(jobId, image),
    });
  }

  /** Starts the workers of this process. */
  start(): void {
    const { registry, store, workers = DEFAULT_WORKERS, maxPerKey, graceMs, restartPolicy } = this.#options;
    const needed = registry.models().some(({ kind }) => kind === 'image');
    if (!needed || workers === 0) return;
    this.#running ??= store.work({
      kind: 'image',
      concurrency: workers,
      ...(maxPerKey !== undefined && { maxPerKey }),
      maxAttempts: restartPolicy === 'fail' ? 1 : RUNS,
      timeoutMs: RUN_MS,
      maxQueuedMs: QUEUED_MS,
      ...(graceMs !== undefined && { graceMs }),
      run: (...run) => this.#work(...run),
      charge: chargeOfResult,
      refused: (job, result) => this.#tidyLater(job, filesOfResult(result as ImageResult)),
      endedUnrun: (job) => this.#tidyLater(job, []),
    });
  }

  /** Queues runs again that exceed the grace period. Idempotent. */
  async stop(): Promise<void> {
    await this.#running?.stop();
    this.#stopping.abort(new GatewayError('shutting_down', 'The gateway is shutting down.'));
    await Promise.all(this.#tidying);
  }

  async submit(request: ImageSubmitRequest): Promise<ImageSubmission> {
    const { registry, references, store, maxActive = DEFAULT_MAX_ACTIVE } = this.#options;
    const { owner, requestId, webhookUrl, keyId, group, groupShare, priority } = request;
    const model = registry.resolve(request.model);
    checkModel(registry, { ...request, model });
    const checked = await references.check(request.references, request.mask);
    const terms = request.terms === undefined ? {} : { terms: request.terms };
    const origin = requestId === undefined ? {} : { requestId };
    const target = webhookUrl === undefined ? {} : { webhookUrl };
    const share = { keyId, group, groupShare, priority, maxActive };
    const job = { kind: 'image', owner, ...share, ...origin, ...target } as const;
    // Files are written before the job that names them: a refused or replayed request should use no disk.
    if (checked.some((reference) => 'media' in reference)) {
      const foreseen = this.#toSubmission(await store.peek({ ...terms, job: { ...job, input: null } }));
      if (foreseen) return foreseen;
    }
    const stored = await this.#referenceFiles.store(checked);
    const files = fileNamesOf(stored);
    let areNeeded = false;
    try {
      const input = this.#taskOf({ ...request, model }, stored);
      const summary = summaryOf({ ...request, model }, files);
      const accepted = await store.accept({ ...terms, job: { ...job, summary, input } });
      areNeeded = accepted.job !== undefined && !accepted.replayed;
      const submission = this.#toSubmission(accepted);
      if (!submission) throw new Error('an image was neither accepted nor refused');
      return submission;
    } catch (error) {
      // The database may have accepted the job although its answer was lost. Otherwise the files expire.
      areNeeded = !isGatewayError(error) || error.code === 'upstream_unavailable';
      throw error;
    } finally {
      if (!areNeeded) await this.#referenceFiles.remove(files);
    }
  }

  /** @param stored The input images; the mask is last. */
  #taskOf(request: ImageRequest, stored: readonly StoredReference[]): ImageTask {
    const { model, prompt, size, options, partialImages, delivery } = request;
    const mask = request.mask && stored.at(-1);
    return {
      model,
      prompt,
      size,
      options,
      references: mask ? stored.slice(0, -1) : stored,
      ...(mask && { mask }),
      ...(partialImages && { partialImages }),
      resultTarget: this.#resultFiles.target(delivery),
    };
  }

  /** Undefined if it was a peek and the job would be accepted. */
  #toSubmission({ job, replayed, rateLimited, answer }: Accepted): ImageSubmission | undefined {
    const answered = answer === undefined ? {} : { answer };
    if (job) return { job: this.#view(job), replayed, ...answered };
    return rateLimited ? { rateLimited, ...answered } : undefined;
  }

  async find(id: string, owner: string): Promise<ImageJob> {
    return this.#withPosition(existing(await this.#options.store.find(id, owner)));
  }

  async wait(id: string, owner: string, options: WaitOptions): Promise<ImageJob> {
    return this.#withPosition(existing(await this.#options.store.waitFor(id, owner, options)));
  }

  async list(owner: string, limit: number, filter?: Pick<JobFilter, 'state' | 'after'>): Promise<readonly ImageJob[]> {
    const records = await this.#options.store.latest(owner, limit, { ...filter, kind: 'image', results: true });
    return records.map((record) => this.#view(record));
  }

  async cancel(id: string, owner: string): Promise<ImageJob> {
    const record = existing(kindOfJob(id) === 'image' ? await this.#options.store.cancel(id, owner) : undefined);
    this.#tidyLater(record, []);
    return this.#view(record);
  }

  async delete(id: string, owner: string): Promise<void> {
    const { store, storage } = this.#options;
    const found = existing(await store.find(id, owner));
    if (found.finishedAt === null) await this.#cancelIfOpen(id, owner);
    const { kind, summary, result } = existing(await store.find(id, owner));
    // Files first: interrupted work can be repeated while the job names them.
    await Promise.all(filesOfJob(kind, summary, result).map((name) => storage.delete(name)));
    await store.delete(id, owner);
  }

  /** The job may end meanwhile. */
  async #cancelIfOpen(id: string, owner: string): Promise<void> {
    try {
      await this.cancel(id, owner);
    } catch (error) {
      if (!isGatewayError(error) || error.code !== 'job_already_terminal') throw error;
    }
  }

  onPartial(id: string, listener: PartialListener): () => void {
    return this.#partials.listen(id, listener);
  }

  content({ name }: FinishedImage): Promise<StoredBody | undefined> {
    return this.#options.storage.read(name);
  }

  file(name: string): Promise<ImageFile> {
    return this.#resultFiles.open(name);
  }

  thumbnail(name: string, use: ThumbnailUse = 'card'): Promise<Media> {
    return this.#thumbnails.get(name, use);
  }

  async #withPosition(record: JobRecord): Promise<ImageJob> {
    const job = this.#view(record);
    const queuePosition = job.state === 'queued' ? await this.#options.store.queuePosition(job.id) : undefined;
    return queuePosition === undefined ? job : { ...job, queuePosition };
  }

  #view(record: JobRecord): ImageJob {
    const { id, state, attempts, createdAt, startedAt, finishedAt, expiresAt, error } = record;
    const { model, delivery, requestId, request, partialImages } = record.summary as ImageJobSummary;
    const standIn = state === 'completed' ? (record.result as ImageResult).standIn : this.#standInOf(model);
    const times = { createdAt, startedAt, finishedAt, expiresAt };
    const wanted = { ...(request && { request }), ...(partialImages && { partialImages }) };
    const job = {
      ...{ id, state, model, delivery, requestId, attempts, ...times, error, ...wanted },
      ...(standIn && { standIn }),
    };
    if (state !== 'completed') return job;
    const { image, ...details } = record.result as ImageResult;
    return { ...job, image: { ...image, ...details } };
  }

  /** Name of the mock that makes images of the model now; undefined if it is none. */
  #standInOf(model: string): string | undefined {
    const { registry, host } = this.#options;
    const provider = registry.imageProvider(model);
    return provider && host.policy(provider.entry).standIn;
  }

  async #work(job: JobRun, signal: AbortSignal, ask: (charge: ImageCharge) => Promise<void>): Promise<ImageResult> {
    const task = job.input as ImageTask;
    const resultTarget = targetOfRun(task.resultTarget, job.attempts);
    try {
      return await this.#run.make({ ...task, resultTarget }, job, signal, ask);
    } finally {
      if (task.partialImages) void this.#partials.forget(job.id);
      this.#tidyLater(job, []);
    }
  }

  #tidyLater(record: JobRecord, made: readonly string[]): void {
    // Most jobs have nothing to remove.
    if ((record.summary as ImageJobSummary).files.length + made.length === 0) return;
    const tidied = this.#tidy(record, made).finally(() => this.#tidying.delete(tidied));
    this.#tidying.add(tidied);
  }

  /** Once the job has ended, removes its input images, and an image that came too late. */
  async #tidy({ id, summary }: JobRecord, made: readonly string[]): Promise<void> {
    const { files, owner } = summary as ImageJobSummary;
    try {
      const until = { timeoutMs: END_MS, signal: this.#stopping.signal };
      const record = await this.#options.store.waitFor(id, owner, until);
      if (record && !isTerminal(record)) return;
      // A run that was too late has made an image that is not part of the job, beside the image of the run that ended
      // the job.
      const jobFiles = record?.state === 'completed' ? filesOfResult(record.result as ImageResult) : [];
      await this.#referenceFiles.remove([...files, ...made.filter((name) => !jobFiles.includes(name))]);
    } catch {
      // The workers stop, or the database is unavailable: the files expire.
    }
  }
}

/** @param files Those of the input images. */
function summaryOf(request: ImageSubmitRequest, files: readonly string[]): ImageJobSummary {
  const { model, delivery, requestId = null, owner, prompt, size, options, references, mask, partialImages } = request;
  const stored = { prompt, size, options, references: references.length, hasMask: mask !== undefined };
  return {
    ...{ model, delivery, requestId, owner, files },
    ...(request.keepsRequest && { request: stored }),
    ...(partialImages && { partialImages }),
  };
}

function existing(record: JobRecord | undefined): JobRecord {
  if (record?.kind !== 'image') throw new GatewayError('job_not_found', 'There is no such job.');
  return record;
}

function chargeOfResult({ summary }: JobRun, result: unknown): ImageCharge {
  const { image, usage, quality } = result as ImageResult;
  const { width, height } = image;
  const made = { width, height, ...(quality !== undefined && { quality }) };
  return { model: (summary as ImageJobSummary).model, units: 1, ...(usage && { usage }), image: made };
}
