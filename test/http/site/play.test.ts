/** Routes that pages reach by a session. */

import { expect } from 'chai';
import type { PlanTerms } from '../../../server/plans/plan-terms.js';
import type { BrowserSession, PageAnswer, PageRequest } from '../../support/accounts/browser-session.js';
import { IMAGES } from '../../support/accounts/people.js';
import { inventedModel, MODEL } from '../../support/images/invented-image.js';
import { invented } from '../../support/links/invented-plugin.js';
import { until } from '../../support/until.js';
import { type SignInApp, startSignInApp } from '../accounts/sign-in-app.js';
import { LINK } from '../http/listening-app.js';

const PROMPT = { model: MODEL, prompt: 'A tug at dawn' };

describe('routes that pages reach by a session', () => {
  let app: SignInApp;

  before(async () => {
    app = await startSignInApp({ plugins: [{ use: invented() }, { use: inventedModel() }] });
  });
  after(() => app?.close());

  const play = (browser: BrowserSession, path: string, request?: PageRequest): Promise<PageAnswer> =>
    browser.send(`${app.url}/api/play${path}`, {
      ...request,
      headers: { accept: 'application/json', 'sec-fetch-site': 'same-origin', ...request?.headers },
    });
  const makeFirstKey = (browser: BrowserSession): Promise<PageAnswer> =>
    browser.send(`${app.url}/api/user`, {
      json: { name: 'laptop' },
      headers: { accept: 'application/json', 'sec-fetch-site': 'same-origin' },
    });
  const codeOf = ({ text }: PageAnswer): string => JSON.parse(text).error.code;

  /** Somebody who has signed in, and has no key but a plan with these terms. */
  async function person(email: string, change: Partial<PlanTerms> = {}) {
    const browser = await app.signedIn(email);
    const user = (await app.state.users.list({ limit: 100 })).find((one) => one.email === email)!;
    const { accountId } = user;
    const grants = ['extract', 'images'] as const;
    const terms = { ...IMAGES, grants, rpm: null, imageDailyLimit: null, ...change };
    await app.state.accounts.grant({ accountId, terms, actor: 'operator:bob' });
    return { browser, user };
  }

  it('work without a key that the user made, and show none', async () => {
    const { browser } = await person('ann@example.com');
    const read = await play(browser, '/v1/extract', { json: { url: LINK } });
    expect([read.status, JSON.parse(read.text).data.common.title]).to.deep.equal([200, 'Item 7']);
    const { status, text } = await play(browser, '/v1/images/jobs', { json: PROMPT });
    expect(status).to.equal(202);
    const done = await until(async () => {
      const job = JSON.parse((await play(browser, JSON.parse(text).status_url)).text);
      return job.status === 'completed' && job;
    }, 100);
    expect(done.data[0].width).to.equal(1024);
    expect(read.text + JSON.stringify(done)).not.to.contain('sk-mg-');
    const pages = await Promise.all(['/dashboard', '/playground'].map((path) => browser.open(app.url + path)));
    expect(pages.map(({ text }) => text).join()).not.to.contain('sk-mg-');
    expect(pages[0]?.text).to.contain('No key yet');
    const { keys, key } = JSON.parse((await browser.send(`${app.url}/api/user`)).text);
    expect({ keys, key }).to.deep.equal({ keys: [], key: null });
    // What was used is shown as the usage of the account.
    for (const path of ['/usage', '/requests']) {
      expect((await browser.open(app.url + path)).text, path).to.contain('>Playground<');
    }
  });

  it('refuse requests that another site made the browser send', async () => {
    const { browser } = await person('ben@example.com');
    const elsewhere = [
      { 'sec-fetch-site': 'cross-site', origin: 'https://evil.example' },
      { 'sec-fetch-site': 'same-site', origin: 'http://evil.localhost' },
      { 'sec-fetch-site': 'none', origin: '' },
      { 'sec-fetch-site': 'same-origin', origin: 'https://evil.example' },
    ];
    for (const headers of elsewhere) {
      for (const request of [{ json: { url: LINK } }, { method: 'GET' as const }]) {
        const answer = await play(browser, '/v1/extract', { ...request, headers });
        expect([answer.status, codeOf(answer)], JSON.stringify(headers)).to.deep.equal([403, 'cross_site_request']);
      }
    }
  });

  it('refuse visitors without a session, and name the sign-in address', async () => {
    const { browser } = await person('cleo@example.com');
    browser.removeCookie(app.url, 'mediagate');
    const answer = await play(browser, '/v1/models');
    expect([answer.status, JSON.parse(answer.text).loginUrl]).to.deep.equal([401, `${app.url}/signin`]);
  });

  it('refuse a bearer token or an API key with any cookie, and name its place', async () => {
    const { browser } = await person('dan@example.com');
    const program = await app.makeKey();
    const forms: Record<string, string>[] = [
      { authorization: 'Bearer mgd_whatever' },
      { authorization: `Bearer ${program}` },
      { 'x-api-key': program },
    ];
    for (const headers of forms) {
      const answer = await play(browser, '/v1/extract', { json: { url: LINK }, headers });
      expect([answer.status, codeOf(answer)]).to.deep.equal([403, 'route_not_allowed']);
    }
  });

  it('give an account without a plan the free tier, and leave it a first key', async () => {
    const browser = await app.signedIn('eve@example.com');
    const answer = await play(browser, '/v1/extract', { json: { url: LINK } });
    expect([answer.status, codeOf(answer)]).to.deep.equal([403, 'route_not_allowed']);
    const made = await makeFirstKey(browser);
    expect(made.status, made.text).to.equal(201);
    const { plan, keys } = JSON.parse((await browser.send(`${app.url}/api/user`)).text);
    expect([plan.id, keys.map(({ name }: { name: string }) => name)]).to.deep.equal(['free', ['laptop']]);
  });

  it('apply the grants of the plan, and share one window with the keys of the account', async () => {
    const { browser } = await person('flo@example.com', { grants: ['extract'], rpm: 2 });
    expect(codeOf(await play(browser, '/v1/images/jobs', { json: PROMPT }))).to.equal('route_not_allowed');
    const made = await makeFirstKey(browser);
    const withKey = await app.request('/v1/extract', {
      method: 'POST',
      headers: { authorization: `Bearer ${JSON.parse(made.text).apiKey}`, 'content-type': 'application/json' },
      body: JSON.stringify({ url: LINK }),
    });
    expect(withKey.status).to.equal(200);
    expect((await play(browser, '/v1/extract', { json: { url: LINK } })).status).to.equal(200);
    const third = await play(browser, '/v1/extract', { json: { url: LINK } });
    expect([third.status, codeOf(third)]).to.deep.equal([429, 'rate_limit_exceeded']);
  });

  it("hide another account's jobs, and refuse a suspended account", async () => {
    const { browser: gus } = await person('gus@example.com');
    const { browser: hal } = await person('hal@example.com');
    const path = JSON.parse((await play(gus, '/v1/images/jobs', { json: PROMPT })).text).status_url;
    expect((await play(gus, path)).status).to.equal(200);
    for (const request of [{ method: 'GET' as const }, { method: 'DELETE' as const }]) {
      const answer = await play(hal, path, request);
      expect([answer.status, codeOf(answer)]).to.deep.equal([404, 'job_not_found']);
    }
    const { browser: jan, user } = await person('jan@example.com');
    expect((await play(jan, '/v1/extract', { json: { url: LINK } })).status).to.equal(200);
    await app.state.users.suspend({ userId: user.id, actor: 'operator:bob' });
    const answer = await play(jan, path);
    expect([answer.status, codeOf(answer)]).to.deep.equal([401, 'not_signed_in']);
  });

  it('reach nothing but routes under /v1', async () => {
    const { browser } = await person('ivy@example.com');
    for (const path of ['/health', '/api/play/v1/models', '/v1/../health', '/v1/%2e%2e/health', '/v1/nothing']) {
      expect((await play(browser, path)).status, path).to.equal(404);
    }
  });
});
