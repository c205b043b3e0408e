/** The pages of usage and of single requests, without scripts. */

import { expect } from 'chai';
import { load } from 'cheerio';
import { createPepper } from '../../../server/keys/index.js';
import { createPrices } from '../../../server/prices/index.js';
import { readTypedDay } from '../../../server/site/index.js';
import { type BrowserSession, createBrowserSession } from '../../support/accounts/browser-session.js';
import { PRICED_PLANS } from '../../support/accounts/priced-plans.js';
import { useAccount } from '../../support/accounts/used-account.js';
import { settlement } from '../../support/models/model-requests.js';
import { type SignInApp, startSignInApp } from '../accounts/sign-in-app.js';

const DAY_MS = 86_400_000;
const HOSTILE = `"><script>alert(1)</script>`;
const dayOf = (at: number) => new Date(at).toISOString().slice(0, 10);

describe('pages of usage', () => {
  let app: SignInApp;
  let ann: BrowserSession;
  let bob: BrowserSession;
  let accountId: string;
  let keyId: string;

  before(async () => {
    app = await startSignInApp({
      catalogue: PRICED_PLANS,
      prices: createPrices({ currency: 'USD', models: { 'm-5.5': { input: 1, output: 10 } } }),
    });
    ann = await app.signedIn('ann@example.com');
    const [user] = await app.state.users.list({ limit: 1 });
    accountId = user!.accountId;
    await useAccount(app.state, user!, createPepper(Buffer.alloc(32, 'usage')));
    const keys = await app.state.keys.listOf(accountId);
    keyId = keys.find(({ name }) => name === 'laptop')!.id;
    bob = await app.signedIn('bob@example.com');
    const at = Date.now() - 120_000;
    app.state.admissions.settle(
      settlement({
        keyId,
        accountId,
        at,
        model: HOSTILE,
        requestId: 'req_hostile',
        errorCode: 'upstream_timeout',
        cost: 1_234,
      }),
    );
    app.state.admissions.settle(
      settlement({ keyId, accountId, at, model: 'm-5.5', requestId: 'req_cancelled', errorCode: 'cancelled' }),
    );
    await app.state.admissions.flush();
    const refused = { keyId, accountId, route: '/v1/extract', status: 429, errorCode: 'rate_limit_exceeded' };
    app.state.usage.refuse({ ...refused, requestId: 'req_refused', latencyMs: 3, at });
    await app.state.usage.flushCounts();
  });
  after(() => app?.close());

  const read = async (browser: BrowserSession, path: string) => (await browser.send(app.url + path)).text;
  const rowsOf = (text: string) => text.match(/class="row-link/g)?.length ?? 0;
  /** The link behind a number of the totals. */
  const linkOf = (text: string, name: string) =>
    new RegExp(`<dt>${name}</dt><dd><a href="([^"]+)"[^>]*>(\\d+)<`)
      .exec(text)
      ?.slice(1)
      .map((part) => part.replaceAll('&amp;', '&')) ?? [];

  it('have sums, a chart for each measure, and numbers that lead to their requests', async () => {
    const text = await read(ann, '/usage');
    expect(text).to.match(/<dt>Spent<\/dt><dd>\$\d+\.\d\d<\/dd>/);
    for (const title of ['Requests', 'Failed and refused', 'Tokens', 'Cost (USD)'])
      expect(text).to.contain(`<h2>${title}</h2>`);
    expect(text.match(/role="img" aria-label="[^"]{10,}"/g)).to.have.length(4);
    const [failed = '', count] = linkOf(text, 'Failed');
    expect(Number(count)).to.be.above(5);
    expect(text).to.match(/class="bad">\d+<.*\d%<\/dd>/);
    const list = await read(ann, failed);
    expect(rowsOf(list)).to.equal(Number(count));
    expect(list).to.contain(`Failed <span class="count">${count}</span>`).and.contain('class="table-group"');
    const [refused = '', one] = linkOf(text, 'Refused');
    expect([one, rowsOf(await read(ann, refused))]).to.deep.equal(['1', 1]);
    expect(Buffer.byteLength(text)).to.be.below(60_000);
  });

  it('add up by key, model, platform, route and day, and limit by each of them', async () => {
    const sums = async (query: string) => (await read(ann, `/usage?${query}`)).split('<tbody')[1] ?? '';
    expect(await sums('by=key'))
      .to.contain('laptop')
      .and.contain(`key=${keyId}`);
    expect(await sums('by=model'))
      .to.contain('m-5.5')
      .and.contain('Everything else')
      .and.not.contain('/v1/responses</code>');
    expect(await sums('by=route'))
      .to.contain('<code>/v1/responses</code>')
      .and.contain('<code>/v1/extract</code>');
    expect(await sums('by=day')).to.contain(dayOf(Date.now()));
    // The dearest come first.
    const byModel = await read(ann, '/usage?by=model');
    const costs = [...byModel.matchAll(/\$([\d.]+)<\/div><\/td><\/tr>/g)].map(([, cost]) => Number(cost)).slice(0, -1);
    expect(costs).to.deep.equal(costs.toSorted((one, other) => other - one));
    // What is 0 is left out.
    expect(await sums('by=route')).not.to.match(/>0(<\/div>)?<\/td>/);
    expect(await sums('by=route&route=/v1/extract')).not.to.contain('/v1/responses');
    expect(await read(ann, '/usage?by=platform')).to.contain('No usage by platform');
    const year = await read(ann, `/usage?from=${dayOf(Date.now() - 364 * DAY_MS)}&to=${dayOf(Date.now())}`);
    expect(Buffer.byteLength(year)).to.be.below(60_000);
    for (const wrong of ['by=hour', 'from=2026-02-30', 'from=2026-06-02&to=2026-06-01']) {
      expect((await ann.send(`${app.url}/usage?${wrong}`)).status, wrong).to.equal(400);
    }
  });

  it('take days as people write them in either language, and show them in that of the page', async () => {
    const path = `/usage?from=${encodeURIComponent('1 Nov 2026')}&to=30/11/2026`;
    const text = await read(ann, path);
    expect(text).to.contain('name="from" value="1 Nov 2026"').and.contain('name="to" value="30 Nov 2026"');
    expect(text).to.contain('href="/usage.csv?from=2026-11-01&amp;to=2026-11-30');
    const vietnamese = await ann.send(app.url + path, { headers: { 'accept-language': 'vi' } });
    expect(vietnamese.text).to.contain('name="from" value="01/11/2026"');
    for (const right of ['2026-6-5', '5/6/2026', '05.06.2026', ' 5 june 2026', '5 Jun 2026']) {
      expect(readTypedDay(right), right).to.equal('2026-06-05');
    }
    for (const wrong of ['', '31/02/2026', '5 Foo 2026', '2026-13-01', '6/2026', '<b>']) {
      expect(readTypedDay(wrong), wrong).to.equal(undefined);
    }
    const yesterday = dayOf(Date.now() - DAY_MS);
    expect(text).to.contain(`href="/usage?from=${yesterday}&amp;to=${yesterday}`);
  });

  it('list requests in pages that miss none, with failures in words', async () => {
    const ids = new Set<string>();
    let pages = 0;
    for (let path: string | undefined = '/requests'; path !== undefined; pages += 1) {
      const text = await read(ann, path);
      expect(Buffer.byteLength(text)).to.be.below(80_000);
      for (const [, id = ''] of text.matchAll(/class="row-link[^>]+request_id=([^"]+)"/g)) ids.add(id);
      path = /<a [^>]*href="([^"]+)" rel="next"/.exec(text)?.[1]?.replaceAll('&amp;', '&');
    }
    expect(pages).to.be.above(4);
    const all = await app.state.requestLog.list({ keyIds: [keyId], accountId, from: 0, to: Date.now() + 1 }, 1_000);
    expect(ids.size).to.equal(all.length);
    const failed = await read(ann, '/requests?code=rate_limit_exceeded');
    expect(failed)
      .to.match(/Refused<\/span> 429/)
      .and.contain('rate_limit_exceeded</code>');
    expect(rowsOf(failed)).to.equal(1);
    expect(await read(ann, '/requests?code=cancelled')).to.contain('badge-plain">Cancelled</span>');
    const one = await read(ann, '/requests?request_id=req_refused');
    expect(one)
      .to.contain('id="request-0">req_refused</code>')
      .and.contain('code=rate_limit_exceeded">All with this code</a>')
      .and.not.contain('filter-card');
    expect(await read(ann, '/requests?request_id=req_hostile')).to.contain('<dt>Cost</dt><dd>$0.001234</dd>');
    expect(await read(ann, '/requests?request_id=none')).to.contain('No such requests');
    const none = await read(ann, `/requests?code=${encodeURIComponent(HOSTILE)}&outcome=failed`);
    expect(none)
      .to.contain('no request matches error code “<bdi>&quot;&gt;&lt;script&gt;')
      .and.contain('result “<bdi>Failed</bdi>”');
    expect(none).to.match(/href="[^"]*outcome=failed">Remove the filter “Error code”</);
    expect(none).to.match(/href="[^"]*code=%22[^"]*">Remove the filter “Result”</);
    expect((await ann.send(`${app.url}/requests?after=nonsense`)).status).to.equal(400);
  });

  it('show names of strangers as text', async () => {
    for (const path of ['/requests', '/usage?by=model', `/requests?model=${encodeURIComponent(HOSTILE)}`]) {
      const text = await read(ann, path);
      expect(text, path).to.contain('&lt;script&gt;alert(1)').and.not.to.contain('<script>alert');
    }
  });

  it('show no requests of other accounts, also by their keys and cursors', async () => {
    const next = /href="([^"]+)" rel="next"/.exec(await read(ann, '/requests'))?.[1]?.replaceAll('&amp;', '&') ?? '';
    for (const path of ['/requests', `/requests?key=${keyId}`, next, '/requests?request_id=req_refused']) {
      expect(rowsOf(await read(bob, path)), path).to.equal(0);
    }
    expect(await read(bob, '/requests?request_id=req_refused')).not.to.contain('request-0');
    expect(await read(bob, '/requests'))
      .to.contain('Try one in the playground')
      .and.not.contain('filter-card');
    const today = dayOf(Date.now());
    expect(await read(bob, `/requests?from=${today}&to=${today}`))
      .to.contain('No such requests')
      .and.contain('filter-card');
    expect(await read(bob, `/usage?key=${keyId}`)).to.contain('No usage in these days');
    expect((await read(bob, '/requests.csv')).trim().split('\r\n')).to.have.length(1);
    const { status, location } = await createBrowserSession().send(`${app.url}/requests?outcome=failed`);
    expect(status).to.equal(303);
    expect(location).to.contain(`return_to=${encodeURIComponent('/requests?outcome=failed')}`);
  });

  it('are CSV files, in which no name is a formula', async () => {
    const usage = await ann.send(`${app.url}/usage.csv?by=key`);
    expect(usage.headers.get('content-type')).to.contain('text/csv');
    expect(usage.headers.get('content-disposition')).to.match(/filename="mediagate-usage-[\d-]+\.csv"/);
    const [head = '', ...lines] = usage.text.trim().split('\r\n');
    expect(head).to.match(/^key,name,requests,failed,/);
    expect(lines.some((line) => line.startsWith(`${keyId},laptop,`))).to.equal(true);
    expect((await read(ann, '/usage.csv?by=model')).trim().split('\r\n').at(-1)).to.match(/^Everything else,\d/);
    const requests = (await read(ann, '/requests.csv?outcome=refused')).trim().split('\r\n');
    expect(requests).to.have.length(2);
    expect(requests[0]).to.contain('request_id,at,key,key_name,').and.contain(',cost');
    expect(requests[1]).to.contain(`req_refused,`).and.contain(`,${keyId},laptop,/v1/extract,`);
  });

  it('delete the requests of the account by a form, and keep the sums', async () => {
    const origin = { origin: app.url };
    const before = linkOf(await read(ann, '/usage'), 'Requests')[1];
    const foreign = await bob.send(`${app.url}/requests/delete`, {
      method: 'POST',
      form: { key: keyId },
      headers: origin,
    });
    expect(foreign.location).to.contain('deleted=0');
    const forged = await ann.send(`${app.url}/requests/delete`, {
      method: 'POST',
      form: { key: '' },
      headers: { origin: 'https://evil.example' },
    });
    expect(forged.status).to.equal(403);
    const { status, location = '' } = await ann.send(`${app.url}/requests/delete`, {
      method: 'POST',
      form: { key: keyId },
      headers: origin,
    });
    expect(status).to.equal(303);
    expect(await read(ann, new URL(location).pathname + new URL(location).search)).to.match(/requests are deleted/);
    const left = await app.state.requestLog.list({ keyIds: [keyId], accountId, from: 0, to: Date.now() - 60_000 }, 10);
    expect(left).to.deep.equal([]);
    expect(linkOf(await read(ann, '/usage'), 'Requests')[1]).to.equal(before);
  });
  it('show what requests asked only once the account turned it on, as text, and delete it when turned off', async () => {
    const form = { 'content-type': 'application/x-www-form-urlencoded', origin: app.url };
    const turn = (days: string, browser = ann) =>
      browser.send(`${app.url}/requests/inputs`, { method: 'POST', headers: form, body: `days=${days}` });
    const { inputs } = app.state.requestLog;
    const at = Date.now() - 30_000;
    const keep = (requestId: string, text: string) => {
      app.state.admissions.settle(settlement({ keyId, accountId, at, model: 'm-5.5', requestId }));
      inputs.keep({ keyId, accountId, at, requestId, text });
    };
    const off = await read(ann, '/requests');
    expect(off).to.contain('Not stored</span>').and.not.to.contain('class="asked');
    for (const wrong of ['0', '31', '7.5', 'all']) expect((await turn(wrong)).status, wrong).to.equal(400);
    expect((await turn('7')).location).to.contain('/requests?inputs=changed');
    keep('req_asked', `${HOSTILE} \u202egnp.exe`);
    keep('req_long', `=HYPERLINK("x") ${'long '.repeat(100)}`);
    await Promise.all([app.state.admissions.flush(), inputs.flush()]);
    const on = await read(ann, '/requests?inputs=changed');
    expect(on).to.contain('Stored for 7 days</span>').and.contain('class="asked').and.contain('New requests show');
    expect(on).to.contain('dir="auto">&quot;&gt;&lt;script&gt;alert(1)').and.not.to.contain('<script>alert');
    expect(on).to.match(/<span class="asked small" dir="auto">=HYPERLINK[^<]*…</);
    const one = await read(ann, '/requests?request_id=req_long');
    expect(one).to.match(/dir="auto">=HYPERLINK[^<]*long ?<\/p>/);
    const again = load(one)('.request-again');
    expect(
      again
        .find('input')
        .toArray()
        .map(({ attribs }) => attribs.value),
    ).to.deep.equal(['curl', 'node', 'python']);
    expect(again.find('.example-curl').text())
      .to.contain(`${app.url}/v1/`)
      .and.contain('Bearer $MEDIAGATE_API_KEY')
      .and.contain('"model": "m-5.5"')
      .and.contain('=HYPERLINK(\\"x\\") long');
    const csv = await read(ann, '/requests.csv');
    expect(csv.split('\r\n')[0]).to.match(/,input$/);
    expect(csv)
      .to.match(/"'=HYPERLINK/)
      .and.not.match(/,"?=HYPERLINK/);
    expect(await read(bob, '/requests')).not.to.contain('HYPERLINK');
    expect((await turn('')).status).to.equal(303);
    expect(await inputs.textsOf(accountId, ['req_asked'])).to.equal(undefined);
    await turn('7');
    expect(await read(ann, '/requests')).not.to.contain('HYPERLINK');
    await turn('');
  });

  it('are turned on and off for programs too', async () => {
    const path = `${app.url}/api/user/request-inputs`;
    const send = (body: object) =>
      bob.send(path, {
        method: 'POST',
        headers: { 'content-type': 'application/json', origin: app.url },
        body: JSON.stringify(body),
      });
    expect(JSON.parse((await bob.send(path)).text)).to.deep.equal({ days: null });
    expect(JSON.parse((await send({ days: 3 })).text)).to.deep.equal({ days: 3 });
    expect(JSON.parse((await bob.send(path)).text)).to.deep.equal({ days: 3 });
    for (const wrong of [{}, { days: 31 }, { days: '3' }, { days: 3, more: 1 }]) {
      const { status, text } = await send(wrong);
      expect([status, JSON.parse(text).error.code, JSON.parse(text).error.param]).to.deep.equal([
        400,
        'invalid_value',
        'days',
      ]);
    }
    expect(JSON.parse((await send({ days: null })).text)).to.deep.equal({ days: null });
    expect((await fetch(path)).status).to.equal(401);
  });

  it('show what media links sent, only if they sent anything', async () => {
    expect(await read(ann, '/usage')).not.to.contain('Downloaded');
    const row = { keyId, accountId, route: '/v1/media/:name', model: 'vidsite', requests: 1, failed: 0, latencyMs: 9 };
    app.state.usage.count({ ...row, bytes: 1_520_000_000, at: Date.now() });
    await app.state.usage.flushCounts();
    const text = await read(ann, '/usage?by=route');
    expect(text).to.contain('<dt>Downloaded through the gateway</dt><dd>1.5 GB</dd>');
    expect(text).to.contain('<h2>Downloaded through the gateway</h2>');
    expect(text.split('<tbody')[1]).to.contain('1.5 GB');
  });
});
