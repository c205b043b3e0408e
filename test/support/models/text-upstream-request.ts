/** A text request as the upstream received it. */

import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import { buffer } from 'node:stream/consumers';
import type { AnswerUsage } from './text-answer.js';
import type { Content } from './text-delivery.js';

/** How a request ended for the upstream. */
export interface RequestEnd {
  /** False where the client hung up, or the upstream did, before the answer was out. */
  whole: boolean;
}

/** One request as the upstream saw it. */
export interface TextUpstreamRequest {
  method: string;
  /** With the query. */
  path: string;
  headers: IncomingHttpHeaders;
  /** As it came. */
  bytes: Buffer;
  /** Its JSON; empty where it is none. */
  members: Readonly<Record<string, unknown>>;
  /** Resolves when the answer is out, or the connection gone. */
  ended: Promise<RequestEnd>;
  /** The answer as it is as a whole, however much of it was sent; undefined where there is none. */
  content?: Content;
  /** What the model used for it; undefined where it was not asked. */
  usage?: AnswerUsage;
}

export async function readTextRequest(
  request: IncomingMessage,
  response: ServerResponse,
): Promise<TextUpstreamRequest> {
  const ended = new Promise<RequestEnd>((resolve) => {
    response.once('close', () => resolve({ whole: response.writableFinished }));
  });
  const bytes = await buffer(request);
  const { method = 'GET', url = '/', headers } = request;
  return { method, path: url, headers, bytes, members: parse(bytes), ended };
}

function parse(bytes: Buffer): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(bytes.toString());
    return typeof value === 'object' && value !== null ? { ...value } : {};
  } catch {
    return {};
  }
}
