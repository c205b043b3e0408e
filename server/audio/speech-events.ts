import type { Sounding, SoundingEnd, Usage } from 'mediagate';
import { type ErrorContext, encodeError, toGatewayError } from '../http/index.js';

/** A sound in server-sent events: its pieces in base64, then what was used; or why it broke off. */
export async function* encodeSpeechEvents(sounding: Sounding, request: ErrorContext): AsyncGenerator<Uint8Array> {
  try {
    for await (const chunk of sounding.body) {
      const audio = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength).toString('base64');
      yield event(`{"type":"speech.audio.delta","audio":"${audio}"}`);
    }
  } catch (error) {
    const told = JSON.parse(encodeError(toGatewayError(error), request));
    yield event(JSON.stringify({ type: 'error', ...told }));
    return;
  }
  yield event(encodeDone(await sounding.ended));
}

function encodeDone({ usage }: SoundingEnd): string {
  return JSON.stringify({ type: 'speech.audio.done', usage: describeUsage(usage) });
}

function describeUsage({ inputTokens, outputTokens, totalTokens, characters }: Usage) {
  return { input_tokens: inputTokens, output_tokens: outputTokens, total_tokens: totalTokens, characters };
}

function event(data: string): Uint8Array {
  return Buffer.from(`data: ${data}\n\n`);
}
