/** Prices of models, links and extras. */

import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { expect } from 'chai';
import { createPrices, decimalOf, type PricedUse, readPrices } from '../../../server/prices/index.js';
import { packageRoot } from '../../support/package-root.js';
import { rejection } from '../../support/rejection.js';

const NOTHING = {
  inputTokens: null,
  cachedTokens: null,
  outputTokens: null,
  characters: null,
  seconds: null,
} satisfies Omit<PricedUse, 'model'>;

const PRICES = createPrices({
  currency: 'USD',
  models: {
    chat: { input: 1.25, cachedInput: 0.125, cacheWrite: 1.5, output: 10 },
    embed: { input: 0.02 },
    free: { input: 0 },
    ear: { second: 0.0001 },
    voice: { characters: 15 },
    picture: {
      images: [
        { size: '1024x1024', quality: 'high', price: 0.167 },
        { size: '1024x1024', price: 0.042 },
        { quality: 'low', price: 0.011 },
      ],
    },
    drawn: { input: 5, inputImage: 10, output: 40 },
  },
  links: [
    { platform: 'clip_shop', method: 'background_job', price: 0.01 },
    { platform: 'clip_shop', price: 0.002 },
    { method: 'browser', price: 0.005 },
  ],
});

const failure = (work: Promise<unknown>) => rejection(work) as Promise<Error>;

describe('prices', () => {
  it('add up tokens at their prices', () => {
    const cost = (use: Partial<PricedUse>) => PRICES.costOf({ ...NOTHING, model: 'chat', ...use });
    expect(cost({ inputTokens: 1_000_000, outputTokens: 0 })).to.equal(1_250_000);
    expect(cost({ inputTokens: 1_000, cachedTokens: 600, cacheWriteTokens: 100, outputTokens: 50 })).to.equal(
      375 + 75 + 150 + 500,
    );
    // Of amounts that contradict each other, the input is the most.
    expect(cost({ inputTokens: 10, cachedTokens: 50, cacheWriteTokens: 50 })).to.equal(1);
    expect(cost({ outputTokens: 7 })).to.equal(70);
  });

  it('round the sum of a request half up, once', () => {
    const cost = (inputTokens: number, outputTokens: number) =>
      PRICES.costOf({ ...NOTHING, model: 'chat', inputTokens, outputTokens });
    expect([1, 2, 3, 4].map((count) => cost(count, 0))).to.deep.equal([1, 3, 4, 5]);
    expect([24, 25].map((count) => PRICES.costOf({ ...NOTHING, model: 'embed', inputTokens: count }))).to.deep.equal([
      0, 1,
    ]);
    // In binary fractions 0.1 + 0.2 is more than 0.3, and 1.005 less than 1.005.
    const fractions = createPrices({ currency: 'USD', models: { sum: { input: 0.1, output: 0.2, second: 1.005 } } });
    expect(fractions.costOf({ ...NOTHING, model: 'sum', inputTokens: 5, outputTokens: 5 })).to.equal(2);
    expect(fractions.costOf({ ...NOTHING, model: 'sum', seconds: 0.001 })).to.equal(1_005);
  });

  it('apply to seconds, characters, images and links', () => {
    expect(PRICES.costOf({ ...NOTHING, model: 'ear', seconds: 12.345 })).to.equal(1_235);
    expect(PRICES.costOf({ ...NOTHING, model: 'voice', characters: 40 })).to.equal(600);
    const image = (size: string, quality?: string) =>
      PRICES.costOf({ ...NOTHING, model: 'picture', image: { size, ...(quality && { quality }) } });
    expect(image('1024x1024', 'high')).to.equal(167_000);
    expect(image('1024x1024')).to.equal(42_000);
    expect(image('512x512', 'low')).to.equal(11_000);
    expect(image('512x512')).to.equal(null);
    expect(PRICES.linkCostOf('clip_shop', 'background_job')).to.equal(10_000);
    expect(PRICES.linkCostOf('clip_shop', 'browser')).to.equal(2_000);
    expect(PRICES.linkCostOf('photo', 'browser')).to.equal(5_000);
    expect(PRICES.linkCostOf('photo', 'page+browser')).to.equal(5_000);
    expect(PRICES.linkCostOf('photo', 'api')).to.equal(null);
    const highest = (...links: string[]) => PRICES.highestCostOf({ model: 'any', links });
    expect(highest('clip_shop')).to.equal(10_000);
    expect(highest('clip_shop', 'photo', 'photo')).to.equal(20_000);
    expect(highest()).to.equal(0);
    const [dear, cheap] = [{ price: 5 }, { platform: 'photo', price: 1 }];
    const table = (links: { price: number }[]) => createPrices({ currency: 'USD', links });
    expect(table([cheap, dear]).highestCostOf({ model: '', links: ['photo', 'clip_shop'] })).to.equal(6_000_000);
    expect(table([cheap]).highestCostOf({ model: '', links: ['photo', 'clip_shop'] })).to.equal(null);
    expect([PRICES, table([])].map(({ hasLinkPrices }) => hasLinkPrices)).to.deep.equal([true, false]);
  });

  it('apply to the tokens of input images', () => {
    const drawn = { ...NOTHING, model: 'drawn', inputTokens: 344, cachedTokens: 0, outputTokens: 1_056 };
    expect(PRICES.costOf({ ...drawn, inputImageTokens: 323 })).to.equal(21 * 5 + 323 * 10 + 1_056 * 40);
    expect(PRICES.costOf(drawn)).to.equal(344 * 5 + 1_056 * 40);
    expect(PRICES.highestCostOf({ model: 'drawn', inputTokens: 10 })).to.equal(100);
  });

  it('bill a whole request at the prices of its length', () => {
    const tiers = [
      { above: 200_000, input: 2, output: 15 },
      { above: 500_000, input: 4, cachedInput: 1 },
    ];
    const long = createPrices({ currency: 'USD', models: { long: { input: 1, cachedInput: 0.1, output: 10, tiers } } });
    const cost = (inputTokens: number, use: Partial<PricedUse> = {}) =>
      long.costOf({ ...NOTHING, model: 'long', inputTokens, outputTokens: 100, ...use });
    expect(cost(200_000)).to.equal(200_000 + 1_000);
    expect(cost(200_001)).to.equal(400_002 + 1_500);
    // A price that the tier leaves out is that of the model.
    expect(cost(300_000, { cachedTokens: 100_000 })).to.equal(400_000 + 10_000 + 1_500);
    expect(cost(600_000, { cachedTokens: 100_000 })).to.equal(2_000_000 + 100_000 + 1_000);
    const highest = (inputTokens: number) => long.highestCostOf({ model: 'long', inputTokens, outputTokens: 100 });
    expect(highest(200_000)).to.equal(200_000 + 1_000);
    expect(highest(200_001)).to.equal(400_002 + 1_500);
    expect(highest(600_000)).to.equal(2_400_000 + 1_500);
    const within = long.outputTokensWithin(400_002 + 1_500, { model: 'long', inputTokens: 200_001 });
    expect(within).to.equal(100);
  });

  it('bill an answer at the prices of its service tier', () => {
    const serviceTiers = { flex: { input: 0.5, output: 5 }, priority: { input: 2, tiers: [{ above: 10, input: 3 }] } };
    const models = { tiered: { input: 1, output: 10, tiers: [{ above: 100, output: 20 }], serviceTiers } };
    const tiered = createPrices({ currency: 'USD', models });
    const cost = (serviceTier: string, inputTokens: number) =>
      tiered.costOf({ ...NOTHING, model: 'tiered', inputTokens, outputTokens: 10, serviceTier });
    expect(cost('flex', 10)).to.equal(5 + 50);
    expect(cost('flex', 1_000)).to.equal(500 + 50);
    expect(cost('priority', 10)).to.equal(20 + 100);
    expect(cost('priority', 20)).to.equal(60 + 100);
    expect(cost('other', 10)).to.equal(10 + 100);
    const highest = (serviceTier: string) =>
      tiered.highestCostOf({ model: 'tiered', inputTokens: 20, outputTokens: 10, serviceTier });
    expect([highest('priority'), highest('flex')]).to.deep.equal([60 + 100, 20 + 100]);
  });

  it('apply to extras that vendors bill separately', () => {
    const models = {
      claude: { input: 1, cacheWrite: 1.25, cacheWrite1h: 2, output: 5, webSearch: 0.01 },
      picture: { input: 5, inputImage: 8, output: 40, outputText: 10 },
      voice: { input: 4, inputAudio: 32, output: 16, outputAudio: 64 },
    };
    const apart = createPrices({ currency: 'USD', models });
    const cost = (use: Partial<PricedUse> & { model: string }) => apart.costOf({ ...NOTHING, ...use });
    const written = { inputTokens: 12_304, cacheWriteTokens: 12_304, cacheWriteLongTokens: 12_000, outputTokens: 0 };
    expect(cost({ model: 'claude', ...written })).to.equal(304 * 1.25 + 12_000 * 2);
    expect(cost({ model: 'claude', inputTokens: 10, outputTokens: 1, webSearches: 3 })).to.equal(15 + 30_000);
    const drawn = { inputTokens: 100, outputTokens: 6_543, outputTextTokens: 335, outputImageTokens: 6_208 };
    expect(cost({ model: 'picture', ...drawn })).to.equal(500 + 335 * 10 + 6_208 * 40);
    const spoken = { inputTokens: 100, inputAudioTokens: 80, outputTokens: 50, outputAudioTokens: 40 };
    expect(cost({ model: 'voice', ...spoken })).to.equal(20 * 4 + 80 * 32 + 10 * 16 + 40 * 64);
    expect(apart.highestCostOf({ model: 'voice', inputTokens: 1, outputTokens: 1 })).to.equal(32 + 64);
    expect(apart.highestCostOf({ model: 'claude', inputTokens: 10, outputTokens: 1, webSearches: 2 })).to.equal(20_025);
  });

  it('distinguish an unknown cost from none', () => {
    expect(PRICES.costOf({ ...NOTHING, model: 'unknown', inputTokens: 5 })).to.equal(null);
    expect(PRICES.costOf({ model: 'unknown', nothing: true })).to.equal(null);
    expect(PRICES.costOf({ model: 'chat', nothing: true })).to.equal(0);
    expect(PRICES.costOf({ ...NOTHING, model: 'free', inputTokens: 5 })).to.equal(0);
    // It has a price of seconds, and nothing says how many there were.
    expect(PRICES.costOf({ ...NOTHING, model: 'ear', inputTokens: 5 })).to.equal(null);
    expect(PRICES.costOf({ ...NOTHING, model: 'drawn', image: { size: '1024x1024' } })).to.equal(null);
  });

  it('give the highest cost of a request before it runs', () => {
    expect(PRICES.highestCostOf({ model: 'chat', inputTokens: 3, outputTokens: 2 })).to.equal(5 + 20);
    expect(PRICES.highestCostOf({ model: 'chat', inputTokens: 1 })).to.equal(2);
    expect(PRICES.highestCostOf({ model: 'picture', image: { size: '1024x1024' } })).to.equal(167_000);
    expect(PRICES.highestCostOf({ model: 'picture', image: { size: '512x512', quality: 'high' } })).to.equal(null);
    expect(PRICES.highestCostOf({ model: 'ear', seconds: 0.0001 })).to.equal(1);
    expect(PRICES.highestCostOf({ model: 'voice', characters: 10 })).to.equal(150);
    expect(PRICES.highestCostOf({ model: 'unknown', inputTokens: 1 })).to.equal(null);
    // Nothing limits the seconds.
    expect(PRICES.highestCostOf({ model: 'ear', inputTokens: 1 })).to.equal(null);
  });

  it('give the most output tokens within a cost', () => {
    const within = (cost: number, inputTokens = 100) => PRICES.outputTokensWithin(cost, { model: 'chat', inputTokens });
    expect(within(150 + 99)).to.equal(9);
    expect(within(150 + 100)).to.equal(10);
    expect(within(150)).to.equal(0);
    expect(within(149)).to.equal(-1);
    expect(PRICES.outputTokensWithin(5, { model: 'embed', inputTokens: 1 })).to.equal(Number.POSITIVE_INFINITY);
    expect(PRICES.outputTokensWithin(5, { model: 'unknown', inputTokens: 1 })).to.equal(null);
    for (let tries = 0; tries < 200; tries += 1) {
      const [cost, inputTokens] = [Math.floor(Math.random() * 1e6), Math.floor(Math.random() * 1e5)];
      const most = within(cost, inputTokens) ?? Number.NaN;
      const highest = (outputTokens: number) => PRICES.highestCostOf({ model: 'chat', inputTokens, outputTokens }) ?? 0;
      if (most >= 0) expect(highest(most)).to.be.at.most(cost);
      expect(highest(Math.max(0, most + 1))).to.be.greaterThan(cost);
    }
  });

  it('of bytes are exact sums, and are rounded up in advance', () => {
    const prices = createPrices({ currency: 'USD', gigabyte: 0.05 });
    expect([0, 1, 10_000, 1_000_000_000, 123_456_789].map((bytes) => prices.byteCostOf(bytes))).to.deep.equal([
      0, 0, 1, 50_000, 6_173,
    ]);
    expect([1, 10_000, 123_456_789].map((bytes) => prices.highestCostOf({ model: 'vidsite', bytes }))).to.deep.equal([
      1, 1, 6_173,
    ]);
    const free = createPrices({ currency: 'USD' });
    expect([free.hasBytePrice, free.byteCostOf(5), free.highestCostOf({ model: 'vidsite', bytes: 5 })]).to.deep.equal([
      false,
      null,
      null,
    ]);
  });

  it('are written as decimals', () => {
    expect([0, 1, 1_234_567, -5].map(decimalOf)).to.deep.equal(['0.000000', '0.000001', '1.234567', '-0.000005']);
  });

  describe('in a file', () => {
    let folder: string;
    before(async () => {
      folder = await mkdtemp(path.join(os.tmpdir(), 'prices-'));
    });
    after(() => rm(folder, { recursive: true }));

    async function readText(text: string, sources: Omit<Parameters<typeof readPrices>[0], 'file'> = {}) {
      const file = path.join(folder, 'prices.json');
      await writeFile(file, text);
      return readPrices({ file, ...sources });
    }

    it('are read, beside prices of the plugins file', async () => {
      const text = JSON.stringify({ currency: 'EUR', models: { one: { input: 1 } }, links: [{ price: 0.5 }] });
      const prices = await readText(text, { models: { other: { second: 1 } } });
      expect(prices?.currency).to.equal('EUR');
      expect(prices?.costOf({ ...NOTHING, model: 'one', inputTokens: 3 })).to.equal(3);
      expect(prices?.costOf({ ...NOTHING, model: 'other', seconds: 3 })).to.equal(3_000_000);
      expect(prices?.linkCostOf('any', 'any')).to.equal(500_000);
    });

    it("equal the documentation's example", async () => {
      const page = await readFile(path.join(packageRoot, 'docs/operate/costs.md'), 'utf8');
      const [, text = ''] = /^```json\n([\s\S]*?)^```$/m.exec(page) ?? [];
      const prices = await readText(text);
      const use = { ...NOTHING, inputTokens: 1_000, cachedTokens: 400, outputTokens: 100 };
      expect(prices?.costOf({ ...use, model: 'm-5.5' })).to.equal(750 + 50 + 1_000);
      expect(prices?.linkCostOf('photo', 'page')).to.equal(500);
    });

    it('are optional', async () => {
      expect(await readPrices({})).to.equal(undefined);
      const none = await readPrices({ currency: 'EUR' });
      expect([none?.currency, none?.rates], 'a currency alone').to.deep.equal(['EUR', []]);
      expect((await readPrices({ models: { one: { input: 1 } } }))?.currency).to.equal('USD');
      expect((await readPrices({ models: { one: { input: 1 } }, currency: 'EUR' }))?.currency).to.equal('EUR');
    });

    it('are refused with the name of the wrong field', async () => {
      const wrong: [string, string][] = [
        ['{', 'is not JSON'],
        ['{}', 'currency must'],
        ['{"currency":"dollars"}', 'currency must match'],
        ['{"currency":"XQQ"}', 'currency must be the code of a currency (ISO 4217)'],
        [
          '{"currency":"USD","models":{"m":{"inputs":1}}}',
          'models.m must not have "inputs", which is not known; "input" is',
        ],
        ['{"currency":"USD","models":{"m":{}}}', 'models.m must NOT have fewer than 1 properties'],
        ['{"currency":"USD","models":{"m":{"input":-1}}}', 'models.m.input must be >= 0'],
        ['{"currency":"USD","models":{"m":{"input":"1"}}}', 'models.m.input must be number'],
        [
          '{"currency":"USD","models":{"m":{"input":1e-10}}}',
          'models.m.input must have at most 9 digits after the point',
        ],
        ['{"currency":"USD","models":{"m":{"images":[{"size":"big","price":1}]}}}', 'a size such as "1024x1024"'],
        ['{"currency":"USD","links":[{"platform":"photo"}]}', 'links.0.price must'],
      ];
      for (const [text, message] of wrong) {
        const error = await failure(readText(text));
        expect(error.message).to.contain('prices.json').and.contain(message);
      }
      const other = await failure(readText('{"currency":"USD"}', { currency: 'EUR' }));
      expect(other.message).to.contain('PRICES_CURRENCY must be the currency of PRICES_FILE (USD)');
      const models = { m: { input: 1 } };
      const twice = await failure(readText('{"currency":"USD","models":{"m":{"input":1}}}', { models }));
      expect(twice.message).to.contain('models.m has prices in the plugins file as well');
      const exact = await failure(readPrices({ models: { m: { input: 0.12345678901 } } }));
      expect(exact.message).to.equal('the plugins file: models.m.input must have at most 9 digits after the point.');
      const missing = await failure(readPrices({ file: path.join(folder, 'none.json') }));
      expect(missing.message).to.contain('cannot be read. Set PRICES_FILE');
    });
  });
});
