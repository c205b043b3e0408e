import { GatewayError, type TextAnswer } from 'mediagate';
import { isMembers } from './message-parts.js';

/** Reads an answer of `/v1/responses/input_tokens`. @throws GatewayError `upstream_error` where it is none. */
export async function readInputTokens({ body }: TextAnswer): Promise<number> {
  // An answer has not ended until somebody has read it, or said that nobody will.
  if (!(body instanceof Uint8Array)) await body[Symbol.asyncIterator]().return?.();
  const counted = body instanceof Uint8Array ? parse(body) : undefined;
  const tokens = isMembers(counted) ? counted.input_tokens : undefined;
  if (typeof tokens === 'number' && Number.isSafeInteger(tokens) && tokens >= 0) return tokens;
  throw new GatewayError('upstream_error', 'The upstream of the model did not say how many tokens there are.');
}

function parse(body: Uint8Array): unknown {
  try {
    return JSON.parse(Buffer.from(body).toString('utf8'));
  } catch {
    return undefined;
  }
}
