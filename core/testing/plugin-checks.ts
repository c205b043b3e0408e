/*
 * The rules that every plugin must pass: it can be imported, names itself correctly, has strict options with valid
 * defaults, sets up without a request, contributes exactly what it provides, checks its upstreams with the right
 * results, and can be disposed twice. The kit imports the plugin itself, so it can report an import that throws or
 * does not end. `describePlugin` registers the rules with the test runner.
 */

import assert from 'node:assert';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Plugin, UpstreamCheckResult } from '../contracts/index.js';
import { CONTRIBUTION_LISTS, checkContributions, importPlugin, namesServed, Registry } from '../plugins/index.js';
import { createValidator, silentLogger } from '../runtime/index.js';
import { createFakeHttp, type FakeHttp, type FakeReply } from './fakes.js';
import { called } from './limits.js';
import { pluginFolder } from './replay.js';
import { type Check, checksOf, describeChecks, type Rule, reportAll, unless } from './runner.js';
import { setUpPlugin, type TestSetup } from './setup.js';

export interface PluginDefinition {
  /**
   * Default: what `../index.js` exports by default, as seen from the test file. The kit imports it then, so that it can
   * say what happens if the import throws or does not end.
   */
  plugin?: Plugin;
  /** `import.meta.url` of the test file, which is in the `test` folder of the plugin. */
  folder: string;
  /** Options of a valid instance. Default `{}`. */
  options?: Readonly<Record<string, unknown>>;
}

interface Subject {
  plugin: { readonly name: string };
  folder: string;
  options: Readonly<Record<string, unknown>>;
  load(): Promise<Plugin>;
}

const PLUGIN_RULES: readonly Rule<Subject>[] = [
  { name: 'can be imported', run: ({ load }) => load() },
  {
    name: 'says who it is',
    async run({ folder, load }) {
      const plugin = await load();
      assert.equal(plugin.name, path.basename(pluginFolder(folder)), 'the name is not that of the folder');
      assert.equal(plugin.apiVersion, 1, 'apiVersion is not 1');
      assert.match(plugin.summary, /^\S[^\n]*\.$/, 'the summary is not one sentence');
      assert(plugin.provides.length > 0, '"provides" is empty');
    },
  },
  {
    name: 'has strict options with valid defaults',
    async run({ options, load }) {
      const plugin = await load();
      if (!plugin.options) return;
      const validator = createValidator(plugin.options);
      const given = validator.check(options);
      assert(given.ok, 'the schema refuses the options of the test');
      const again = validator.check(given.value);
      assert(again.ok, 'the schema refuses its own defaults');
      assert(!validator.check({ ...options, no_such_option: 1 }).ok, 'the schema lets an unknown option through');
    },
  },
  {
    name: 'sets up without a request',
    async run(subject) {
      const { http, undeclared } = await setUp(subject);
      const requests = http.requests.map(({ method = 'GET', url }) => `setup requested ${method} ${url}`);
      reportAll([
        ...requests,
        ...undeclared.map((need) => `setup used the ${need} without naming it in "needs" or "wants"`),
      ]);
    },
  },
  {
    name: 'contributes what it provides',
    async run(subject) {
      const { plugin, contributions } = await setUp(subject);
      reportAll(
        Object.entries(CONTRIBUTION_LISTS).flatMap(([kind, list]) => {
          const isPromised = plugin.provides.some((name) => name === kind);
          const isGiven = (contributions?.[list]?.length ?? 0) > 0;
          const problem = isPromised
            ? `"provides" names ${kind}, and there are no ${list}`
            : `${list} are not in "provides"`;
          return unless(isPromised === isGiven, problem);
        }),
      );
      // As the gateway looks at it. The name of a template is no platform key.
      if (!plugin.name.startsWith('_')) checkContributions(plugin, contributions);
    },
  },
  {
    name: 'serves each platform and model once',
    async run(subject) {
      const { contributions } = await setUp(subject);
      const registry = new Registry(silentLogger);
      registry.add(subject.plugin.name, contributions, (text) => text);
    },
  },
  {
    name: 'says what is wrong with its upstreams, if it checks them',
    run: async (subject) =>
      reportAll((await Promise.all(BAD_UPSTREAMS.map((bad) => checkProblems(subject, bad)))).flat()),
  },
  {
    name: 'can be disposed twice',
    async run(subject) {
      const { dispose } = await setUp(subject);
      await dispose();
      await dispose();
    },
  },
];

const CHECK_RESULTS: ReadonlySet<UpstreamCheckResult> = new Set([
  'reachable',
  'refused_key',
  'unknown_model',
  'wrong_format',
  'unreachable',
]);

/** An upstream that cannot be used, and what a check must find. */
interface BadUpstream {
  name: string;
  reply: FakeReply;
  result: UpstreamCheckResult;
}

const BAD_UPSTREAMS: readonly BadUpstream[] = [
  { name: 'a connection that fails', reply: { fail: 'connection' }, result: 'unreachable' },
  { name: 'status 401', reply: { status: 401, body: { error: { message: 'No.' } } }, result: 'refused_key' },
  { name: 'status 503', reply: { status: 503, body: 'No.' }, result: 'unreachable' },
  {
    name: 'a page',
    reply: { headers: { 'content-type': 'text/html' }, body: '<!doctype html><title>Hello</title>' },
    result: 'wrong_format',
  },
];

async function checkProblems(subject: Subject, { name, reply, result }: BadUpstream): Promise<string[]> {
  const plugin = await subject.load();
  const http = createFakeHttp(() => reply);
  const { contributions, dispose } = await setUpPlugin({ plugin, options: subject.options, http });
  if (!contributions.checkUpstreams) return [];
  const { signal } = new AbortController();
  const served = namesServed(contributions);
  const found = await called('checkUpstreams()', async () => contributions.checkUpstreams?.({ signal }) ?? []);
  await dispose();
  return [
    ...unless(found.length > 0, `${name}: the check has no result`),
    ...found.flatMap(({ result: is, models }) => [
      ...unless(CHECK_RESULTS.has(is), `${name}: "${is}" is no result of a check`),
      ...unless(is === result, `${name}: the result is ${is}, not ${result}`),
      ...models.filter((model) => !served.includes(model)).map((model) => `${name}: it does not serve ${model}`),
    ]),
  ];
}

/** Checks that every plugin must pass. */
export function pluginChecks({ plugin, folder, options = {} }: PluginDefinition): Check[] {
  const named = plugin ?? { name: nameOf(folder) };
  const load = async () => {
    const use = plugin ?? path.join(path.dirname(path.dirname(fileURLToPath(folder))), 'index.js');
    return called('loading the plugin', () => importPlugin(use, '/'));
  };
  return checksOf(PLUGIN_RULES, { plugin: named, folder, options, load });
}

/** Registers {@link pluginChecks} with the test runner's global `describe` and `it`. */
export function describePlugin(definition: PluginDefinition): void {
  describeChecks(`plugin ${definition.plugin?.name ?? nameOf(definition.folder)}`, pluginChecks(definition));
}

function nameOf(folder: string): string {
  return path.basename(pluginFolder(folder));
}

async function setUp({ options, load }: Subject): Promise<TestSetup & { plugin: Plugin; http: FakeHttp }> {
  const plugin = await load();
  const http = createFakeHttp([{ fail: 'connection' }]);
  return { plugin, http, ...(await setUpPlugin({ plugin, options, http })) };
}
