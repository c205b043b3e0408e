/** The catalogue of plans: the service document, an operator's file and its errors. */

import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect } from 'chai';
import { type Plan, planKey, planTerms, readCatalogue } from '../../../server/plans/index.js';
import { rejection } from '../../support/rejection.js';

const NULLS = [
  'requestLimit',
  'dailyTokenLimit',
  'imageLimit',
  'imageMonthlyLimit',
  'opusRequestLimit',
  'imageLimitText',
  'imageDailyLimit',
  'maxImagesPerRequest',
] as const;

describe('the catalogue of plans', () => {
  let folder: string;

  before(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'mediagate-plans-'));
  });
  after(() => rm(folder, { recursive: true, force: true }));

  async function write(content: unknown): Promise<string> {
    const file = path.join(folder, `${Math.random()}.json`);
    await writeFile(file, typeof content === 'string' ? content : JSON.stringify(content));
    return file;
  }

  it('equals the service document, with every field', async () => {
    const { plans, freeTier } = await readCatalogue(undefined);
    expect(plans.map(({ id, name, tokenLimit }) => [id, name, tokenLimit])).to.deep.equal([
      ['token_30m', '30M tokens', 30_000_000],
      ['token_100m', '100M tokens', 100_000_000],
      ['token_300m', '300M tokens', 300_000_000],
    ]);
    for (const plan of plans) {
      expect(Object.keys(plan)).to.have.length(19);
      for (const member of NULLS) expect(plan[member], member).to.equal(null);
      expect(plan).to.include({ durationDays: 0, allModels: true, includesAudio: true, includesImage: false });
      expect(plan).to.include({ imageOnly: false, includedRpm: 30, maxRpm: 30 });
    }
    expect(freeTier).to.deep.equal({ id: 'free', name: 'Free', requestLimit: 50, rpm: 30, modelAccess: ['m-5.5'] });
  });

  it('adds grants to the free tier, beside those of the file', async () => {
    const file = await write({ freeTier: { grants: ['images'], modelAccess: ['m-5.4'] } });
    const ofFile = await readCatalogue(file, ['extract', 'audio']);
    const terms = planTerms('free', { catalogue: ofFile, freeTierPeriod: 'lifetime' });
    expect(terms?.grants).to.deep.equal(['images', 'extract', 'text', 'audio']);
    expect(terms?.models).to.include.members(['m-5.4', 'tts_v3', 'stt-large-v3']).and.not.to.include('m-5.5');
    const plain = await readCatalogue(undefined, ['images']);
    expect(planTerms('free', { catalogue: plain, freeTierPeriod: 'lifetime' })).to.deep.include({
      grants: ['images', 'text'],
      models: ['m-5.5'],
    });
  });

  it("accepts an operator's changes and further plans", async () => {
    const file = await write({
      plans: [
        { id: 'token_30m', includedRpm: 60, maxRpm: 90, price: { amount: 299_000, currency: 'VND' } },
        { id: 'pictures', imageOnly: true, imageDailyLimit: 20, maxRpm: 60, grants: ['extract'], imageLimit: null },
        { id: 'words', imageOnly: true, tokenLimit: 1_000, grants: ['text'] },
      ],
      freeTier: { requestLimit: 5, grants: ['images'] },
      publicPriceTablesVisible: true,
      support: { email: 'help@example.com' },
    });
    const catalogue = await readCatalogue(file);
    const { plans, freeTier, prices, support } = catalogue;
    expect(plans.map(({ id }) => id)).to.deep.equal(['token_30m', 'token_100m', 'token_300m', 'pictures', 'words']);
    expect(plans[0]).to.include({ name: '30M tokens', tokenLimit: 30_000_000, includedRpm: 60, maxRpm: 90 });
    expect(plans[3]).to.include({ name: 'pictures', tokenLimit: null, imageOnly: true, imageDailyLimit: 20 });
    // What the service document says of keys for images alone.
    expect(plans[3]).to.include({ durationDays: 30, allModels: false, includesAudio: false, includesImage: true });
    for (const plan of plans) expect(Object.keys(plan)).to.have.length(19);
    expect(freeTier).to.deep.equal({ id: 'free', name: 'Free', requestLimit: 5, rpm: 30, modelAccess: ['m-5.5'] });
    expect(prices).to.deep.equal([{ planId: 'token_30m', amount: 299_000, currency: 'VND' }]);
    expect(catalogue.publicPriceTablesVisible).to.equal(true);
    expect(support).to.include({ email: 'help@example.com', url: null }).and.to.have.property('text');
    const terms = (id: string) => planTerms(id, { catalogue, freeTierPeriod: 'lifetime' });
    expect(terms('pictures')?.grants).to.deep.equal(['images', 'extract']);
    expect(terms('pictures')).to.include({ imageDailyLimit: 20, budget: null, durationMs: 30 * 86_400_000, rpm: 30 });
    expect(terms('words')).to.deep.include({ grants: ['images', 'text'], models: ['m-5.5'] });
    expect(terms('words')?.budget).to.include({ tokenLimit: 1_000, requestLimit: null });
    expect(terms('free')?.grants).to.deep.equal(['images', 'text']);
    expect(terms('token_30m')?.grants).to.deep.equal(['text', 'audio']);
  });

  it('explains what is wrong with a file', async () => {
    const cases: [content: unknown, said: string][] = [
      ['{', 'is not JSON'],
      [[], 'the file must be object'],
      [{ plans: [{ name: 'nameless' }] }, 'plans.0.id'],
      [{ plans: [{ id: 'one', tokenLimit: -1 }] }, 'plans.0.tokenLimit'],
      [{ plans: [{ id: 'one', tokens: 1 }] }, 'plans.0 must not have "tokens", which is not known.'],
      [{ plans: [{ id: 'one', nmae: 'One' }] }, 'plans.0 must not have "nmae", which is not known; "name" is.'],
      [{ freeTeir: {} }, 'the file must not have "freeTeir", which is not known; "freeTier" is.'],
      [{ plans: [{ id: 'one' }, { id: 'one' }] }, 'plans.1.id one is given twice'],
      [{ plans: [{ id: 'free' }] }, 'plans.0.id is the id of the free tier'],
      [{ plans: [{ id: 'operator' }] }, 'plans.0.id is the id of the plan of operators'],
      [{ plans: [{ id: 'one', includedRpm: 31 }] }, 'plans.0.includedRpm is more than maxRpm (30)'],
      [{ plans: [{ id: 'one', imageMonthlyLimit: 500 }] }, 'plans.0.imageMonthlyLimit has no effect here'],
      [{ plans: [{ id: 'one' }, { id: 'two', imageLimit: 0 }] }, 'plans.1.imageLimit has no effect here'],
      [{ plans: [{ id: 'one', opusRequestLimit: 1 }] }, 'plans.0.opusRequestLimit has no effect here'],
      [{ freeTier: { modelAccess: [] } }, 'freeTier.modelAccess'],
      [{ plans: [{ id: 'one', price: { amount: 0, currency: 'EUR' } }] }, 'plans.0.price.amount'],
      [{ plans: [{ id: 'one', price: { amount: 1.5, currency: 'EUR' } }] }, 'plans.0.price.amount'],
      [{ plans: [{ id: 'one', price: { amount: 1, currency: 'ZZZ' } }] }, 'plans.0.price.currency'],
      [{ plans: [{ id: 'one', grants: ['everything'] }] }, 'plans.0.grants.0'],
      [{ support: { url: 'javascript:alert(1)' } }, 'support.url'],
      [{ plans: [{ id: 'one', budget: '50 USD/week' }] }, 'plans.0.budget must be an amount such as "50 USD/month"'],
      [{ plans: [{ id: 'token_30m', budget: '50 USD' }] }, 'plans.0.budget cannot be combined with'],
    ];
    for (const [content, said] of cases) {
      const file = await write(content);
      const error = await rejection(readCatalogue(file));
      expect(error).to.have.property('name', 'PlansFileError');
      expect(error).to.have.property('message').that.contains(said).and.contains(file);
    }
    const missing = await rejection(readCatalogue(path.join(folder, 'none.json')));
    expect(missing).to.have.property('message').that.contains('PLANS_FILE');
  });

  it('makes keys with the grants, the limits and the end of their plan', async () => {
    const plain = (await readCatalogue(undefined)).plans[0] as Plan;
    const catalogue = await readCatalogue(undefined);
    const plans: Plan[] = [
      plain,
      { ...plain, id: 'all', includesImage: true, durationDays: 7, dailyTokenLimit: 9 },
      { ...plain, id: 'narrow', tokenLimit: null, includesAudio: false, allModels: false },
      { ...plain, id: 'pictures', imageOnly: true, tokenLimit: 5, durationDays: 30, imageDailyLimit: 7 },
    ];
    const now = Date.UTC(2026, 5, 15);
    const make = (id: string, freeTierPeriod: 'lifetime' | 'month' | 'day' = 'lifetime') =>
      planKey(id, { catalogue: { ...catalogue, plans }, freeTierPeriod, accountId: 'local', now });

    const tokens = make('token_30m');
    expect(tokens).to.deep.include({ grants: ['text', 'audio'], rpm: 30, maxRpm: 30, expiresAt: null });
    expect(tokens?.plan).to.deep.equal({
      planId: 'token_30m',
      budgetId: tokens?.budget?.id,
      models: null,
      imageDailyLimit: null,
    });
    expect(tokens?.budget).to.include({ tokenLimit: 30_000_000, requestLimit: null, resets: 'never', expiresAt: null });

    const week = Date.UTC(2026, 5, 22);
    const all = make('all');
    expect(all).to.deep.include({ grants: ['images', 'text', 'audio'], expiresAt: week });
    expect(all?.budget).to.include({ dailyTokenLimit: 9, expiresAt: week });

    expect(make('narrow')).to.deep.include({
      grants: ['text'],
      plan: { planId: 'narrow', budgetId: null, models: ['m-5.5'], imageDailyLimit: null },
    });
    const pictures = make('pictures');
    expect(pictures).to.deep.include({ grants: ['images'], expiresAt: Date.UTC(2026, 6, 15) });
    expect(pictures?.plan).to.deep.equal({
      planId: 'pictures',
      budgetId: null,
      models: null,
      imageDailyLimit: 7,
    });

    const stated = await readCatalogue(
      await write({ plans: [{ id: 'paid', budget: '50 USD/month', durationDays: 7 }] }),
    );
    const paid = planKey('paid', { catalogue: stated, freeTierPeriod: 'lifetime', accountId: 'local', now });
    expect(paid?.budget).to.deep.include({ costLimit: 50_000_000, currency: 'USD', resets: 'month', expiresAt: week });
    expect(paid?.budget).to.deep.include({ planId: 'paid', tokenLimit: null, requestLimit: null });

    const free = make('free', 'month');
    expect(free).to.deep.include({ grants: ['text'], rpm: 30 });
    expect(free?.plan.models).to.deep.equal(['m-5.5']);
    expect(free?.budget).to.include({ planId: 'free', requestLimit: 50, tokenLimit: null, resets: 'month' });
    expect(make('free')?.budget).to.include({ resets: 'never' });
    expect(make('none')).to.equal(undefined);
  });
});
