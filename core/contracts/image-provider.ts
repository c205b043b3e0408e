/*
 * The contract of image models. One call makes one image; the gateway fits the bytes to the requested canvas and
 * format. References and masks are checked before the call, and a model that cannot use them refuses before its
 * upstream charges.
 */

import type { Media, Usage } from './documents.js';
import type { ModelUpstream, UpstreamState } from './services.js';

/** Generates images with one or more models. */
export interface ImageProvider {
  readonly models: readonly ImageModel[];
  /**
   * One call, one image. The bytes are the model's own: the core fits them to the canvas.
   *
   * The gateway gives a model at most its `maxReferences`. A model that takes none refuses a call with references with
   * `unsupported_value` and param `image`, before calling its upstream: an image made without them is not the requested
   * one, and would be charged.
   * @throws GatewayError `moderation_blocked` (never retried), `upstream_*`, `invalid_value`, `unsupported_value`, and
   *   the others of `image` in `core/plugins/plugin-failure.ts`.
   */
  generate(call: ImageCall): Promise<GeneratedImage>;
  /**
   * The current state of its upstreams; must be cheap, since monitoring calls it. A fail-over provides it. Default:
   * none.
   */
  upstreams?(): readonly UpstreamState[];
  /**
   * Shares the requests of a model among its upstreams by these weights, by name of the upstream, from the next request
   * on. Without weights, by those of its options. Default: weights cannot be changed while the gateway runs.
   */
  weigh?(model: string, weights?: Readonly<Record<string, number>>): void;
}

/** One model of an image provider. */
export interface ImageModel {
  /** Public id. */
  id: string;
  /** Maximum input images of one call; 0 if it takes none. The gateway accepts at most 4 in any case. */
  maxReferences: number;
  /**
   * Whether it takes a mask for the first input image. Default false: then the gateway refuses a request with a mask,
   * and the provider refuses such a call with `unsupported_value` and param `mask`.
   */
  takesMask?: boolean;
  /**
   * Further settings of {@link ImageCall.options} that it accepts, of those that servers of image models have: `seed`,
   * `steps`, `negative_prompt` and so on. The gateway leaves out the others and names them. Default: none.
   */
  takes?: readonly string[];
  /** The upstreams that have the model. Only for the operator's commands: clients never see them. Default: not known. */
  upstreams?: readonly ModelUpstream[];
  /** Formats in which it gives images. The gateway converts an image to any other that is asked for. */
  formats: readonly ImageFormat[];
}

export type ImageFormat = 'png' | 'jpeg' | 'webp';

export interface ImageCall {
  model: string;
  prompt: string;
  /** Exact canvas in pixels, or `auto` to leave it to the model. */
  size: ImageSize | 'auto';
  /** Input images in the caller's order, checked and at most 20 megapixels each; at most 4. */
  references: readonly Media[];
  /**
   * The part of the first input image that is to change: a PNG with an alpha channel, of the same size as that image.
   * Its fully transparent pixels mark the part. Default: the model decides what changes.
   */
  mask?: Media;
  /**
   * Fields passed through: quality, background, output_format, output_compression, moderation, input_fidelity, user, and
   * those in {@link ImageModel.takes}.
   */
  options: Readonly<Record<string, unknown>>;
  /** Asks for partial images. A model that makes none ignores it. Default: none are wanted. */
  partials?: PartialImages;
  /**
   * A text that is equal for every run of one request, e.g. the job's id: an upstream with idempotency keys then does
   * the work once.
   */
  idempotencyKey?: string;
  signal: AbortSignal;
}

/** Images of a generation that is not complete, which the caller sees while it waits. */
export interface PartialImages {
  /** Maximum number, 1 to 3. */
  count: number;
  /** Receives each in turn, in the model's own size. Further ones than `count` are ignored. Never throws. */
  show(image: Media): void;
}

export interface ImageSize {
  width: number;
  height: number;
}

export interface GeneratedImage extends Media {
  /**
   * Settings that the model ignored. An image of another format than `output_format` requires a warning about
   * `output_format`. Default: none.
   */
  warnings?: readonly ImageWarning[];
  usage?: Usage;
  /** The seed that the model used, a whole number. Default: it is not known. */
  seed?: number;
}

/** A setting that had no effect, or another effect than the sender expects. */
export interface ImageWarning {
  /** Its name in `options`, or `size`. */
  setting: string;
  /** Why, and what was done instead: `made as 768x1344, since the upstream has no 1152x2048`. */
  details: string;
}
