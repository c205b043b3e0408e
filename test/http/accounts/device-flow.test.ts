/** The device flow: authorization of a program by its user. */

import { expect } from 'chai';
import { createManualClock } from 'mediagate/testing';
import * as oidc from 'openid-client';
import { type BrowserSession, createBrowserSession } from '../../support/accounts/browser-session.js';
import { describeOnStacks } from '../../support/databases/stacks.js';
import { onceIt } from '../../support/runner/variants.js';
import type { Answer } from '../http/listening-app.js';
import { type SignInApp, startSignInApp } from './sign-in-app.js';

const GRANT_TYPE = 'urn:ietf:params:oauth:grant-type:device_code';
const FORM = { 'content-type': 'application/x-www-form-urlencoded' };
const JSON_TYPE = { 'content-type': 'application/json' };

describeOnStacks('the device flow', (stack) => {
  const once = onceIt(stack);
  let app: SignInApp;

  before(async () => {
    app = await startSignInApp({ stack });
  });
  after(() => app.close());

  const start = (name = 'Shipyard CLI', on = app) =>
    on.request('/api/agent/device', { method: 'POST', headers: JSON_TYPE, body: JSON.stringify({ client_id: name }) });

  const poll = (code: unknown, on = app): Promise<Answer> =>
    on.request('/api/agent/device/token', {
      method: 'POST',
      headers: JSON_TYPE,
      body: JSON.stringify({ grant_type: GRANT_TYPE, client_id: 'Shipyard CLI', device_code: code }),
    });

  const answer = (browser: BrowserSession, code: string, said: string) =>
    browser.send(`${app.url}/device`, { form: { user_code: code, answer: said } });

  const isIn = async (token: string): Promise<boolean> => {
    const headers = { authorization: `Bearer ${token}` };
    return (await app.request('/device', { headers, redirect: 'manual' })).status === 200;
  };

  once('authorizes a client library of the standard', async () => {
    const metadata = {
      issuer: app.url,
      device_authorization_endpoint: `${app.url}/api/agent/device`,
      token_endpoint: `${app.url}/api/agent/device/token`,
    };
    const client = new oidc.Configuration(metadata, 'Shipyard CLI', undefined, oidc.None());
    oidc.allowInsecureRequests(client);
    const begun = await oidc.initiateDeviceAuthorization(client, {});
    const browser = await app.signedIn();
    // It waits for an interval before its first poll, and after it.
    const tokens = oidc.pollDeviceAuthorizationGrant(client, { ...begun, interval: 1 });
    await answer(browser, begun.user_code, 'approve');
    const { access_token: token, token_type: type, expires_in: seconds } = await tokens;
    expect(type).to.equal('bearer');
    expect(seconds).to.equal(43_200);
    expect(await isIn(token)).to.equal(true);
  });

  once('returns what to show and how often to poll', async () => {
    const { status, json, headers } = await start();
    expect(status).to.equal(200);
    expect(headers.get('cache-control')).to.equal('no-store');
    expect(json.device_code).to.match(/^[\w-]{43}$/);
    expect(json.user_code).to.match(/^[BCDFGHJKLMNPQRSTVWXZ]{4}-[BCDFGHJKLMNPQRSTVWXZ]{4}$/);
    expect(json).to.deep.include({
      verification_uri: `${app.url}/device`,
      verification_uri_complete: `${app.url}/device?user_code=${json.user_code}`,
      expires_in: 600,
      interval: 5,
    });
  });

  once('asks the user to sign in, then shows the program that asks for access', async () => {
    const { json } = await start('Shipyard CLI');
    const browser = createBrowserSession();
    const page = await browser.open(json.verification_uri_complete);
    const back = await browser.send(await app.fillIn(browser, page, 'eve@example.com'));
    expect(back.location).to.equal(json.verification_uri_complete);
    const shown = await browser.send(back.location ?? '');
    expect(shown.text).to.contain('Shipyard CLI').and.to.contain(json.user_code).and.to.contain('eve@example.com');
    expect(shown.headers.get('content-security-policy')).to.contain("frame-ancestors 'none'");
    expect(shown.headers.get('referrer-policy')).to.equal('same-origin');
  });

  it('waits, authorizes once, and is used up', async () => {
    const browser = await app.signedIn();
    const { json } = await start();
    const waiting = await poll(json.device_code);
    expect(waiting.status).to.equal(400);
    expect(waiting.json).to.deep.include({ error: 'authorization_pending', interval: 5 });
    const answered = await answer(browser, json.user_code.toLowerCase().replace('-', ' '), 'approve');
    expect(answered.status).to.equal(303);
    for (const time of ['once', 'loaded again']) {
      const page = await browser.send(answered.location ?? '');
      expect(page.status, time).to.equal(200);
      expect(page.text, time).to.contain('Program connected');
    }
    const both = await Promise.all([poll(json.device_code), poll(json.device_code)]);
    const tokens = both.flatMap(({ json: body }) => (body.access_token ? [body.access_token] : []));
    expect(tokens).to.have.length(1);
    expect((await poll(json.device_code)).json.error).to.equal('invalid_grant');
    expect((await answer(browser, json.user_code, 'deny')).status).to.equal(404);
    expect(await isIn(tokens[0])).to.equal(true);
  });

  once('issues a token that is neither an API key nor a cookie, and that its owner can revoke', async () => {
    const browser = await app.signedIn();
    const { json } = await start();
    await answer(browser, json.user_code, 'approve');
    const { access_token: token } = (await poll(json.device_code)).json;
    expect(token).to.match(/^mgd_[\w-]{43}$/);
    const authorization = `Bearer ${token}`;
    const asKey = await app.request('/v1/usage', { headers: { authorization } });
    expect(asKey.json.error.code).to.equal('invalid_api_key');
    for (const cookie of [token, token.slice(4)]) {
      const asCookie = await app.request('/device', { headers: { cookie: `mediagate=${cookie}` }, redirect: 'manual' });
      expect(asCookie.status).to.equal(303);
    }
    // It needs no origin, since no browser sends it by itself.
    const ended = await app.request('/api/agent/session', { method: 'DELETE', headers: { authorization } });
    expect(ended.json.authenticated).to.equal(false);
    expect(await isIn(token)).to.equal(false);
  });

  once('does not authorize a program by the session of another program', async () => {
    const browser = await app.signedIn();
    const [first, second] = [(await start()).json, (await start()).json];
    await answer(browser, first.user_code, 'approve');
    const { access_token: token } = (await poll(first.device_code)).json;
    const refused = await app.request('/device', {
      method: 'POST',
      headers: { ...FORM, authorization: `Bearer ${token}` },
      body: `user_code=${second.user_code}&answer=approve`,
    });
    expect(refused.status).to.equal(401);
    expect(refused.json.error.code).to.equal('not_signed_in');
    expect((await poll(second.device_code)).json.error).to.equal('authorization_pending');
  });

  once('returns access_denied after the user refuses', async () => {
    const browser = await app.signedIn();
    const { json } = await start();
    const { location } = await answer(browser, json.user_code, 'deny');
    expect((await browser.send(location ?? '')).text).to.contain('Request denied');
    expect((await poll(json.device_code)).json.error).to.equal('access_denied');
  });

  once('slows down a program that polls too soon', async () => {
    const { json } = await start();
    await poll(json.device_code);
    const soon = await poll(json.device_code);
    expect(soon.status).to.equal(400);
    expect(soon.json).to.deep.include({ error: 'slow_down', interval: 10 });
  });

  once('asks for longer intervals while a program polls too soon, up to a minute', async () => {
    const { json } = await start();
    const intervals: number[] = [];
    for (let count = 0; count < 15; count += 1) intervals.push((await poll(json.device_code)).json.interval);
    expect(intervals).to.deep.equal([5, 10, 15, 20, 25, 30, 35, 40, 45, 50, 55, 60, 60, 60, 60]);
  });

  once('continues when the program has waited for the interval', async () => {
    const clock = createManualClock(Date.now());
    const patient = await startSignInApp({ stack, clock });
    const { json } = await start('Shipyard CLI', patient);
    const answers: unknown[] = [];
    for (const ms of [0, 5_000, 4_999, 10_000, 9_999]) {
      await clock.advance(ms);
      const { error, interval } = (await poll(json.device_code, patient)).json;
      answers.push([error, interval]);
    }
    await patient.close();
    expect(answers).to.deep.equal([
      ['authorization_pending', 5],
      ['authorization_pending', 5],
      ['slow_down', 10],
      ['authorization_pending', 10],
      ['slow_down', 15],
    ]);
  });

  once('expires after 10 minutes for the program and for the user', async () => {
    const clock = createManualClock(Date.now());
    const old = await startSignInApp({ stack, clock });
    const browser = await old.signedIn();
    const { json } = await start('Shipyard CLI', old);
    await clock.advance(601_000);
    const polled = await poll(json.device_code, old);
    const page = await browser.send(json.verification_uri_complete);
    const said = await browser.send(`${old.url}/device`, { form: { user_code: json.user_code, answer: 'approve' } });
    await old.close();
    expect(polled.json.error).to.equal('expired_token');
    expect(page.status).to.equal(404);
    expect(said.status).to.equal(404);
  });

  once('expires at the exact instant, and reports that for ten more minutes', async () => {
    const clock = createManualClock(Date.now());
    const old = await startSignInApp({ stack, clock });
    const { json } = await start('Shipyard CLI', old);
    const errors: string[] = [];
    for (const ms of [599_999, 1, 599_999, 2]) {
      await clock.advance(ms);
      // What is too old goes with the next one that starts.
      await start('Another', old);
      errors.push((await poll(json.device_code, old)).json.error);
    }
    await old.close();
    expect(errors).to.deep.equal(['authorization_pending', 'expired_token', 'expired_token', 'invalid_grant']);
  });

  once('reports every other error in the format of OAuth', async () => {
    const ask = (path: string, body: string, headers = JSON_TYPE) =>
      app.request(path, { method: 'POST', headers, body });
    const device = '/api/agent/device';
    const token = '/api/agent/device/token';
    const cases = [
      [await ask(device, '{}'), 400, 'invalid_request'],
      [await ask(device, '{'), 400, 'invalid_request'],
      [await ask(device, 'client_id=a&client_id=b', FORM), 400, 'invalid_request'],
      [await ask(device, 'x', { 'content-type': 'text/plain' }), 415, 'invalid_request'],
      [await ask(device, JSON.stringify({ client_id: 'x'.repeat(5_000) })), 413, 'invalid_request'],
      [await ask(token, '{}'), 400, 'invalid_request'],
      [await ask(token, '{"grant_type":"password"}'), 400, 'unsupported_grant_type'],
      [await poll('unknown'), 400, 'invalid_grant'],
      [await poll(7), 400, 'invalid_request'],
    ] as const;
    for (const [{ status, json }, expected, error] of cases) {
      expect([status, json.error]).to.deep.equal([expected, error]);
      expect(json.error_description).to.be.a('string').that.matches(/\S/);
    }
  });

  for (const name of ['', ' ', '<b>x</b>', 'x'.repeat(101), 'a\u202eb', 'a\nb', 'https://evil.example', '"', 7]) {
    once(`refuses a misleading name: ${encodeURI(String(name)).slice(0, 30)}`, async () => {
      const body = JSON.stringify({ client_id: name });
      const refused = await app.request('/api/agent/device', { method: 'POST', headers: JSON_TYPE, body });
      expect(refused.status).to.equal(400);
      expect(refused.json.error).to.equal('invalid_request');
    });
  }

  once('rejects unknown codes and escapes hostile ones', async () => {
    const browser = await app.signedIn();
    for (const code of ['BBBB-BBBB', '<script>alert(1)</script>', "');--"]) {
      const page = await browser.send(`${app.url}/device?user_code=${encodeURIComponent(code)}`);
      expect(page.status).to.equal(404);
      expect(page.text).not.to.contain('<script>').and.not.to.contain("');--");
    }
    const stranger = await createBrowserSession().send(`${app.url}/device?user_code=//evil.example`);
    expect(stranger.location).to.equal(`${app.url}/signin?return_to=%2Fdevice`);
  });

  once('limits guesses of codes', async () => {
    const guessing = await startSignInApp({ stack });
    const browser = await guessing.signedIn();
    let last = 0;
    for (let count = 0; count < 31; count += 1) {
      last = (await browser.send(`${guessing.url}/device?user_code=BBBB-BBBB`)).status;
    }
    await guessing.close();
    expect(last).to.equal(429);
  });

  once('limits the polls of an address in a minute', async () => {
    const clock = createManualClock(Date.now());
    const busy = await startSignInApp({ stack, clock });
    // One behind the other on a connection: that is a tenth of the work of as many requests of a client.
    const text = JSON.stringify({ grant_type: GRANT_TYPE, client_id: 'Shipyard CLI', device_code: 'unknown' });
    const head = `Host: x\r\nContent-Type: application/json\r\nContent-Length: ${text.length}`;
    const request = `POST /api/agent/device/token HTTP/1.1\r\n${head}\r\n\r\n${text}`;
    const errors = new Map<string, number>();
    for (let batch = 0; batch < 12; batch += 1) {
      const answers = await busy.raw(request.repeat(100), 100);
      for (const [, outcome = ''] of answers.matchAll(/"error":"(\w+)"/g))
        errors.set(outcome, (errors.get(outcome) ?? 0) + 1);
    }
    for (let count = 0; count < 2; count += 1) {
      const { status, json } = await poll('unknown', busy);
      expect([status, json.error]).to.deep.equal([429, 'slow_down']);
    }
    await clock.advance(60_000);
    const later = await poll('unknown', busy);
    await busy.close();
    expect([...errors]).to.deep.equal([['invalid_grant', 1_200]]);
    expect(later.status).to.equal(400);
  });

  once('limits the codes of an address in a minute', async () => {
    const busy = await startSignInApp({ stack });
    let last: Answer | undefined;
    for (let count = 0; count < 61; count += 1) last = await start('x', busy);
    await busy.close();
    expect(last?.status).to.equal(429);
    expect(last?.json.error).to.equal('slow_down');
    expect(Number(last?.headers.get('retry-after'))).to.be.within(1, 60);
  });
});
