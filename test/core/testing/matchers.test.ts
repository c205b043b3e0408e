/** Matchers of the testing kit and the differences that they report. */

import { expect } from 'chai';
import {
  absent,
  approximately,
  atLeast,
  compare,
  containing,
  count,
  isoTime,
  matching,
  oneOf,
  present,
  startsWith,
} from '../../../core/testing/index.js';

describe('matchers', () => {
  const pairs: readonly [name: string, expected: unknown, fits: readonly unknown[], differs: readonly unknown[]][] = [
    ['a value', 'a', ['a'], ['b', undefined, null, ['a']]],
    ['NaN', Number.NaN, [Number.NaN], [0, undefined]],
    ['a part of an object', { a: { b: 1 } }, [{ a: { b: 1, c: 2 } }], [{ a: {} }, {}, null, 'a', { a: [1] }]],
    ['a list', [1, { a: 2 }], [[1, { a: 2, b: 3 }]], [[1], [1, { a: 3 }], [1, { a: 2 }, 3], {}]],
    ['matching', matching(/^a\d/g), ['a1', 'a2'], ['b1', 1]],
    ['startsWith', startsWith('ab'), ['abc'], ['cab', undefined]],
    ['containing', containing('b'), ['abc', ['b']], ['ac', ['bb'], 5]],
    ['count', count(2), [[1, 2]], [[1], 'ab', 2]],
    ['atLeast', atLeast(2), [2, 3, [1, 2]], [1, [1], '2', undefined]],
    ['approximately', approximately(100, 5), [95, 105], [94, 106, '100']],
    ['isoTime', isoTime('2026-01-01T01:00:00+01:00'), ['2026-01-01T00:00:00Z'], ['2026-01-01T01:00:00Z', 0]],
    ['oneOf', oneOf(1, matching(/x/)), [1, 'x'], [2, 'y']],
    ['absent', absent, [undefined], [null, '', 0]],
    ['present', present, [null, 0, ''], [undefined]],
  ];
  for (const [name, expected, fits, differs] of pairs) {
    it(`reports ${name}`, () => {
      for (const value of fits) expect(compare(expected, value), JSON.stringify(value)).to.deep.equal([]);
      for (const value of differs) expect(compare(expected, value), JSON.stringify(value)).to.have.length.at.least(1);
    });
  }

  it('names every field that differs', () => {
    const expected = { data: { likes: atLeast(5), tags: ['a', 'b'], gone: absent } };
    expect(compare(expected, { data: { likes: 3, tags: ['a', 'c'], gone: 1 } })).to.deep.equal([
      'data.likes: expected at least 5, got 3',
      'data.tags[1]: expected "b", got "c"',
      'data.gone: expected nothing, got 1',
    ]);
  });

  it('ignores inherited properties', () => {
    expect(compare({ constructor: absent }, {})).to.deep.equal([]);
  });
});
