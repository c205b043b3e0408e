/** Sign-in over HTTP: redirects, cookies, codes, failures and rate limits. */

import { expect } from 'chai';
import { createManualClock } from 'mediagate/testing';
import { createBrowserSession } from '../../support/accounts/browser-session.js';
import { type ScriptedIssuer, startScriptedIssuer } from '../../support/accounts/scripted-issuer.js';
import { describeOnStacks } from '../../support/databases/stacks.js';
import { onceIt } from '../../support/runner/variants.js';
import { type SignInApp, startSignInApp } from './sign-in-app.js';

const COOKIE = 'mediagate';
const ATTEMPT = 'mediagate-sign-in';

describeOnStacks('signing in', (stack) => {
  const once = onceIt(stack);
  let app: SignInApp;

  before(async () => {
    app = await startSignInApp({ stack });
  });
  after(() => app.close());

  once('leads to the identity provider and back to the requested page', async () => {
    const browser = createBrowserSession();
    const page = await app.begin(browser, '/signin?return_to=/device%3Fuser_code=BCDF-GHJK');
    expect(page.text).to.contain('anyone can sign in as anyone here');
    const back = await browser.send(await app.fillIn(browser, page));
    expect(back.status).to.equal(303);
    expect(back.location).to.equal(`${app.url}/device?user_code=BCDF-GHJK`);
    expect((await app.device(browser)).status).to.equal(200);
  });

  it('makes the first user of a fresh gateway the operator, and announces it', async () => {
    const fresh = await startSignInApp({ stack, withoutUsers: true });
    const [browser, second] = [createBrowserSession(), createBrowserSession()];
    const page = async (one: typeof browser, path: string) => (await one.send(fresh.url + path)).text;
    expect(await page(browser, '/login')).to.contain('Your account operates this gateway');
    await fresh.signIn(browser);
    expect(await page(browser, '/dashboard')).to.contain('You are an operator of this gateway');
    const lines = fresh.log.filter(({ message }) => message.includes('is the operator'));
    expect(lines).to.have.length(1);
    expect(await page(second, '/login')).not.to.contain('becomes the operator');
    await fresh.signIn(second, 'bob@example.com');
    expect(await page(second, '/dashboard')).not.to.contain('You are an operator');
    await fresh.close();
  });

  once('sends PKCE, state and nonce, only for the configured address', async () => {
    const browser = createBrowserSession();
    const headers = {
      'x-forwarded-host': 'evil.example',
      'x-forwarded-proto': 'https',
      forwarded: 'host=evil.example',
    };
    const first = await browser.send(`${app.url}/signin`, { headers });
    const asked = new URL(first.location ?? '').searchParams;
    expect(Object.fromEntries(asked)).to.include({
      redirect_uri: `${app.url}/signin/callback`,
      response_type: 'code',
      code_challenge_method: 'S256',
    });
    for (const name of ['state', 'nonce', 'code_challenge']) expect(asked.get(name)).to.match(/^[\w-]{43}$/);
    const again = new URL((await browser.send(`${app.url}/signin`)).location ?? '').searchParams;
    for (const name of ['state', 'nonce', 'code_challenge']) expect(again.get(name)).not.to.equal(asked.get(name));
  });

  once(
    'stores the session in a cookie that scripts and other sites do not get, and deletes the one of the attempt',
    async () => {
      const browser = createBrowserSession();
      const page = await app.begin(browser);
      expect(browser.cookie(app.url, ATTEMPT)).to.match(/^[\w-]{43}$/);
      const back = await browser.send(await app.fillIn(browser, page));
      const [removed, session] = back.headers.getSetCookie();
      expect(removed).to.equal(`${ATTEMPT}=; Max-Age=0; Path=/; HttpOnly; SameSite=Lax`);
      expect(session).to.match(/^mediagate=[\w-]{43}; Max-Age=604800; Path=\/; HttpOnly; SameSite=Lax$/);
      expect(browser.cookie(app.url, ATTEMPT)).to.equal(undefined);
      expect(back.headers.get('cache-control')).to.equal('no-store');
    },
  );

  once('stores the session as a hash, and recognizes the same person', async () => {
    const [one, other] = [await app.signedIn('bea@example.com'), await app.signedIn('BEA@example.com')];
    expect(one.cookie(app.url, COOKIE)).not.to.equal(other.cookie(app.url, COOKIE));
    const users = await app.state.users.list({ limit: 100 });
    const found = users.filter(({ email }) => email === 'bea@example.com');
    expect(found).to.have.length(1);
    expect(found[0]).to.include({ issuer: 'urn:mediagate:identity:dev_identity', name: 'bea' });
    expect(found[0]?.accountId).to.match(/^acct_/);
  });

  once('starts a new session and ends the old one of the browser', async () => {
    const browser = createBrowserSession();
    const planted = 'A'.repeat(43);
    browser.setCookie(app.url, COOKIE, planted);
    await app.signIn(browser);
    const first = browser.cookie(app.url, COOKIE) ?? '';
    expect(first)
      .to.match(/^[\w-]{43}$/)
      .and.not.to.equal(planted);
    await app.signIn(browser);
    const second = browser.cookie(app.url, COOKIE) ?? '';
    expect(second).not.to.equal(first);
    for (const [value, status] of [
      [planted, 303],
      [first, 303],
      [second, 200],
    ] as const) {
      const other = createBrowserSession();
      other.setCookie(app.url, COOKIE, value);
      expect((await app.device(other)).status).to.equal(status);
    }
  });

  const NO_PATHS = [
    '//evil.example',
    '/\\evil.example',
    '\\\\evil.example',
    '/\t/evil.example',
    '/\n/evil.example',
    '/ /evil.example',
    'https://evil.example/',
    'https:evil.example',
    'javascript:alert(1)',
    'evil.example',
    '/.//evil.example',
    '/..//evil.example',
    '/%2e//evil.example',
    '@evil.example',
    '/\u00a0/x',
    '/signin',
    '/signin/callback?code=1',
    `/${'a'.repeat(2_000)}`,
  ];
  for (const path of NO_PATHS) {
    once(`returns to no other place: ${JSON.stringify(path.slice(0, 40))}`, async () => {
      const browser = createBrowserSession();
      const answer = await browser.send(`${app.url}/signin?return_to=${encodeURIComponent(path)}`);
      expect([answer.status, answer.location]).to.deep.equal([400, undefined]);
      expect(browser.cookie(app.url, ATTEMPT)).to.equal(undefined);
    });
  }

  once('uses return_to once, decoded once', async () => {
    const browser = createBrowserSession();
    const twice = await browser.send(`${app.url}/signin?return_to=/device&return_to=//evil.example`);
    expect(twice.status).to.equal(400);
    const back = await app.signIn(browser, undefined, '/signin?return_to=/%252f%252fevil.example/%255c');
    expect(back.location).to.equal(`${app.url}/%2f%2fevil.example/%5c`);
  });

  it('exchanges a code once', async () => {
    const browser = createBrowserSession();
    const callback = await app.fillIn(browser, await app.begin(browser));
    const attempt = browser.cookie(app.url, ATTEMPT) ?? '';
    expect((await browser.send(callback)).status).to.equal(303);
    for (const other of [browser, createBrowserSession()]) {
      other.setCookie(app.url, ATTEMPT, attempt);
      const again = await other.send(callback);
      expect(again.status).to.equal(400);
      expect(again.text).to.contain('sign_in_failed');
    }
  });

  once('returns only to the browser that began, which can still continue', async () => {
    const [browser, stranger, other] = [createBrowserSession(), createBrowserSession(), createBrowserSession()];
    const callback = await app.fillIn(browser, await app.begin(browser));
    await app.begin(other);
    for (const wrong of [stranger, other]) {
      const answer = await wrong.send(callback);
      expect(answer.status).to.equal(400);
      expect(wrong.cookie(app.url, COOKIE)).to.equal(undefined);
    }
    expect((await browser.send(callback)).status).to.equal(303);
  });

  once('refuses a missing, unknown or repeated state', async () => {
    const browser = createBrowserSession();
    const callback = new URL(await app.fillIn(browser, await app.begin(browser)));
    const attempt = browser.cookie(app.url, ATTEMPT) ?? '';
    const state = callback.searchParams.get('state') ?? '';
    for (const change of [
      (url: URL) => url.searchParams.delete('state'),
      (url: URL) => url.searchParams.set('state', 'B'.repeat(43)),
      (url: URL) => url.searchParams.append('state', state),
    ]) {
      const url = new URL(callback);
      change(url);
      browser.setCookie(app.url, ATTEMPT, attempt);
      expect((await browser.send(url.href)).status).to.equal(400);
    }
  });

  once('refuses a code of another attempt, whose verifier does not match', async () => {
    const [one, other] = [createBrowserSession(), createBrowserSession()];
    const [mine, theirs] = [await app.begin(one), await app.begin(other)];
    const callback = new URL(await app.fillIn(one, mine));
    const stolen = new URL(await app.fillIn(other, theirs)).searchParams.get('code') ?? '';
    callback.searchParams.set('code', stolen);
    const answer = await one.send(callback.href);
    expect(answer.status).to.equal(400);
    expect(one.cookie(app.url, COOKIE)).to.equal(undefined);
  });

  once('reports that the user refused to sign in', async () => {
    const browser = createBrowserSession();
    const page = await app.begin(browser);
    const answer = await browser.open(page.url, { form: { action: 'refuse' } });
    expect(answer.status).to.equal(400);
    expect(answer.text).to.contain('refused to sign you in').and.to.contain('Sign in again');
  });

  once('shows failures to browsers as a page, and to programs as JSON', async () => {
    const page = await createBrowserSession().send(`${app.url}/signin/callback?state=%3Cscript%3E`);
    expect(page.headers.get('content-type')).to.equal('text/html; charset=utf-8');
    expect(page.headers.get('content-security-policy')).to.contain("default-src 'none'; script-src 'self'");
    expect(page.text).not.to.contain('<script>');
    const json = await app.request('/signin/callback');
    expect(json.status).to.equal(400);
    expect(json.json.error.code).to.equal('sign_in_failed');
  });

  once('begins under the host name of the callback if a machine has several', async () => {
    const elsewhere = `http://localhost:${app.port}`;
    const { location } = await createBrowserSession().send(`${elsewhere}/signin?return_to=/device`);
    expect(location).to.equal(`${app.url}/signin?return_to=/device`);
  });

  once('limits the sign-ins of an address in a minute', async () => {
    const busy = await startSignInApp({ stack });
    const statuses = new Map<number, number>();
    for (let count = 0; count < 125; count += 1) {
      const { status } = await busy.request('/signin', { redirect: 'manual' });
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
    }
    const { headers } = await busy.request('/signin', { redirect: 'manual' });
    await busy.close();
    expect([...statuses]).to.deep.equal([
      [303, 120],
      [429, 5],
    ]);
    expect(Number(headers.get('retry-after'))).to.be.within(1, 60);
  });

  once('limits the callbacks of an address in a minute', async () => {
    const clock = createManualClock(Date.now());
    const busy = await startSignInApp({ stack, clock });
    const back = () => busy.request('/signin/callback?state=x&code=y', { redirect: 'manual' });
    const statuses: number[] = [];
    for (let count = 0; count < 121; count += 1) statuses.push((await back()).status);
    const { headers } = await back();
    await clock.advance(60_000);
    const later = await back();
    await busy.close();
    expect(statuses).to.deep.equal([...Array.from({ length: 120 }, () => 400), 429]);
    expect(headers.get('retry-after')).to.equal('60');
    expect(later.status).to.equal(400);
  });
});

describe('signing in at an address with TLS', () => {
  const SITE = 'https://gateway.example';
  let app: SignInApp;
  let issuer: ScriptedIssuer;

  before(async () => {
    issuer = await startScriptedIssuer();
    app = await startSignInApp({ issuer, siteUrl: SITE });
  });
  after(async () => {
    await app.close();
    await issuer.close();
  });

  it('uses cookies that no other host can set, and the public address throughout', async () => {
    const begun = await app.request('/signin?return_to=/plans', { redirect: 'manual' });
    const [attempt = ''] = begun.headers.getSetCookie();
    expect(attempt).to.match(
      /^__Host-mediagate-sign-in=[\w-]{43}; Max-Age=600; Path=\/; HttpOnly; Secure; SameSite=Lax$/,
    );
    const asked = new URL(begun.headers.get('location') ?? '');
    expect(asked.searchParams.get('redirect_uri')).to.equal(`${SITE}/signin/callback`);
    const sent = await fetch(asked, { redirect: 'manual' });
    const callback = new URL(sent.headers.get('location') ?? '');
    expect(callback.origin).to.equal(SITE);
    const cookie = attempt.split(';', 1)[0] ?? '';
    const back = await app.request(callback.pathname + callback.search, { redirect: 'manual', headers: { cookie } });
    expect(back.headers.get('location')).to.equal(`${SITE}/plans`);
    expect(back.headers.getSetCookie()[1]).to.match(
      /^__Host-mediagate=[\w-]{43}; Max-Age=604800; Path=\/; HttpOnly; Secure; SameSite=Lax$/,
    );
    expect(issuer.exchanges[0]?.get('redirect_uri')).to.equal(`${SITE}/signin/callback`);
  });

  it('ignores the cookie under its plain name', async () => {
    const cookie = `mediagate=${'A'.repeat(43)}; mediagate-sign-in=${'A'.repeat(43)}`;
    const answer = await app.request('/signin/callback?state=x&code=y', { headers: { cookie } });
    expect(answer.json.error.code).to.equal('sign_in_failed');
  });
});

describe('unavailable sign-in', () => {
  const CASES = [
    { title: 'the gateway listens on all addresses', options: { host: '0.0.0.0' }, reason: 'dev_identity lets anyone' },
    { title: 'the site has no TLS', options: { siteUrl: 'http://gateway.example' }, reason: 'SITE_URL must be https' },
  ];
  for (const { title, options, reason } of CASES) {
    it(`explains ${title}`, async () => {
      const app = await startSignInApp(options);
      const answer = await app.request('/signin', { redirect: 'manual' });
      const status = app.identity.status();
      await app.close();
      expect(answer.status).to.equal(503);
      expect(answer.json.error.code).to.equal('sign_in_unavailable');
      expect(answer.json.error.message).to.contain(reason);
      expect(status).to.include({ state: 'off', standIn: true }).and.to.have.property('reason').that.contains(reason);
    });
  }
});
