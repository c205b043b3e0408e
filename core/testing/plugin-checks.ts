import assert from 'node:assert';
import path from 'node:path';
import type { Plugin } from '../contracts/index.js';
import { CONTRIBUTION_LISTS } from '../plugins/index.js';
import { createValidator, withDeadline } from '../runtime/index.js';
import { createFakeHttp } from './fakes.js';
import { pluginFolder } from './replay.js';
import { type Check, describeChecks, reportAll } from './runner.js';
import { setUpPlugin } from './setup.js';

export interface PluginDefinition {
  plugin: Plugin;
  /** `import.meta.url` of the test file, which is in the `test` folder of the plugin. */
  folder: string;
  /** Options of a valid instance. Default `{}`. */
  options?: Readonly<Record<string, unknown>>;
}

const SETUP_MS = 10_000;

/** Checks that every plugin must pass. */
export function pluginChecks({ plugin, folder, options = {} }: PluginDefinition): Check[] {
  const http = () => createFakeHttp([{ fail: 'connection' }]);
  return [
    {
      name: 'says who it is',
      async run() {
        assert.equal(plugin.name, path.basename(pluginFolder(folder)), 'the name is not that of the folder');
        assert.equal(plugin.apiVersion, 1, 'apiVersion is not 1');
        assert.match(plugin.summary, /^\S[^\n]*\.$/, 'the summary is not one sentence');
        assert(plugin.provides.length > 0, '"provides" is empty');
      },
    },
    {
      name: 'has strict options with valid defaults',
      async run() {
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
      async run() {
        const client = http();
        const { undeclared } = await inTime(setUpPlugin({ plugin, options, http: client }));
        const requests = client.requests.map(({ method = 'GET', url }) => `setup requested ${method} ${url}`);
        reportAll([
          ...requests,
          ...undeclared.map((need) => `setup used the ${need} without naming it in "needs" or "wants"`),
        ]);
      },
    },
    {
      name: 'contributes what it provides',
      async run() {
        const { contributions } = await inTime(setUpPlugin({ plugin, options, http: http() }));
        const problems = Object.entries(CONTRIBUTION_LISTS).flatMap(([kind, list]) => {
          const promised = plugin.provides.some((name) => name === kind);
          const given = (contributions[list]?.length ?? 0) > 0;
          if (promised === given) return [];
          return [promised ? `"provides" names ${kind}, and there are no ${list}` : `${list} are not in "provides"`];
        });
        reportAll(problems);
      },
    },
    {
      name: 'can be disposed twice',
      async run() {
        const { contributions } = await inTime(setUpPlugin({ plugin, options, http: http() }));
        await contributions.dispose?.();
        await contributions.dispose?.();
      },
    },
  ];
}

/** Registers {@link pluginChecks} with the test runner's global `describe` and `it`. */
export function describePlugin(definition: PluginDefinition): void {
  describeChecks(`plugin ${definition.plugin.name}`, pluginChecks(definition));
}

function inTime<Result>(work: Promise<Result>): Promise<Result> {
  return withDeadline(SETUP_MS, () => work, {
    error: () => new Error(`setup took longer than ${SETUP_MS / 1000} s`),
  });
}
