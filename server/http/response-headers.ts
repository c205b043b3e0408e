import type { ServerResponse } from 'node:http';
import { addField } from './fast-path.js';

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

/** Nothing of anybody else's but pictures and sound of links, and no script or style that is not a file of ours. */
const PAGE_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "font-src 'self'",
  "img-src 'self' data: https:",
  "media-src 'self' blob: https:",
  "connect-src 'self'",
  "form-action 'self'",
  "frame-ancestors 'none'",
  "base-uri 'none'",
].join('; ');

/** Of every page. Forms tell their origin to the site alone, so that it can be checked. */
export function setPageHeaders(response: ServerResponse): void {
  response.setHeader('Content-Security-Policy', PAGE_POLICY);
  response.setHeader('Referrer-Policy', 'same-origin');
  response.setHeader('Cross-Origin-Opener-Policy', 'same-origin');
  response.setHeader('Cache-Control', 'no-store');
  response.setHeader('Content-Type', 'text/html; charset=utf-8');
}
