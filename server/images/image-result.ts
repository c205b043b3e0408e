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

/** As the vendor tells it: clients of the format read the details of the input wherever there is a usage. */
function encodeUsage(usage: Usage) {
  const { inputTokens, outputTokens, totalTokens, cachedTokens } = usage;
  const { inputTextTokens, inputImageTokens, outputTextTokens, outputImageTokens } = usage;
  return {
    input_tokens: inputTokens,
    output_tokens: outputTokens,
    total_tokens: totalTokens,
    input_tokens_details: known({
      text_tokens: inputTextTokens,
      image_tokens: inputImageTokens,
      cached_tokens: cachedTokens,
    }),
    output_tokens_details: known({ text_tokens: outputTextTokens, image_tokens: outputImageTokens }),
  };
}

/** Undefined, and so left out, where nothing of it is known. */
function known<Counts extends Record<string, number | undefined>>(counts: Counts): Counts | undefined {
  return Object.values(counts).some((count) => count !== undefined) ? counts : undefined;
}
