/** The identity provider for development: discovery, sign-in page and tokens. */

import { expect } from 'chai';
import type { OpenIdentityProvider } from 'mediagate/plugin';
import { describePlugin, setUpPlugin } from 'mediagate/testing';
import plugin from '../index.js';

const REDIRECT = 'http://127.0.0.1:9/signin/callback';
const REQUEST = {
  redirect_uri: REDIRECT,
  response_type: 'code',
  scope: 'openid email profile',
  code_challenge: 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM',
  code_challenge_method: 'S256',
  state: 'there',
};
const noHttp = { request: () => Promise.reject(new Error('no')), stream: () => Promise.reject(new Error('no')) };

describePlugin({ plugin, folder: import.meta.url });

describe('dev_identity', () => {
  let provider: OpenIdentityProvider;

  async function open(redirectUri: string): Promise<OpenIdentityProvider> {
    const { contributions } = await setUpPlugin({ plugin, http: noHttp });
    const [identity] = contributions.identityProviders ?? [];
    if (!identity) throw new Error('setup returned no identity provider');
    return identity.open({ redirectUri });
  }

  /** Goes to the sign-in page as a browser would: its address and the cookies it came with. */
  async function visit(parameters: Record<string, string> = {}): Promise<{ page: string; cookie: string }> {
    const query = new URLSearchParams({ ...REQUEST, client_id: provider.clientId, ...parameters });
    const answer = await fetch(`${provider.issuer}/auth?${query}`, { redirect: 'manual' });
    const cookies = answer.headers.getSetCookie().map((cookie) => cookie.split(';', 1)[0]);
    return { page: provider.issuer + answer.headers.get('location'), cookie: cookies.join('; ') };
  }

  before(async () => {
    provider = await open(REDIRECT);
  });
  after(() => provider.close());

  it('serves on a loopback address, with OpenID Connect discovery', async () => {
    const answer = await fetch(`${provider.issuer}/.well-known/openid-configuration`);
    const metadata = (await answer.json()) as Record<string, unknown>;
    expect(provider.issuer).to.match(/^http:\/\/127\.0\.0\.1:\d+$/);
    expect(metadata).to.deep.include({
      issuer: provider.issuer,
      code_challenge_methods_supported: ['S256'],
      id_token_signing_alg_values_supported: ['ES256'],
      authorization_response_iss_parameter_supported: true,
    });
  });

  it('describes itself on its page, and asks for no password', async () => {
    const { page, cookie } = await visit();
    const answer = await fetch(page, { headers: { cookie } });
    const text = await answer.text();
    expect(answer.status).to.equal(200);
    expect(text).to.contain('Development identity provider').and.to.contain('anyone can sign in as anyone here');
    expect(text).not.to.match(/type="password"/);
    expect(answer.headers.get('content-security-policy')).to.contain("default-src 'none'");
  });

  it('shows a sign-in only to the browser that began it', async () => {
    const { page } = await visit();
    const answer = await fetch(page);
    expect(answer.status).to.equal(400);
    expect(await answer.text()).to.contain('was started in another browser');
  });

  it('refuses invalid addresses, and shows them as text', async () => {
    const { page, cookie } = await visit();
    const body = new URLSearchParams({ action: 'sign-in', email: '<script>alert(1)</script>', name: '' });
    const answer = await fetch(page, { method: 'POST', headers: { cookie }, body });
    expect(answer.status).to.equal(400);
    const text = await answer.text();
    expect(text).to.contain('This is not an email address.').and.not.to.contain('<script>');
  });

  it('sends a refusal back to the client', async () => {
    const { page, cookie } = await visit();
    const body = new URLSearchParams({ action: 'refuse' });
    const answer = await fetch(page, { method: 'POST', headers: { cookie }, body, redirect: 'manual' });
    const next = await fetch(answer.headers.get('location') ?? '', { headers: { cookie }, redirect: 'manual' });
    const location = new URL(next.headers.get('location') ?? '');
    expect(location.href.startsWith(REDIRECT)).to.equal(true);
    expect(Object.fromEntries(location.searchParams)).to.include({ error: 'access_denied', iss: provider.issuer });
  });

  it('signs another person in with the same browser, without a page in between', async () => {
    const jar = new Map<string, string>();
    const browse = async (url: string, body?: URLSearchParams) => {
      const cookie = [...jar].map(([name, value]) => `${name}=${value}`).join('; ');
      const init = { headers: { cookie }, redirect: 'manual' as const, ...(body && { method: 'POST', body }) };
      const answer = await fetch(url, init);
      for (const line of answer.headers.getSetCookie()) {
        const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
        jar.set(name, value);
      }
      return new URL(answer.headers.get('location') ?? '', provider.issuer).href;
    };
    for (const email of ['ann@example.com', 'bob@example.com']) {
      const query = new URLSearchParams({ ...REQUEST, client_id: provider.clientId });
      const page = await browse(`${provider.issuer}/auth?${query}`);
      const resume = await browse(page, new URLSearchParams({ action: 'sign-in', email, name: '' }));
      const back = new URL(await browse(resume));
      expect(back.href.startsWith(REDIRECT), `${email}: ${back.href}`).to.equal(true);
      expect(back.searchParams.get('code')).to.be.a('string');
    }
  });

  it('redirects only to the address that it was opened for', async () => {
    const query = { redirect_uri: 'http://127.0.0.1:9/elsewhere' };
    const { page } = await visit(query);
    expect(page).to.equal(`${provider.issuer}null`);
  });

  it('requires PKCE', async () => {
    const query = new URLSearchParams({
      client_id: provider.clientId,
      redirect_uri: REDIRECT,
      response_type: 'code',
      scope: 'openid',
      state: 'there',
    });
    const answer = await fetch(`${provider.issuer}/auth?${query}`, { redirect: 'manual' });
    expect(new URL(answer.headers.get('location') ?? '').searchParams.get('error')).to.equal('invalid_request');
  });

  it('refuses requests under another host name', async () => {
    const { hostname, port } = new URL(provider.issuer);
    const { request } = await import('node:http');
    const status = await new Promise((resolve, reject) => {
      const options = { hostname, port, path: '/.well-known/openid-configuration', headers: { host: 'evil.example' } };
      request(options, (answer) => resolve(answer.resume().statusCode))
        .on('error', reject)
        .end();
    });
    expect(status).to.equal(421);
  });

  it('refuses to start for a public site', async () => {
    const failure = await open('https://gateway.example/signin/callback').catch((error: unknown) => error);
    expect(failure).to.be.instanceOf(Error).with.property('message').that.contains('loopback addresses');
  });

  it('can be closed twice', async () => {
    const other = await open(REDIRECT);
    await other.close();
    await other.close();
    const gone = await fetch(other.issuer).catch((error: unknown) => error);
    expect(gone).to.be.instanceOf(TypeError);
  });
});
