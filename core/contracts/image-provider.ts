import type { Media, Usage } from './documents.js';
import type { UpstreamState } from './services.js';

/** Makes pictures with one or more models. */
export interface ImageProvider {
  /** Public model ids it serves. */
  readonly models: readonly string[];
  /**
   * One call, one image. The bytes are the model's own: bringing them to the canvas is the core's work.
   *
   * A model that takes no references refuses a call that has some with `unsupported_value` and param `image`, before it asks
   * anybody: a picture that was made without them is not the one that was asked for, and is paid for all the same.
   * @throws GatewayError `moderation_blocked` (never retried), `upstream_*`, `invalid_value`, `unsupported_value`, and the
   * others of `image` in `core/plugins/plugin-failure.ts`.
   */
  generate(call: ImageCall): Promise<GeneratedImage>;
  /** Whom it asks, as they are now; cheap, since whoever watches asks. A fail-over gives them. Default: nobody. */
  upstreams?(): readonly UpstreamState[];
}

export interface ImageCall {
  model: string;
  prompt: string;
  /** Exact canvas in pixels, or `auto` to leave it to the model. */
  size: ImageSize | 'auto';
  /** Input images in the caller's order, checked and at most 20 megapixels each; at most 4. */
  references: readonly Media[];
  /** Members handed through: quality, background, output_format, output_compression, moderation, input_fidelity, user. */
  options: Readonly<Record<string, unknown>>;
  /** Same for every run of one request, e.g. the job's id: lets an upstream that knows such keys do the work once. */
  idempotencyKey?: string;
  signal: AbortSignal;
}

export interface ImageSize {
  width: number;
  height: number;
}

export interface GeneratedImage extends Media {
  /**
   * Settings that the model ignored, in words; each by the name that it has in `options`, so that whoever sent it finds it. An
   * image of another format than `output_format` asks for has a warning that names `output_format`.
   */
  warnings?: readonly string[];
  usage?: Usage;
}
