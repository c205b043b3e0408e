/** Plans of accounts over HTTP: routes, daily images, limits and prices. */

import { expect } from 'chai';
import { type Catalogue, DEFAULT_CATALOGUE, type Plan, planTerms } from '../../../server/plans/index.js';
import { describeOnStacks } from '../../support/databases/stacks.js';
import { inventedModel } from '../../support/images/invented-image.js';
import { onceIt } from '../../support/runner/variants.js';
import { imageClient } from '../images/client.js';
import { type AccountClient, newcomer } from './client.js';
import { type SignInApp, startSignInApp } from './sign-in-app.js';

const [token] = DEFAULT_CATALOGUE.plans;
const pictures: Plan = {
  ...(token as Plan),
  id: 'pictures',
  imageOnly: true,
  tokenLimit: null,
  imageDailyLimit: 2,
  durationDays: 30,
};
const catalogue: Catalogue = {
  ...DEFAULT_CATALOGUE,
  plans: [...DEFAULT_CATALOGUE.plans, pictures],
  prices: [{ planId: 'pictures', amount: 1_999, currency: 'EUR' }],
  furtherGrants: [{ planId: 'free', grants: ['images'] }],
};

describeOnStacks('plans of accounts over HTTP', (stack) => {
  const once = onceIt(stack);
  let app: SignInApp;

  before(async () => {
    app = await startSignInApp({ stack, catalogue, imageDailyLimit: 3, plugins: [{ use: inventedModel() }] });
  });
  after(() => app.close());

  async function grant(client: AccountClient, planId: string): Promise<void> {
    const { user } = (await client.get('/api/agent/session')).json;
    const { accountId = '' } = (await app.state.users.find(user.id)) ?? {};
    const terms = planTerms(planId, { catalogue, freeTierPeriod: 'lifetime' });
    if (!terms) throw new Error(`no plan ${planId}`);
    await app.state.accounts.grant({ accountId, terms, actor: 'operator:test' });
    await app.keys.refresh();
  }

  const submitted = async (key: string, times: number) => {
    const answers = [];
    for (let time = 0; time < times; time += 1) answers.push(await imageClient(app, key).submit());
    return answers.map(({ status, json }) => json.error?.code ?? status);
  };

  it('opens only image routes with an image plan, for 30 days, with daily images of its own', async () => {
    const ann = await newcomer(app, 'ann@example.com');
    await grant(ann, 'pictures');
    const { apiKey, key } = (await ann.post('/api/user')).json;
    expect(key).to.deep.include({ planId: 'pictures', grants: ['images'], models: null, imageDailyLimit: 2 });
    expect(Date.parse(key.expiresAt) - Date.now()).to.be.within(29.9 * 86_400_000, 30 * 86_400_000);
    const authorization = `Bearer ${apiKey}`;
    for (const route of ['/v1/models', '/v1/models/m-5.5', '/v1/capabilities']) {
      const { status, json } = await app.request(route, { headers: { authorization } });
      expect([status, json.error.code], route).to.deep.equal([403, 'route_not_allowed']);
    }
    expect(await submitted(apiKey, 3)).to.deep.equal([202, 202, 'daily_image_limit_reached']);
    // Another key of the account is no way around it.
    const further = (await ann.post('/api/user/keys')).json.apiKey;
    expect(await submitted(further, 1)).to.deep.equal(['daily_image_limit_reached']);
    const { plan, budget, imagesToday } = (await ann.get('/api/user')).json;
    expect(imagesToday).to.deep.equal({ limit: 2, used: 2, left: 0 });
    expect(plan).to.deep.include({ id: 'pictures', imageDailyLimit: 2, grants: ['images'] });
    expect(budget).to.equal(null);
  });

  once('shares the daily images of a named account only among its keys', async () => {
    const make = (accountId: string) => app.makeKey({ grants: ['images'], accountId });
    const [one, other, stranger] = [await make('team-a'), await make('team-a'), await make('team-b')];
    expect(await submitted(one, 2)).to.deep.equal([202, 202]);
    expect(await submitted(other, 2)).to.deep.equal([202, 'daily_image_limit_reached']);
    expect(await submitted(stranger, 1)).to.deep.equal([202]);
  });

  once("applies the gateway's limit to plans without their own", async () => {
    const bob = await newcomer(app, 'bob@example.com');
    const { apiKey, key } = (await bob.post('/api/user')).json;
    expect(key).to.deep.include({ planId: 'free', grants: ['images', 'text'], imageDailyLimit: null });
    expect((await bob.get('/api/user')).json.imagesToday).to.deep.equal({ limit: 3, used: 0, left: 3 });
    expect(await submitted(apiKey, 4)).to.deep.equal([202, 202, 202, 'daily_image_limit_reached']);
  });

  once('shows prices only if the operator enables it', async () => {
    const hidden = await app.request('/api/agent/plans');
    expect(hidden.json.prices).to.deep.equal([]);
    expect(hidden.text).not.to.contain('1999');
    const open = await startSignInApp({ stack, catalogue: { ...catalogue, publicPriceTablesVisible: true } });
    try {
      const { json } = await open.request('/api/agent/plans');
      expect(json.publicPriceTablesVisible).to.equal(true);
      expect(json.prices).to.deep.equal(catalogue.prices);
      for (const plan of json.plans) expect(plan).to.have.all.keys(Object.keys(token as Plan));
    } finally {
      await open.close();
    }
  });
});
