import { asNumber, at, type Usage } from 'mediagate';
import type { ScannedAnswer } from './answer-scan.js';

/** The image of an answer, or where it lies. */
export type FoundImage = { bytes: Buffer } | { url: string };

/** First image of an answer; undefined where there is none, or its base64 is damaged. */
export function findImage({ json, images }: ScannedAnswer): FoundImage | undefined {
  const first = at(json, 'data', 0);
  const index = at(first, 'b64_json');
  const bytes = typeof index === 'number' ? images[index] : undefined;
  if (bytes) return bytes.length > 0 ? { bytes } : undefined;
  const url = at(first, 'url');
  return typeof url === 'string' && index === undefined ? { url } : undefined;
}

/** What the upstream says it used; undefined where it does not say. */
export function readUsage(json: unknown): Usage | undefined {
  const count = (...path: string[]) => {
    const value = asNumber(at(json, 'usage', ...path));
    return value !== undefined && Number.isSafeInteger(value) && value >= 0 ? value : undefined;
  };
  const found: [keyof Usage, number | undefined][] = [
    ['inputTokens', count('input_tokens')],
    ['outputTokens', count('output_tokens')],
    ['totalTokens', count('total_tokens')],
    ['cachedTokens', count('input_tokens_details', 'cached_tokens')],
    ['inputTextTokens', count('input_tokens_details', 'text_tokens')],
    ['inputImageTokens', count('input_tokens_details', 'image_tokens')],
    ['outputTextTokens', count('output_tokens_details', 'text_tokens')],
    ['outputImageTokens', count('output_tokens_details', 'image_tokens')],
  ];
  const known = found.filter(([, value]) => value !== undefined);
  return known.length > 0 ? Object.fromEntries(known) : undefined;
}

/** Media type by the first bytes; undefined for what is no image that a model makes. */
export function imageType(bytes: Uint8Array): string | undefined {
  const head = Buffer.from(bytes.buffer, bytes.byteOffset, Math.min(bytes.length, 12)).toString('latin1');
  if (head.startsWith('\x89PNG\r\n\x1a\n')) return 'image/png';
  if (head.startsWith('\xff\xd8\xff')) return 'image/jpeg';
  return /^RIFF[\s\S]{4}WEBP/.test(head) ? 'image/webp' : undefined;
}
