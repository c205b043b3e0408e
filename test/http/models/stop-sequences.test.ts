/** Stop sequences of converted answers, across pieces of a stream. */

import { expect } from 'chai';
import { seededRandom } from '../../../core/testing/pruning.js';
import { StopCutter } from '../../../server/models/messages/sinks.js';

const LETTERS = 'ab';

describe('stop sequences', () => {
  it('end a text at the first complete one, the longest of several, across pieces', () => {
    const chance = seededRandom(7);
    const random = (below: number) => Math.floor(chance() * below);
    const wordOf = (most: number) =>
      Array.from({ length: 1 + random(most) }, () => LETTERS[random(LETTERS.length)]).join('');
    for (let round = 0; round < 3_000; round += 1) {
      const sequences = Array.from({ length: random(4) }, () => wordOf(6));
      const text = wordOf(24);
      const cutter = new StopCutter(sequences);
      let told = '';
      for (let at = 0; at < text.length; ) {
        const next = at + 1 + random(5);
        told += cutter.push(text.slice(at, next));
        at = next;
        if (cutter.stop === undefined)
          expect(heldOf(text.slice(0, at), sequences)).to.equal(text.slice(0, at).slice(told.length));
      }
      const { before, stop } = endOf(text, sequences);
      const { stop: found } = cutter;
      expect([told + cutter.flush(), found], JSON.stringify({ sequences, text })).to.deep.equal([before, stop]);
    }
  });

  it('end one text after the other', () => {
    const cutter = new StopCutter(['abc']);
    expect([cutter.push('xab'), cutter.flush(), cutter.push('c'), cutter.flush()]).to.deep.equal(['x', 'ab', 'c', '']);
    expect(cutter.stop).to.equal(undefined);
  });

  it('cost no more for a long text that nearly matches all of them', () => {
    const letters = 100_000;
    const sequences = Array.from({ length: 16 }, (_, index) => `${'a'.repeat(255 - index)}b`);
    const cutter = new StopCutter(sequences);
    const started = process.cpuUsage();
    let told = 0;
    for (let at = 0; at < letters; at += 1) told += cutter.push('a').length;
    expect(told).to.equal(letters - 255);
    expect(new StopCutter(sequences).push('a'.repeat(letters))).to.have.length(letters - 255);
    // Microseconds: once over the text is less than a third of a second; to read it again at each letter takes many.
    expect(process.cpuUsage(started).user).to.be.below(3_000_000);
  });
});

/** As it is meant: slow, and plain. */
function endOf(text: string, sequences: readonly string[]) {
  for (let end = 1; end <= text.length; end += 1) {
    const whole = sequences.filter((sequence) => text.slice(0, end).endsWith(sequence));
    const [stop] = whole.toSorted((a, b) => b.length - a.length);
    if (stop !== undefined) return { before: text.slice(0, end - stop.length), stop };
  }
  return { before: text, stop: undefined };
}

function heldOf(text: string, sequences: readonly string[]): string {
  for (let start = 0; start < text.length; start += 1) {
    if (sequences.some((sequence) => sequence.startsWith(text.slice(start)))) return text.slice(start);
  }
  return '';
}
