import type { FinishedImage, Usage } from 'mediagate';
import { type EntryOptions, encodeImageEntry } from './image-entry.js';

/** The synchronous result (service document 2.3); `usage` where the model's vendor told it. */
export function encodeImageResult(image: FinishedImage, options: EntryOptions & { createdAt: number }) {
  return {
    created: Math.floor(options.createdAt / 1000),
    data: [encodeImageEntry(image, options)],
    requested: 1,
    succeeded: 1,
    failed: 0,
    ...(image.usage && { usage: encodeUsage(image.usage) }),
  };
}

function encodeUsage({ inputTokens, outputTokens, totalTokens }: Usage) {
  return { input_tokens: inputTokens, output_tokens: outputTokens, total_tokens: totalTokens };
}
