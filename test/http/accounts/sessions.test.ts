/** Sessions: their end, their time, and requests of other sites. */

import { expect } from 'chai';
import { createManualClock } from 'mediagate/testing';
import { type BrowserSession, createBrowserSession } from '../../support/accounts/browser-session.js';
import { describeOnStacks } from '../../support/databases/stacks.js';
import { onceIt } from '../../support/runner/variants.js';
import { type SignInApp, startSignInApp } from './sign-in-app.js';

const COOKIE = 'mediagate';
const HOUR_MS = 3_600_000;

/** Whether the site knows who this browser is. */
async function isSignedIn(app: SignInApp, browser: BrowserSession): Promise<boolean> {
  return (await app.device(browser)).status === 200;
}

describeOnStacks('sessions', (stack) => {
  const once = onceIt(stack);
  let app: SignInApp;

  before(async () => {
    app = await startSignInApp({ stack });
  });
  after(() => app.close());

  once('ends the session on sign-out, also for a stolen cookie, and keeps the others', async () => {
    const [browser, other] = [await app.signedIn(), await app.signedIn()];
    const kept = browser.cookie(app.url, COOKIE) ?? '';
    const answer = await browser.send(`${app.url}/signout`, { form: {} });
    expect(answer.status).to.equal(303);
    expect(answer.location).to.equal(`${app.url}/`);
    expect(browser.cookie(app.url, COOKIE)).to.equal(undefined);
    browser.setCookie(app.url, COOKIE, kept);
    expect(await isSignedIn(app, browser)).to.equal(false);
    expect(await isSignedIn(app, other)).to.equal(true);
  });

  once('ends a session through the API', async () => {
    for (const method of ['DELETE', 'POST'] as const) {
      const browser = await app.signedIn();
      const cookie = `${COOKIE}=${browser.cookie(app.url, COOKIE)}`;
      const headers = { cookie, origin: app.url, 'content-type': 'application/json' };
      const answer = await app.request('/api/agent/session', {
        method,
        headers,
        ...(method === 'POST' && { body: '{}' }),
      });
      expect(answer.json).to.deep.equal({ authenticated: false, loginUrl: `${app.url}/signin` });
      expect(await isSignedIn(app, browser)).to.equal(false);
    }
  });

  once('accepts a sign-out without a session', async () => {
    const answer = await createBrowserSession().send(`${app.url}/signout`, { form: {} });
    expect(answer.status).to.equal(303);
  });

  it('ends all browsers, programs and device flows on a sign-out everywhere', async () => {
    const cleo = 'cleo@example.com';
    const user = async () => (await app.state.users.list({ limit: 100 })).find(({ email }) => email === cleo);
    const signOuts = [
      ({ send }: BrowserSession) => send(`${app.url}/signout/everywhere`, { form: {} }),
      ({ send }: BrowserSession) =>
        send(`${app.url}/api/agent/sessions`, { method: 'DELETE', headers: { 'sec-fetch-site': 'same-origin' } }),
    ];
    const stranger = await app.signedIn('somebody-else@example.com');
    for (const signOut of signOuts) {
      const [here, there] = [await app.signedIn(cleo), await app.signedIn(cleo)];
      const deviceHash = `device ${signOuts.indexOf(signOut)}`;
      const { userCode } = await app.state.deviceGrants.create({ deviceHash, clientName: 'CLI' });
      await app.state.deviceGrants.approve(userCode, (await user())?.id ?? '');
      const left = await signOut(here);
      expect(left.location ?? JSON.parse(left.text).authenticated).to.be.oneOf([`${app.url}/`, false]);
      expect(here.cookie(app.url, COOKIE)).to.equal(undefined);
      expect(await isSignedIn(app, there)).to.equal(false);
      expect(await app.state.deviceGrants.poll(deviceHash)).to.deep.equal({ status: 'invalid_grant' });
    }
    expect(await isSignedIn(app, stranger)).to.equal(true);
    const { id } = (await user()) ?? { id: '' };
    const audit = await app.state.audit.list({ subject: id, limit: 9 });
    expect(audit.map(({ action, actor }) => [action, actor])).to.deep.equal(
      signOuts.map(() => ['user.signed-out', `user:${id}`]),
    );
    const nobody = await createBrowserSession().send(`${app.url}/signout/everywhere`, { form: {} });
    expect(nobody.status).to.equal(303);
  });

  once('ends with a suspension, and refuses sign-in until it is over', async () => {
    const browser = await app.signedIn('dan@example.com');
    const [user] = (await app.state.users.list({ limit: 100 })).filter(({ email }) => email === 'dan@example.com');
    const suspension = { userId: user?.id ?? '', actor: 'operator:test' };
    await app.state.users.suspend(suspension);
    expect(await isSignedIn(app, browser)).to.equal(false);
    const refused = await app.signIn(browser, 'dan@example.com');
    expect(refused.status).to.equal(403);
    expect(refused.text).to.contain('account_suspended');
    await app.state.users.resume(suspension);
    expect((await app.signIn(browser, 'dan@example.com')).status).to.equal(303);
  });

  once('accepts sessions and API keys only on their own routes', async () => {
    const key = await app.makeKey();
    const browser = await app.signedIn();
    const cookie = browser.cookie(app.url, COOKIE) ?? '';
    for (const token of [key, cookie, `mgd_${cookie}`, '']) {
      const answer = await app.request('/device', {
        redirect: 'manual',
        headers: { authorization: `Bearer ${token}` },
      });
      expect(answer.status).to.equal(303);
    }
    for (const value of [key, `mgd_${cookie}`, `"${cookie}"`, `${cookie}x`]) {
      const answer = await app.request('/device', { redirect: 'manual', headers: { cookie: `${COOKIE}=${value}` } });
      expect(answer.status).to.equal(303);
    }
    const answer = await app.request('/v1/usage', { headers: { authorization: `Bearer ${cookie}` } });
    expect(answer.json.error.code).to.equal('invalid_api_key');
  });

  once('explains a missing session to programs and users, and asks for no password', async () => {
    const key = await app.makeKey();
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/x-www-form-urlencoded' };
    const { status, json } = await app.request('/device', { method: 'POST', headers, body: 'user_code=BBBBBBBB' });
    expect(status).to.equal(401);
    expect(json.error).to.include({ code: 'not_signed_in', type: 'authentication_error' });
    expect(json.error.message).to.contain('An API key cannot sign in a user.');
    expect(json.loginUrl).to.equal(`${app.url}/signin`);
    expect(json.instruction).to.contain('Never ask for a password');
    expect(JSON.stringify(json)).not.to.contain(key);
  });

  once('prefers a bearer token, and uses the cookie when a proxy sends Basic', async () => {
    const browser = await app.signedIn();
    const cookie = `${COOKIE}=${browser.cookie(app.url, COOKIE)}`;
    const ask = (authorization: string) =>
      app.request('/device', { redirect: 'manual', headers: { cookie, authorization } });
    expect((await ask('Bearer wrong')).status).to.equal(303);
    expect((await ask('bearer')).status).to.equal(303);
    expect((await ask('Basic b3BlcmF0b3I6eA==')).status).to.equal(200);
  });
});

describe('requests that another site makes a browser send', () => {
  const WRITES = [
    { method: 'POST', path: '/signout/everywhere', type: 'application/x-www-form-urlencoded', body: 'x=1' },
    { method: 'DELETE', path: '/api/agent/sessions' },
    { method: 'POST', path: '/signout', type: 'application/x-www-form-urlencoded', body: 'x=1' },
    { method: 'POST', path: '/api/agent/session', type: 'application/json', body: '{}' },
    { method: 'DELETE', path: '/api/agent/session' },
    {
      method: 'POST',
      path: '/device',
      type: 'application/x-www-form-urlencoded',
      body: 'user_code=BCDFGHJK&answer=approve',
    },
  ] as const;
  const ELSEWHERE: Record<string, string>[] = [
    { 'sec-fetch-site': 'cross-site', origin: 'https://evil.example' },
    { 'sec-fetch-site': 'cross-site' },
    { 'sec-fetch-site': 'cross-site', origin: 'null' },
    { 'sec-fetch-site': 'same-site', origin: 'http://127.0.0.1:1' },
    { 'sec-fetch-site': 'none' },
    { 'sec-fetch-site': 'same-origin', origin: 'https://evil.example' },
    { origin: 'https://evil.example' },
    { origin: 'null' },
    { authorization: 'Basic b3BlcmF0b3I6eA==', origin: 'https://evil.example' },
    {},
  ];
  let app: SignInApp;
  let browser: BrowserSession;

  before(async () => {
    app = await startSignInApp();
    browser = await app.signedIn();
  });
  after(() => app.close());

  for (const { method, path, ...write } of WRITES) {
    for (const elsewhere of ELSEWHERE) {
      it(`${method} ${path} is refused: ${JSON.stringify(elsewhere)}`, async () => {
        const cookie = `${COOKIE}=${browser.cookie(app.url, COOKIE)}`;
        const headers = { cookie, ...('type' in write && { 'content-type': write.type }), ...elsewhere };
        // Node's own client would add a Sec-Fetch-Site of its own.
        const head = [`${method} ${path} HTTP/1.1`, `host: 127.0.0.1:${app.port}`, 'connection: close'];
        const body = 'body' in write ? write.body : '';
        const lines = [...head, ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`)];
        const answer = await app.raw(`${lines.join('\r\n')}\r\ncontent-length: ${body.length}\r\n\r\n${body}`);
        expect(answer.split('\r\n', 1)[0]).to.equal('HTTP/1.1 403 Forbidden');
        expect(answer).to.contain('"code":"cross_site_request"');
        expect(await isSignedIn(app, browser)).to.equal(true);
      });
    }
  }

  it('cannot have the content type of the API, and forms are refused', async () => {
    const cookie = `${COOKIE}=${browser.cookie(app.url, COOKIE)}`;
    const headers = { cookie, origin: app.url, 'content-type': 'text/plain' };
    const answer = await app.request('/api/agent/session', { method: 'POST', headers, body: '{}' });
    expect(answer.status).to.equal(415);
    expect(await isSignedIn(app, browser)).to.equal(true);
  });

  it('does not let scripts read answers', async () => {
    const answer = await app.request('/device', { headers: { origin: 'https://evil.example' }, redirect: 'manual' });
    expect(answer.headers.get('access-control-allow-origin')).to.equal(null);
  });
});

describeOnStacks('the time of a session', (stack) => {
  const once = onceIt(stack);
  once('lasts 12 hours without a request and 7 days in all', async () => {
    const clock = createManualClock(Date.now());
    const app = await startSignInApp({ stack, clock });
    const [idle, busy] = [await app.signedIn(), await app.signedIn()];
    for (let hours = 11; hours < 7 * 24; hours += 11) {
      await clock.advance(11 * HOUR_MS);
      expect(await isSignedIn(app, busy), `after ${hours} h`).to.equal(true);
    }
    await clock.advance(4 * HOUR_MS);
    const [idleAfter, busyAfter] = [await isSignedIn(app, idle), await isSignedIn(app, busy)];
    await app.close();
    expect(idleAfter).to.equal(false);
    expect(busyAfter).to.equal(false);
  });

  once('ends after 12 hours without a request and not before', async () => {
    const clock = createManualClock(Date.now());
    const app = await startSignInApp({ stack, clock });
    const [one, other] = [await app.signedIn(), await app.signedIn()];
    await clock.advance(12 * HOUR_MS - 60_000);
    const before = await isSignedIn(app, one);
    await clock.advance(120_000);
    const after = [await isSignedIn(app, one), await isSignedIn(app, other)];
    await app.close();
    expect(before).to.equal(true);
    expect(after).to.deep.equal([true, false]);
  });

  once('begins within 10 minutes of the attempt', async () => {
    const clock = createManualClock(Date.now());
    const app = await startSignInApp({ stack, clock });
    const browser = createBrowserSession();
    const callback = await app.fillIn(browser, await app.begin(browser));
    await clock.advance(601_000);
    const answer = await browser.send(callback);
    await app.close();
    expect(answer.status).to.equal(400);
  });
});
