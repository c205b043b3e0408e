/** The pages of plans and of an order: what is included, a choice before the sign-in, and what payers copy. */

import { expect } from 'chai';
import { load } from 'cheerio';
import { bankAppLinks, type PaymentTransfer } from '../../../server/payments/index.js';
import { type Catalogue, OPERATOR_TERMS } from '../../../server/plans/index.js';
import { type BrowserSession, createBrowserSession } from '../../support/accounts/browser-session.js';
import { IMAGES, order, transfer } from '../../support/accounts/people.js';
import { EURO_RECEIVER, PRICED_PLANS } from '../../support/accounts/priced-plans.js';
import { invented } from '../../support/links/invented-plugin.js';
import { type SignInApp, startSignInApp } from '../accounts/sign-in-app.js';

const VIETQR: PaymentTransfer = {
  bankName: 'Ngân hàng Cảng',
  bankBin: '970436',
  accountNumber: '0011004321',
  accountName: 'CONG TY CẢNG & BIỂN',
  content: 'MG7K3M9QXD',
  amount: 299_000,
  qr: { format: 'vietqr', payload: 'x' },
};

const start = (change: Partial<Catalogue> = {}) =>
  startSignInApp({
    catalogue: { ...PRICED_PLANS, ...change },
    paymentReceiver: EURO_RECEIVER,
    plugins: [{ use: invented() }],
  });

describe('pages of plans', () => {
  let app: SignInApp;
  let ann: BrowserSession;
  let accountId: string;

  before(async () => {
    app = await start();
    ann = await app.signedIn('ann@example.com');
    accountId = (await app.state.users.list({ limit: 1 }))[0]!.accountId;
  });
  after(() => app?.close());

  const read = async (path: string, browser: BrowserSession = createBrowserSession(), from = app) =>
    load((await browser.send(from.url + path)).text);
  const namesIn = (page: ReturnType<typeof load>) =>
    page('.plan h3')
      .toArray()
      .map((one) => page(one).text().trim());

  it('do not advertise link data where no plan includes it', async () => {
    for (const path of ['/', '/plans']) {
      expect((await read(path))('main').text(), path).not.to.match(/link data|Links in|Invented/i);
    }
    const open = await start({ furtherGrants: [{ planId: 'token_100m', grants: ['extract'] }] });
    try {
      expect((await read('/', undefined, open))('main').text())
        .to.contain('Links in')
        .and.to.contain('Invented');
      const page = await read('/plans', undefined, open);
      const missing = page('.plan')
        .toArray()
        .map((plan) => page(plan).find('.plan-missing').text().includes('Link data'));
      expect(missing).to.deep.equal([true, true, false, true]);
    } finally {
      await open.close();
    }
  });

  it('keep a choice through the sign-in, and say its effect before the order', async () => {
    const stranger = createBrowserSession();
    const page = await read('/plans', stranger);
    const choose = page('.plan a.button')
      .toArray()
      .map((one) => page(one).attr('href'));
    expect(choose).to.include('/plans?plan=token_100m');
    const chosen = await read('/plans?plan=token_100m', stranger);
    expect(chosen('.plan-chosen').text()).to.contain('100M tokens').and.to.contain('€49.00');
    const login = chosen('.plan-chosen a').attr('href') ?? '';
    expect(new URLSearchParams(login.split('?')[1]).get('return_to')).to.equal('/plans?plan=token_100m');
    const { location } = await ann.send(app.url + login);
    expect(location).to.equal(`${app.url}/plans?plan=token_100m`);
    const known = await read('/plans?plan=token_100m', ann);
    expect(known('.plan-chosen').text()).to.contain('The plan never expires.').and.to.contain('Order and pay');
    expect(known('.plan-chosen input[name="planId"]').attr('value')).to.equal('token_100m');
    for (const other of ['none', 'free', 'token_300m', '"><script>']) {
      expect((await read(`/plans?plan=${encodeURIComponent(other)}`, ann))('.plan-chosen'), other).to.have.length(0);
    }
  });

  it('offer the free plan to nobody who has another one', async () => {
    expect(namesIn(await read('/plans', ann))[0]).to.equal('Free');
    const { code } = await order(app.state, accountId, { terms: IMAGES });
    await app.state.orders.record(transfer(code));
    for (const path of ['/', '/plans']) expect(namesIn(await read(path, ann)), path).not.to.include('Free');
    expect((await read(`/pay/${code}`, ann))('.pay-closed').text()).to.contain('Payment received');
    const tokens = await order(app.state, accountId);
    await app.state.orders.record(transfer(tokens.code));
    expect((await read(`/pay/${tokens.code}`, ann))('.pay-closed').text()).to.match(/[\d,]+ of [\d,]+ used/);
    expect((await read('/plans', ann))('.plan-current').text()).to.match(/Your plan.*[\d,]+ of [\d,]+ used/s);
    const bob = await app.signedIn('bob@example.com');
    const user = (await app.state.users.findByEmail('bob@example.com'))[0]!;
    await app.state.accounts.grant({ accountId: user.accountId, terms: OPERATOR_TERMS, actor: 'operator:ann' });
    expect(namesIn(await read('/plans', bob))).not.to.include('Free');
    expect((await read('/', bob))('main').text()).to.contain('Links in');
  });

  it('let payers save the code, and copy amount, account and reference one by one', async () => {
    const { code } = await order(app.state, accountId, { amount: 1_950 });
    const page = await read(`/pay/${code}`, ann);
    expect(page('a[download]').attr('href')).to.equal(`/api/agent/payment/${code}/qr.png`);
    expect((await ann.send(`${app.url}/api/agent/payment/${code}/qr.png`)).headers.get('content-type')).to.equal(
      'image/png',
    );
    const copied = Object.fromEntries(
      page('[data-copy]')
        .toArray()
        .map((one) => page(one).attr('data-copy') ?? '')
        .map((id) => [id, page(`#${id}`).text()]),
    );
    expect(copied).to.include({ amount: '19.50', account: EURO_RECEIVER.accountNumber });
    expect(copied.content).to.contain(code);
    // A SEPA account has no VietQR.
    expect(page('.pay-apps')).to.have.length(0);
  });

  it('open Vietnamese banking apps with the transfer filled in', () => {
    const links = bankAppLinks(VIETQR);
    expect(links).to.have.length(10);
    for (const { url } of links) {
      const { origin, pathname, searchParams } = new URL(url);
      expect(origin + pathname).to.equal('https://dl.vietqr.io/pay');
      expect(searchParams.get('app')).to.match(/^[a-z]{2,4}$/);
      const { app: _, ...rest } = Object.fromEntries(searchParams);
      expect(rest).to.deep.equal({
        ...{ ba: '0011004321@vcb', am: '299000', tn: 'MG7K3M9QXD', bn: 'CONG TY CẢNG & BIỂN' },
      });
    }
    expect(bankAppLinks({ ...VIETQR, bankBin: '999999' })).to.deep.equal([]);
    expect(bankAppLinks({ ...VIETQR, qr: { format: 'epc', payload: 'x' } })).to.deep.equal([]);
  });
});
