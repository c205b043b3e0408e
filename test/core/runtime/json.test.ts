/** Reading of JSON values by path, by type and by search. */

import { expect } from 'chai';
import fc from 'fast-check';
import {
  asArray,
  asBoolean,
  asCount,
  asNumber,
  asPositive,
  asRecord,
  asString,
  at,
  findAll,
  firstLine,
} from '../../../core/runtime/json.js';

describe('walking JSON', () => {
  it('follows a path and stops where the value ends', () => {
    const value = { a: [{ b: 'c' }], n: null };
    expect(at(value, 'a', 0, 'b')).to.equal('c');
    expect(at(value)).to.equal(value);
    for (const path of [['a', 1, 'b'], ['n', 'x'], ['a', 'length', 'x'], ['constructor'], ['__proto__', 'toString']]) {
      expect(at(value, ...path), path.join('.')).to.equal(undefined);
    }
  });

  it('narrows values to a type', () => {
    expect([asString('a'), asString(''), asString(1)]).to.deep.equal(['a', undefined, undefined]);
    expect([asNumber(1.5), asNumber('12'), asNumber('-3.5')]).to.deep.equal([1.5, 12, -3.5]);
    for (const value of ['', '1e3', '0x10', ' 1', '12345678901234567', Number.NaN, null])
      expect(asNumber(value)).to.equal(undefined);
    expect([asCount(0), asCount('12'), asPositive(7)]).to.deep.equal([0, 12, 7]);
    for (const value of [-1, 1.5, 2 ** 53, null]) expect(asCount(value)).to.equal(undefined);
    expect([asPositive(0), asPositive('0')]).to.deep.equal([undefined, undefined]);
    expect([asArray([1]), asArray({ length: 0 })]).to.deep.equal([[1], undefined]);
    expect([asRecord({ a: 1 }), asRecord([]), asRecord(null)]).to.deep.equal([{ a: 1 }, undefined, undefined]);
    expect([asBoolean(false), asBoolean('false')]).to.deep.equal([false, undefined]);
  });

  it('finds records in the order of the document, with their key', () => {
    const tree = { a: { id: 1, inner: { id: 2 } }, list: [{ id: 3 }, 'id', { x: { id: 4 } }] };
    const keys: (string | undefined)[] = [];
    const found = findAll(tree, (record, key) => {
      if ('id' in record) keys.push(key);
      return 'id' in record;
    });
    expect(found.map(({ id }) => id)).to.deep.equal([1, 2, 3, 4]);
    expect(keys).to.deep.equal(['a', 'inner', '0', 'x']);
  });

  it('keeps to its limits in any wide or deep tree', () => {
    const wide = Array.from({ length: 1000 }, (_, id) => ({ id }));
    expect(findAll(wide, () => true)).to.have.length(50);
    let looked = 0;
    findAll(wide, () => ++looked < 0, { maxNodes: 300 });
    expect(looked).to.be.within(1, 300);
    const deep: unknown = JSON.parse(`${'{"a":'.repeat(20_000)}{}${'}'.repeat(20_000)}`);
    expect(findAll(deep, ({ a }) => a === undefined, { maxNodes: 100_000 })).to.have.length(1);
  });

  it('returns the first line, cut at a word', () => {
    expect(firstLine(' \n\n  One two \r\nthree')).to.equal('One two');
    expect(firstLine('one two three', 10)).to.equal('one two…');
    expect(firstLine('\n \t')).to.equal(undefined);
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), fc.integer({ min: 5, max: 50 }), (text, max) => {
        const line = firstLine(text, max);
        if (line === undefined) expect(text.trim()).to.equal('');
        else expect(line.length).to.be.within(1, max);
      }),
    );
  });
});
