/** Errors of ElevenLabs in both of its shapes. */

import type { Delivery } from '../models/vendor-delivery.js';

export interface ElevenlabsError {
  status: number;
  code: string;
  /** The vendor has had two shapes; both are in use. */
  form: 'old' | 'new';
  message?: string;
  param?: string;
  headers?: Record<string, string>;
}

/** An error as the vendor words it. */
export function elevenlabsError({
  status,
  code,
  form,
  message = 'It failed.',
  param,
  headers,
}: ElevenlabsError): Delivery {
  const detail =
    form === 'old'
      ? { status: code, message }
      : {
          type: 'validation_error',
          code,
          message,
          status: code,
          request_id: '3c807fc4c3a1705f',
          ...(param && { param }),
        };
  return json(status, { detail }, headers);
}

/** The refusal of a schema check, status 422. */
export function issueList(issues: readonly { loc: readonly (string | number)[]; msg: string }[]): Delivery {
  return json(422, { detail: issues.map((issue) => ({ ...issue, type: 'value_error' })) });
}

function json(status: number, body: object, headers: Record<string, string> = {}): Delivery {
  return {
    status,
    headers: { 'content-type': 'application/json', 'request-id': 'Zq3vJ8', ...headers },
    body: JSON.stringify(body),
  };
}
