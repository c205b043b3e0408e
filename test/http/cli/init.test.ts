/** `mediagate init`: its questions, what it writes, and what it leaves alone. */

import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect } from 'chai';
import { type Environment, runAlone, runCommand } from '../../support/processes/command-line.js';

describe('mediagate init', () => {
  let folder: string;
  let file: string;

  beforeEach(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'mediagate-init-'));
    file = path.join(folder, 'data', 'mediagate.env');
  });

  afterEach(() => rm(folder, { recursive: true, force: true }));

  const init = (answers: readonly string[], environment: Environment = {}) =>
    runAlone(['init', '--json'], environment, folder, answers.map((line) => `${line}\n`).join(''));
  const read = () => readFile(file, 'utf8');

  it('writes what was answered, for its owner alone, and other commands read it', async () => {
    const { code, stdout, stderr } = await init([
      'http://127.0.0.1:11434/v1',
      'qwen3:32b,gpt 5',
      "it's secret",
      '',
      '',
      'https://api.example.com/',
      '',
      '',
    ]);
    expect(code, stderr).to.equal(0);
    const text = ['TEXT_UPSTREAM_URL', 'TEXT_UPSTREAM_MODELS', 'TEXT_UPSTREAM_KEY', 'PRICES_CURRENCY'];
    const settings = [...text, 'BASE_URL', 'HOST', 'TRUSTED_PROXIES'];
    expect(JSON.parse(stdout)).to.deep.equal({ file, settings });
    expect((await read()).split('\n')).to.deep.equal([
      '# Settings of mediagate. Variables of the environment win over them.',
      'TEXT_UPSTREAM_URL=http://127.0.0.1:11434/v1',
      "TEXT_UPSTREAM_MODELS='qwen3:32b,gpt 5'",
      'TEXT_UPSTREAM_KEY="it\'s secret"',
      'PRICES_CURRENCY=USD',
      'BASE_URL=https://api.example.com/',
      'HOST=127.0.0.1',
      'TRUSTED_PROXIES=127.0.0.1',
      '',
    ]);
    expect((await stat(file)).mode & 0o777).to.equal(0o600);
    const { stdout: findings } = await runCommand(['doctor', '--json'], { BROWSER: 'off' }, folder);
    expect(findings).to.contain(`7 come from ${file}`).and.to.contain('links begin with https://api.example.com');
  });

  it('asks again after a wrong answer, and never shows a secret', async () => {
    const { code, stderr } = await init([
      'unspoken',
      'http://127.0.0.1:1/v1',
      'm',
      'unspoken',
      '',
      '',
      '',
      'http://login',
      '',
    ]);
    expect(code, stderr).to.equal(0);
    expect(stderr).to.contain('TEXT_UPSTREAM_URL must be an http or https address').and.not.to.contain('unspoken');
    expect(stderr).to.contain('OIDC_ISSUER must be an https address');
    expect(await read())
      .to.contain('TEXT_UPSTREAM_KEY=unspoken')
      .and.not.to.contain('OIDC');
    const again = await init(['']);
    expect(again.stderr)
      .to.contain('[http://127.0.0.1:1/v1]')
      .and.to.contain('[is set]')
      .and.not.to.contain('unspoken');
  });

  it('changes its lines alone, and removes a topic', async () => {
    await init(['http://127.0.0.1:1/v1', 'm', 'k']);
    await writeFile(file, `# mine\nIMAGE_WORKERS=3\n${await read()}# end`);
    // A file of prices has a currency of its own.
    const answers = ['', 'm,n', '-', 'https://images.example', '', 'key'];
    const { code, stderr } = await init(answers, { PRICES_FILE: 'prices.json' });
    expect(code, stderr).to.equal(0);
    expect((await read()).split('\n')).to.deep.equal([
      '# mine',
      'IMAGE_WORKERS=3',
      '# Settings of mediagate. Variables of the environment win over them.',
      'TEXT_UPSTREAM_URL=http://127.0.0.1:1/v1',
      'TEXT_UPSTREAM_MODELS=m,n',
      '# end',
      'IMAGE_UPSTREAM_URL=https://images.example',
      'IMAGE_UPSTREAM_MODEL=gpt-image-2',
      'IMAGE_UPSTREAM_KEY=key',
      '',
    ]);
    await init(['-']);
    expect(await read()).not.to.contain('TEXT_UPSTREAM');
  });

  it('writes nothing if the settings do not fit each other, or without answers', async () => {
    const { code, stdout, stderr } = await init(['', '', '', '', '1234', 'vietqr', 'Bank']);
    expect([code, stdout], stderr).to.deep.equal([2, '']);
    expect(stderr).to.contain('Nothing was written.').and.to.contain('PAYMENT_ACCOUNT');
    expect((await init([])).code).to.equal(0);
    expect(await stat(file).catch((error) => error.code)).to.equal('ENOENT');
  });

  it('prints a link for the first operator where passkeys sign people in, and says where they cannot', async () => {
    const run = (environment: Environment) => runCommand(['init', '--yes'], environment, folder);
    const named = await run({ BASE_URL: 'https://api.example.com', HOST: '0.0.0.0' });
    expect(named.code, named.stderr).to.equal(0);
    expect(named.stdout + named.stderr).to.match(/https:\/\/api\.example\.com\/invite#[\w-]{43}\n/);
    expect(await read()).not.to.contain('invite');
    expect(named.stdout + named.stderr).to.contain('set PRICES_CURRENCY');
    // What only waits for the first sign-in is no fault.
    const { stdout } = await runCommand(['doctor', '--json'], { BROWSER: 'off' }, folder);
    const found = JSON.parse(stdout).find(({ name }: { name: string }) => name === 'sign-in');
    expect(found).to.include({ level: 'ok' });
    expect(found.detail).to.contain('the first operator has not signed in yet');
    expect(found.advice).to.contain('users invite --operator');
    const numbered = await run({ BASE_URL: 'http://192.0.2.7:8787', HOST: '0.0.0.0' });
    expect(numbered.stdout + numbered.stderr)
      .to.contain('Nobody can sign in.')
      .and.not.to.contain('invite#');
    const provided = await run({ BASE_URL: 'https://api.example.com', OIDC_ISSUER: 'https://id.example.com' });
    expect(provided.stdout + provided.stderr).not.to.match(/invite#|sign in/);
  });

  it('takes what the environment sets with --yes', async () => {
    const environment = {
      TEXT_UPSTREAM_URL: 'http://127.0.0.1:1/v1',
      OIDC_CLIENT_ID: 'mine',
      PORT: '9100',
      TRUSTED_PROXIES: '10.0.0.0/8',
    };
    const { code, stdout } = await runCommand(['init', '--yes'], environment, folder);
    expect(code).to.equal(0);
    for (const name of Object.keys(environment)) {
      expect(stdout).to.contain(name);
      expect(await read()).to.contain(`${name}=`);
    }
    expect(await read()).not.to.contain('DATA_DIR');
  });
});
