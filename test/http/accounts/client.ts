/** A client of the account routes with a session. */

import type { BrowserSession } from '../../support/accounts/browser-session.js';
import type { Answer } from '../http/listening-app.js';
import type { SignInApp } from './sign-in-app.js';

/** Asks the routes of accounts as a page of the site does: with the cookie and the origin of the browser. */
export interface AccountClient {
  readonly headers: Readonly<Record<string, string>>;
  get(path: string, headers?: Record<string, string>): Promise<Answer>;
  post(path: string, body?: unknown, headers?: Record<string, string>): Promise<Answer>;
  delete(path: string): Promise<Answer>;
}

function accountClient(app: SignInApp, browser: BrowserSession): AccountClient {
  const headers = { cookie: `mediagate=${browser.cookie(app.url, 'mediagate')}`, origin: app.url };
  return {
    headers,
    get: (path, more) => app.request(path, { headers: { ...headers, ...more } }),
    post: (path, body = {}, more) =>
      app.request(path, {
        method: 'POST',
        headers: { ...headers, 'content-type': 'application/json', ...more },
        body: JSON.stringify(body),
      }),
    delete: (path) => app.request(path, { method: 'DELETE', headers }),
  };
}

/** Somebody new, signed in. */
export async function newcomer(app: SignInApp, email: string): Promise<AccountClient> {
  return accountClient(app, await app.signedIn(email));
}
