/** The file `mediagate.env`: where it is found, what wins over it, and what it must not be. */

import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect } from 'chai';
import { type Environment, runCommand } from '../../support/processes/command-line.js';

describe('the settings file', () => {
  let folder: string;
  let data: string;

  beforeEach(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'mediagate-settings-'));
    data = path.join(folder, 'data');
    await mkdir(data);
  });

  afterEach(() => rm(folder, { recursive: true, force: true }));

  async function write(where: string, text: string, mode = 0o600): Promise<string> {
    const file = path.join(where, 'mediagate.env');
    await writeFile(file, text);
    await chmod(file, mode);
    return file;
  }

  const doctor = (environment: Environment = {}) =>
    runCommand(['doctor', '--json'], { BROWSER: 'off', ...environment }, folder);

  async function findings(environment?: Environment): Promise<Map<string, { level: string; detail: string }>> {
    const { stdout, stderr } = await doctor(environment);
    expect(stderr).to.equal('');
    return new Map(JSON.parse(stdout).map((one: { name: string }) => [one.name, one]));
  }

  it('is read from the working folder, and the shell wins over it', async () => {
    const file = await write(folder, "# ours\nHOST=127.0.0.1\nPORT=9123\nBASE_URL='https://gateway.example'\n");
    const found = await findings();
    expect(found.get('settings')).to.include({ level: 'ok', detail: `no misspelt variables; 3 come from ${file}` });
    expect(found.get('address')?.detail).to.contain(':9123').and.to.contain('https://gateway.example');
    const other = await findings({ PORT: '9124', BASE_URL: '' });
    expect(other.get('settings')?.detail).to.contain('2 come from');
    expect(other.get('address')?.detail).to.contain(':9124').and.to.contain('https://gateway.example');
  });

  it('is read from the data folder before the working folder', async () => {
    const first = await write(data, 'PORT=9125\n');
    const second = await write(folder, 'PORT=9126\n');
    const found = await findings();
    expect(found.get('address')?.detail).to.contain(':9125');
    expect(found.get('settings')).to.include({ level: 'warn', detail: `${second} is not read, since ${first} is.` });
    expect((await findings({ DATA_DIR: 'elsewhere' })).get('address')?.detail).to.contain(':9126');
  });

  it('names the data folder, if it lies elsewhere', async () => {
    await write(folder, `DATA_DIR=${path.join(folder, 'own')}\n`);
    const { code, stderr } = await runCommand(['keys', 'list'], {}, folder);
    expect(code).to.equal(2);
    expect(stderr).to.contain(path.join(folder, 'own'));
    const file = await write(data, `DATA_DIR=${folder}\n`);
    const refused = await runCommand(['keys', 'list'], {}, folder);
    expect(refused.code).to.equal(2);
    expect(refused.stderr).to.contain(`DATA_DIR cannot be set in ${file}`);
  });

  it('is refused if others can read or write it, if it is too large, and if it is no file of settings', async () => {
    for (const mode of [0o644, 0o620, 0o602]) {
      const file = await write(folder, 'KEY_PEPPER=unspoken\n', mode);
      const { code, stdout, stderr } = await doctor();
      expect([code, stdout], stderr).to.deep.equal([2, '']);
      expect(stderr).to.contain(`open to others. Run: chmod 600 ${file}`).and.not.to.contain('unspoken');
    }
    await write(folder, 'PORT=9127\n', 0o640);
    expect((await findings()).get('address')?.detail).to.contain(':9127');
    await write(folder, `# ${'x'.repeat(70_000)}\n`);
    expect((await doctor()).stderr).to.contain('65536 are accepted');
    await write(folder, 'PO RT=unspoken\n');
    const wrong = await doctor();
    expect(wrong.code).to.equal(2);
    expect(wrong.stderr).to.contain('not of the form NAME=value').and.not.to.contain('unspoken');
  });

  it('is checked like the environment', async () => {
    await write(folder, 'PORT=many\n');
    const { code, stderr } = await doctor();
    expect(code).to.equal(2);
    expect(stderr).to.contain('PORT must be').and.not.to.contain('many');
    await write(folder, 'IMAGE_UPSTREM_URL=unspoken\n');
    expect((await findings()).get('settings')?.detail).to.contain('Did you mean IMAGE_UPSTREAM_URL?');
  });
});
