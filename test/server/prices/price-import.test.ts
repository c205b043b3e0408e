/** Prices that come from public catalogues. The samples have invented models and prices. */

import { expect } from 'chai';
import { readPriceCatalogue } from '../../../server/prices/price-catalogues.js';
import { importPrices } from '../../../server/prices/price-import.js';

const LITELLM = {
  sample_spec: { input_cost_per_token: 'a number', mode: 'chat' },
  'inv-large': {
    litellm_provider: 'invented',
    mode: 'chat',
    input_cost_per_token: 1.25e-6,
    output_cost_per_token: 1e-5,
    cache_read_input_token_cost: 1.25e-7,
    cache_creation_input_token_cost: 1.5625e-6,
    cache_creation_input_token_cost_above_1hr: 2.5e-6,
    input_cost_per_token_above_200k_tokens: 2.5e-6,
    output_cost_per_token_above_200k_tokens: 1.5e-5,
    cache_creation_input_token_cost_above_1hr_above_200k_tokens: 5e-6,
    input_cost_per_token_batches: 6.25e-7,
    output_cost_per_token_batches: 5e-6,
    input_cost_per_token_flex: 6.25e-7,
  },
  'inv-speech': { input_cost_per_second: 0.0001 },
  'inv-voice': { input_cost_per_character: 1.5e-5 },
  'inv-wrong': { input_cost_per_token: -1e-6, output_cost_per_token: 1e-6 },
  'inv-image': { input_cost_per_pixel: 1e-8 },
};

const MODELS_DEV = {
  alpha: {
    models: {
      'inv-large': {
        cost: {
          input: 1.25,
          output: 10,
          cache_read: 0.125,
          cache_write: 1.5625,
          context_over_200k: { input: 2.5, output: 15 },
        },
      },
      'inv-small': { cost: { input: 0.05, output: 0.4 } },
      'inv-free': { name: 'without prices' },
    },
  },
  beta: {
    models: { 'inv-large': { cost: { input: 1.3, output: 11 } }, 'inv-small': { cost: { input: 0.05, output: 0.4 } } },
  },
};

describe('a catalogue of prices', () => {
  it('of LiteLLM has prices of a million tokens, with tiers, cache writes and tiers of service', () => {
    const catalogue = readPriceCatalogue(LITELLM, 'prices.json');
    expect(catalogue.format).to.equal('litellm');
    expect(catalogue.names).not.to.include('sample_spec');
    expect(catalogue.pricesOf('inv-large')).to.deep.equal({
      ...{ input: 1.25, cachedInput: 0.125, cacheWrite: 1.5625, cacheWrite1h: 2.5, output: 10 },
      tiers: [{ above: 200_000, input: 2.5, cacheWrite1h: 5, output: 15 }],
      serviceTiers: { flex: { input: 0.625 }, batch: { input: 0.625, output: 5 } },
    });
    expect(catalogue.pricesOf('inv-speech')).to.deep.equal({ second: 0.0001 });
    expect(catalogue.pricesOf('inv-voice')).to.deep.equal({ characters: 15 });
    expect(catalogue.pricesOf('inv-image')).to.equal(undefined);
    expect(catalogue.pricesOf('absent')).to.equal(undefined);
    expect(() => catalogue.pricesOf('inv-wrong')).to.throw(
      /prices.json: inv-wrong: input_cost_per_token must be a number/,
    );
  });

  it('of models.dev has them by provider, and by the name alone where providers agree', () => {
    const catalogue = readPriceCatalogue(MODELS_DEV, 'api.json');
    expect(catalogue.format).to.equal('models.dev');
    expect(catalogue.pricesOf('alpha/inv-large')).to.deep.equal({
      ...{ input: 1.25, cachedInput: 0.125, cacheWrite: 1.5625, output: 10 },
      tiers: [{ above: 200_000, input: 2.5, output: 15 }],
    });
    expect(catalogue.pricesOf('inv-small')).to.deep.equal({ input: 0.05, output: 0.4 });
    expect(() => catalogue.pricesOf('inv-large')).to.throw('Name one of alpha/inv-large, beta/inv-large.');
  });

  it('of another format is refused', () => {
    for (const content of [[], null, {}, { a: 1 }, { 'inv-large': { price: 1 } }]) {
      expect(() => readPriceCatalogue(content, 'x.json'), JSON.stringify(content)).to.throw(/^x\.json/);
    }
  });
});

describe('an import of prices', () => {
  const file = {
    currency: 'USD',
    models: {
      a: { input: 1, output: 8, cachedInput: 0.1, webSearch: 0.01 },
      b: { input: 0, output: 2 },
      own: { input: 3, output: 3 },
    },
    gigabyte: 0.05,
  };

  it('changes the prices of the catalogue, and keeps what it does not know', () => {
    const tiers = [{ above: 200_000, input: 2, output: 16 }];
    const { changes, file: after } = importPrices(file, { a: { input: 1.5, output: 8, cachedInput: 0.1, tiers } });
    expect(changes).to.deep.equal([
      { model: 'a', field: 'input', before: 1, after: 1.5 },
      { model: 'a', field: 'tiers.200000.input', before: null, after: 2 },
      { model: 'a', field: 'tiers.200000.output', before: null, after: 16 },
    ]);
    const a = { webSearch: 0.01, input: 1.5, output: 8, cachedInput: 0.1, tiers };
    expect(after).to.deep.equal({ ...file, models: { ...file.models, a } });
  });

  it('suspects prices that are missing, or ten times others', () => {
    const { changes } = importPrices(file, {
      a: { input: 10, output: 0.8 },
      b: { input: 0.1, output: 19 },
      fresh: { input: 900 },
    });
    expect(changes.map(({ model, field, suspicion }) => [model, field, suspicion])).to.deep.equal([
      ['a', 'input', '10x'],
      ['a', 'cachedInput', 'missing'],
      ['a', 'output', '10x'],
      ['b', 'input', '10x'],
      ['b', 'output', undefined],
      ['fresh', 'input', undefined],
    ]);
    expect(importPrices(file, { b: { input: 0, output: 2 } }).changes).to.deep.equal([]);
  });
});
