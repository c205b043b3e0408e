import { type ErrorCode, GatewayError, isGatewayError } from '../runtime/index.js';

/** What a decoder reports, in words that may be shown. The original is kept as `cause`. */
export async function explainDecoding<Result>(decode: () => Promise<Result>): Promise<Result> {
  try {
    return await decode();
  } catch (cause) {
    if (cause instanceof Error && cause.message.startsWith('timeout')) {
      throw new GatewayError('image_too_large', 'The image takes too long to be decoded.', { cause });
    }
    throw new GatewayError('invalid_image', 'The image is damaged: it cannot be decoded to its end.', { cause });
  }
}

/** Failures that are the caller's fault, unless the image is a model's. */
const OF_INPUTS: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  'unsupported_image_media_type',
  'invalid_image',
  'image_too_large',
]);

/** The same failure where a model gave the image; failures of other kinds stay what they are. */
export function ofModel(error: unknown): unknown {
  if (!isGatewayError(error) || !OF_INPUTS.has(error.code)) return error;
  return new GatewayError('upstream_error', `What the model gave cannot be used. ${error.message}`, { cause: error });
}
