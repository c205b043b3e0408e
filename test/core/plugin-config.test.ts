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

  it('resolves the environment and relative paths, and leaves out what is not set', async () => {
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
        variables: { names: ['MY_KEY', 'NOT_SET'], ofOptions: { key: 'MY_KEY', 'list.0': 'MY_KEY' }, switchOff: [] },
      },
      { use: 'some-package' },
    ]);
  });

  it('says which variables switch an entry off, and where an option is after others were left out', async () => {
    const [entry] = (await read(
      {
        plugins: [
          {
            use: 'stand-in',
            enabled: { $all: [{ $not: { $env: 'MODEL_URL' } }, { $env: 'WANTED' }] },
            options: { upstreams: [{ $env: 'NOT_SET' }, { url: { $env: 'OTHER_URL' } }] },
          },
        ],
      },
      { OTHER_URL: 'http://other.example' },
    )) as PluginEntry[];
    expect(entry?.variables).to.deep.equal({
      names: ['MODEL_URL', 'WANTED', 'NOT_SET', 'OTHER_URL'],
      ofOptions: { 'upstreams.0.url': 'OTHER_URL' },
      switchOff: ['MODEL_URL'],
    });
  });

  it('switches entries on and off by what the environment has', async () => {
    const plugins = [
      { use: 'model', enabled: { $env: 'MODEL_URL' } },
      { use: 'stand-in', enabled: { $not: { $env: 'MODEL_URL' } } },
      { use: 'off', enabled: false },
    ];
    const enabled = async (environment: Record<string, string>) => {
      const entries = await read({ plugins }, environment);
      return typeof entries === 'string' ? entries : entries.map((entry) => entry.enabled);
    };
    expect(await enabled({ MODEL_URL: 'https://model.example' })).to.deep.equal([true, false, false]);
    expect(await enabled({})).to.deep.equal([false, true, false]);
    expect(await enabled({ MODEL_URL: '' })).to.deep.equal([false, true, false]);
    expect(await read({ plugins: [{ use: 'x', enabled: { $env: 1 } }] })).to.match(/plugins\.0\.enabled/);
    expect(await read({ plugins: [{ use: 'x', enabled: { env: 'X' } }] })).to.match(/plugins\.0\.enabled/);
  });

  it('switches an entry on where several conditions hold together', async () => {
    const both = { $all: [{ $env: 'SECOND_URL' }, { $not: { $env: 'FIRST_KEY' } }] };
    const enabled = async (environment: Record<string, string>) => {
      const entries = await read({ plugins: [{ use: 'second-best', enabled: both }] }, environment);
      return typeof entries === 'string' ? entries : entries[0]?.enabled;
    };
    expect(await enabled({})).to.equal(false);
    expect(await enabled({ SECOND_URL: 'x' })).to.equal(true);
    expect(await enabled({ FIRST_KEY: 'x' })).to.equal(false);
    expect(await enabled({ SECOND_URL: 'x', FIRST_KEY: 'x' })).to.equal(false);
    for (const wrong of [{ $all: [] }, { $all: { $env: 'X' } }, { $all: [true] }, { ...both, $env: 'X' }]) {
      expect(await read({ plugins: [{ use: 'x', enabled: wrong }] })).to.match(/plugins\.0\.enabled/);
    }
  });

  it('names the file and the member that is wrong', async () => {
    expect(await read('{')).to.match(/plugins\.config\.json is not JSON/);
    expect(await read({})).to.match(/plugins must have required property/);
    expect(await read({ plugins: [{ id: 'x' }] })).to.match(/plugins\.0\.use/);
    expect(await read({ plugins: [{ use: 'x', timeoutMs: 5 }] })).to.match(/plugins\.0\.timeoutMs must be >= 1000/);
    expect(await read({ plugins: [{ use: 'x', trustedOrigins: ['10.0.0.1'] }] })).to.match(/trustedOrigins/);
    expect(await readPluginConfig(path.join(folder, 'none.json'), {}).catch((error: Error) => error.message)).to.match(
      /cannot be read/,
    );
  });
});
