/** The page of all orders, and receipts. */

import { expect } from 'chai';
import { load } from 'cheerio';
import { type BrowserSession, createBrowserSession } from '../../support/accounts/browser-session.js';
import { order, transfer } from '../../support/accounts/people.js';
import { EURO_RECEIVER, PRICED_PLANS } from '../../support/accounts/priced-plans.js';
import { type SignInApp, startSignInApp } from '../accounts/sign-in-app.js';

const HOSTILE = `"><script>alert(1)</script>\u202e`;

describe('orders and receipts', () => {
  let app: SignInApp;
  let ann: BrowserSession;
  let accountId: string;

  before(async () => {
    const [first, ...plans] = PRICED_PLANS.plans;
    app = await startSignInApp({
      catalogue: { ...PRICED_PLANS, plans: [{ ...first!, name: HOSTILE }, ...plans] },
      paymentReceiver: { ...EURO_RECEIVER, accountName: HOSTILE },
    });
    ann = await app.signedIn('ann@example.com');
    accountId = (await app.state.users.list({ limit: 1 }))[0]!.accountId;
  });
  after(() => app?.close());

  const read = async (path: string, browser = ann) => {
    const { status, text, location } = await browser.send(app.url + path);
    return { status, text, location, page: load(text) };
  };
  const paid = async () => {
    const { code } = await order(app.state, accountId);
    await app.state.orders.record(transfer(code));
    return code;
  };

  it('say what to do without any order', async () => {
    const { page } = await read('/orders');
    expect(page('.empty').text()).to.contain('No orders yet');
    expect(page('.card a').attr('href')).to.equal('/plans');
    expect(page('.plan-offers .figures').first().text()).to.match(/^€\d+\.\d\d$/);
    expect(page('.plan-offers form').attr('data-api')).to.equal('POST /api/agent/payment');
  });

  it('give a paid order a receipt with its number, parties, plan and amount, as text', async () => {
    const code = await paid();
    const { text, page } = await read(`/pay/${code}/receipt`);
    const number = `${new Date().getUTCFullYear()}-000001`;
    expect(page('h1').text()).to.equal(`Receipt ${number}`);
    expect(page('.receipt-facts').text()).to.contain('ann@example.com').and.to.contain(HOSTILE).and.to.contain(code);
    expect(page('.receipt-lines tfoot').text()).to.contain('€10.00');
    expect(page('.receipt-facts').text()).to.match(new RegExp(`RF\\d\\d${code}`));
    expect(text).not.to.contain('<script>alert');
    expect((await read(`/pay/${code}`)).page(`a[href="/pay/${code}/receipt"]`)).to.have.length(1);
    const { page: list } = await read('/orders');
    expect(list(`a[href="/pay/${code}/receipt"]`).text()).to.equal(`Receipt ${number}`);
  });

  it('keep the receipt of a refunded order, with a note', async () => {
    const code = await paid();
    await app.state.orders.refund({ code, actor: 'operator:ann' });
    expect((await read(`/pay/${code}/receipt`)).page('.notice').text()).to.contain('refunded');
  });

  it('lead from an unpaid order to its page, and hide orders of other accounts', async () => {
    const { code } = await order(app.state, accountId);
    expect((await read(`/pay/${code}/receipt`)).location).to.equal(`${app.url}/pay/${code}`);
    await app.state.orders.cancel({ code, actor: 'user:x' });
    const bob = await app.signedIn('bob@example.com');
    expect((await read(`/pay/${await paid()}/receipt`, bob)).status).to.equal(404);
    expect((await read('/orders', bob)).page('.empty')).to.have.length(1);
    const { location } = await createBrowserSession().send(`${app.url}/orders`);
    expect(location).to.equal(`${app.url}/login?return_to=%2Forders`);
  });

  it('are listed in pages that miss none', async () => {
    for (let index = 0; index < 50; index += 1) await paid();
    const codes: string[] = [];
    for (let path: string | undefined = '/orders'; path !== undefined; ) {
      const { page, text } = await read(path);
      expect(Buffer.byteLength(text)).to.be.below(60_000);
      codes.push(
        ...page('tbody th')
          .toArray()
          .map((one) => page(one).text()),
      );
      path = page('a[rel="next"]').attr('href');
    }
    const all = await app.state.orders.list({ accountId, limit: 1_000 });
    expect(codes).to.deep.equal(all.map(({ code }) => code));
    expect((await read('/orders?before=%00')).page('.empty')).to.have.length(1);
  });
});
