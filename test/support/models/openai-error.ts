/** Errors in the format of OpenAI's API. */

import type { Delivery } from './vendor-delivery.js';

/** A refusal in the vendor's shape. */
export interface OpenaiError {
  status: number;
  code?: string | null;
  type?: string;
  param?: string | null;
  message?: string;
  headers?: Readonly<Record<string, string>>;
  /** Sent as the body in place of the vendor's JSON. */
  text?: string;
}

/** An error as the vendor words it. */
export function openaiError({
  status,
  code = null,
  type = status < 500 ? 'invalid_request_error' : 'server_error',
  param = null,
  message = 'It failed.',
  headers = {},
  text = JSON.stringify({ error: { message, type, param, code } }, null, 2),
}: OpenaiError): Required<Pick<Delivery, 'status' | 'headers'>> & { body: string } {
  const contentType = text.startsWith('<') ? 'text/html' : 'application/json';
  return {
    status,
    headers: { 'content-type': contentType, 'x-request-id': 'req_0a1b2c3d4e5f', ...headers },
    body: text,
  };
}
