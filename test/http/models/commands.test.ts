/** The model commands: add, list and test. */

import { chmod, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect } from 'chai';
import { systemClock } from '../../../core/runtime/index.js';
import { type AddModelOptions, addModelCommand, testModelCommand } from '../../../server/cli/gateway/models.js';
import { CommandFailure } from '../../../server/cli/mistakes.js';
import type { Outcome } from '../../../server/cli/output.js';
import { readSettings } from '../../../server/settings/index.js';
import { openState } from '../../../server/state.js';
import { ListLogger } from '../../support/databases/engines.js';
import { startTextUpstream, type TextUpstream } from '../../support/models/text-upstream.js';
import { runCommand } from '../../support/processes/command-line.js';
import { rejection } from '../../support/rejection.js';

const OWN = `{
  "plugins": [
    { "id": "mine", "use": "mediagate/plugins/openai_text", "options": { "models": [{ "id": "first" }],
        "upstreams": [{ "url": "http://127.0.0.1:9/v1" }] } },
    { "use": "mediagate/plugins/echo_text", "options": {"model": "mock"}   }
  ]
}
`;

describe('the commands of models', () => {
  let upstream: TextUpstream;
  let folder: string;
  let file: string;
  let environment: Record<string, string>;

  before(async () => {
    upstream = await startTextUpstream({ apiKey: 'the-key-in-this-test', models: ['vendor/q'] });
    folder = await mkdtemp(path.join(tmpdir(), 'mediagate-models-'));
    file = path.join(folder, 'own.json');
    environment = { DATA_DIR: path.join(folder, 'data'), PLUGINS_CONFIG: file, BROWSER: 'off' };
    await writeFile(file, OWN);
    await chmod(file, 0o640);
  });
  after(async () => {
    await upstream.close();
    await rm(folder, { recursive: true });
  });

  const run = (...args: string[]) => runCommand(['models', ...args], environment);
  /** In this process, which is faster. */
  async function test(id: string): Promise<Outcome> {
    const { env } = process;
    process.env = { ...env, ...environment };
    try {
      return await testModelCommand(readSettings(environment), id, {});
    } finally {
      process.env = env;
    }
  }
  const read = () => readFile(file, 'utf8');

  it('add a model of a new server, and leave the rest of the file unchanged', async () => {
    const own = ['--url', upstream.baseUrl, '--key-variable', 'MODEL_KEY'];
    const added = await run('add', 'qwen3:32b', ...own, '--model', 'vendor/q', '--context-length', '40960');
    expect(added.stderr).to.equal('');
    const id = new URL(upstream.baseUrl).host.replace(':', '-');
    expect(added.stdout).to.equal(
      `Added qwen3:32b to the provider ${id} in ${file}.\n` +
        'Set MODEL_KEY to the key of the server, and restart the gateway. To try it: mediagate models test qwen3:32b\n',
    );
    const text = await read();
    const [kept, rest = ''] = text.split(/(?=,\n {4}\{\n {6}"id": "127)/);
    expect(kept).to.equal(OWN.slice(0, OWN.lastIndexOf('\n  ]')));
    expect(rest.endsWith('\n  ]\n}\n')).to.equal(true);
    expect(JSON.parse(text).plugins[2]).to.deep.equal({
      id,
      use: 'mediagate/plugins/openai_text',
      options: {
        models: [{ id: 'qwen3:32b', model: 'vendor/q', contextLength: 40_960 }],
        upstreams: [{ url: upstream.baseUrl, apiKey: { $env: 'MODEL_KEY' } }],
      },
      timeoutMs: 600_000,
    });
    expect((await stat(file)).mode & 0o777, 'the same permissions').to.equal(0o640);
    expect(await readdir(folder), 'no draft is left').to.deep.equal(['own.json']);
    environment.MODEL_KEY = 'the-key-in-this-test';
    const second = await run('add', 'org/second.1', ...own, '--json');
    expect(JSON.parse(second.stdout)).to.include({ id: 'org/second.1', provider: id, file });
    expect(JSON.parse(await read()).plugins).to.have.length(3);
    expect(JSON.parse(await read()).plugins[2].options.models.at(-1)).to.deep.equal({ id: 'org/second.1' });
  });

  it('refuse models that would not work, and leave the file unchanged', async () => {
    const before = await read();
    const url = upstream.baseUrl;
    const cases: readonly (readonly [id: string, AddModelOptions, RegExp])[] = [
      ['first', { provider: 'mine' }, /^The model first exists already: the provider mine of .*own\.json serves it\./],
      ['x y', { provider: 'mine' }, /cannot be added: option models\.1\.id must be a name of letters, digits/],
      ['x', { provider: 'mine', upstream: 'gone' }, /cannot be added: models\.1: no upstream has the "name"/],
      ['x', { provider: 'gone' }, /^There is no provider gone\. "mediagate plugins" lists them\.$/],
      ['x', { provider: 'echo_text' }, /^The provider echo_text has no list of models in its options\.$/],
      ['x', {}, /^Send either --url, the address of the server, or --provider/],
      ['x', { url: 'nonsense' }, /cannot be added: option upstreams\.0\.url must be an http or https address/],
      ['x', { url, keyVariable: 'sk-1' }, /must be the name of an environment variable, never the key itself/],
      ['x', { provider: 'mine', routes: 'chats' }, /^--routes chats is no route\. Accepted: chat_completions/],
    ];
    for (const [id, options, message] of cases) {
      const refusal = (await rejection(addModelCommand(readSettings(environment), id, options))) as CommandFailure;
      expect(refusal).to.be.instanceOf(CommandFailure).and.to.include({ exitCode: 2 });
      expect(refusal.message).to.match(message);
    }
    const { PLUGINS_CONFIG: _, ...packaged } = environment;
    const elsewhere = await runCommand(['models', 'add', 'x', '--provider', 'openai_text'], packaged, folder);
    expect([elsewhere.code, elsewhere.stderr]).to.satisfy(
      ([code, text]: [number, string]) =>
        code === 2 && /one of the package.*cp .*plugins\.config\.json \.$/m.test(text),
    );
    expect(await read()).to.equal(before);
  });

  it('add several models at once, and lose none', async () => {
    const own = path.join(folder, 'parallel.json');
    await writeFile(own, OWN);
    const ids = ['one', 'two', 'three', 'four', 'five'];
    const add = (id: string) =>
      runCommand(['models', 'add', id, '--provider', 'mine'], { ...environment, PLUGINS_CONFIG: own });
    const added = await Promise.all(ids.map(add));
    expect(added.map(({ code }) => code)).to.deep.equal([0, 0, 0, 0, 0]);
    const { models } = JSON.parse(await readFile(own, 'utf8')).plugins[0].options;
    expect(models.map(({ id }: { id: string }) => id)).to.have.members(['first', ...ids]);
    expect((await readdir(folder)).filter((name) => name.startsWith('parallel'))).to.deep.equal(['parallel.json']);
  });

  it('list models with their upstreams', async () => {
    const { stdout } = await run('list');
    const rows = stdout.split('\n').map((line) => line.split(/ {2,}/));
    expect(rows[0]).to.deep.equal(['MODEL', 'PROVIDER', 'UPSTREAM', 'CONTEXT', 'ROUTES']);
    const routes = '/v1/chat/completions /v1/responses';
    const provider = new URL(upstream.baseUrl).host.replace(':', '-');
    expect(rows).to.deep.include.members([
      ['qwen3:32b', provider, `${upstream.baseUrl} as vendor/q`, '40960', routes],
      ['first', 'mine', 'http://127.0.0.1:9/v1', '-', routes],
      ['mock', 'echo_text (mock)', '-', '-', routes],
    ]);
    expect(stdout).not.to.contain('the-key-in-this-test');
  });

  it('add a second server to a model, and name the upstream in each line of a test', async () => {
    const before = await read();
    environment.MODEL_KEY = 'the-key-in-this-test';
    const server = ['--url', upstream.baseUrl, '--key-variable', 'MODEL_KEY'];
    const added = await run('add', 'first', '--upstream', 'spare', ...server, '--model', 'vendor/q');
    expect(added.stdout + added.stderr).to.contain('Added the upstream spare to the model first, provider mine,');
    expect(JSON.parse(await read()).plugins[0].options).to.deep.equal({
      models: [{ id: 'first' }],
      upstreams: [
        { url: 'http://127.0.0.1:9/v1' },
        { name: 'spare', url: upstream.baseUrl, apiKey: { $env: 'MODEL_KEY' }, model: 'vendor/q' },
      ],
    });
    const { text = '' } = await test('first');
    const lines = text.split('\n').filter((line) => /^(?:ok|fail)/.test(line));
    expect(lines[0]).to.match(/^fail {2}first at http:\/\/127\.0\.0\.1:9\/v1: not reachable/);
    expect(lines[1]).to.match(/^ok {4}first at spare \(http:.*\): reachable/);
    expect(lines[2]).to.match(/^ok {4}first at spare \(http:.*\): answered in \d+ ms/);
    const again = await run('add', 'first', '--upstream', 'spare', ...server);
    expect([again.code, again.stderr]).to.satisfy(
      ([code, text]: [number, string]) => code === 2 && text.includes('cannot be added'),
    );
    await writeFile(file, before);
    upstream.reset();
  });

  it('test a model by a real request', async () => {
    const fine = await run('test', 'qwen3:32b');
    expect([fine.code, fine.stderr]).to.deep.equal([0, '']);
    expect(fine.stdout).to.match(/^ok {4}qwen3:32b: reachable.*\nok {4}qwen3:32b: answered in \d+ ms, \d+ tokens\.\n$/);
    const chats = upstream.requests.filter(({ method }) => method === 'POST');
    expect(chats).to.have.length(1);
    expect(chats[0]?.members).to.include({ model: 'vendor/q', max_completion_tokens: 16 });
    environment.MODEL_KEY = 'another-key';
    const refused = await test('qwen3:32b');
    expect(refused.exitCode).to.equal(1);
    const [result] = refused.json as Record<string, unknown>[];
    expect(result?.ok).to.equal(false);
    expect(result?.detail).to.contain('key refused');
    expect(result?.advice).to.contain('MODEL_KEY');
    expect(JSON.stringify(refused)).not.to.contain('another-key');
    const unreachable = await test('first');
    expect([unreachable.exitCode, unreachable.text]).to.satisfy(
      ([code, text]: [number, string]) => code === 1 && /^fail {2}first: not reachable\./.test(text),
    );
    expect((await test('mock')).text).to.contain('the mock echo_text answers; no upstream is connected');
    expect((await test('gone')).text).to.equal(
      'fail  There is no model gone.\n      "mediagate models list" lists the models.',
    );
    environment.MODEL_KEY = 'the-key-in-this-test';
    upstream.behave(() => ({ does: 'error', status: 500 }));
    const broken = await test('qwen3:32b');
    expect([broken.exitCode, broken.text]).to.satisfy(
      ([code, text]: [number, string]) => code === 1 && /\nfail {2}qwen3:32b: a short request failed\. /.test(text),
    );
  });

  it('list, test and check with the changes that are stored, and say why they could not be read', async () => {
    const dataDir = path.join(folder, 'data');
    await (await openState({ dataDir, clock: systemClock, logger: new ListLogger() })).close();
    const { origin } = new URL(upstream.baseUrl);
    const own = { ...environment, TRUSTED_ORIGINS: origin, MODEL_KEY: 'the-key-in-this-test' };
    const live = ['--live', '--url', upstream.baseUrl, '--model', 'vendor/q', '--key-variable', 'MODEL_KEY'];
    const added = await runCommand(['models', 'add', 'team', ...live], own);
    expect(added.code, added.stderr).to.equal(0);
    expect((await runCommand(['models', 'update', 'first', '--off'], own)).code).to.equal(0);
    const listed = await runCommand(['models', 'list', '--json'], own);
    const changes = Object.fromEntries(
      JSON.parse(listed.stdout).map(({ id, changed }: { id: string; changed?: string[] }) => [id, changed]),
    );
    expect(changes).to.deep.include({ first: ['switched_off'], team: ['added'], mock: undefined });
    expect((await runCommand(['models', 'list'], own)).stdout)
      .to.match(/^MODEL .* CHANGED *\n/)
      .and.match(/team .*added/);
    const tested = await runCommand(['models', 'test', 'team'], own);
    expect(tested.stdout, tested.stderr).to.contain('team: reachable');
    const modelsOf = async (given: Record<string, string>) => {
      const { stdout } = await runCommand(['doctor', '--json'], given);
      return JSON.parse(stdout).find(({ name }: { name: string }) => name === 'models');
    };
    expect(await modelsOf(own)).to.include({
      level: 'ok',
      detail: 'changed by operators: first (switched off), team (added)',
    });
    const lost = { ...own, DATABASE_URL: 'postgres://nobody:secret@127.0.0.1:1/none' };
    const without = await runCommand(['models', 'list'], lost);
    expect([without.code, without.stdout.includes('team')]).to.deep.equal([0, false]);
    expect(without.stderr).to.contain('could not be read').and.to.contain('--server').and.not.to.contain('secret');
    expect(await modelsOf(lost)).to.include({ level: 'warn' });
  });
});
