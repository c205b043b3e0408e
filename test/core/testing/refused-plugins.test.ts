/** Plugins that are wrong on purpose, each found by the kit. */

import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect } from 'chai';
import {
  createGateway,
  definePlugin,
  type Extraction,
  type Gateway,
  GatewayError,
  type GeneratedImage,
  type ImageProvider,
  type Plugin,
  type PluginContext,
  systemClock,
} from 'mediagate';
import {
  type Check,
  createRecordingLogger,
  extractorChecks,
  imageProviderChecks,
  pluginChecks,
} from '../../../core/testing/index.js';
import { openState } from '../../../server/state.js';
import { toJobTerms } from '../../../server/usage/job-admission.js';
import { placeMigratedFile } from '../../support/databases/migrated-file.js';
import { namedVariants } from '../../support/runner/variants.js';
import {
  type Context,
  createInventedPackage,
  extraction,
  fetchItem,
  ID,
  type InventedPackage,
  inventedPlugin,
  match,
  type Pieces,
  read,
  TOKEN,
} from './invented-platform.js';

/**
 * Plugins that are wrong on purpose. The kit and the running gateway refuse each one with a message that names the
 * fault, and neither hangs.
 */

const MAX_MS = 15_000;
/** Of this process: a busy machine takes longer by the clock. */
function cpuMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
}
const LINK = `https://invented.example/item/${ID}`;
const OPTIONS = { token: TOKEN };

interface Wrong {
  /** The plugin, or the text of its module. */
  plugin: Plugin | string;
  /** The only check that is run. Default: all. */
  check?: string;
  /** In a message of a failed check. */
  kit: RegExp;
  /** In the state of the entry, the client's error or the log; undefined if a gateway cannot know it. */
  gateway: RegExp | undefined;
  /** What a client reads of it in no case. */
  hidden?: string;
}

/** Deadline of one call in the gateway. */
const CALL_MS = 2_000;
const LATE_MS = 6_000;
const STEP_MS = 50;

const later = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));
const never = () => new Promise<never>(() => {});

const extracting = (extract: (context: Context, signal: AbortSignal) => Promise<Extraction>, more: Pieces = {}) =>
  inventedPlugin({
    ...more,
    extractor: (context) => ({ extract: ({ signal }) => extract(context, signal), ...more.extractor?.(context) }),
  });
const throwing = (thrown: (context: Context) => unknown) =>
  extracting(async (context) => {
    throw thrown(context);
  });
const answering = (result: object) =>
  extracting(async () => ({ ...extraction(ID, 'An item', 51_234), ...result }) as Extraction);
const withData = (data: object) => answering({ data: { ...extraction(ID, 'An item', 51_234).data, ...data } });

const PNG = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
);

const models: ImageProvider['models'] = [{ id: 'invented-1', maxReferences: 0, formats: ['png'] }];

function imagePlugin(generate: (signal: AbortSignal) => Promise<GeneratedImage>): Plugin {
  return definePlugin({
    name: 'invented',
    apiVersion: 1,
    summary: 'Images of an invented model.',
    provides: ['image'],
    setup: (_: PluginContext) => ({ imageProviders: [{ models, generate: ({ signal }) => generate(signal) }] }),
  }) as Plugin;
}

const contributing = (setup: NonNullable<Pieces['setup']>, plugin: Partial<Plugin> = {}) =>
  inventedPlugin({ setup, plugin });

const WRONG: Readonly<Record<string, Wrong>> = {
  'throws at import': {
    plugin: `throw new Error('no settings file');`,
    kit: /threw when it was imported: no settings file/,
    gateway: /threw when it was imported: no settings file/,
  },
  'never ends its import': {
    plugin: `setInterval(() => {}, 1000).unref(); await new Promise(() => {}); export default {};`,
    kit: /import did not finish within 10 s/,
    gateway: /import did not finish within 10 s/,
  },
  'cannot be parsed': {
    plugin: 'export default {',
    kit: /Unexpected end of input/,
    gateway: /cannot be read as JavaScript/,
  },
  'exports something else': {
    plugin: 'export default class {}',
    kit: /default export is not a plugin/,
    gateway: /default export is not a plugin/,
  },
  'speaks another version of the contract': {
    plugin: { ...inventedPlugin(), apiVersion: 2 } as unknown as Plugin,
    kit: /has version 2 of the plugin contract/,
    gateway: /has version 2 of the plugin contract/,
  },
  'never ends its setup': {
    plugin: contributing(never),
    kit: /plugin "invented", check "[^"]+": setup\(\) did not end within 10 s/,
    gateway: /setup did not finish within 10 s/,
  },
  'throws in setup': {
    plugin: contributing(() => {
      throw new Error('no model file');
    }),
    kit: /no model file/,
    gateway: /no model file/,
  },
  'returns nothing from setup': {
    plugin: contributing((() => undefined) as never),
    kit: /setup returned nothing|"provides" names extractor/,
    gateway: /setup returned nothing/,
  },
  'names a kind that there is not': {
    plugin: inventedPlugin({ plugin: { provides: ['extractor', 'video'] as never } }),
    kit: /"provides" has video, which is unknown/,
    gateway: /"provides" has video, which is unknown/,
  },
  'contributes what it does not name': {
    plugin: contributing((_, made) => ({ ...made, imageProviders: [{ models, generate: never }] })),
    kit: /imageProviders are not in "provides"/,
    gateway: /imageProviders, which "provides" does not list/,
  },
  'has an extractor without extract': {
    plugin: inventedPlugin({ extractor: () => ({ extract: undefined as never }) }),
    kit: /extractors\.0\.extract must be a function/,
    gateway: /extractors\.0\.extract must be a function/,
  },
  'serves one platform twice': {
    plugin: contributing((_, { extractors = [] }) => ({ extractors: [...extractors, ...extractors] })),
    kit: /invented is served by the entry "invented" already/,
    gateway: /invented is served by the entry "invented" already/,
  },
  'has a name that is no platform key': {
    plugin: inventedPlugin({ extractor: () => ({ platform: 'In vented' }) }),
    kit: /platform must have 1 to 40 small letters/,
    gateway: /platform must have 1 to 40 small letters/,
  },
  'throws in match': {
    plugin: inventedPlugin({
      extractor: () => ({
        match() {
          throw new TypeError('no such path');
        },
      }),
    }),
    kit: /threw TypeError: no such path; match must never throw/,
    gateway: /match failed; counted as no match .*no such path/,
  },
  'forges the 401 of a key': {
    plugin: throwing(() => new GatewayError('invalid_api_key', 'Incorrect API key.')),
    kit: /threw invalid_api_key, which is no code of this contract \(extractor\)/,
    gateway: /an error whose code its contract does not have.*invalid_api_key|invalid_api_key.*contract does not have/,
    hidden: 'Incorrect API key',
  },
  'forges a used-up budget': {
    plugin: throwing(() => new GatewayError('insufficient_quota', 'Pay more.')),
    kit: /threw insufficient_quota, which is no code of this contract/,
    gateway: /insufficient_quota/,
    hidden: 'Pay more',
  },
  'throws a text': {
    plugin: throwing(() => 'it went wrong'),
    kit: /threw something else than a GatewayError: 'it went wrong'/,
    gateway: /it threw it went wrong/,
  },
  'shows an option in an error': {
    plugin: throwing(({ options }) => new GatewayError('upstream_refused', `Refused for ${options.token}.`)),
    kit: /the value of the option "token" shows in the result, the error or the log/,
    gateway: /contains option values/,
    hidden: TOKEN,
  },
  'never settles': {
    plugin: extracting(never),
    kit: /plugin "invented", check "[^"]+": extract\(\) did not end within 12 s/,
    gateway: /No answer within 2 s|ignores its abort signal/,
  },
  'ignores its abort signal': {
    plugin: inventedPlugin({
      extractor: () => ({
        async extract() {
          await later(14_000);
          return extraction(ID, 'An item', 51_234);
        },
      }),
    }),
    check: 'ends at once when the caller leaves',
    kit: /plugin "invented", check "ends at once[^"]+": extract\(\) ignored its abort signal/,
    gateway: /ignores its abort signal/,
  },
  'answers nothing': {
    plugin: extracting(async () => undefined as never),
    kit: /expected a result/,
    gateway: /extract\(\) answered nothing/,
  },
  'gives negative counters': {
    plugin: withData({ metrics: { views: -1 } }),
    kit: /data\.metrics\.views must be >= 0/,
    gateway: /data\.metrics\.views must be >= 0/,
  },
  'gives fields that the document does not have': {
    plugin: withData({ viewers: 5 }),
    kit: /viewers/,
    gateway: /breaks its schema/,
  },
  'gives the data of another item': {
    plugin: extracting(async () => extraction('aaaaaaaaaa', 'Another', 9_876)),
    kit: /another item: the result names|took 9876|became|expected/,
    gateway: undefined,
  },
  'has one item under several canonical links': {
    plugin: inventedPlugin({
      extractor: () => ({
        match(url) {
          const link = match(url);
          return link && 'id' in link && url.search ? { ...link, url: `${link.url}?s=1` } : link;
        },
      }),
    }),
    kit: /has the canonical links/,
    gateway: undefined,
  },
  'blocks the process for ever': {
    // A loop without an end, which leaves the core to other tests.
    plugin: extracting(async () => {
      for (const idle = new Int32Array(new SharedArrayBuffer(4)); ; ) Atomics.wait(idle, 0, 0, 50);
    }),
    kit: /extract\(\) kept the process busy for more than 8 s/,
    gateway: undefined,
  },
  'leaves a rejected promise behind': {
    plugin: extracting(async () => {
      void later(20).then(() => Promise.reject(new Error('forgotten work')));
      return extraction(ID, 'An item', 51_234);
    }),
    check: 'leaves no rejected promise and no late throw',
    kit: /failed after its call, and no code waits for it: forgotten work/,
    // test/e2e/links/careless-plugin.test.ts: it ends with the process of the tests otherwise.
    gateway: undefined,
  },
  'throws late': {
    plugin: extracting(async () => {
      setTimeout(() => {
        throw new Error('late throw');
      }, 20);
      return extraction(ID, 'An item', 51_234);
    }),
    check: 'leaves no rejected promise and no late throw',
    kit: /failed after its call, and no code waits for it: late throw/,
    gateway: undefined,
  },
  'reads replies in quadratic time': {
    plugin: inventedPlugin({
      extractor: (context) => ({
        async extract(call) {
          const response = await fetchItem(context, call);
          / +x/.test(response.text());
          return read(response, call.link.id);
        },
      }),
    }),
    check: 'reads hostile replies in linear time',
    kit: /" " alone: \d+ ms for 8192 characters, and \d+ ms for 32768|kept the process busy/,
    gateway: undefined,
  },
  'answers a page in place of a picture': {
    plugin: imagePlugin(async () => ({ bytes: Buffer.from('<!doctype html>'), contentType: 'image/png' })),
    kit: /unsupported image format|Input buffer/,
    gateway: /could not be|no image|cannot be read|could not be understood/,
  },
  'counts usage that is no number': {
    plugin: imagePlugin(async () => ({
      bytes: PNG,
      contentType: 'image/png',
      usage: { inputTokens: Number.NaN } as never,
    })),
    kit: /usage\.inputTokens is NaN/,
    gateway: /invalid usage .*inputTokens/,
  },
  'answers an image without bytes': {
    plugin: imagePlugin(async () => ({ contentType: 'image/png' }) as never),
    kit: /Input|Invalid|undefined/,
    gateway: /answered no bytes/,
  },
};

/** One of each kind: a module, a set-up, a declaration, a match, an error, a secret, an answer, a blocked process, late work, an image. */
const KINDS = [
  'throws at import',
  'throws in setup',
  'contributes what it does not name',
  'throws in match',
  'forges the 401 of a key',
  'shows an option in an error',
  'gives negative counters',
  'blocks the process for ever',
  'throws late',
  'counts usage that is no number',
];

function describeError(error: unknown): string {
  return error instanceof GatewayError ? `${error.code} ${error.message}` : String(error);
}

describe('plugins that are wrong on purpose', () => {
  let folder: InventedPackage;
  let modules: string;

  before(async () => {
    folder = createInventedPackage();
    modules = await mkdtemp(path.join(tmpdir(), 'mediagate-wrong-'));
    await writeFile(path.join(modules, 'package.json'), '{"type":"module"}');
  });
  after(async () => {
    folder.remove();
    await rm(modules, { recursive: true, force: true });
  });

  /** A plugin's folder with its module, as a test file of it would name it. */
  async function writeModule(name: string, text: string): Promise<string> {
    const root = path.join(modules, name.replace(/\W+/g, '-'));
    await mkdir(path.join(root, 'test'), { recursive: true });
    await writeFile(path.join(root, 'index.js'), text);
    return root;
  }

  function checksOf({ plugin }: Wrong, root: string | undefined): Check[] {
    if (typeof plugin === 'string') {
      return pluginChecks({ folder: pathToFileURL(path.join(root ?? '', 'test', 'wrong.test.js')).href });
    }
    if (plugin.provides.includes('image')) return imageProviderChecks({ plugin });
    const named = { plugin, folder: folder.testFile(), options: OPTIONS };
    return [...pluginChecks(named), ...extractorChecks({ ...folder.definition(), plugin })];
  }

  /** Messages of the failed checks until one names the fault. */
  async function refusedByKit(wrong: Wrong, root: string | undefined): Promise<string> {
    const messages: string[] = [];
    for (const check of checksOf(wrong, root)) {
      if (wrong.check !== undefined && check.name !== wrong.check) continue;
      await check.run().catch((error: Error) => messages.push(error.message));
      if (wrong.kit.test(messages.at(-1) ?? '')) break;
    }
    return messages.join('\n');
  }

  /** What an operator and a client read of it. */
  async function refusedByGateway(
    { plugin, gateway: named, hidden }: Wrong,
    root: string | undefined,
  ): Promise<string> {
    const logger = createRecordingLogger();
    const dataDir = await mkdtemp(path.join(tmpdir(), 'mediagate-refused-'));
    await placeMigratedFile(dataDir);
    const state = await openState({ dataDir, clock: systemClock, logger });
    try {
      const options = typeof plugin === 'object' && plugin.options ? { options: OPTIONS } : {};
      const use = typeof plugin === 'string' ? (root ?? '') : plugin;
      await using gateway = await createGateway({
        plugins: [{ use, timeoutMs: CALL_MS, ...options }],
        jobs: { store: state.jobs },
        services: { storage: state.files, logger },
      });
      const operator = JSON.stringify(gateway.plugins());
      const client = await ask(gateway, plugin).catch(describeError);
      if (hidden) expect(client, 'what a client reads').not.to.contain(hidden);
      const texts = () => {
        const log = logger.lines.map(({ message, fields: { error, ...rest } }) =>
          [message, JSON.stringify(rest), error instanceof Error ? error.message : ''].join(' '),
        );
        return [operator, client, ...log].join('\n');
      };
      // An abort that is ignored is logged a little later.
      for (let waited = 0; waited < LATE_MS && !named?.test(texts()); waited += STEP_MS) await later(STEP_MS);
      return texts();
    } finally {
      await state.close();
      await rm(dataDir, { recursive: true, force: true });
    }
  }

  /** What a client reads. */
  async function ask(gateway: Gateway, plugin: Plugin | string): Promise<string> {
    if (gateway.plugins()[0]?.state !== 'ready') return '';
    if (typeof plugin === 'string' || !plugin.provides.includes('image')) {
      return JSON.stringify((await gateway.extract({ url: LINK })).data);
    }
    const size = { width: 64, height: 64 };
    const request = { model: 'invented-1', prompt: 'A tug at dawn', size, references: [], options: {} };
    const terms = toJobTerms({});
    const submission = await gateway.images.submit({ ...request, delivery: 'url', owner: 'local', terms });
    if (!('job' in submission)) throw new Error('there is no job');
    const { image, error } = await gateway.images.wait(submission.job.id, 'local', { timeoutMs: 10_000 });
    return JSON.stringify({ usage: image?.usage, error });
  }

  it('are at least twenty', () => expect(Object.keys(WRONG).length).to.be.at.least(20));

  for (const [name, wrong] of namedVariants(WRONG, KINDS)) {
    it(`is refused: ${name}`, async () => {
      const root = typeof wrong.plugin === 'string' ? await writeModule(name, wrong.plugin) : undefined;
      const timed = async (work: Promise<string>) => {
        const begun = cpuMs();
        const text = await work;
        expect(cpuMs() - begun, 'milliseconds of the processor').to.be.below(MAX_MS);
        return text;
      };
      const { gateway: named } = wrong;
      expect(await timed(refusedByKit(wrong, root)), 'the kit').to.match(wrong.kit);
      if (named) expect(await timed(refusedByGateway(wrong, root)), 'the gateway').to.match(named);
    });
  }
});
