/** The page of keys, without scripts. */

import { expect } from 'chai';
import echoText from 'mediagate/plugins/echo_text';
import { createPepper } from '../../../server/keys/index.js';
import { createPrices } from '../../../server/prices/index.js';
import { type BrowserSession } from '../../support/accounts/browser-session.js';
import { PRICED_PLANS } from '../../support/accounts/priced-plans.js';
import { useAccount } from '../../support/accounts/used-account.js';
import { type SignInApp, startSignInApp } from '../accounts/sign-in-app.js';

const HOSTILE = `"><script>alert(1)</script>`;
const DAY_MS = 86_400_000;

describe('the page of keys', () => {
  let app: SignInApp;
  let ann: BrowserSession;
  let accountId: string;

  before(async () => {
    app = await startSignInApp({
      catalogue: PRICED_PLANS,
      plugins: ['m-5.5', 'm-5.4'].map((model) => ({ id: model, use: echoText, options: { model } })),
      prices: createPrices({ currency: 'USD', models: { 'm-5.5': { input: 1, output: 10 } } }),
    });
    ann = await app.signedIn('ann@example.com');
    const [user] = await app.state.users.list({ limit: 1 });
    accountId = user!.accountId;
    await useAccount(app.state, user!, createPepper(Buffer.alloc(32, 'keys')));
  });
  after(() => app?.close());

  const read = async (browser: BrowserSession, path = '/keys') => (await browser.send(app.url + path)).text;
  const keyOf = async (name: string) =>
    (await app.state.keys.listOf(accountId)).find((key) => key.name === name && key.replacedBy === null)!;
  /** The part of the page that is about one key. */
  const cardOf = (text: string, id: string) => text.split(`id="key-${id}"`)[1]?.split('</li>')[0] ?? '';
  const factsOf = (card: string) =>
    Object.fromEntries(
      [...card.matchAll(/<dt>([^<]*)<\/dt><dd>(.*?)<\/dd>/g)].map(([, name = '', value = '']) => [
        name,
        value.replace(/<[^>]*>/g, ''),
      ]),
    );

  it('has each key with its limits, last use, and usage that leads to its requests', async () => {
    const { id } = await keyOf('laptop');
    const card = cardOf(await read(ann), id);
    expect(factsOf(card)).not.to.have.any.keys('Can use', 'Requests a minute', 'Expires');
    expect(factsOf(card).Requests).to.match(/^\d+, \d+ failed$/);
    expect(factsOf(card).Spent).to.match(/^\$\d+\.\d\d$/);
    const [, failed = '', count] = /href="(\/requests\?[^"]*outcome=failed)">(\d+) failed</.exec(card) ?? [];
    const rows = (await read(ann, failed.replaceAll('&amp;', '&'))).match(/<tr role="row"><th/g)?.length;
    // One row more is the head of the table.
    expect(rows).to.equal(Number(count) + 1);
  });

  it('has what was narrowed, beside the plan, and fills the form with it', async () => {
    const { id } = await keyOf('shop website');
    const expiresAt = Date.parse(`${new Date(Date.now() + 9 * DAY_MS).toISOString().slice(0, 10)}T23:59:59.999Z`);
    await app.state.budgets.changeKey({
      id,
      accountId,
      properties: { name: HOSTILE, own: { grants: ['images'], models: [['m-5.4']], rpm: 7, expiresAt } },
      budgets: [{ unit: 'requests', amount: 1_000, currency: null, resets: 'day' }],
      actor: 'user:ann',
    });
    const text = await read(ann);
    const card = cardOf(text, id);
    expect(text).not.to.contain('<script>alert');
    expect(factsOf(card)).to.deep.include({
      'Can use': 'Images',
      Models: 'm-5.4',
      'Requests a minute': '7 (plan: 30)',
    });
    expect(card).to.contain('Requests today').and.to.contain('0 of 1,000 used');
    const checked = [...card.matchAll(/value="([^"]*)" checked/g)].map(([, value]) => value);
    expect(checked).to.deep.equal(['images', 'm-5.4']);
    expect(card).to.match(/name="rpm"[^>]* max="30"[^>]* value="7"/);
    const lastDay = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeZone: 'UTC' }).format(expiresAt);
    expect(card).to.contain(`name="expiresAt" value="${lastDay}"`).and.to.contain('data-day data-min="20');
    expect(card).to.match(/data-part="amount"[^>]* value="1000"/);
    expect(card).to.match(/<option value="day" selected>/);
  });

  it('shows a replaced key without forms, and keys that ended below', async () => {
    const { id } = await keyOf('laptop');
    const all = await app.state.keys.listOf(accountId);
    const replaced = all.find(({ replacedBy }) => replacedBy !== null)!;
    const page = await read(ann);
    const card = cardOf(page, replaced.id);
    expect(card).to.contain('Rotated').and.to.contain('Revoke');
    // Right below the key that replaced it.
    expect(page.split(`id="key-${replaced.replacedBy}"`)[1]).to.match(
      new RegExp(`^.*?</li>\\s*<li class="key-card key-replaced" id="key-${replaced.id}"`, 's'),
    );
    expect(card).not.to.contain('data-limits');
    const made = await app.state.keys.issue({
      accountId,
      key: { id: 'ended001', name: 'ended', hash: '0'.repeat(64), pepperVersion: 1 },
      otherwise: {
        planId: 'x',
        grants: [],
        rpm: 1,
        models: null,
        imageDailyLimit: null,
        durationMs: null,
        budget: null,
      },
      maxKeys: 10,
    });
    await app.state.keys.revoke(made.id, Date.now(), accountId);
    const text = await read(ann, `/keys?revoked=${made.id}`);
    expect(text).to.contain('autofocus').and.to.contain('is revoked').and.to.contain('Older keys (1)');
    expect(cardOf(text, made.id)).to.equal('');
    expect(await read(ann, `/keys?saved=${id}`)).to.contain('is saved');
    expect(await read(ann, '/keys?saved=nothing')).not.to.contain('is saved');
  });

  it('begins with the list, above which a button opens the form of a new key', async () => {
    const text = await read(ann);
    expect(text).to.contain('<details class="key-creation"><summary');
    expect(text.indexOf('key-creation')).to.be.below(text.indexOf('key-list'));
  });

  it('has a playground that says what a run of a model costs, and nothing where no price is known', async () => {
    const text = await read(ann, '/playground');
    expect(text).to.match(/run-cost"[^>]*>\$1\.00 in, \$10\.00 out for a million tokens</);
    expect(text.match(/data-cost=/g), 'one model of two has prices').to.have.length(1);
  });

  it('offers what the free tier has before there is a plan, and says what comes next', async () => {
    const text = await read(await app.signedIn('new@example.com'));
    expect(text).to.contain('Your first key').and.to.contain('set up a client').and.not.to.contain('New key<');
    expect(text.match(/name="grants"/g)).to.have.length(1);
    expect(text).to.match(/name="rpm"[^>]* max="30"/);
    expect(Buffer.byteLength(text)).to.be.below(60_000);
  });
});
