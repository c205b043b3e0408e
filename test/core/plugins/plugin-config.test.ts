/** plugins.config.json: variables, conditions and paths. */

import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect } from 'chai';
import { type PluginEntry, readPluginConfig } from 'mediagate';

describe('plugins.config.json', () => {
  let folder: string;
  before(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'mediagate-config-'));
  });
  after(() => rm(folder, { recursive: true }));

  async function read(config: unknown, environment: Record<string, string> = {}) {
    const file = path.join(folder, 'plugins.config.json');
    await writeFile(file, typeof config === 'string' ? config : JSON.stringify(config));
    return readPluginConfig(file, environment).catch((error: Error) => error.message);
  }

  it('resolves the environment and relative paths, and omits unset values', async () => {
    const entries = await read(
      {
        plugins: [
          {
            id: 'mine',
            use: './mine/index.js',
            options: {
              key: { $env: 'MY_KEY' },
              other: { $env: 'NOT_SET' },
              list: [{ $env: 'MY_KEY' }, { $env: 'NOT_SET' }, 1],
            },
          },
          { use: 'some-package' },
        ],
      },
      { MY_KEY: 'value' },
    );
    expect(entries).to.deep.equal([
      {
        id: 'mine',
        use: path.join(folder, 'mine/index.js'),
        options: { key: 'value', list: ['value', 1] },
        variables: {
          names: ['MY_KEY', 'NOT_SET'],
          ofOptions: { key: 'MY_KEY', 'list.0': 'MY_KEY' },
          ofUnset: { other: 'NOT_SET', 'list.1': 'NOT_SET' },
        },
      },
      { use: 'some-package' },
    ]);
  });

  it('names the variable that enables a plugin, and the place of an option behind omitted ones', async () => {
    const [entry] = (await read(
      {
        plugins: [
          {
            use: 'model',
            enabled: { $env: 'WANTED' },
            options: { upstreams: [{ $env: 'NOT_SET' }, { url: { $env: 'OTHER_URL' } }] },
          },
        ],
      },
      { OTHER_URL: 'http://other.example' },
    )) as PluginEntry[];
    expect(entry?.variables).to.deep.equal({
      names: ['WANTED', 'NOT_SET', 'OTHER_URL'],
      ofOptions: { 'upstreams.0.url': 'OTHER_URL' },
      ofUnset: { 'upstreams.0': 'NOT_SET' },
      enabledBy: 'WANTED',
    });
  });

  it('enables and disables plugins by the environment', async () => {
    const plugins = [
      { use: 'model', enabled: { $env: 'MODEL_URL' } },
      { use: 'on', enabled: true },
      { use: 'off', enabled: false },
    ];
    const enabled = async (environment: Record<string, string>) => {
      const entries = await read({ plugins }, environment);
      return typeof entries === 'string' ? entries : entries.map((entry) => entry.enabled);
    };
    expect(await enabled({ MODEL_URL: 'https://model.example' })).to.deep.equal([true, true, false]);
    expect(await enabled({})).to.deep.equal([false, true, false]);
    expect(await enabled({ MODEL_URL: '' })).to.deep.equal([false, true, false]);
  });

  it('states which conditions a setting replaces', async () => {
    const variable = { $env: 'X' };
    for (const wrong of [
      { $env: 1 },
      { env: 'X' },
      { $not: variable },
      { $all: [variable] },
      { ...variable, $not: variable },
    ]) {
      expect(await read({ plugins: [{ use: 'y' }, { use: 'x', enabled: wrong }] })).to.match(
        /plugins\.config\.json: plugins\.1\.enabled must be true, false or .*\$not.*"fallback": true.*"models" or "serves"\.$/,
      );
    }
  });

  it('makes one instance for each model, with options of its own beside the common ones', async () => {
    const entries = await read(
      {
        plugins: [
          {
            use: 'model',
            fallback: true,
            timeoutMs: 5_000,
            options: { url: { $env: 'MODEL_URL' }, pace: 1 },
            models: [{ id: 'large', options: { model: 'LARGE', pace: 2 } }, { id: 'small' }],
          },
        ],
      },
      { MODEL_URL: 'https://model.example' },
    );
    const variables = { names: ['MODEL_URL'], ofOptions: { url: 'MODEL_URL' } };
    const shared = { use: 'model', fallback: true, timeoutMs: 5_000, variables };
    const url = 'https://model.example';
    expect(entries).to.deep.equal([
      { ...shared, id: 'large', serves: ['large'], options: { url, pace: 2, model: 'LARGE' } },
      { ...shared, id: 'small', serves: ['small'], options: { url, pace: 1 } },
    ]);
  });

  it('reads the prices of models from both lists of models', async () => {
    const [large, small, many] = (await read({
      plugins: [
        { use: 'model', models: [{ id: 'large', prices: { input: 2, output: 8 } }, { id: 'small' }] },
        {
          use: 'many',
          options: { models: [{ id: 'a/b:c', prices: { second: 0.1 }, routes: ['x'] }, { id: 'plain' }] },
        },
      ],
    })) as PluginEntry[];
    expect(large?.prices).to.deep.equal({ large: { input: 2, output: 8 } });
    expect(small).not.to.have.property('prices');
    expect(many?.prices).to.deep.equal({ 'a/b:c': { second: 0.1 } });
    expect(many?.options).to.deep.equal({ models: [{ id: 'a/b:c', routes: ['x'] }, { id: 'plain' }] });

    for (const [entry, message] of [
      [{ models: [{ id: 'm', prices: { input: -1 } }] }, /plugins\.0\.models\.0\.prices\.input must be >= 0/],
      [{ models: [{ id: 'm', prices: {} }] }, /plugins\.0\.models\.0\.prices must NOT have fewer than 1 properties/],
      [
        { options: { models: [{ id: 'm', prices: { inputs: 1 } }] } },
        /plugins\.0\.options\.models\.0\.prices must not have "inputs", which is not known; "input" is/,
      ],
    ] as const) {
      expect(await read({ plugins: [{ use: 'x', ...entry }] })).to.match(message);
    }
  });

  it('reads the descriptions of models from both lists of models', async () => {
    const [large, many] = (await read({
      plugins: [
        { use: 'model', models: [{ id: 'large', description: 'Reads long texts.' }] },
        { use: 'many', options: { models: [{ id: 'a/b:c', description: 'Số một 😀' }, { id: 'plain' }] } },
      ],
    })) as PluginEntry[];
    expect(large?.descriptions).to.deep.equal({ large: 'Reads long texts.' });
    expect(many?.descriptions).to.deep.equal({ 'a/b:c': 'Số một 😀' });
    expect(many?.options).to.deep.equal({ models: [{ id: 'a/b:c' }, { id: 'plain' }] });
    for (const description of ['', 7, 'x'.repeat(301), 'two\nlines', 'turned \u202e']) {
      const direct = await read({ plugins: [{ use: 'x', models: [{ id: 'm', description }] }] });
      const option = await read({ plugins: [{ use: 'x', options: { models: [{ id: 'm', description }] } }] });
      expect(direct, String(description)).to.match(/plugins\.0\.models\.0\.description /);
      expect(option, String(description)).to.match(/plugins\.0\.options\.models\.0\.description /);
    }
  });

  it('names the file and the wrong field', async () => {
    expect(await read('{')).to.match(/plugins\.config\.json is not JSON/);
    expect(await read({})).to.match(/plugins must have required property/);
    expect(await read({ plugins: [{ id: 'x' }] })).to.match(/plugins\.0\.use/);
    expect(await read({ plugins: [{ use: 'x', timeoutMs: 5 }] })).to.match(/plugins\.0\.timeoutMs must be >= 1000/);
    expect(await read({ plugins: [{ use: 'x', trustedOrigins: ['10.0.0.1'] }] })).to.match(/trustedOrigins/);
    const models = [{ id: 'large' }];
    for (const [entry, message] of [
      [{ fallback: true }, /plugins\.0 is a "fallback" and must list its models in "models" or "serves"\.$/],
      [{ models, id: 'mine' }, /plugins\.0 has "id" beside "models"/],
      [{ models, serves: ['large'] }, /plugins\.0 has "serves" beside "models"/],
      [{ models: [] }, /plugins\.0\.models must NOT have fewer than 1 items/],
      [{ models: ['large'] }, /plugins\.0\.models\.0 must be object/],
      [{ serves: 'large' }, /plugins\.0\.serves must be array/],
    ] as const) {
      expect(await read({ plugins: [{ use: 'x', ...entry }] })).to.match(message);
    }
    expect(await readPluginConfig(path.join(folder, 'none.json'), {}).catch((error: Error) => error.message)).to.match(
      /cannot be read/,
    );
  });
});
