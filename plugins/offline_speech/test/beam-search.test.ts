/** The beam search of offline transcription, on made-up probabilities. */

import { expect } from 'chai';
import { searchBeam } from '../beam-search.js';

describe('offline_speech: beam search', () => {
  /** A model of four tokens: 0 starts, 3 ends. What comes after a sequence, in probabilities. */
  const model: Readonly<Record<string, readonly number[]>> = {
    '0': [0, 0.55, 0.45, 0],
    '01': [0, 0.34, 0.33, 0.33],
    '02': [0, 0.02, 0.01, 0.97],
  };
  const AFTER_ALL = [0, 0.1, 0.1, 0.8];

  const search = async (width: number, longest = 10) => {
    let sequences = [''];
    const widths: number[] = [];
    const found = await searchBeam({
      width,
      start: 0,
      end: 3,
      longest,
      async step(last, parents) {
        sequences = last.map((token, row) => `${sequences[parents[row] as number]}${token}`);
        widths.push(last.length);
        const rows = sequences.map((sequence) => model[sequence] ?? AFTER_ALL);
        return Float32Array.from(rows.flat(), (probability) => Math.log(probability + 1e-9) + 7);
      },
    });
    return { ...found, widths };
  };

  it('finds a sequence whose beginning is not the likeliest', async () => {
    expect((await search(1)).tokens).to.deep.equal([1, 1]);
    const { tokens, logProbability } = await search(2);
    expect(tokens).to.deep.equal([2]);
    expect(logProbability).to.be.closeTo(Math.log(0.45 * 0.97), 1e-4);
  });

  it('follows a bounded number of candidates, and ends at its limit', async () => {
    const { widths } = await search(3);
    expect(widths[0]).to.equal(1);
    expect(Math.max(...widths)).to.be.at.most(3);
    expect((await search(2, 1)).tokens.length).to.equal(1);
    expect((await search(2, 0)).tokens).to.deep.equal([]);
  });
});
