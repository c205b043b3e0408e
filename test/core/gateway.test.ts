import { expect } from 'chai';
import {
  type Contributions,
  createGateway,
  createLadder,
  definePlugin,
  type ExtractCall,
  GatewayError,
  type Plugin,
  type PluginEntry,
} from 'mediagate';
import Type from 'typebox';
import { invented, inventedExtraction, inventedExtractor } from '../support/invented-plugin.js';

const failing = (name: string, setup: () => Contributions | Promise<Contributions>): Plugin =>
  definePlugin({ name, apiVersion: 1, summary: 'Fails.', provides: ['extractor'], setup });

async function stateOf(entry: PluginEntry) {
  await using gateway = await createGateway({ plugins: [entry] });
  return gateway.plugins()[0];
}

describe('createGateway', () => {
  it('loads entries, lists them, and disposes them in reverse order', async () => {
    const order: string[] = [];
    const plugin = (name: string) =>
      definePlugin({
        name,
        apiVersion: 1,
        summary: 'Says when it goes.',
        provides: ['extractor'],
        setup: () => ({ extractors: [inventedExtractor({ platform: name })], dispose: () => void order.push(name) }),
      });
    const gateway = await createGateway({ plugins: [{ use: plugin('one') }, { use: plugin('two') }] });
    expect(gateway.plugins().map(({ id, state, serves }) => [id, state, serves])).to.deep.equal([
      ['one', 'ready', ['one']],
      ['two', 'ready', ['two']],
    ]);
    await gateway.close();
    await gateway.close();
    expect(order).to.deep.equal(['two', 'one']);
    expect(gateway.plugins().map(({ state }) => state)).to.deep.equal(['disposed', 'disposed']);
  });

  it('keeps a failing entry apart from the others and says why', async () => {
    await using gateway = await createGateway({
      plugins: [
        {
          use: failing('throws', () => {
            throw new Error('no reason at all');
          }),
        },
        { id: 'nowhere', use: './no-such-plugin.js' },
        { use: failing('empty', () => ({})) },
        { use: { ...invented(), name: 'future', apiVersion: 2 } as unknown as Plugin },
        { use: { ...invented(), name: 'browsing', needs: ['browser'] } as Plugin },
        { use: invented(), id: 'good' },
        { use: invented(), id: 'again' },
        { use: invented(), id: 'off', enabled: false },
      ],
    });
    const status = Object.fromEntries(gateway.plugins().map((plugin) => [plugin.id, plugin]));
    expect(status.throws).to.include({ state: 'failed', reason: 'no reason at all' });
    expect(status.nowhere).to.include({ state: 'failed' });
    expect(status.empty?.reason).to.match(/"provides" names extractor/);
    expect(status.future?.reason).to.match(/version 2/);
    expect(status.browsing?.reason).to.match(/needs a browser/);
    expect(status.good).to.include({ state: 'ready' });
    expect(status.again?.reason).to.match(/invented is served by the entry "good" already/);
    expect(status.off).to.include({ state: 'disabled' });
    const result = await gateway.extract({ url: 'https://invented.example/item/7' });
    expect(result.platform).to.equal('invented');
  });

  it('refuses to start without a required entry', async () => {
    const entry = {
      use: failing('needed', () => {
        throw new Error('gone');
      }),
      required: true,
    };
    const error = await createGateway({ plugins: [entry] }).then(
      () => undefined,
      (reason: Error) => reason,
    );
    expect(error?.message).to.match(/required plugin entry "needed" failed: gone/);
  });

  it('checks options against the schema of the plugin, and fills in its defaults', async () => {
    const seen: unknown[] = [];
    const picky = definePlugin({
      name: 'picky',
      apiVersion: 1,
      summary: 'Has options.',
      provides: ['extractor'],
      options: Type.Object(
        { language: Type.String({ default: 'en' }), depth: Type.Optional(Type.Integer({ maximum: 3 })) },
        { additionalProperties: false },
      ),
      setup: ({ options }) => {
        seen.push(options);
        return { extractors: [inventedExtractor()] };
      },
    });
    expect(await stateOf({ use: picky, options: {} })).to.include({ state: 'ready' });
    expect(seen).to.deep.equal([{ language: 'en' }]);
    expect((await stateOf({ use: picky, options: { depth: 4 } }))?.reason).to.match(/option depth must be <= 3/);
    expect((await stateOf({ use: picky, options: { dept: 1 } }))?.reason).to.equal(
      'its options must not have "dept", which is not known; "depth" is',
    );
    expect((await stateOf({ use: picky, options: { colour: 1 } }))?.reason).to.match(/"colour", which is not known$/);
    expect((await stateOf({ use: invented(), options: { any: 1 } }))?.reason).to.match(/takes no options/);
  });

  it('gives each entry a context of its own, with a cache of its own', async () => {
    const contexts = new Map<string, Parameters<Plugin['setup']>[0]>();
    const keeps = (platform: string) =>
      definePlugin({
        name: platform,
        apiVersion: 1,
        summary: 'Keeps its context.',
        provides: ['extractor'],
        setup: (context) => {
          contexts.set(context.id, context);
          return { extractors: [inventedExtractor({ platform })] };
        },
      });
    await using gateway = await createGateway({ plugins: [{ use: keeps('a') }, { use: keeps('b') }] });
    expect(gateway.plugins().every(({ state }) => state === 'ready')).to.equal(true);
    await contexts.get('a')?.cache.set('word', 'mine', 10_000);
    expect(await contexts.get('a')?.cache.get('word')).to.equal('mine');
    expect(await contexts.get('b')?.cache.get('word')).to.equal(undefined);
    const refusal = await contexts
      .get('a')
      ?.browser.run({ visit: async () => 1 })
      .catch((error: unknown) => error);
    expect(refusal).to.be.instanceOf(GatewayError).and.to.include({ code: 'plugin_unavailable' });
  });

  it('answers in time for a plugin that ignores its signal, and turns a stray throw into a neutral error', async () => {
    const slow = invented({ extract: () => new Promise(() => {}) });
    const stray = invented({
      extract: () => {
        throw new TypeError('secret detail of the plugin');
      },
    });
    for (const [use, code] of [
      [slow, 'upstream_timeout'],
      [stray, 'upstream_changed'],
    ] as const) {
      await using gateway = await createGateway({ plugins: [{ use, timeoutMs: 1000 }] });
      const error = await gateway
        .extract({ url: 'https://invented.example/item/7' })
        .catch((reason: unknown) => reason);
      expect(error).to.be.instanceOf(GatewayError).and.to.include({ code, platform: 'invented' });
      expect(String(error)).not.to.include('secret detail');
    }
  });

  it("tells whom it had asked when the entry's deadline ends a call", async () => {
    const climbing = definePlugin({
      name: 'climbing',
      apiVersion: 1,
      summary: 'Asks one source that never answers.',
      provides: ['extractor'],
      setup({ clock, logger }) {
        const ladder = createLadder<{ title: string }, string>({
          platform: 'invented',
          clock,
          logger,
          rungs: [{ name: 'silent', cost: 1, authority: true, run: () => new Promise(() => {}) }],
          isEnough: () => false,
          isWorthwhile: (parts) => parts.length > 0,
        });
        const extract = async ({ link, signal }: ExtractCall) => {
          await ladder.climb(link.id, signal);
          return inventedExtraction(link.id);
        };
        return { extractors: [inventedExtractor({ extract, rungs: ladder.rungs })] };
      },
    });
    await using gateway = await createGateway({ plugins: [{ use: climbing, timeoutMs: 1000 }] });
    expect(gateway.platforms()[0]?.rungs).to.deep.equal([{ name: 'silent', available: true }]);
    const error = await gateway.extract({ url: 'https://invented.example/item/7' }).catch((reason: unknown) => reason);
    expect(error).to.be.instanceOf(GatewayError).and.to.include({ code: 'upstream_timeout', platform: 'invented' });
    expect((error as GatewayError).attempts?.map(({ rung, outcome }) => [rung, outcome])).to.deep.equal([
      ['silent', 'upstream_timeout'],
    ]);
  });

  it('asks for one rung alone past the cache, and keeps nothing of it', async () => {
    const asked: (string | undefined)[] = [];
    const extract = async ({ link, only }: ExtractCall) => {
      asked.push(only);
      return inventedExtraction(link.id);
    };
    await using gateway = await createGateway({ plugins: [{ use: invented({ extract }) }] });
    const url = 'https://invented.example/item/7';
    for (const only of ['page', 'page', undefined, undefined, 'page']) await gateway.extract({ url, only });
    expect(asked).to.deep.equal(['page', 'page', undefined, 'page']);
  });

  it('ends running calls when it closes', async () => {
    const begun = Promise.withResolvers<void>();
    const extract = () => {
      begun.resolve();
      return new Promise<never>(() => {});
    };
    const gateway = await createGateway({ plugins: [{ use: invented({ extract }) }] });
    const call = gateway.extract({ url: 'https://invented.example/item/7' }).catch((error: unknown) => error);
    await begun.promise;
    await gateway.close();
    expect(await call)
      .to.be.instanceOf(GatewayError)
      .and.to.include({ code: 'shutting_down' });
  });
});
