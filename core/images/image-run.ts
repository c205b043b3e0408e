/*
 * Runs one image job: loads the input images, calls the provider, fits the image to the canvas, and stores the files.
 * The charge is stored before the vendor is asked, so a job that ends without an answer is still charged for what the
 * vendor may bill; each partial image raises it. What a plugin returns is checked, and impossible usage counts are
 * left out. The second half downloads input images by https within 15 seconds, with at most three redirects that are
 * all checked, and refuses a body above the limit before it is read.
 */

import type {
  Clock,
  GeneratedImage,
  ImageCall,
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
import { impossibleUsage, type PluginHost, type Registry, readReportedUsage } from '../plugins/index.js';
import { GatewayError, isGatewayError } from '../runtime/index.js';
import type { ImageCharge } from './image-jobs.js';
import { checkMask, type ReferenceFiles, type References, type StoredReference } from './references.js';
import type { ResultFiles, ResultTarget, StoredImage } from './result-files.js';

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

export type ImageRun = (
  task: ImageTask,
  job: Pick<JobRun, 'id' | 'attempts'>,
  signal: AbortSignal,
  ask: (charge: ImageCharge) => Promise<void>,
) => Promise<ImageResult>;

/** One run of a job: input images → the model → the exact canvas → files. */
export function createImageRun(options: ImageRunOptions): ImageRun {
  const { registry, host, references, referenceFiles, resultFiles, imageFiles, showPartial, clock, logger } = options;

  async function loadInputs(task: ImageTask, signal: AbortSignal): Promise<Pick<ImageCall, 'references' | 'mask'>> {
    const stored = [...task.references, ...(task.mask ? [task.mask] : [])];
    const loaded = await references.load(await referenceFiles.load(stored, signal), signal);
    const mask = task.mask && loaded.pop();
    const [edited] = loaded;
    if (task.mask && mask && edited) checkMask(task.mask.param, mask, edited);
    return { references: loaded, ...(mask && { mask }) };
  }

  /** Passes on as many images as the caller wants. */
  function partialsOf(id: string, count: number, shown: (count: number) => void): PartialImages {
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

  async function make(task: ImageTask, id: string, { signal, ask }: Asking): Promise<ImageResult> {
    const { model, prompt, size, resultTarget } = task;
    const provider = registry.imageProvider(model);
    if (!provider) throw new GatewayError('plugin_unavailable', 'The model of this job is not ready.');
    // The plugin instance may be unloaded before the image is stored.
    const { hideOptions, standIn } = host.policy(provider.entry);
    const { mask, ...inputs } = await loadInputs(task, signal);
    const due = chargeOf(task);
    await ask(due);
    signal.throwIfAborted();
    let noted = Promise.resolve();
    const shown = (count: number) => {
      const usage = { outputTokens: count * PARTIAL_TOKENS, estimated: true };
      // One after the other, so that the last count stays. The job may have ended meanwhile.
      noted = noted.then(() => ask({ ...due, usage })).catch(() => undefined);
    };
    const {
      usage: reported,
      seed,
      warnings,
      ...raw
    } = await inSpan(modelSpan('generate_content', model, provider.entry), () =>
      host.call('image', provider.entry, signal, async (callSignal) =>
        checkGenerated(
          await provider.contribution.generate({
            model,
            prompt,
            size,
            references: inputs.references,
            ...(mask && { mask }),
            ...(task.partialImages && { partials: partialsOf(id, task.partialImages, shown) }),
            options: task.options,
            idempotencyKey: id,
            signal: callSignal,
          }),
        ),
      ),
    );
    const usage = readReportedUsage(reported);
    const impossible = impossibleUsage(reported).join(', ');
    if (impossible) logger.warn('a plugin reported an invalid usage', { entry: provider.entry, member: impossible });
    const { format, quality } = outputOf(task.options);
    const fit = (redraws: () => void) => imageFiles.fitCanvas(raw, { size, format, quality, redraws, signal });
    const image = await resultFiles.store(
      resultTarget,
      { raw, fit, ...(standIn !== undefined && { standIn }) },
      signal,
    );
    const described = warnings?.map(({ setting, details }) => ({
      setting: hideOptions(setting),
      details: hideOptions(details),
    }));
    const { quality: asked } = task.options;
    return {
      image,
      ...(usage && { usage }),
      ...(seed !== undefined && { seed }),
      ...(typeof asked === 'string' && { quality: asked }),
      ...(described && { warnings: described }),
      ...(standIn !== undefined && { standIn }),
    };
  }

  return async (task, { id, attempts }, signal, ask) => {
    const startedAt = clock.monotonic();
    const fields = () => ({
      jobId: id,
      model: task.model,
      attempt: attempts,
      ms: Math.round(clock.monotonic() - startedAt),
    });
    try {
      const result = await make(task, id, { signal, ask });
      logger.info('an image was generated', { ...fields(), bytes: result.image.bytes });
      return result;
    } catch (error) {
      if (!signal.aborted && isGatewayError(error)) {
        logger.warn('an image could not be generated', { ...fields(), code: error.code, error: error.cause });
      }
      throw error;
    }
  };
}

interface Asking {
  signal: AbortSignal;
  ask(charge: ImageCharge): Promise<void>;
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
