import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Provider } from 'oidc-provider';
import { renderSignInPage } from './pages.js';
import type { People } from './people.js';

const MAX_FORM_BYTES = 4_096;

export interface SignInPageOptions {
  provider: Provider;
  people: People;
  /** Where the form leads in the end; browsers check that a form may lead there. */
  redirectUri: string;
}

/**
 * Shows the page, or takes what was filled in. Only the browser that holds the cookie of this sign-in gets it.
 * @throws Error of the provider where there is no such sign-in.
 */
export async function answerSignInPage(
  request: IncomingMessage,
  response: ServerResponse,
  { provider, people, redirectUri }: SignInPageOptions,
): Promise<void> {
  await provider.interactionDetails(request, response);
  if (request.method !== 'POST') return sendPage(response, 200, redirectUri);
  const form = new URLSearchParams(await readForm(request));
  if (form.get('action') === 'refuse') {
    const refusal = { error: 'access_denied', error_description: 'The person refused to sign in.' };
    return provider.interactionFinished(request, response, refusal);
  }
  const accountId = people.add(form.get('email') ?? '', form.get('name') ?? '');
  if (accountId === undefined) return sendPage(response, 400, redirectUri, 'That is no email address.');
  return provider.interactionFinished(request, response, { login: { accountId, remember: false } });
}

function sendPage(response: ServerResponse, status: number, redirectUri: string, problem?: string): void {
  const { origin } = new URL(redirectUri);
  response.writeHead(status, {
    'Content-Type': 'text/html; charset=utf-8',
    'Content-Security-Policy': `default-src 'none'; style-src 'unsafe-inline'; form-action 'self' ${origin}; frame-ancestors 'none'; base-uri 'none'`,
    'Cache-Control': 'no-store',
    'X-Content-Type-Options': 'nosniff',
  });
  response.end(renderSignInPage(problem));
}

async function readForm(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > MAX_FORM_BYTES) throw new Error('the form is too large');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}
