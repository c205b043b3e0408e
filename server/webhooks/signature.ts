import { createHmac } from 'node:crypto';

export interface Signed {
  /** Of the event: the same at each try. */
  id: string;
  /** Milliseconds since 1970, of the try. */
  at: number;
  body: string;
  secrets: readonly Uint8Array[];
}

/** Header fields by which a receiver knows whose an event is: https://github.com/standard-webhooks/standard-webhooks */
export function signatureFields({ id, at, body, secrets }: Signed): Record<string, string> {
  const timestamp = Math.floor(at / 1000);
  const sign = (secret: Uint8Array) =>
    `v1,${createHmac('sha256', secret).update(`${id}.${timestamp}.${body}`).digest('base64')}`;
  return {
    'webhook-id': id,
    'webhook-timestamp': String(timestamp),
    'webhook-signature': secrets.map(sign).join(' '),
  };
}
