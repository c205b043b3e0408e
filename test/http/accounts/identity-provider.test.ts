/** Sign-in with an identity provider that is honest, wrong or unavailable. */

import { expect } from 'chai';
import { load } from 'cheerio';
import { createManualClock } from 'mediagate/testing';
import { createBrowserSession, type PageAnswer } from '../../support/accounts/browser-session.js';
import { type IssuerScript, type ScriptedIssuer, startScriptedIssuer } from '../../support/accounts/scripted-issuer.js';
import { until } from '../../support/until.js';
import { LINK } from '../http/listening-app.js';
import { type SignInApp, startSignInApp } from './sign-in-app.js';

const now = () => Math.floor(Date.now() / 1_000);

/** Each lie alone must keep everybody out. */
const LIES: Record<string, IssuerScript> = {
  'a token for another client': { claims: (honest) => ({ ...honest, aud: 'somebody-else' }) },
  'a token for two clients, the other one the authorized party': {
    claims: (honest) => ({ ...honest, aud: [honest.aud, 'somebody-else'], azp: 'somebody-else' }),
  },
  'a token of another issuer': { claims: (honest) => ({ ...honest, iss: 'https://evil.example' }) },
  'a token without a signature': { header: () => ({ alg: 'none' }) },
  'a token without a signature, which its metadata allow': {
    header: () => ({ alg: 'none' }),
    metadata: (honest) => ({ ...honest, id_token_signing_alg_values_supported: ['ES256', 'none'] }),
  },
  'a token signed with the client secret': {
    header: () => ({ alg: 'HS256' }),
    metadata: (honest) => ({ ...honest, id_token_signing_alg_values_supported: ['ES256', 'HS256'] }),
  },
  'a token signed by somebody else': { foreignKey: true },
  'a token that has expired': { claims: (honest) => ({ ...honest, iat: now() - 900, exp: now() - 300 }) },
  'a token from the future': { claims: (honest) => ({ ...honest, iat: now() + 300, exp: now() + 900 }) },
  'a token that is not valid yet': { claims: (honest) => ({ ...honest, nbf: now() + 300 }) },
  'a token with another nonce': { claims: (honest) => ({ ...honest, nonce: 'another' }) },
  'a token without a nonce': { claims: ({ nonce: _, ...others }) => others },
  'a token without a subject': { claims: ({ sub: _, ...others }) => others },
  'no token at all': { token: ({ id_token: _, ...others }) => others },
  'another issuer in the address': { callback: (honest) => ({ ...honest, iss: 'https://evil.example' }) },
  'no issuer in the address, although it promised one': { callback: ({ iss: _, ...others }) => others },
  'another state in the address': { callback: (honest) => ({ ...honest, state: 'C'.repeat(43) }) },
  'no code in the address': { callback: ({ code: _, ...others }) => others },
  'facts about another person': { userinfo: (honest) => ({ ...honest, sub: 'subject-2' }) },
  'a code that it does not know': {
    token: () => ({ error: 'invalid_grant', error_description: 'secret words of the provider' }),
    tokenStatus: 400,
  },
};

/** Nothing the person did, and nothing they can do. */
const TROUBLE: Record<string, IssuerScript> = {
  'a token that is none': { token: (honest) => ({ ...honest, id_token: 'a.b.c' }) },
  'an error page instead of a token': { token: () => ({ error: 'server_error' }), tokenStatus: 500 },
  'a refusal of the client': { token: () => ({ error: 'invalid_client' }), tokenStatus: 401 },
  'trouble of its own in the address': {
    callback: ({ state, iss }) => ({ state, iss, error: 'temporarily_unavailable' }),
  },
};

const BAD_METADATA: Record<string, IssuerScript> = {
  'of another issuer': { metadata: (honest) => ({ ...honest, issuer: 'https://evil.example' }) },
  'without endpoints': { metadata: ({ issuer }) => ({ issuer }) },
  'that lead to a script': { metadata: (honest) => ({ ...honest, authorization_endpoint: 'javascript:alert(1)' }) },
};

/** Of the issuers of the recipes in docs/accounts/sign-in.md; the slash at the end is part of the name. */
const ISSUER_PATHS: Readonly<Record<string, string>> = {
  Keycloak: '/realms/team',
  Authentik: '/application/o/mediagate/',
  Entra: '/8f5c9e2a-1111-2222-3333-444455556666/v2.0',
  Dex: '/dex',
};

describe('an identity provider', () => {
  let app: SignInApp;
  let issuer: ScriptedIssuer;

  beforeEach(async () => {
    issuer = await startScriptedIssuer();
    app = await startSignInApp({ issuer });
  });
  afterEach(async () => {
    await app.close();
    await issuer.close();
  });

  async function signIn(): Promise<{ answer: PageAnswer; cookie: string | undefined }> {
    const browser = createBrowserSession();
    const begun = await browser.send(`${app.url}/signin`);
    if (begun.status !== 303) return { answer: begun, cookie: undefined };
    const sent = await browser.send(begun.location ?? '');
    const answer = await browser.send(sent.location ?? '');
    return { answer, cookie: browser.cookie(app.url, 'mediagate') };
  }

  it('signs users in and reads the metadata of an honest provider once', async () => {
    for (const _ of [1, 2, 3]) expect((await signIn()).cookie).to.match(/^[\w-]{43}$/);
    const [user, ...others] = await app.state.users.list({ limit: 10 });
    expect(others).to.deep.equal([]);
    expect(user).to.include({ issuer: issuer.url, subject: 'subject-1', email: 'ann@example.com', name: 'Ann' });
    expect(issuer.requests.filter((line) => line.includes('.well-known'))).to.have.length(1);
    const [exchange] = issuer.exchanges;
    expect(exchange?.get('code_verifier')).to.match(/^[\w-]{43}$/);
    expect(exchange?.get('redirect_uri')).to.equal(`${app.url}/signin/callback`);
  });

  it('is asked for a new sign-in when an application asks for one', async () => {
    const redirectUri = 'https://grafana.example/callback';
    const other = await startSignInApp({ issuer, signInApps: [{ name: 'grafana', redirectUris: [redirectUri] }] });
    const browser = createBrowserSession();
    const hops: URL[] = [];
    const follow = async (address: string): Promise<PageAnswer> => {
      const answer = await browser.send(address);
      if (answer.location === undefined) return answer;
      const next = new URL(answer.location, address);
      hops.push(next);
      return next.href.startsWith(redirectUri) ? answer : follow(next.href);
    };
    const fields = {
      response_type: 'code',
      client_id: 'grafana',
      redirect_uri: redirectUri,
      scope: 'openid',
      code_challenge: 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM',
      code_challenge_method: 'S256',
      state: 'its state',
    };
    const { json } = await other.request('/.well-known/openid-configuration');
    const ask = async (more: Record<string, string>) => {
      const page = await follow(`${json.authorization_endpoint}?${new URLSearchParams({ ...fields, ...more })}`);
      const link = load(page.text)('main a.button').attr('href');
      if (link !== undefined) await follow(new URL(link, other.url).href);
      return { link, prompts: hops.splice(0).flatMap((hop) => hop.searchParams.get('prompt') ?? []) };
    };
    const signedIn = () => browser.cookie(other.url, 'mediagate');
    try {
      expect((await ask({})).prompts, 'the first time').to.deep.equal([]);
      const first = signedIn();
      expect(await ask({}), 'signed in').to.deep.equal({ link: undefined, prompts: [] });
      const again = await ask({ prompt: 'login' });
      expect(again.link).to.match(/again=1$/);
      expect(again.prompts).to.deep.equal(['login']);
      expect(signedIn())
        .to.match(/^[\w-]{43}$/)
        .and.not.equal(first);
    } finally {
      await other.close();
    }
  });

  it('signs users in without an address when the provider does not verify it', async () => {
    for (const verified of [false, 'false', 'no', 0, null]) {
      issuer.script = { userinfo: (honest) => ({ ...honest, email_verified: verified, name: '' }) };
      await signIn();
      const [user] = await app.state.users.list({ limit: 1 });
      expect(user, String(verified)).to.include({ subject: 'subject-1', email: null, name: null });
    }
    issuer.script = { userinfo: (honest) => ({ ...honest, email_verified: 'true' }) };
    await signIn();
    const [user] = await app.state.users.list({ limit: 1 });
    expect(user).to.include({ email: 'ann@example.com' });
  });

  it('authenticates with a method that the provider supports', async () => {
    await signIn();
    const [scheme, credentials = ''] = (issuer.credentials[0] ?? '').split(' ');
    expect(scheme).to.equal('Basic');
    const shown = decodeURIComponent(Buffer.from(credentials, 'base64').toString());
    expect(shown).to.equal(`${issuer.clientId}:${issuer.clientSecret}`);
    const other = await startSignInApp({ issuer });
    issuer.script = {
      metadata: (honest) => ({ ...honest, token_endpoint_auth_methods_supported: ['client_secret_post'] }),
    };
    const browser = createBrowserSession();
    const sent = await browser.send((await browser.send(`${other.url}/signin`)).location ?? '');
    const { status } = await browser.send(sent.location ?? '');
    await other.close();
    expect(status).to.equal(303);
    expect(issuer.credentials[1]).to.equal('');
    expect(issuer.exchanges[1]?.get('client_secret')).to.equal(issuer.clientSecret);
  });

  for (const [provider, path] of Object.entries(ISSUER_PATHS)) {
    it(`is found where its issuer has a path, as that of ${provider}`, async () => {
      const elsewhere = await startScriptedIssuer(path);
      const other = await startSignInApp({ issuer: elsewhere });
      const browser = createBrowserSession();
      const sent = await browser.send((await browser.send(`${other.url}/signin`)).location ?? '');
      const answer = await browser.send(sent.location ?? '');
      const [user] = await other.state.users.list({ limit: 1 });
      await other.close();
      await elsewhere.close();
      expect(answer.status, answer.text).to.equal(303);
      expect(user).to.include({ issuer: elsewhere.url, email: 'ann@example.com' });
    });
  }

  it('signs users in without an address if the provider has no address for them, as Entra may', async () => {
    issuer.script = { userinfo: ({ sub, name }) => ({ sub, name, preferred_username: 'ann@tenant.example' }) };
    expect((await signIn()).cookie).to.match(/^[\w-]{43}$/);
    const [user] = await app.state.users.list({ limit: 1 });
    expect(user).to.include({ email: null, name: 'Ann' });
  });

  it('refuses a token that is signed with the client secret, as Authentik does without a signing key', async () => {
    issuer.script = {
      metadata: (honest) => ({ ...honest, id_token_signing_alg_values_supported: ['HS256'] }),
      header: () => ({ alg: 'HS256' }),
    };
    const { answer, cookie } = await signIn();
    expect([answer.status, cookie]).to.deep.equal([400, undefined]);
  });

  for (const [lie, script] of Object.entries(LIES)) {
    it(`refuses the sign-in when the provider sends ${lie}`, async () => {
      issuer.script = script;
      const { answer, cookie } = await signIn();
      expect(answer.status).to.equal(400);
      expect(answer.text).to.contain('sign_in_failed').and.not.to.contain('secret words');
      expect(cookie).to.equal(undefined);
      expect(await app.state.users.list({ limit: 1 })).to.deep.equal([]);
    });
  }

  for (const [trouble, script] of Object.entries(TROUBLE)) {
    it(`shows an error page when the provider answers ${trouble}`, async () => {
      issuer.script = script;
      const { answer } = await signIn();
      expect(answer.status).to.equal(503);
      expect(answer.text).to.contain('sign_in_unavailable').and.to.contain('gave no valid answer');
      expect(answer.headers.get('retry-after')).to.equal('1');
    });
  }

  for (const [what, script] of Object.entries(BAD_METADATA)) {
    it(`ignores metadata ${what} until it is corrected`, async () => {
      issuer.script = script;
      expect((await signIn()).answer.status).to.equal(503);
      issuer.script = {};
      expect((await signIn()).cookie).to.match(/^[\w-]{43}$/);
    });
  }

  it('affects only sign-in while it is unavailable, and recovers', async () => {
    issuer.script = { metadata: () => ({ issuer: 'https://evil.example' }) };
    expect((await signIn()).answer.status).to.equal(503);
    const key = await app.makeKey();
    expect((await app.request('/health')).json.ok).to.equal(true);
    expect((await app.extract(key, { url: LINK })).status).not.to.equal(503);
    issuer.script = {};
    expect((await signIn()).cookie).to.match(/^[\w-]{43}$/);
  });

  for (const path of ['/.well-known/openid-configuration', '/token', '/jwks', '/userinfo']) {
    it(`times out after 5 seconds when the provider is silent at ${path}`, async () => {
      const clock = createManualClock(Date.now());
      const slow = await startSignInApp({ issuer, clock });
      issuer.script = { silentAt: path };
      const browser = createBrowserSession();
      const trip = (async () => {
        const begun = await browser.send(`${slow.url}/signin`);
        if (begun.status !== 303) return begun;
        const sent = await browser.send(begun.location ?? '');
        return browser.send(sent.location ?? '');
      })();
      await until(() => issuer.requests.some((line) => line.endsWith(path)));
      await clock.advance(5_001);
      const answer = await trip;
      await slow.close();
      expect(answer.status).to.equal(503);
      expect(answer.text).to.contain('sign_in_unavailable');
    });
  }

  it('shows an error page when the provider does not exist', async () => {
    const gone = { ...issuer, url: 'http://127.0.0.1:1' };
    const lost = await startSignInApp({ issuer: gone });
    const answer = await createBrowserSession().send(`${lost.url}/signin`);
    await lost.close();
    expect(answer.status).to.equal(503);
    expect(answer.text).to.contain('sign_in_unavailable');
  });

  it('reaches a provider on a private address that the operator configured', async () => {
    const { answer } = await signIn();
    expect(answer.status).to.be.below(400);
    expect(issuer.requests.length).to.be.greaterThan(0);
  });

  it('cannot send the gateway to other private addresses', async () => {
    const other = await startScriptedIssuer();
    issuer.script = {
      metadata: (honest) => ({ ...honest, token_endpoint: `${other.url}/token`, jwks_uri: `${other.url}/jwks` }),
    };
    const { answer } = await signIn();
    const asked = [...other.requests];
    await other.close();
    expect(answer.status).to.equal(503);
    expect(asked).to.deep.equal([]);
  });

  it('accepts changed keys of the provider at once, and fetches them once for many sign-ins', async () => {
    const asked = () => issuer.requests.filter((line) => line === 'GET /jwks').length;
    expect((await signIn()).cookie).to.match(/^[\w-]{43}$/);
    expect((await signIn()).cookie).to.match(/^[\w-]{43}$/);
    expect(asked()).to.equal(1);
    issuer.rotateKeys();
    for (const { cookie } of await Promise.all([signIn(), signIn(), signIn()])) expect(cookie).to.match(/^[\w-]{43}$/);
    expect(asked()).to.equal(2);
    issuer.rotateKeys();
    expect((await signIn()).cookie).to.match(/^[\w-]{43}$/);
    expect(asked()).to.equal(3);
  });

  it('fetches unknown keys once each, and at most ten times a minute', async () => {
    const clock = createManualClock(Date.now());
    const held = await startSignInApp({ issuer, clock });
    const attempt = async () => {
      const browser = createBrowserSession();
      const sent = await browser.send((await browser.send(`${held.url}/signin`)).location ?? '');
      return (await browser.send(sent.location ?? '')).status;
    };
    const asked = () => issuer.requests.filter((line) => line === 'GET /jwks').length;
    expect(await attempt()).to.equal(303);
    issuer.script = { header: (honest) => ({ ...honest, kid: 'unknown' }) };
    for (const _ of [1, 2, 3]) expect(await attempt()).to.equal(400);
    expect(asked()).to.equal(2);
    for (let count = 0; count < 12; count += 1) {
      issuer.script = { header: (honest) => ({ ...honest, kid: `unknown-${count}` }) };
      expect(await attempt()).to.equal(400);
    }
    expect(asked()).to.equal(11);
    issuer.script = {};
    expect(await attempt()).to.equal(303);
    expect(asked()).to.equal(11);
    // Without a name they are used for five minutes.
    await clock.advance(300_000);
    expect(await attempt()).to.equal(303);
    expect(asked()).to.equal(12);
    await held.close();
  });

  it('follows no redirect of the provider', async () => {
    issuer.script = { token: () => ({}), tokenStatus: 307 };
    const { answer, cookie } = await signIn();
    expect(answer.status).to.equal(503);
    expect(cookie).to.equal(undefined);
  });

  it('leaves none of its secrets in the log', async () => {
    const seen: string[] = [issuer.clientSecret];
    const keep = (honest: Record<string, unknown>) => {
      for (const value of Object.values(honest)) if (typeof value === 'string' && value.length > 12) seen.push(value);
      return honest;
    };
    for (const more of [{}, LIES['a token for another client'], TROUBLE['a refusal of the client']]) {
      issuer.script = { callback: keep, token: keep, ...more };
      const { cookie } = await signIn();
      if (cookie) seen.push(cookie);
    }
    for (const body of issuer.exchanges) seen.push(body.get('code_verifier') ?? '');
    const text = app.log
      .map(({ message, fields }) => `${message} ${JSON.stringify(fields)} ${describe(fields)}`)
      .join('\n');
    const secrets = seen.filter((secret) => !issuer.url.includes(secret));
    expect(secrets.length).to.be.greaterThan(8);
    for (const secret of secrets) expect(text).not.to.contain(secret);
  });

  /** What a log line holds of an error: its own words and those of its causes. */
  function describe(fields: unknown): string {
    const { error } = (fields ?? {}) as { error?: unknown };
    const words: string[] = [];
    for (let one = error; one instanceof Error; one = one.cause) words.push(`${one.name} ${one.message} ${one.stack}`);
    return words.join(' ');
  }
});
