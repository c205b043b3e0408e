/** A browser of somebody with a passkey, at a site with a host name over https. */

import { expect } from 'chai';
import type { SoftwareAuthenticator } from '../../support/accounts/software-authenticator.js';
import type { Answer } from '../http/listening-app.js';
import type { SignInApp } from './sign-in-app.js';

export const SITE = 'https://gateway.example';

/** A browser that keeps cookies of the site. */
export function createPasskeyBrowser(app: SignInApp, origin = SITE) {
  const cookies = new Map<string, string>();
  async function post(path: string, body: unknown = {}, method = 'POST'): Promise<Answer> {
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    const headers = { 'content-type': 'application/json', origin, cookie };
    const answer = await app.request(path, {
      method,
      headers: method === 'GET' ? { accept: 'text/html', origin, cookie } : headers,
      redirect: 'manual',
      ...(method === 'POST' && { body: JSON.stringify(body) }),
    });
    for (const set of answer.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(set) ?? [];
      if (value === '') cookies.delete(name);
      else cookies.set(name, value);
    }
    return answer;
  }
  const optionsOf = async (path: string, body: unknown = {}) => {
    const answer = await post(path, body);
    expect(answer.status, answer.text).to.equal(200);
    return answer.json.publicKey;
  };
  return {
    cookies,
    post,
    optionsOf,
    get: (path: string) => post(path, undefined, 'GET'),
    async accept(invitation: string, authenticator: SoftwareAuthenticator, name = 'Ann'): Promise<Answer> {
      const options = await optionsOf('/api/invitation/options', { invitation, name });
      return post('/api/invitation/accept', { credential: authenticator.register(options) });
    },
    async signIn(authenticator: SoftwareAuthenticator, wrong = {}): Promise<Answer> {
      const options = await optionsOf('/api/passkeys/sign-in/options');
      return post('/api/passkeys/sign-in', { credential: authenticator.signIn(options, wrong) });
    },
  };
}
