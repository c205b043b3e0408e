import type { ServerResponse } from 'node:http';
import { addField } from '../answer-response.js';

/** On every answer, errors of the parser included. */
export const SECURITY_HEADERS: Readonly<Record<string, string>> = {
  'X-Content-Type-Options': 'nosniff',
  'Content-Security-Policy': "default-src 'none'; frame-ancestors 'none'",
  'Referrer-Policy': 'no-referrer',
  'Cache-Control': 'no-store',
};

const entries = Object.entries(SECURITY_HEADERS);

export function setSecurityHeaders(response: ServerResponse): void {
  for (const [name, value] of entries) addField(response, name, value);
}
