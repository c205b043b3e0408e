import type { ServerResponse } from 'node:http';
import { addField } from './answer-response.js';

/** On every answer, errors of the parser included. */
export const SECURITY_HEADERS: Readonly<Record<string, string>> = {
  'X-Content-Type-Options': 'nosniff',
  'Content-Security-Policy': "default-src 'none'; frame-ancestors 'none'",
  'Referrer-Policy': 'no-referrer',
  'Cache-Control': 'no-store',
};

/** Where clients reach the gateway by https. Subdomains are not ours to decide about. */
const STRICT_TRANSPORT = 'max-age=31536000';

const entries = Object.entries(SECURITY_HEADERS);

/** @param isHttps Whether the public address is https. */
export function setSecurityHeaders(response: ServerResponse, isHttps: boolean): void {
  for (const [name, value] of entries) addField(response, name, value);
  if (isHttps) addField(response, 'Strict-Transport-Security', STRICT_TRANSPORT);
}
