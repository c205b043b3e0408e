/** Estimated tokens of texts and requests. */

import { expect } from 'chai';
import { samplePrompt } from '../../../core/text/counting/samples.js';
import { TokenCounter } from '../../../core/text/counting/tokens.js';

describe('estimated tokens', () => {
  let counter: TokenCounter;
  beforeEach(() => {
    counter = new TokenCounter();
  });
  afterEach(() => counter.close());

  it('are counted as a tokenizer does', async () => {
    expect(await counter.count({ text: 'Hello world, this is a tug.', scale: 1 })).to.equal(8);
    expect(await counter.count({ text: '<|endoftext|>', scale: 1 })).to.be.greaterThan(1);
    expect(await counter.count({ text: '', scale: 1 })).to.equal(0);
  });

  it('are those of the whole text, computed from the stored part', async () => {
    const part = await counter.count({ text: 'a tug '.repeat(100), scale: 1 });
    expect(await counter.count({ text: 'a tug '.repeat(100), scale: 2.5 })).to.equal(Math.round(part * 2.5));
  });

  it('are counted only by length after the counter closes', async () => {
    const counting = counter.count({ text: 'x'.repeat(400), scale: 2 });
    await counter.close();
    expect(await counting).to.equal(200);
    expect(await counter.count({ text: 'x'.repeat(40), scale: 1 })).to.equal(10);
  });
});

describe('text of a request for a model', () => {
  it('contains its texts in their order, without images and audio', () => {
    const { text, scale } = samplePrompt({
      model: 'm-5.5',
      messages: [
        { role: 'system', content: 'Be brief.' },
        {
          role: 'user',
          content: [
            { type: 'text', text: 'What is this?' },
            { type: 'image_url', image_url: { url: `data:image/png;base64,${'A'.repeat(1_000)}` } },
            { type: 'input_audio', input_audio: { data: 'B'.repeat(1_000), format: 'wav' } },
          ],
        },
      ],
    });
    expect(text)
      .to.contain('Be brief.')
      .and.contain('What is this?')
      .and.not.match(/AAA|BBB/);
    expect(text.indexOf('Be brief.')).to.be.lessThan(text.indexOf('What is this?'));
    expect(scale).to.equal(1);
  });

  it('contains the beginning of a long text, and the length of the rest', () => {
    const { text, scale } = samplePrompt({ input: 'tug '.repeat(25_600) });
    expect(text.length).to.equal(32_768);
    expect(scale).to.equal(3.125);
  });
});
