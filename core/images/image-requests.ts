/*
 * A request for one image, and the checks by the model that it names: whether it takes so many input images, and a
 * mask.
 */

import { type ImageModel, type ImageSize } from '../contracts/index.js';
import { type Registry } from '../plugins/index.js';
import { GatewayError } from '../runtime/index.js';
import { type ReferenceInput } from './references.js';
import { type ImageDelivery } from './result-files.js';

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
