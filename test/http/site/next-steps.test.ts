/** What the dashboard tells the operator of a fresh gateway to do next. */

import { expect } from 'chai';
import { load } from 'cheerio';
import echoText from 'mediagate/plugins/echo_text';
import type { BrowserSession } from '../../support/accounts/browser-session.js';
import { EURO_RECEIVER, PRICED_PLANS } from '../../support/accounts/priced-plans.js';
import { invented } from '../../support/links/invented-plugin.js';
import { type SignInApp, startSignInApp } from '../accounts/sign-in-app.js';

const GUIDES = ['connect-models', 'costs', 'sign-in', 'plans', 'payments'];

describe('next steps of an operator', () => {
  let app: SignInApp;
  afterEach(() => app?.close());

  const stepsOf = async (browser: BrowserSession) => {
    const page = load((await browser.send(`${app.url}/dashboard`)).text);
    const list = page('section[aria-labelledby="next-steps"]');
    const open = list
      .find('a[href^="/docs/"]')
      .toArray()
      .map((one) => page(one).attr('href')?.split('/').at(-1));
    return { open, text: page('main').text(), list };
  };

  it('are on a fresh gateway all five, with guides that exist, and for the operator alone', async () => {
    app = await startSignInApp({
      withoutUsers: true,
      plugins: [{ use: invented() }, { use: echoText, options: { model: 'm-5.5' } }],
    });
    const operator = await app.signedIn('ann@example.com');
    const { open, text } = await stepsOf(operator);
    expect(open).to.deep.equal(GUIDES);
    expect(text).not.to.match(/free (plan|one)/i);
    expect(text).to.contain('No plan includes it yet');
    for (const guide of [
      'operate/connect-models',
      'operate/costs',
      'accounts/sign-in',
      'accounts/plans',
      'accounts/payments',
    ]) {
      expect((await app.request(`/docs/${guide}`)).status, guide).to.equal(200);
    }
    expect((await stepsOf(await app.signedIn('bob@example.com'))).list).to.have.length(0);
  });

  it('mark what is done', async () => {
    app = await startSignInApp({
      withoutUsers: true,
      catalogue: { ...PRICED_PLANS, furtherGrants: [{ planId: 'free', grants: ['extract'] }] },
      paymentReceiver: EURO_RECEIVER,
      plugins: [{ use: invented() }, { use: echoText, options: { model: 'm-5.5' } }],
    });
    const { open, list, text } = await stepsOf(await app.signedIn('ann@example.com'));
    expect(open).to.deep.equal(['connect-models', 'costs', 'sign-in']);
    expect(list.find('.step-done')).to.have.length(1);
    expect(text).not.to.contain('No plan includes it yet');
    expect(list.find('.step-done div').text()).to.equal('Open link data · Take payments');
  });

  it('leave link data out where no platform is read', async () => {
    app = await startSignInApp({ withoutUsers: true, plugins: [{ use: echoText, options: { model: 'm-5.5' } }] });
    const { open, list } = await stepsOf(await app.signedIn('ann@example.com'));
    expect(open).to.deep.equal(['connect-models', 'costs', 'sign-in', 'payments']);
    expect(list.text()).not.to.contain('link data');
  });
});
