/** Readings of replies that find the item, or only seem to. */

import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect } from 'chai';
import { type Extraction, GatewayError } from 'mediagate';
import { asArray, asNumber, asRecord, asString, at } from 'mediagate/plugin';
import { type Check, type ExtractorDefinition, extractorChecks } from '../../../core/testing/index.js';
import {
  type Context,
  createInventedPackage,
  extraction,
  fetchItem,
  ID,
  type InventedPackage,
  type Pieces,
  parsed,
} from './invented-platform.js';

const TAKES = 'list: takes nothing from another item';
const SURVIVES = 'list: survives pruned replies';
const OTHER_ID = 'zzyyxxwwvv';

type Item = Readonly<Record<string, unknown>>;

/** The extractor of a platform that answers with a list; a test chooses the item and reads it. */
function listing(read: (items: readonly Item[], context: Context) => Extraction | Promise<Extraction>): Pieces {
  return {
    extractor: (context) => ({
      async extract(call) {
        call.signal.throwIfAborted();
        const listed = asArray(at(parsed(await fetchItem(context, call)), 'items')) ?? [];
        const items = listed.map(asRecord).filter((item) => item !== undefined);
        return read(items, context);
      },
    }),
  };
}

function own(items: readonly Item[]): Item {
  const item = items.find(({ id }) => id === ID);
  if (!item) throw new GatewayError('upstream_changed', 'The item is not in the list.');
  return item;
}

function views({ views: value }: Item): number | undefined {
  return asNumber(value);
}

function result(item: Item, count = views(item), id: string = ID): Extraction {
  return extraction(id, asString(item.title), count);
}

describe('the testing kit for readings of replies', () => {
  let folder: InventedPackage;

  before(() => {
    folder = createInventedPackage();
    const write = (name: string, body: object) => {
      const url = `https://api.invented.example/items/${ID}`;
      const exchange = { request: { method: 'GET', url }, response: { status: 200, text: JSON.stringify(body) } };
      mkdirSync(path.join(folder.fixtures, name));
      writeFileSync(path.join(folder.fixtures, name, 'exchanges.json'), JSON.stringify({ exchanges: [exchange] }));
    };
    const item = { id: ID, title: 'An item', views: 51_234, rank: 0 };
    const other = { id: OTHER_ID, title: 'Another', views: 98_765 };
    write('list', { items: [item, other] });
    write('nameless', { items: [{ title: 'An item', views: 51_234 }] });
  });
  after(() => folder.remove());

  const checks = (pieces: Pieces, fixture = 'list', more: object = {}): Check[] => {
    const url = `https://invented.example/item/${ID}`;
    const sample = { name: 'list', fixture, url, id: ID, expect: {}, ...more };
    return extractorChecks(folder.definition(pieces, { samples: [sample] } satisfies Partial<ExtractorDefinition>));
  };
  const problem = async (name: string, all: readonly Check[]): Promise<string> => {
    const check = all.find((one) => one.name === name);
    if (!check) throw new Error(`there is no check "${name}"`);
    return await check.run().then(
      () => '',
      (error: Error) => error.message,
    );
  };
  const both = async (pieces: Pieces) => {
    const all = checks(pieces);
    return [await problem(TAKES, all), await problem(SURVIVES, all)] as const;
  };

  it('passes if the item is found by its id', async () => {
    const right = listing((items) => result(own(items)));
    expect(await both(right)).to.deep.equal(['', '']);
  });

  it('fails if the first of a list is taken', async () => {
    const [takes, survives] = await both(listing(([first = {}]) => result(first)));
    expect(takes).to.match(/another item beside it: took 61234 from it/);
    expect(survives).to.match(/seed \d+ .*: data\.metrics\.views became 98765/);
  });

  it('fail if another item replaces a missing one', async () => {
    const anyone = listing((items) => {
      const item = items.find(({ id }) => id === ID) ?? items[0];
      if (!item) throw new GatewayError('upstream_changed', 'The list is empty.');
      return result(item, views(item), asString(item.id) ?? ID);
    });
    const [takes, survives] = await both(anyone);
    expect(takes).to.match(/about another item: the result names it/);
    expect(survives).to.match(/seed \d+ .*: video_id became "zzyyxxwwvv"/);
  });

  it('fail if texts come from a reply about another item', async () => {
    const texts = listing(([first = {}]) => extraction(ID, asString(first.title)));
    expect(await problem(TAKES, checks(texts))).to.match(/replies about another item: took common\.title from them/);
    const compared = listing((items) => extraction(ID, asString(own(items).title)));
    expect(await problem(TAKES, checks(compared))).to.equal('');
  });

  it('fail if a missing counter comes from another item', async () => {
    const lent = listing((items) => result(own(items), views(own(items)) ?? items.map(views).find((one) => one)));
    const [takes, survives] = await both(lent);
    expect(takes).to.equal('');
    expect(survives)
      .to.match(/data\.metrics\.views became 98765/)
      .and.to.match(/data\.metrics\.views became 61234/);
  });

  it('fail if a missing counter is read as 0', async () => {
    const zero = listing((items) => result(own(items), views(own(items)) ?? 0));
    expect(await both(zero)).to.satisfy(
      ([takes, survives]: readonly string[]) => takes === '' && /data\.metrics\.views became 0$/m.test(survives ?? ''),
    );
  });

  it('fails if another item beside it is taken for a change of the platform', async () => {
    const alone = listing((items) => {
      if (items.length > 2) throw new GatewayError('upstream_changed', 'The list is longer than ever.');
      return result(own(items));
    });
    expect(await problem(TAKES, checks(alone))).to.match(/another item beside it: there is no result/);
  });

  it('fail with a seed that repeats only the failure', async () => {
    const trusting = listing((items) => {
      for (const { title } of items) String((title as string).length);
      return result(own(items));
    });
    const thrown = await problem(SURVIVES, checks(trusting));
    const [line, seed] =
      /seed (\d+) \(PRUNING_SEED=\1 repeats it\): threw something else.*TypeError/.exec(thrown) ?? [];
    expect(line, thrown).to.be.a('string');
    process.env.PRUNING_SEED = seed;
    try {
      const again = await problem(SURVIVES, checks(trusting));
      expect(again)
        .to.include(line)
        .and.to.match(/^\s*seed \d+ /);
      expect(again.match(/^\s*seed \d+/gm)).to.have.length(1);
      process.env.PRUNING_SEED = 'first';
      expect(await problem(SURVIVES, checks(trusting))).to.match(/PRUNING_SEED is a whole number/);
    } finally {
      delete process.env.PRUNING_SEED;
    }
  });

  it('fails if no reply has the item, unless the sample explains it', async () => {
    const only = listing(([first = {}]) => result(first));
    expect(await problem(TAKES, checks(only, 'nameless'))).to.match(/no reply bears kL9mN2pQ4r/);
    expect(await problem(TAKES, checks(only, 'nameless', { noDecoys: 'Replies name nothing.' }))).to.equal('');
  });

  it('does not wait in real time if a plugin waits', async () => {
    let waits = 0;
    const patient = listing(async (items, { clock }) => {
      const item = own(items);
      if (waits < 5) {
        waits += 1;
        await clock.sleep(10_000);
      }
      return result(item);
    });
    expect(await problem(SURVIVES, checks(patient))).to.equal('');
    expect(waits).to.be.above(0);
  });
});
