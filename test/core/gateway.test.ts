/** The gateway: loading of plugins, isolation of failures, and the service container. */

import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect } from 'chai';
import {
  type Contributions,
  createGateway,
  definePlugin,
  type ExtractCall,
  GatewayError,
  type GatewayOptions,
  type Plugin,
  type PluginEntry,
} from 'mediagate';
import Type from 'typebox';
import { FallbackChain } from '../../core/extraction/fallback-chain.js';
import { createToken, RootScope } from '../../core/plugins/instance-services.js';
import { invented, inventedExtraction, inventedExtractor } from '../support/links/invented-plugin.js';

const failing = (name: string, setup: () => Contributions | Promise<Contributions>): Plugin =>
  definePlugin({ name, apiVersion: 1, summary: 'Fails.', provides: ['extractor'], setup });

async function stateOf(entry: PluginEntry) {
  await using gateway = await createGateway({ plugins: [entry] });
  return gateway.plugins()[0];
}

describe('createGateway', () => {
  it('loads plugins, lists them, and disposes them in reverse order', async () => {
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

  it('isolates a failing plugin and reports the reason', async () => {
    await using gateway = await createGateway({
      plugins: [
        {
          use: failing('throws', () => {
            throw new Error('no reason at all');
          }),
        },
        {
          use: failing('tells', () => {
            throw new Error('connect postgres://admin:hunter2@db.example:5432/?key=hunter3 as sk-hunter4hunter4');
          }),
        },
        { use: failing('throws-text', () => Promise.reject('Bearer hunter5')) },
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
    // Health tells it to whoever asks.
    expect(status.tells?.reason).to.match(/^connect postgres:.*db\.example:5432/);
    expect(JSON.stringify(status)).not.to.contain('hunter');
    expect(status.nowhere).to.include({ state: 'failed' });
    expect(status.empty?.reason).to.match(/"provides" lists extractor/);
    expect(status.future?.reason).to.match(/version 2/);
    expect(status.browsing?.reason).to.match(/needs a browser/);
    expect(status.browsing).to.include({ unmet: 'browser' });
    expect(status.good).to.include({ state: 'ready' });
    expect(status.again?.reason).to.match(/invented is served by the entry "good" already/);
    expect(status.off).to.include({ state: 'disabled' });
    const result = await gateway.extract({ url: 'https://invented.example/item/7' });
    expect(result.platform).to.equal('invented');
  });

  it('uses a fallback only while no other enabled plugin has its model', async () => {
    const one = (platform: string, more: object = {}) => ({
      id: platform,
      use: failing(`${platform}_plugin`, () => ({ extractors: [inventedExtractor({ platform: 'item' })] })),
      serves: ['item'],
      ...more,
    });
    const off = (name: string) => ({ enabled: false, variables: { names: [name], ofOptions: {}, enabledBy: name } });
    const fallback = { fallback: true };
    const statesOf = async (...plugins: object[]) => {
      await using gateway = await createGateway({ plugins: plugins as PluginEntry[] });
      return gateway.plugins().map(({ id, state, reason, variables }) => [id, state, reason, variables.switchOff]);
    };
    expect(await statesOf(one('second', fallback), one('third', fallback), one('first'))).to.deep.equal([
      ['second', 'disabled', 'replaced by first_plugin', []],
      ['third', 'disabled', 'replaced by first_plugin', []],
      ['first', 'ready', undefined, []],
    ]);
    expect(
      await statesOf(one('second', fallback), one('third', fallback), one('first', off('FIRST'))),
      'of fallbacks the first',
    ).to.deep.equal([
      ['second', 'ready', undefined, ['FIRST']],
      ['third', 'disabled', 'replaced by second_plugin', ['FIRST']],
      ['first', 'disabled', undefined, []],
    ]);
    expect(
      await statesOf(
        one('first', off('FIRST')),
        one('second', { ...fallback, ...off('SECOND') }),
        one('third', fallback),
      ),
      'the nearest variable first',
    ).to.deep.equal([
      ['first', 'disabled', undefined, []],
      ['second', 'disabled', undefined, ['FIRST']],
      ['third', 'ready', undefined, ['SECOND', 'FIRST']],
    ]);
    expect(
      await statesOf(one('broken', { use: './gone.js' }), one('second', fallback)),
      'a fallback hides no failure',
    ).to.deep.include(['second', 'disabled', 'replaced by gone.js', []]);
    expect(
      await statesOf(one('other', { serves: ['another'] }), one('second', fallback), {
        use: invented(),
        serves: 'item',
      }),
      'an entry that fails is alone in it',
    ).to.deep.equal([
      ['other', 'failed', 'its configuration lists another, but it serves item', []],
      ['second', 'ready', undefined, []],
      ['invented', 'failed', 'serves must be array', []],
    ]);
  });

  const offering = (contributions: unknown, provides: unknown = ['extractor']): Plugin =>
    ({ ...failing('odd', () => contributions as Contributions), provides }) as Plugin;
  for (const [what, plugin, reason] of [
    [
      'names a kind that is none',
      offering({}, ['extractors']),
      /^"provides" has extractors, which is unknown. Known: extractor, image,/,
    ],
    [
      'returns no list',
      offering({ extractors: inventedExtractor() }),
      /^setup returned extractors that are not a list$/,
    ],
    ['returns nothing in its list', offering({ extractors: [undefined] }), /^extractors\.0 must be an object$/],
    [
      'misspells its platform',
      offering({ extractors: [{ platfrom: 'odd' }] }),
      /^extractors\.0\.platform must have 1 to 40/,
    ],
    [
      'has a platform that is no word',
      offering({ extractors: [inventedExtractor({ platform: '../odd' })] }),
      /^extractors\.0\.platform must have/,
    ],
    [
      'cannot match',
      offering({ extractors: [{ ...inventedExtractor(), match: 'no' }] }),
      /^extractors\.0\.match must be a function$/,
    ],
    [
      'has sound that cannot be had',
      offering({ extractors: [{ ...inventedExtractor(), audio: true }] }),
      /^extractors\.0\.resolveAudio must be a function$/,
    ],
    [
      'has no models',
      offering({ imageProviders: [{ model: 'x' }] }, ['image']),
      /^imageProviders\.0\.models must be a list$/,
    ],
    [
      'has image models that are names alone',
      offering({ imageProviders: [{ models: ['x'], generate: () => undefined }] }, ['image']),
      /^imageProviders\.0\.models\.0 must be an object$/,
    ],
    [
      'does not say how many input images its model takes',
      offering({ imageProviders: [{ models: [{ id: 'x', formats: ['png'] }], generate: () => undefined }] }, ['image']),
      /^imageProviders\.0\.models\.0\.maxReferences must be a whole number from 0$/,
    ],
    [
      'has a model of an unknown format',
      offering(
        { imageProviders: [{ models: [{ id: 'x', maxReferences: 0, formats: ['gif'] }], generate: () => undefined }] },
        ['image'],
      ),
      /^imageProviders\.0\.models\.0\.formats\.0 must be "png", "jpeg" or "webp"$/,
    ],
    [
      'cannot do what its model does',
      offering({ audioProviders: [{ models: [{ id: 'x', operations: ['speak'] }] }] }, ['audio']),
      /^audioProviders\.0\.speak must be a function$/,
    ],
    [
      'speaks less than a character',
      offering({ audioProviders: [{ models: [{ id: 'x', operations: ['speak'], maxCharacters: 0 }] }] }, ['audio']),
      /^audioProviders\.0\.models\.0\.maxCharacters must be a whole number from 1$/,
    ],
    [
      'has a text model without routes',
      offering({ textProviders: [{ models: [{ id: 'x' }], send: () => undefined }] }, ['text']),
      /^textProviders\.0\.models\.0\.routes must be a list$/,
    ],
    [
      'cannot sign in a user',
      offering({ identityProviders: [{}] }, ['identity']),
      /^identityProviders\.0\.open must be a function$/,
    ],
  ] as const) {
    it(`explains what is wrong with a plugin that ${what}`, async () => {
      const status = await stateOf({ use: plugin });
      expect(status?.state).to.equal('failed');
      expect(status?.reason).to.match(reason);
    });
  }

  for (const [entry, reason] of [
    [{ use: invented(), timeoutMs: 'x' }, /^timeoutMs must be integer/],
    [{ use: invented(), id: 'BAD ID' }, /^id must match/],
    [{ use: invented(), trustedOrigins: ['nonsense'] }, /^trustedOrigins\.0 must match/],
    [{ use: invented(), fallback: true }, /^fallback needs "serves"/],
    [{ use: {} }, /^its default export is not a plugin/],
    [
      {
        use: failing('silent', () => {
          throw undefined;
        }),
      },
      /^it threw undefined$/,
    ],
    [{ use: './no-such-plugin.js' }, /^Cannot find module '[^']+no-such-plugin\.js'$/],
  ] as const) {
    it(`explains what is wrong with a plugin's configuration: ${reason.source}`, async () => {
      const status = await stateOf(entry as unknown as PluginEntry);
      expect(status?.id).to.be.a('string');
      expect(status?.reason).to.match(reason);
    });
  }

  it('loads a folder by its index.js, and explains a file that is no JavaScript', async () => {
    const folder = await mkdtemp(path.join(tmpdir(), 'mediagate-plugin-'));
    try {
      await mkdir(path.join(folder, 'whole'));
      const plugin = `{ name: 'whole', apiVersion: 1, summary: 'Is a folder.', provides: [], setup: () => ({}) }`;
      await writeFile(path.join(folder, 'whole', 'index.js'), `module.exports = ${plugin};`);
      await writeFile(path.join(folder, 'cut.mjs'), 'export default {\n  name: "cut",\n');
      await using gateway = await createGateway({
        plugins: [{ use: './whole' }, { use: './cut.mjs' }],
        baseFolder: folder,
      });
      const [whole, cut] = gateway.plugins();
      expect(whole).to.include({ state: 'ready', plugin: 'whole' });
      expect(cut?.reason).to.match(/^it cannot be read as JavaScript: /);
    } finally {
      await rm(folder, { recursive: true });
    }
  });

  it('requires lists of plugins and origins', async () => {
    for (const [options, name] of [
      [{}, 'plugins'],
      [{ plugins: [], trustedOrigins: 'http://127.0.0.1:9' }, 'trustedOrigins'],
    ] as const) {
      const error = await createGateway(options as unknown as GatewayOptions).catch((reason: unknown) => reason);
      expect(error).to.be.instanceOf(TypeError).with.property('message').that.contains(`"${name}"`);
    }
  });

  it('refuses to start without a required plugin', async () => {
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
    expect((await stateOf({ use: invented(), options: { any: 1 } }))?.reason).to.match(/accepts no options/);
  });

  it('gives each plugin a context and a cache of its own', async () => {
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

  it('answers in time if a plugin ignores its signal, and turns an uncaught throw into a neutral error', async () => {
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

  it('asks an extractor for its methods only when they are read', async () => {
    let asked = 0;
    const methods = () => {
      asked += 1;
      return [];
    };
    await using gateway = await createGateway({ plugins: [{ use: invented({ methods }) }] });
    const before = asked;
    const [platform] = gateway.platforms();
    expect([platform?.key, asked - before]).to.deep.equal(['invented', 0]);
    expect([platform?.methods, asked - before]).to.deep.equal([[], 1]);
  });

  it('names the plugin that missed the deadline of a call', async () => {
    const climbing = definePlugin({
      name: 'climbing',
      apiVersion: 1,
      summary: 'Asks one source that never answers.',
      provides: ['extractor'],
      setup({ clock, logger }) {
        const chain = new FallbackChain<{ title: string }, string>({
          platform: 'invented',
          clock,
          logger,
          methods: [{ name: 'silent', cost: 1, definitive: true, run: () => new Promise(() => {}) }],
          isEnough: () => false,
          isWorthwhile: (parts) => parts.length > 0,
        });
        const extract = async ({ link, signal }: ExtractCall) => {
          await chain.run(link.id, signal);
          return inventedExtraction(link.id);
        };
        return { extractors: [inventedExtractor({ extract, methods: () => chain.methods() })] };
      },
    });
    await using gateway = await createGateway({ plugins: [{ use: climbing, timeoutMs: 1000 }] });
    expect(gateway.platforms()[0]?.methods).to.deep.equal([{ name: 'silent', available: true }]);
    const error = await gateway.extract({ url: 'https://invented.example/item/7' }).catch((reason: unknown) => reason);
    expect(error).to.be.instanceOf(GatewayError).and.to.include({ code: 'upstream_timeout', platform: 'invented' });
    expect((error as GatewayError).attempts?.map(({ method, outcome }) => [method, outcome])).to.deep.equal([
      ['silent', 'upstream_timeout'],
    ]);
  });

  it('runs a single method without the cache', async () => {
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

describe('the container of a gateway', () => {
  const FIRST = createToken<string>('first');
  const SECOND = createToken<string | undefined>('second');
  const THIRD = createToken<string>('third');
  const UNUSED = createToken<string>('unused');

  it('makes each service once on first use, and closes it before its dependencies', async () => {
    const log: string[] = [];
    const scope = new RootScope();
    const made = (name: string) => {
      log.push(`make ${name}`);
      return name;
    };
    const closed = (name: string) => () => void log.push(`close ${name}`);
    scope.provideFactory(THIRD, (get) => made(`third of ${get(SECOND)} and ${get(FIRST)}`), closed('third'));
    scope.provideFactory(UNUSED, () => made('unused'), closed('unused'));
    scope.provideFactory(
      SECOND,
      (get) => {
        made(`second of ${get(FIRST)}`);
        return undefined;
      },
      closed('second'),
    );
    scope.provide(FIRST, 'first', closed('first'));
    expect(log).to.deep.equal([]);
    expect([scope.get(THIRD), scope.get(THIRD), scope.get(SECOND)]).to.deep.equal([
      'third of undefined and first',
      'third of undefined and first',
      undefined,
    ]);
    expect(log.splice(0)).to.deep.equal(['make second of first', 'make third of undefined and first']);
    await Promise.all([scope.close(), scope.close()]);
    expect(log).to.deep.equal(['close third', 'close second', 'close first']);
  });

  it('closes the others if one fails to, and then reports the failure', async () => {
    const log: string[] = [];
    const scope = new RootScope();
    scope.provide(FIRST, 'first', () => void log.push('close first'));
    scope.provide(THIRD, 'third', async () => {
      throw new Error('stuck');
    });
    const failure = await scope.close().catch((error: unknown) => error);
    expect(failure).to.be.an('error').with.property('message', 'stuck');
    expect(log).to.deep.equal(['close first']);
  });
});
