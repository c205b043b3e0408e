/** Errors in the format of OpenAI's API. */

import type { Delivery } from './vendor-delivery.js';

export interface OpenaiError {
  status: number;
  code?: string;
  type?: string;
  param?: string;
  message?: string;
  headers?: Record<string, string>;
  /** Sent as the body in place of the vendor's JSON. */
  text?: string;
}

/** An error as the vendor words it. */
export function openaiError(error: OpenaiError): Delivery {
  const { status, headers = {}, message = 'It failed.', param = null, code = null, text } = error;
  const usual = status < 500 ? 'invalid_request_error' : 'server_error';
  return {
    status,
    headers: { 'content-type': 'application/json', 'x-request-id': 'req_0a1b2c3d4e5f', ...headers },
    body: text ?? JSON.stringify({ error: { message, type: error.type ?? usual, param, code } }),
  };
}
