import type { ServerResponse } from 'node:http';
import type { RequestContext } from '../middleware/request-state.js';
import { type Html, html } from './html.js';

/** Nothing of anybody else's, and no script or style that is not a file of ours. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data: https:",
  "connect-src 'self'",
  "form-action 'self'",
  "frame-ancestors 'none'",
  "base-uri 'none'",
].join('; ');

export interface Page {
  title: string;
  content: Html;
}

/** Of every page. Forms tell their origin to the site alone, so that it can be checked. */
export function setPageHeaders(response: ServerResponse): void {
  response.setHeader('Content-Security-Policy', POLICY);
  response.setHeader('Referrer-Policy', 'same-origin');
  response.setHeader('Cache-Control', 'no-store');
}

export function sendPage(context: RequestContext, page: Page): void {
  setPageHeaders(context.res);
  context.type = 'html';
  context.body = renderPage(page);
}

export function renderPage({ title, content }: Page): string {
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title} · mediagate</title>
</head>
<body>
<main>
<h1>${title}</h1>
${content}
</main>
</body>
</html>
`.markup;
}
