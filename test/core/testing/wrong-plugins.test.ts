/** Wrong extractors, each found by the kit. */

import { readFileSync } from 'node:fs';
import path from 'node:path';
import { format } from 'node:util';
import { expect } from 'chai';
import { type Extraction, type Extractor, GatewayError, type LinkMatch, type ProbeLink } from 'mediagate';
import { Type } from 'mediagate/plugin';
import Mocha from 'mocha';
import {
  type ExtractorDefinition,
  extractorChecks,
  type FoundSample,
  pluginChecks,
} from '../../../core/testing/index.js';
import { nodeProblem } from '../../../core/testing/runner.js';
import { packageRoot } from '../../support/package-root.js';
import { firstVariants } from '../../support/runner/variants.js';
import {
  type Context,
  createInventedPackage,
  extract,
  extraction,
  fetchItem,
  ID,
  type InventedPackage,
  inventedPlugin,
  match,
  type Pieces,
  parsed,
  read,
  TOKEN,
} from './invented-platform.js';
import { failing } from './invented-provider.js';

const host = 'https://invented.example';

describe('the testing kit', () => {
  let folder: InventedPackage;

  before(() => {
    folder = createInventedPackage();
  });
  after(() => folder.remove());

  describe('for plugins', () => {
    const check = (pieces: Pieces = {}, name?: string) =>
      failing(
        pluginChecks({ plugin: inventedPlugin(pieces), folder: folder.testFile(name), options: { token: TOKEN } }),
      );
    const lenient = Type.Object({ token: Type.Optional(Type.String()) });
    const contradictory = Type.Object(
      { token: Type.Optional(Type.String()), size: Type.Integer({ minimum: 5, default: 1 }) },
      { additionalProperties: false },
    );
    const setups: readonly [name: string, expected: string, pieces: Pieces][] = [
      ['a name other than its folder', 'says who it is', { plugin: { name: 'else' } }],
      ['a summary that is no sentence', 'says who it is', { plugin: { summary: 'items' } }],
      ['options that let anything through', 'has strict options with valid defaults', { plugin: { options: lenient } }],
      ['a request at setup', 'sets up without a request', { setup: greedy }],
      ['a browser that it does not declare', 'sets up without a request', { setup: browsing }],
      ['less than it promises', 'contributes what it provides', { plugin: { provides: ['extractor', 'image'] } }],
      [
        'more than it promises',
        'contributes what it provides',
        { setup: (_, made) => ({ ...made, audioProviders: [{ models: [] }] }) },
      ],
      ['a dispose that works once', 'can be disposed twice', { setup: fragile }],
    ];

    async function greedy({ http }: Context, made: object) {
      await http.request({ url: host }).catch(() => {});
      return made;
    }
    async function browsing({ browser }: Context, made: object) {
      await browser.run({ visit: async () => 1 }).catch(() => {});
      return made;
    }
    function fragile(_: Context, made: object) {
      let disposed = false;
      return {
        ...made,
        dispose() {
          if (disposed) throw new Error('disposed before');
          disposed = true;
        },
      };
    }

    it('passes one that keeps to the rules', async () => expect(await check()).to.deep.equal([]));

    for (const [name, expected, pieces] of setups) {
      it(`finds ${name}`, async () => expect(await check(pieces)).to.deep.equal([expected]));
    }

    it('finds a version of Node that is too old', async () => {
      const { engines } = JSON.parse(readFileSync(path.join(packageRoot, 'package.json'), 'utf8'));
      const oldest: string = engines.node.replace('>=', '');
      for (const version of [oldest, process.versions.node]) expect(nodeProblem(version), version).to.equal(undefined);
      for (const version of ['20.20.2', '22.18.0', '9.99.0']) {
        expect(nodeProblem(version)).to.equal(
          `Node ${version} is too old: plugins and their tests need Node ${oldest} or newer.`,
        );
      }
    });

    it('refuses to check anything with a version of Node that is too old', async () => {
      const { versions } = process;
      const checks = [...pluginChecks({ plugin: inventedPlugin(), folder: folder.testFile() })];
      Object.defineProperty(process, 'versions', { value: { ...versions, node: '20.20.2' }, configurable: true });
      try {
        expect(await failing(checks)).to.deep.equal(checks.map(({ name }) => name));
        expect(await checks[1]?.run().catch((error) => error.message)).to.match(/^Node 20\.20\.2 is too old/);
      } finally {
        Object.defineProperty(process, 'versions', { value: versions, configurable: true });
      }
    });

    it('finds a folder of another name', async () =>
      expect(await check({}, 'other')).to.deep.equal(['says who it is']));

    it('finds defaults that the schema refuses, in every check that sets up', async () =>
      expect(await check({ plugin: { options: contradictory } })).to.include('has strict options with valid defaults'));
  });

  describe('for extractors', () => {
    const check = (pieces: Pieces = {}, more: Partial<ExtractorDefinition> = {}) =>
      failing(extractorChecks(folder.definition(pieces, more)));
    const extractor = (make: (context: Context) => Partial<Extractor>): Pieces => ({ extractor: make });
    const reading = (change: (result: Extraction, context: Context) => Extraction) =>
      extractor((context) => ({ extract: async (call) => change(await extract(context, call), context) }));

    it('passes one that keeps to the rules', async () => expect(await check()).to.deep.equal([]));

    const wrong: readonly [
      name: string,
      expected: readonly string[],
      pieces: Pieces,
      more?: Partial<ExtractorDefinition>,
    ][] = [
      ['a platform of another name', ['names its platform'], extractor(() => ({ platform: 'else' }))],
      [
        "a code that is the gateway's own",
        // The first, since no sample is found.
        ['names its platform', 'refused: replays as expected'],
        extractor(() => ({
          extract: async () => {
            throw new GatewayError('insufficient_quota', 'No more today.');
          },
        })),
        {
          samples: [{ name: 'refused', fixture: 'gone', url: `${host}/item/gggggggggg`, error: 'insufficient_quota' }],
        },
      ],
      ['sound that cannot be had', ['names its platform'], extractor(() => ({ audio: true }))],
      [
        'a wrong id of a link',
        ['matches its links to their ids'],
        {},
        { links: { [`${host}/item/${ID}`]: ID, [`${host}/item/aaaaaaaaaa`]: 'bbbbbbbbbb' } },
      ],
      [
        'a link that is another without its scheme',
        ['matches its links as people paste them'],
        extractor(() => ({ match: (url) => (url.protocol === 'https:' && url.search ? undefined : match(url)) })),
      ],
      [
        'a URL that match changes',
        ['matches its links to their ids'],
        extractor(() => ({
          match(url) {
            const link = match(url);
            if (link) url.hash = '#seen';
            return link;
          },
        })),
      ],
      [
        'a canonical link that is another',
        ['matches a canonical link to the same item again'],
        extractor(() => ({ match: (url) => changed(match(url), { url: `${host}/item/bbbbbbbbbb` }) })),
      ],
      [
        'a canonical link that keeps the query',
        ['matches a canonical link to the same item again', 'gives one item one canonical link'],
        extractor(() => ({
          match: (url) => changed(match(url), { url: `http:${url.href.slice(url.protocol.length)}` }),
        })),
      ],
      [
        'one item under two canonical links',
        ['gives one item one canonical link'],
        extractor(() => ({
          match: (url) => changed(match(url), url.search ? { url: `${host}${url.pathname}?s=1` } : {}),
        })),
      ],
      [
        'an access token that the canonical link has lost',
        ['matches a canonical link to the same item again'],
        extractor(() => ({ match: (url) => changed(match(url), url.search ? { access: url.search } : {}) })),
      ],
      [
        'own links that are not items and go by as foreign',
        ['refuses its own links that are not items'],
        extractor(() => ({ match: (url) => (url.pathname.startsWith('/item/') ? match(url) : undefined) })),
      ],
      [
        'links of others',
        ['leaves the links of others alone'],
        extractor(() => ({
          match: (url) => match(url.hostname === 'other.example' ? new URL(`${host}${url.pathname}`) : url),
        })),
      ],
      [
        'hosts that only end like its own',
        ['is not fooled by hostile links'],
        extractor(() => ({ match: (url) => match(new URL(url.href.replace(/evil(?=invented)/, ''))) })),
      ],
      [
        'hosts that only begin like its own',
        ['is not fooled by hostile links'],
        extractor(() => ({
          match: (url) => match(/^invented\.example/.test(url.hostname) ? new URL(`${host}${url.pathname}`) : url),
        })),
      ],
      [
        'a match that throws for its own links that are not items',
        ['refuses its own links that are not items', 'is not fooled by hostile links'],
        extractor(() => ({
          match(url) {
            const result = match(url);
            if (result && 'unsupported' in result) throw new GatewayError('unsupported_link', 'This is not an item.');
            return result;
          },
        })),
      ],
      [
        'a kind of link without words',
        ['refuses its own links that are not items', 'is not fooled by hostile links'],
        extractor(() => ({ match: (url) => changed(match(url), { unsupported: ' ' }, 'unsupported') })),
      ],
      [
        'a match that throws something else',
        ['is not fooled by hostile links'],
        extractor(() => ({
          match(url) {
            decodeURIComponent(url.pathname);
            return match(url);
          },
        })),
      ],
      [
        'a value that is not as expected',
        ['good: replays as expected'],
        {},
        { samples: [{ name: 'good', url: `${host}/item/${ID}`, id: ID, expect: { data: { metrics: { views: 1 } } } }] },
      ],
      [
        'probe links of profiles and methods that are not there',
        ['has probe links of items and methods that exist'],
        extractor(() => ({
          methods: () => [{ name: 'page', available: true }],
          probeLinks: [
            { url: `${host}/user/somebody`, fills: {} },
            { url: `${host}/item/7`, fills: { pgae: ['common.title'] } },
          ],
        })),
      ],
      [
        'probe links in another form',
        ['has probe links of items and methods that exist'],
        // What is read from probe-links.json may have any form.
        extractor(() => ({ probeLinks: [`${host}/item/7`] as unknown as ProbeLink[] })),
      ],
      [
        'a refusal of another kind',
        ['gone: replays as expected'],
        extractor((context) => ({
          extract: (call) =>
            extract(context, call).catch((error: GatewayError) => {
              throw error.code === 'removed' ? new GatewayError('unavailable', 'It is gone.') : error;
            }),
        })),
      ],
      [
        'a request that the fixture does not have',
        ['good: replays as expected'],
        extractor((context) => ({
          async extract(call) {
            const result = await extract(context, call);
            await context.http.request({ url: `${host}/more`, signal: call.signal }).catch(() => {});
            return result;
          },
        })),
      ],
      [
        'a browser that it does not declare',
        ['good: replays as expected'],
        extractor((context) => ({
          async extract(call) {
            const result = await extract(context, call);
            await context.browser.run({ visit: async () => 1 }).catch(() => {});
            return result;
          },
        })),
      ],
      [
        'a secret in the log',
        ['good: keeps secrets'],
        reading((result, { logger, options: { token } }) => {
          logger.info(`asked with ${token}`);
          return result;
        }),
      ],
      [
        'a secret in the cause of an error',
        ['gone: keeps secrets', ...leaking()],
        extractor((context) => ({
          extract: (call) =>
            extract(context, call).catch((cause: GatewayError) => {
              throw call.signal.aborted
                ? cause
                : new GatewayError(cause.code, cause.message, { reason: cause.reason, cause: new Error(TOKEN) });
            }),
        })),
      ],
      [
        'members that the schema does not know',
        breaking(),
        reading((result) => ({ ...result, data: Object.assign({}, result.data, { invented: 1 }) })),
      ],
      [
        'empty texts',
        breaking(),
        reading((result) => ({ ...result, data: { ...result.data, raw_stats: { likes: '' } } })),
      ],
      [
        'an item whose id nobody compared',
        ['good: takes nothing from another item'],
        extractor((context) => ({
          async extract(call) {
            call.signal.throwIfAborted();
            const response = await fetchItem(context, call);
            const { status } = response;
            const item = status === 200 ? (parsed(response) as { item?: Item } | undefined)?.item : undefined;
            if (!item || typeof item !== 'object' || typeof item.id !== 'string') return read(response, call.link.id);
            const title = typeof item.title === 'string' && item.title ? item.title : undefined;
            return extraction(call.link.id, title, typeof item.views === 'number' ? item.views : undefined);
          },
        })),
      ],
      [
        'a parser that trusts the shape',
        ['good: survives pruned replies'],
        extractor((context) => ({
          async extract(call) {
            call.signal.throwIfAborted();
            const response = await fetchItem(context, call);
            if (response.status === 200) (parsed(response) as { next?: Item[] }).next?.map(({ id }) => id.length);
            return read(response, call.link.id);
          },
        })),
      ],
      [
        'cut replies taken for a removed item',
        ['good: survives truncated replies'],
        extractor((context) => ({
          async extract(call) {
            call.signal.throwIfAborted();
            const response = await fetchItem(context, call);
            const text = response.text();
            if (text.startsWith('{') && !text.endsWith('}')) throw new GatewayError('removed', 'The item is gone.');
            return read(response, call.link.id);
          },
        })),
      ],
      [
        'rate limits taken for a failure',
        ['HTTP 429 everywhere is named'],
        extractor((context) => ({ extract: (call) => renamed(context, call, 'upstream_rate_limited') })),
      ],
      [
        'time-outs taken for a failure',
        ['a timeout everywhere is named'],
        extractor((context) => ({ extract: (call) => renamed(context, call, 'upstream_timeout') })),
      ],
      [
        'garbage taken for a failure',
        ['an empty body everywhere is named', 'garbage everywhere is named'],
        extractor((context) => ({ extract: (call) => renamed(context, call, 'upstream_refused') })),
      ],
      [
        'a caller whose leaving goes unheard',
        ['ends at once when the caller leaves'],
        extractor((context) => ({
          extract: (call) => extract(context, { ...call, signal: new AbortController().signal }),
        })),
      ],
    ];

    for (const [name, expected, pieces, more] of firstVariants(wrong, ([, finds]) => finds)) {
      it(`finds ${name}`, async () => expect(await check(pieces, more)).to.deep.equal(expected));
    }

    it('lets a definition declare several canonical links', async () => {
      const pieces = extractor(() => ({
        match: (url) => changed(match(url), url.search ? { url: `${host}${url.pathname}?s=1` } : {}),
      }));
      expect(await check(pieces, { severalLinks: true })).to.deep.equal([]);
    });

    it('reports every difference with both values, and no difference of its own', async () => {
      const [good] = folder.definition().samples;
      const expected = { method: 'page', partial: false, data: { common: { title: 'Another' } } };
      const sample = { ...good!, expect: expected } as FoundSample;
      const checks = extractorChecks(folder.definition({}, { samples: [sample] }));
      const err = await checks
        .find(({ name }) => name === 'good: replays as expected')
        ?.run()
        .catch((error) => error);
      const written: string[] = [];
      const { Base } = Mocha.reporters;
      const { consoleLog } = Base;
      Base.consoleLog = (...line: unknown[]) => written.push(format(...line));
      try {
        Base.list([{ titlePath: () => ['good'], err } as unknown as Mocha.Test]);
      } finally {
        Base.consoleLog = consoleLog;
      }
      const report = written.join('\n');
      expect(report).to.include('method: expected "page", got "api"');
      expect(report).to.include('partial: expected false, got undefined');
      expect(report).to.include('data.common.title: expected "Another", got "An item"');
      expect(report).not.to.match(/^\s*[+-](true|false)/m);
    });

    it('finds an unused exchange, and names a missing fixture', async () => {
      const [good] = folder.definition().samples;
      const lazy = extractor(() => ({ extract: async ({ link }) => extraction(link.id, 'An item', 51_234) }));
      expect(await check(lazy, { samples: [good!] })).to.include('good: replays as expected');
      const missing = extractorChecks(folder.definition({}, { samples: [{ ...good!, name: 'nowhere' }] }));
      const replay = missing.find(({ name }) => name === 'nowhere: replays as expected');
      const message = await replay?.run().catch((error: Error) => error.message);
      expect(message).to.match(/nowhere.exchanges\.json\. RECORD=nowhere records it/);
    });
  });
});

interface Item {
  id: string;
  title?: unknown;
  views?: unknown;
}

/** @param field Only a result with this field is changed. */
function changed(result: LinkMatch, change: object, field = 'url'): LinkMatch {
  return result && field in result ? { ...result, ...change } : result;
}

/** Checks that see every error of the source. */
function leaking(): string[] {
  return [
    'HTTP 404 everywhere is named',
    'HTTP 429 everywhere is named',
    'HTTP 500 everywhere is named',
    'a timeout everywhere is named',
    'a broken connection everywhere is named',
    'an empty body everywhere is named',
    'garbage everywhere is named',
  ];
}

/** Checks that hold results against the schema. */
function breaking(): string[] {
  return ['good: fits the schema', 'good: survives pruned replies'];
}

async function renamed(
  context: Context,
  call: Parameters<typeof extract>[1],
  code: GatewayError['code'],
): Promise<Extraction> {
  try {
    return await extract(context, call);
  } catch (error) {
    if (error instanceof GatewayError && error.code === code) throw new GatewayError('upstream_error', 'It failed.');
    throw error;
  }
}
