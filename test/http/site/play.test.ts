/** Routes that pages reach by a session. */

import { randomBytes } from 'node:crypto';
import { expect } from 'chai';
import { createPepper } from '../../../server/keys/index.js';
import { type ApiKeyRecord, createKeyRecord } from '../../../server/keys/key-rows.js';
import type { BrowserSession, PageAnswer, PageRequest } from '../../support/accounts/browser-session.js';
import { inventedModel, MODEL } from '../../support/images/invented-image.js';
import { invented } from '../../support/links/invented-plugin.js';
import { until } from '../../support/until.js';
import { type SignInApp, startSignInApp } from '../accounts/sign-in-app.js';
import { LINK } from '../http/listening-app.js';

const PEPPER = createPepper(randomBytes(32));
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
  const codeOf = ({ text }: PageAnswer): string => JSON.parse(text).error.code;

  /** Somebody who has signed in and has a key. */
  async function person(email: string, change: Partial<ApiKeyRecord> = {}) {
    const browser = await app.signedIn(email);
    const user = (await app.state.users.list({ limit: 100 })).find((one) => one.email === email)!;
    const { accountId } = user;
    const add = async (more: Partial<ApiKeyRecord> = {}) => {
      const wanted = { name: 'first', grants: ['extract', 'images'], rpm: null, expiresAt: null } as const;
      const { record } = createKeyRecord(wanted, PEPPER, Date.now());
      await app.state.keys.insert({ ...record, accountId, ...more });
      return record.id;
    };
    await add(change);
    return { browser, add };
  }

  it('work like a key of the account, without a visible key', async () => {
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

  it('ask an account without a valid key to make one', async () => {
    const { browser, add } = await person('eve@example.com', { revokedAt: Date.now() });
    await add({ expiresAt: Date.now() - 1 });
    const answer = await play(browser, '/v1/extract', { json: { url: LINK } });
    expect([answer.status, codeOf(answer)]).to.deep.equal([409, 'no_active_key']);
    expect(answer.text).to.contain(`${app.url}/dashboard`);
    expect(answer.headers.get('x-should-retry')).to.equal('false');
  });

  it('apply the grants and the window of the newest key', async () => {
    const { browser, add } = await person('flo@example.com', { createdAt: Date.now() - 1_000 });
    await add({ grants: ['extract'], rpm: 1 });
    expect(codeOf(await play(browser, '/v1/images/jobs', { json: PROMPT }))).to.equal('route_not_allowed');
    expect((await play(browser, '/v1/extract', { json: { url: LINK } })).status).to.equal(200);
    const second = await play(browser, '/v1/extract', { json: { url: LINK } });
    expect([second.status, codeOf(second)]).to.deep.equal([429, 'rate_limit_exceeded']);
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
    const { browser: jan } = await person('jan@example.com', { suspendedAt: Date.now() });
    const answer = await play(jan, path);
    expect([answer.status, codeOf(answer)]).to.deep.equal([403, 'account_suspended']);
  });

  it('reach nothing but routes under /v1', async () => {
    const { browser } = await person('ivy@example.com');
    for (const path of ['/health', '/api/play/v1/models', '/v1/../health', '/v1/%2e%2e/health', '/v1/nothing']) {
      expect((await play(browser, path)).status, path).to.equal(404);
    }
  });
});
