/*
 * Runs one image job: loads the stored input images, calls the provider, fits the image to the canvas, and stores the
 * files. The charge is stored before the vendor is asked; each partial image raises it. A job that is cancelled, takes
 * too long or is interrupted after that is charged, because the vendor may bill it; one that the vendor refused is not.
 * The job queue decides whether an interrupted job runs again. A second run asks the vendor again, with the same
 * idempotency key, and the job is still charged once. It has file names of its own, so that a late write of the first
 * changes no promised image. What a plugin returns is checked, and impossible usage counts are left out. Before it is
 * accepted, a request is checked by the model that it names: whether it takes so many input images, and a mask.
 */

import type {
  Clock,
  GeneratedImage,
  ImageCall,
  ImageModel,
  ImageProvider,
  ImageSize,
  ImageWarning,
  Logger,
  Media,
  PartialImages,
  Usage,
} from '../contracts/index.js';
import type { JobRun } from '../jobs/index.js';
import type { ImageFiles, OutputFormat } from '../media/index.js';
import { inSpan, modelSpan } from '../observability/index.js';
import {
  impossibleUsage,
  type PluginHost,
  type Registered,
  type Registry,
  readReportedUsage,
} from '../plugins/index.js';
import { GatewayError, isGatewayError } from '../runtime/index.js';
import type { ImageCharge } from './image-jobs.js';
import {
  checkMask,
  type ReferenceFiles,
  type ReferenceInput,
  type References,
  type StoredReference,
} from './references.js';
import type { ImageDelivery, ResultFiles, ResultTarget, StoredImage } from './result-files.js';

/** What a run needs, as the job stores it. */
export interface ImageTask {
  model: string;
  prompt: string;
  size: ImageSize | 'auto';
  options: Readonly<Record<string, unknown>>;
  references: readonly StoredReference[];
  mask?: StoredReference;
  /** Maximum number of partial images that the caller wants to see. */
  partialImages?: number;
  resultTarget: ResultTarget;
}

export interface ImageResult {
  image: StoredImage;
  usage?: Usage;
  seed?: number;
  /** The quality that was asked for. */
  quality?: string;
  warnings?: readonly ImageWarning[];
  /** Name of the plugin, if it only replaces a provider that is not configured. */
  standIn?: string;
}

interface ImageRunOptions {
  registry: Registry;
  host: PluginHost;
  references: References;
  referenceFiles: ReferenceFiles;
  resultFiles: ResultFiles;
  imageFiles: ImageFiles;
  /** Receives the partial images of a job. */
  showPartial(jobId: string, image: Media): void;
  clock: Clock;
  logger: Logger;
}

/** What a run reports to its job. */
interface Asking {
  signal: AbortSignal;
  /** Stores what the vendor may bill, before it is asked. */
  ask(charge: ImageCharge): Promise<void>;
}

/** One run of a job: input images → the model → the exact canvas → files. */
export class ImageRun {
  readonly #options: ImageRunOptions;

  constructor(options: ImageRunOptions) {
    this.#options = options;
  }

  /** @param ask Stores what the vendor may bill, before it is asked. */
  async make(
    task: ImageTask,
    { id, attempts }: Pick<JobRun, 'id' | 'attempts'>,
    signal: AbortSignal,
    ask: (charge: ImageCharge) => Promise<void>,
  ): Promise<ImageResult> {
    const { clock, logger } = this.#options;
    const startedAt = clock.monotonic();
    const fields = () => ({
      jobId: id,
      model: task.model,
      attempt: attempts,
      ms: Math.round(clock.monotonic() - startedAt),
    });
    try {
      const result = await this.#run(task, id, { signal, ask });
      logger.info('an image was generated', { ...fields(), bytes: result.image.bytes });
      return result;
    } catch (error) {
      if (!signal.aborted && isGatewayError(error)) {
        logger.warn('an image could not be generated', { ...fields(), code: error.code, error: error.cause });
      }
      throw error;
    }
  }

  async #run(task: ImageTask, id: string, asking: Asking): Promise<ImageResult> {
    const { registry, host, resultFiles, imageFiles } = this.#options;
    const { signal } = asking;
    const provider = registry.imageProvider(task.model);
    if (!provider) throw new GatewayError('plugin_unavailable', 'The model of this job is not ready.');
    // The plugin instance may be unloaded before the image is stored.
    const { hideOptions, standIn } = host.policy(provider.entry);
    const { usage: reported, seed, warnings, ...raw } = await this.#generate(provider, task, id, asking);
    const usage = this.#readUsage(provider.entry, reported);
    const output = outputOf(task.options);
    const fit = (redraws: () => void) => imageFiles.fitCanvas(raw, { size: task.size, ...output, redraws, signal });
    const drawing = { raw, fit, ...(standIn !== undefined && { standIn }) };
    const image = await resultFiles.store(task.resultTarget, drawing, signal);
    const described = warnings?.map(({ setting, details }) => ({
      setting: hideOptions(setting),
      details: hideOptions(details),
    }));
    const { quality } = task.options;
    return {
      image,
      ...(usage && { usage }),
      ...(seed !== undefined && { seed }),
      ...(typeof quality === 'string' && { quality }),
      ...(described && { warnings: described }),
      ...(standIn !== undefined && { standIn }),
    };
  }

  async #generate(
    { entry, contribution }: Registered<ImageProvider>,
    task: ImageTask,
    id: string,
    { signal, ask }: Asking,
  ): Promise<GeneratedImage> {
    const { model, prompt, size, options } = task;
    const inputs = await this.#loadInputs(task, signal);
    const due = chargeOf(task);
    await ask(due);
    signal.throwIfAborted();
    let noted = Promise.resolve();
    const shown = (count: number) => {
      const usage = { outputTokens: count * PARTIAL_TOKENS, estimated: true };
      // One after the other, so that the last count stays. The job may have ended meanwhile.
      noted = noted.then(() => ask({ ...due, usage })).catch(() => undefined);
    };
    const partials = task.partialImages && this.#partialsOf(id, task.partialImages, shown);
    const call = { model, prompt, size, ...inputs, ...(partials && { partials }), options, idempotencyKey: id };
    return inSpan(modelSpan('generate_content', model, entry), () =>
      this.#options.host.call('image', entry, signal, async (callSignal) =>
        checkGenerated(await contribution.generate({ ...call, signal: callSignal })),
      ),
    );
  }

  async #loadInputs(task: ImageTask, signal: AbortSignal): Promise<Pick<ImageCall, 'references' | 'mask'>> {
    const { references, referenceFiles } = this.#options;
    const stored = [...task.references, ...(task.mask ? [task.mask] : [])];
    const loaded = await references.load(await referenceFiles.load(stored, signal), signal);
    const mask = task.mask && loaded.pop();
    const [edited] = loaded;
    if (task.mask && mask && edited) checkMask(task.mask.param, mask, edited);
    return { references: loaded, ...(mask && { mask }) };
  }

  /** Passes on as many images as the caller wants. */
  #partialsOf(id: string, count: number, shown: (count: number) => void): PartialImages {
    const { showPartial } = this.#options;
    let left = count;
    return {
      count,
      show(image) {
        if (left === 0 || !(image?.bytes instanceof Uint8Array)) return;
        left -= 1;
        showPartial(id, image);
        shown(count - left);
      },
    };
  }

  #readUsage(entry: string, reported: unknown): Usage | undefined {
    const member = impossibleUsage(reported).join(', ');
    if (member) this.#options.logger.warn('a plugin reported an invalid usage', { entry, member });
    return readReportedUsage(reported);
  }
}

/** Output tokens that a partial image costs at the vendors who bill tokens. */
const PARTIAL_TOKENS = 100;

/** What a task costs from the moment that its vendor is asked, if the image is never seen. */
function chargeOf({ model, size, options }: ImageTask): ImageCharge {
  const { quality } = options;
  const image = {
    ...(size !== 'auto' && { width: size.width, height: size.height }),
    ...(typeof quality === 'string' && { quality }),
  };
  return { model, units: 1, image };
}

/** @throws Error if a plugin broke its contract; the message is not shown to callers. */
function checkGenerated(image: GeneratedImage): GeneratedImage {
  if (!(image?.bytes instanceof Uint8Array)) throw new Error('generate() answered no bytes');
  const { warnings = [], seed = 0 } = image;
  if (!Number.isSafeInteger(seed)) throw new Error('generate() answered a seed that is not a whole number');
  if (Array.isArray(warnings) && warnings.every(isWarning)) return image;
  throw new Error('the warnings of what generate() answered must be a list of { setting, details }, both texts');
}

function isWarning(value: Partial<ImageWarning> | null): boolean {
  return typeof value?.setting === 'string' && typeof value.details === 'string';
}

/** The options that the canvas needs to know. */
function outputOf(options: Readonly<Record<string, unknown>>): { format?: OutputFormat; quality?: number } {
  const { output_format: format, output_compression: quality } = options;
  return {
    ...((format === 'png' || format === 'jpeg' || format === 'webp') && { format }),
    ...(typeof quality === 'number' && { quality }),
  };
}

/** A request for one image. */
export interface ImageRequest {
  model: string;
  prompt: string;
  /** Exact canvas in pixels, or `auto` to leave it to the model. */
  size: ImageSize | 'auto';
  /** Input images in the caller's order; at most 4. */
  references: readonly ReferenceInput[];
  /** Marks the part of the first input image that is to change; see {@link ImageCall.mask}. Default: none. */
  mask?: ReferenceInput;
  /** Maximum number of partial images, for {@link Images.onPartial}; 1 to 3. Default: none. */
  partialImages?: number;
  /** Fields passed through to the model; see {@link ImageCall}. */
  options: Readonly<Record<string, unknown>>;
  /** `url`: public files. `inline`: only for owners of the job. `both`: both of them. */
  delivery: ImageDelivery;
}

export function checkModel(registry: Registry, { model, references, mask }: ImageRequest): void {
  registry.checkOpen(model);
  const found = registry.imageModel(model);
  if (found) {
    checkReferences(found, references);
    if (mask) checkMasking(found, mask, references);
    return;
  }
  const known = registry
    .models()
    .filter(({ kind }) => kind === 'image')
    .map(({ id }) => id);
  const message = `There is no image model with this name. Available: ${known.join(', ') || 'none, since no provider is ready'}.`;
  throw new GatewayError('model_not_supported', message, { param: 'model' });
}

/** An image made without some of them would not be the requested one. */
function checkReferences({ id, maxReferences }: ImageModel, references: readonly ReferenceInput[]): void {
  const extra = references[maxReferences];
  if (!extra) return;
  const { param } = extra;
  if (maxReferences === 0)
    throw new GatewayError('unsupported_value', `The model ${id} accepts no input images.`, { param });
  const message = `The model ${id} accepts at most ${maxReferences} input images; this request has ${references.length}.`;
  throw new GatewayError('too_many_images', message, { param });
}

function checkMasking(
  { id, takesMask = false }: ImageModel,
  { param }: ReferenceInput,
  references: readonly ReferenceInput[],
): void {
  if (references.length === 0)
    throw new GatewayError('invalid_value', 'A mask needs an input image: it marks the part of it to change.', {
      param,
    });
  if (!takesMask) throw new GatewayError('unsupported_value', `The model ${id} accepts no mask.`, { param });
}
