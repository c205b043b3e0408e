/** An image request as the upstream received it. */

import type { IncomingMessage } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { readForm, type SentFile } from '../audio/sent-form.js';

export type { SentFile } from '../audio/sent-form.js';

/** One request as the upstream saw it. */
export interface ImageUpstreamRequest {
  path: string;
  /** `Idempotency-Key`; undefined where none was sent. */
  key?: string;
  authorization?: string;
  traceparent?: string;
  contentType: string;
  prompt: string;
  /** JSON members, or text fields of the form. */
  members: Readonly<Record<string, unknown>>;
  files: readonly SentFile[];
  /** How many requests with this key there have been, this one included; without a key, how many in all. */
  count: number;
}

/** @throws Error where the body is neither JSON nor a form. */
export async function readImageRequest(request: IncomingMessage, count: number): Promise<ImageUpstreamRequest> {
  const contentType = request.headers['content-type'] ?? '';
  const { members, files } = contentType.startsWith('multipart/form-data')
    ? await readForm(request)
    : { members: JSON.parse((await buffer(request)).toString()) as Record<string, unknown>, files: [] };
  const key = request.headers['idempotency-key'];
  const { traceparent } = request.headers;
  return {
    path: request.url ?? '',
    ...(typeof key === 'string' && { key }),
    ...(request.headers.authorization !== undefined && { authorization: request.headers.authorization }),
    ...(typeof traceparent === 'string' && { traceparent }),
    contentType,
    prompt: String(members.prompt ?? ''),
    members,
    files,
    count,
  };
}
