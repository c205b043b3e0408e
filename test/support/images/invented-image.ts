/** An invented image provider whose images a test finishes. */

import {
  type Contributions,
  definePlugin,
  type GeneratedImage,
  type ImageCall,
  type ImageModel,
  type Plugin,
} from 'mediagate';
import { sampleImage } from './sample-images.js';

export const MODEL = 'gen-img-2';

/** An image model that takes four references and a mask, and gives every format. */
export function imageModel(id: string, more: Partial<ImageModel> = {}): ImageModel {
  return { id, maxReferences: 4, takesMask: true, formats: ['png', 'jpeg', 'webp'], ...more };
}

/** A picture of one colour, of the size that was asked for. */
export async function inventedImage({ size, options }: ImageCall): Promise<GeneratedImage> {
  const { width, height } = size === 'auto' ? { width: 640, height: 480 } : size;
  const format = options.output_format === 'webp' || options.output_format === 'jpeg' ? options.output_format : 'png';
  const bytes = await sampleImage({ width, height, format, seed: 1 });
  return { bytes, contentType: `image/${format}`, usage: { inputTokens: 21, outputTokens: 1056, totalTokens: 1077 } };
}

/** A model that answers at once, or as the test has it. */
export function inventedModel(
  generate: (call: ImageCall) => Promise<GeneratedImage> = inventedImage,
  models: readonly ImageModel[] = [imageModel(MODEL), imageModel('gen-image-2')],
): Plugin {
  return definePlugin({
    name: 'darkroom',
    apiVersion: 1,
    summary: 'An invented image model.',
    provides: ['image'],
    setup: (): Contributions => ({
      imageProviders: [{ models, generate }],
    }),
  });
}

/** A model that holds on to what it is asked for until the test says how it ends. */
export function createDarkroom() {
  const calls: ImageCall[] = [];
  const doors: ((outcome: GeneratedImage | Error) => void)[] = [];
  return {
    /** All so far. */
    calls,
    generate: (call: ImageCall) =>
      new Promise<GeneratedImage>((resolve, reject) => {
        calls.push(call);
        doors.push((outcome) => (outcome instanceof Error ? reject(outcome) : resolve(outcome)));
        call.signal.addEventListener('abort', () => reject(call.signal.reason), { once: true });
      }),
    /** Ends the oldest call that nobody ended, which is waited for; default: with a picture. */
    async develop(outcome?: GeneratedImage | Error): Promise<void> {
      const index = calls.length - doors.length;
      while (doors.length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
      const call = calls[index];
      if (!call) throw new Error('a door without a call');
      doors.shift()?.(outcome === undefined ? await inventedImage(call) : outcome);
    },
    /** Resolves once so many calls have come in all. */
    async asked(count: number): Promise<void> {
      while (calls.length < count) await new Promise((resolve) => setTimeout(resolve, 5));
    },
  };
}
