/** The list of running work, with removals while it is visited. */

import { expect } from 'chai';
import fc from 'fast-check';
import { type ListItem, SwapRemoveList } from '../../../core/runtime/time.js';

interface Item extends ListItem {
  name: number;
}

describe('list of running work', () => {
  it('contains every added element until it is deleted, in any order of calls', () => {
    const steps = fc.array(fc.record({ name: fc.nat(9), adds: fc.boolean() }), { maxLength: 60 });
    fc.assert(
      fc.property(steps, (all) => {
        const list = new SwapRemoveList<Item>();
        const items = Array.from({ length: 10 }, (_, name): Item => ({ name, listIndex: 0 }));
        const held = new Set<number>();
        for (const { name, adds } of all) {
          const item = items[name] as Item;
          if (adds && !held.has(name)) list.add(item);
          if (!adds) list.delete(item);
          if (adds) held.add(name);
          else held.delete(name);
          const seen: number[] = [];
          list.visit((one) => seen.push(one.name));
          expect(seen).to.have.members([...held]);
          expect(list.size).to.equal(held.size);
        }
      }),
    );
  });

  it('visits each element once, also if elements are deleted meanwhile', () => {
    const list = new SwapRemoveList<Item>();
    for (let name = 0; name < 5; name += 1) list.add({ name, listIndex: 0 });
    const seen: number[] = [];
    list.visit((item) => {
      seen.push(item.name);
      list.delete(item);
    });
    expect(seen).to.have.members([0, 1, 2, 3, 4]);
    expect(list.size).to.equal(0);
  });
});
