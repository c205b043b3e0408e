/** Keys of added servers at rest, and what a process makes of changes that it cannot make. */

import { randomBytes } from 'node:crypto';
import { expect } from 'chai';
import type { ModelAdjustments } from 'mediagate';
import { createRecordingLogger } from '../../../core/testing/index.js';
import { AppliedModels, createSealer } from '../../../server/model-changes/index.js';
import { createLivePrices } from '../../../server/prices/index.js';

const [old, fresh, other] = [randomBytes(32), randomBytes(32), randomBytes(32)];

describe('keys of added servers', () => {
  it('are opened under the newest secret and older ones, for their model alone', () => {
    const sealed = createSealer([old]).seal('m-one', 'sk-of-the-team');
    expect(sealed).to.not.contain('sk-');
    expect(createSealer([old]).seal('m-one', 'sk-of-the-team'), 'each time another text').to.not.equal(sealed);
    expect(createSealer([fresh, old]).open('m-one', sealed)).to.equal('sk-of-the-team');
    expect(createSealer([other]).open('m-one', sealed)).to.equal(undefined);
    expect(createSealer([old]).open('m-two', sealed)).to.equal(undefined);
    expect(createSealer([old]).open('m-one', 'none')).to.equal(undefined);
    expect(createSealer([]).open('m-one', sealed)).to.equal(undefined);
  });
});

describe('changes of models in a process', () => {
  it('are made where they can be, and logged where not', async () => {
    const logger = createRecordingLogger();
    const adjusted: ModelAdjustments[] = [];
    const gateway = { adjustModels: async (changes: ModelAdjustments) => void adjusted.push(changes) };
    const prices = createLivePrices({ currency: 'USD', models: { 'm-one': { input: 1, output: 2 } } });
    const added = { format: 'openai', url: 'https://api.example.com/v1' } as const;
    const sealedKey = createSealer([old]).seal('m-two', 'sk-of-the-team');
    let fails = false;
    const changes = {
      async list() {
        if (fails) throw new Error('the database is away');
        return [
          { model: 'm-one', isClosed: true, weights: { first: 1 }, prices: { input: 3, output: 2 } },
          { model: 'm-two', isClosed: false, added, sealedKey },
          { model: 'm-three', isClosed: false, added },
        ];
      },
    };
    const applied = await AppliedModels.open({ changes, gateway, prices, sealer: createSealer([other]), logger });
    try {
      expect(adjusted).to.have.length(1);
      const [{ closed, weights, entries }] = adjusted as [ModelAdjustments];
      expect([[...closed], [...weights]]).to.deep.equal([['m-one'], [['m-one', { first: 1 }]]]);
      expect(entries.map(({ options, isGuarded }) => [options?.models, isGuarded])).to.deep.equal([
        [[{ id: 'm-three' }], true],
      ]);
      expect(JSON.stringify(logger.lines)).to.contain('KEY_PEPPER is another one').and.not.contain('sk-');
      expect(prices.ofModel('m-one')).to.deep.equal({ input: 3, output: 2 });
      expect(prices.configuredOf('m-one')).to.deep.equal({ input: 1, output: 2 });
      await applied.refresh();
      expect(adjusted, 'nothing changed').to.have.length(1);
      fails = true;
      await applied.refresh();
      expect(applied.all, 'the last state stays').to.have.length(3);
    } finally {
      await applied.close();
    }
  });
});
