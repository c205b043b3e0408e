/** Templates and pages of the site. */

import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { expect } from 'chai';
import { createPepper } from '../../../server/keys/index.js';
import { assets } from '../../../server/site/assets.js';
import { html } from '../../../server/site/page.js';
import { timeLeft } from '../../../server/site/views.js';
import { type BrowserSession, createBrowserSession } from '../../support/accounts/browser-session.js';
import { EURO_RECEIVER, PRICED_PLANS } from '../../support/accounts/priced-plans.js';
import { type UsedAccount, useAccount } from '../../support/accounts/used-account.js';
import { type SignInApp, startSignInApp } from '../accounts/sign-in-app.js';

const PEPPER = createPepper(Buffer.alloc(32, 'site'));
const PAGE = { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' };

describe('templates of pages', () => {
  it('escape inserted values in text and attributes', () => {
    const hostile = `"><script>alert('&')</script>`;
    const safe = '&quot;&gt;&lt;script&gt;alert(&#39;&amp;&#39;)&lt;/script&gt;';
    expect(html`<p title="${hostile}">${hostile}</p>`.markup).to.equal(`<p title="${safe}">${safe}</p>`);
  });

  it('keep HTML values, join lists, and drop missing values', () => {
    const items = ['<a>', 2].map((item) => html`<li>${item}</li>`);
    expect(html`${items}${false}${null}${undefined}${html`<hr>`}${0}`.markup).to.equal(
      '<li>&lt;a&gt;</li><li>2</li><hr>0',
    );
  });

  it('refuse a value in an attribute that has no double quotes', () => {
    expect(() => html`<p class=${'a'}></p>`).to.throw('double quotes');
    expect(() => html`<p class='${'a'}'></p>`).to.throw('double quotes');
  });

  it('write the remaining time', () => {
    expect([timeLeft(86_399_000), timeLeft(61_000), timeLeft(-5)]).to.deep.equal(['23:59:59', '00:01:01', '00:00:00']);
  });
});

describe('pages of the site', () => {
  let app: SignInApp;
  let ann: BrowserSession;
  let used: UsedAccount;

  before(async () => {
    app = await startSignInApp({ catalogue: PRICED_PLANS, paymentReceiver: EURO_RECEIVER });
    ann = await app.signedIn('ann@example.com');
    const [user] = await app.state.users.list({ limit: 1 });
    used = await useAccount(app.state, user!, PEPPER);
  });
  after(() => app?.close());

  const visit = (browser: BrowserSession, path: string) => browser.send(app.url + path, { headers: PAGE });

  it('show in every header that the visitor is signed in, on pages of the documentation and of errors too', async () => {
    const pages = ['/', '/models', '/status', '/docs', '/docs/search?q=key', '/docs/api/images', '/device', '/nowhere'];
    for (const path of [...pages, '/docs/nowhere']) {
      const { text, headers } = await visit(ann, path);
      expect(/action="\/signout"/.test(text), path).to.equal(true);
      expect(text, path).not.to.include('href="/login"');
      expect(headers.get('cache-control'), path).not.to.include('public');
      if (path === '/device') continue;
      const other = await visit(createBrowserSession(), path);
      expect(other.text, path).to.include('href="/login"').and.not.include('action="/signout"');
    }
  });

  it('are uncached HTML that embeds nothing foreign, and send the referrer to the site alone', async () => {
    for (const path of [
      '/',
      '/login',
      '/plans',
      '/setup',
      '/dashboard',
      '/keys',
      '/usage',
      '/requests',
      '/device',
      '/nowhere',
    ]) {
      const { headers, text } = await visit(path === '/login' ? createBrowserSession() : ann, path);
      const policy = headers.get('content-security-policy');
      expect(headers.get('content-type'), path).to.equal('text/html; charset=utf-8');
      expect(policy).to.contain("default-src 'none'").and.to.contain("script-src 'self'").and.not.to.contain('unsafe');
      expect(headers.get('cache-control')).to.equal('no-store');
      expect(headers.get('referrer-policy')).to.equal('same-origin');
      expect(text).to.match(/^<!doctype html>\n<html lang="en">/);
      expect(text, path).not.to.match(
        / (style|on[a-z]+)="|<style|<script(?! type="module" src="\/assets\/)|https?:\/\/(?!127\.0\.0\.1)[^\s"…]+"/,
      );
      expect(text.match(/<h1/g), path).to.have.length(1);
    }
  });

  it('name every file by an address with its hash', async () => {
    const { text } = await visit(ann, '/dashboard');
    const named = [...text.matchAll(/(?:src|href)="(\/assets\/[^"]+)"/g)].map(([, path]) => path);
    expect(named.length).to.be.greaterThan(3);
    for (const path of named) {
      const { status, headers } = await app.request(path ?? '');
      expect([status, headers.get('cache-control')], path).to.deep.equal([200, 'public, max-age=31536000, immutable']);
      expect(path).to.contain(assets.version);
    }
  });

  it('of an account are compressed unless words of a stranger may be in their address', async () => {
    const encodings = new Map<string, string | null>();
    for (const path of [
      '/usage',
      '/usage?by=model',
      '/requests?outcome=failed',
      '/usage?by=model&key=a',
      '/requests?code=a',
    ]) {
      encodings.set(path, (await visit(ann, path)).headers.get('content-encoding'));
    }
    expect([...encodings.values()].map(Boolean)).to.deep.equal([true, true, true, false, false]);
  });

  it('compress style and scripts as the browser accepts, and vary caches', async () => {
    const path = assets.url('site.css');
    const whole = await app.request(path, { headers: { 'accept-encoding': 'identity' } });
    expect(whole.headers.get('content-encoding')).to.equal(null);
    const raw = async (encoding: string) => {
      const bytes = await app.raw(
        `GET ${path} HTTP/1.1\r\nHost: a\r\nAccept-Encoding: ${encoding}\r\nConnection: close\r\n\r\n`,
      );
      const [head = '', ...rest] = bytes.split('\r\n\r\n');
      return { head: head.toLowerCase(), body: Buffer.from(rest.join('\r\n\r\n'), 'latin1') };
    };
    const [br, gzip] = [await raw('gzip, br'), await raw('gzip')];
    expect(br.head).to.contain('content-encoding: br').and.to.contain('vary: accept-encoding');
    expect(brotliDecompressSync(br.body).toString()).to.equal(whole.text);
    expect(gzip.head).to.contain('content-encoding: gzip');
    expect(gunzipSync(gzip.body).toString()).to.equal(whole.text);
    expect(br.body.length).to.be.lessThan(whole.text.length / 3);
  });

  it('answer a file of another release with their own, uncached', async () => {
    const { status, headers } = await app.request('/assets/000000000000/page.js');
    expect([status, headers.get('cache-control')]).to.deep.equal([200, 'no-cache']);
    expect((await app.request(`/assets/${assets.version}/..%2fhtml.js`)).status).to.equal(404);
    expect((await app.request(`/assets/${assets.version}/nothing.js`)).json.error.code).to.equal('file_not_found');
  });

  it('send visitors to the sign-in, and from there back', async () => {
    const stranger = createBrowserSession();
    const { status, location } = await visit(stranger, '/dashboard');
    expect([status, location]).to.deep.equal([303, `${app.url}/login?return_to=%2Fdashboard`]);
    const { text } = await visit(stranger, '/login?return_to=/pay/MG12345678');
    expect(text).to.contain('href="/signin?return_to=%2Fpay%2FMG12345678"');
    expect((await visit(ann, '/login')).location).to.equal(`${app.url}/dashboard`);
  });

  it('redirect to no other site after the sign-in', async () => {
    for (const target of ['//evil.example', '/\\evil.example', 'https://evil.example', 'javascript:alert(1)']) {
      const { status, text } = await visit(createBrowserSession(), `/login?return_to=${encodeURIComponent(target)}`);
      expect(status, target).to.equal(400);
      expect(text).not.to.contain('evil').and.not.to.contain('javascript:');
      expect((await visit(ann, `/login?return_to=${encodeURIComponent(target)}`)).status, target).to.equal(400);
    }
  });

  it('keep a link for the playground through the sign-in, as text, and read it only when asked', async () => {
    const target = `/playground?link=${encodeURIComponent('https://youtu.be/a"><script>b')}`;
    const { location } = await createBrowserSession().send(app.url + target);
    expect(location).to.equal(`${app.url}/login?return_to=${encodeURIComponent(target)}`);
    expect((await visit(ann, target)).text).to.contain('value="https://youtu.be/a&quot;&gt;&lt;script&gt;b"');
  });

  it('report missing pages to browsers as a page, and to programs in JSON', async () => {
    const page = await visit(ann, '/nowhere');
    expect([page.status, page.headers.get('content-type')]).to.deep.equal([404, 'text/html; charset=utf-8']);
    expect(page.text).to.contain('Page not found').and.to.contain('route_not_found').and.to.contain('/docs/search');
    // What is searched for are the words of the address.
    expect((await visit(ann, '/image-jobs/%22%3E%3Cb%3E')).text).to.contain('type="search" value="image jobs b"');
    for (const path of ['/nowhere', '/v1/nowhere']) {
      const headers = { accept: path === '/nowhere' ? 'application/json' : PAGE.accept };
      expect((await app.request(path, { headers })).json.error.code, path).to.equal('route_not_found');
    }
  });

  it('show keys without their secret, plan, requests of thirty days, orders', async () => {
    const { orders, key } = used;
    const { text } = await visit(ann, '/dashboard');
    expect(text)
      .to.contain('laptop')
      .and.to.contain(`sk-mg-${key.slice(6, 14)}`)
      .and.not.to.contain('Rotated');
    expect(text).not.to.contain(key).and.not.to.contain(key.slice(15));
    expect(text).to.match(/<ol class="chart-values"[^>]*>(<li>.{10,90}<\/li>){30}<\/ol>/);
    expect(text)
      .to.match(/[\d,]+ of 30,000,000 used/)
      .and.to.contain('7 of 30 used');
    for (const { code } of orders) expect(text).to.contain(`href="/pay/${code}"`);
  });

  it('show an order with the open amount, the account and the state', async () => {
    const { accountId } = used.orders[0]!;
    const [paid, underpaid, pending] = (await app.state.orders.list({ accountId, limit: 3 })).toReversed();
    const page = async (code = '') => (await visit(ann, `/pay/${code}`)).text;
    expect(await page(pending?.code))
      .to.contain('€19.00')
      .and.to.contain(`src="/api/agent/payment/${pending?.code}/qr.svg"`)
      .and.to.contain('>DE89</span><span class="four">3704<');
    expect(await page(underpaid?.code))
      .to.contain('€10.00')
      .and.to.contain('€9.00 of €19.00 has arrived');
    expect(await page(paid?.code))
      .to.contain('Payment received')
      .and.not.to.contain('>DE89<');
  });

  it('explain bank transfers only if a plan can be ordered', async () => {
    expect((await visit(ann, '/plans')).text).to.contain('By bank transfer');
    const unpriced = await startSignInApp();
    try {
      const { text } = await createBrowserSession().send(`${unpriced.url}/plans`, { headers: PAGE });
      expect(text).to.contain('Ask support').and.not.to.contain('By bank transfer');
    } finally {
      await unpriced.close();
    }
  });

  it('hide orders of other accounts', async () => {
    const { code } = used.orders[0]!;
    const bob = await app.signedIn('bob@example.com');
    const { status, text } = await visit(bob, `/pay/${code}`);
    expect(status).to.equal(404);
    expect(text).not.to.contain(code).and.not.to.contain('€');
    expect((await visit(createBrowserSession(), `/pay/${code}`)).status).to.equal(303);
  });
});
