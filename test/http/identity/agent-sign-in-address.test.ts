/** Sign-in for agents at the address of the site: behind a proxy, and without https. */

import { expect } from 'chai';
import { type SignInApp, startSignInApp } from '../accounts/sign-in-app.js';
import { listTools, register, requestFor } from './agent.js';

describe('the address of sign-in for agents', () => {
  let app: SignInApp | undefined;
  afterEach(() => app?.close());

  it('is that of the site, also if a proxy passes on another host and scheme', async () => {
    app = await startSignInApp({ siteUrl: 'https://gateway.example' });
    const headers = { 'x-forwarded-host': 'evil.example', 'x-forwarded-proto': 'http' };
    const { json } = await app.request('/.well-known/oauth-authorization-server', { headers });
    expect(json.issuer).to.equal('https://gateway.example');
    for (const [name, address] of Object.entries(json))
      if (/_(endpoint|uri)$/.test(name)) expect(String(address), name).to.match(/^https:\/\/gateway\.example\/oauth\//);
    const { address } = requestFor(app, await register(app));
    const asked = await app.request(address.slice(app.url.length), { headers, redirect: 'manual' });
    expect(asked.status).to.equal(303);
    const cookies = asked.headers.getSetCookie();
    expect(cookies.length).to.equal(2);
    for (const cookie of cookies)
      expect(cookie)
        .to.match(/; secure/i)
        .and.to.match(/; httponly/i);
  });

  it('needs https or loopback', async () => {
    app = await startSignInApp({ siteUrl: 'http://gateway.example' });
    const { status, json } = await app.request('/.well-known/oauth-authorization-server');
    expect([status, json.code]).to.deep.equal([404, 'agent_sign_in_unavailable']);
    const refused = await listTools(app, undefined);
    expect([refused.status, refused.headers.get('www-authenticate')]).to.deep.equal([401, 'Bearer']);
  });
});
