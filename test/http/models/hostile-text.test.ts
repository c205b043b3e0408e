/** Hostile text of an upstream: it must not take long. */

import { expect } from 'chai';
import { withoutNames } from 'mediagate/plugin';
import { encodeSrt } from '../../../server/audio/transcripts.js';

/** What took a time that grows by the square would not be done before the test is given up. */
describe('hostile text of an upstream costs one pass when the gateway', () => {
  it('removes names', () => {
    const names = { url: 'https://vendor.example/v1', model: 'q-model', publicModel: 'm-5.5' };
    const words = 'a.'.repeat(1_000_000);
    expect(withoutNames(`${words} see https://vendor.example/x`, names)).to.equal(`${words} see …`);
  });

  it('writes subtitles', () => {
    const text = `a${' '.repeat(2_000_000)}b \n \r\n c`;
    const lines = encodeSrt({ text, segments: [{ start: 0, end: 1, text }], durationSeconds: 1 }).split('\n');
    expect(lines.map((line) => line.length)).to.deep.equal([1, 29, 2_000_002, 1, 0, 0]);
  });
});
