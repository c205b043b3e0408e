/** `mediagate prices import`: it shows a diff, writes only what is not suspicious, and keeps what it does not know. */

import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect } from 'chai';
import { runCommand } from '../../support/processes/command-line.js';

const MODELS_DEV = {
  alpha: {
    models: { 'inv-large': { cost: { input: 1.25, output: 10 } }, 'inv-small': { cost: { input: 0.05, output: 0.4 } } },
  },
};

describe('mediagate prices import', () => {
  let folder: string;
  let file: string;
  let catalogue: string;

  beforeEach(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'mediagate-prices-'));
    file = path.join(folder, 'prices.json');
    catalogue = path.join(folder, 'api.json');
    await writeFile(catalogue, JSON.stringify(MODELS_DEV));
    const models = { 'inv-large': { input: 1, output: 8 }, own: { input: 3, output: 4 } };
    await writeFile(file, JSON.stringify({ currency: 'USD', models }));
  });
  afterEach(() => rm(folder, { recursive: true, force: true }));

  const run = (...args: string[]) => runCommand(['prices', 'import', catalogue, ...args], { PRICES_FILE: file });
  const stored = async () => JSON.parse(await readFile(file, 'utf8')).models;

  it('writes what differs, and keeps models that the catalogue lacks', async () => {
    const dry = await run('--dry-run');
    expect([dry.code, dry.stdout]).to.satisfy(([code, text]: [number, string]) => code === 0 && text.includes('1.25'));
    expect((await stored())['inv-large'].input).to.equal(1);
    const { code, stdout, stderr } = await run('--json');
    expect(code, stderr).to.equal(0);
    expect(JSON.parse(stdout)).to.deep.include({ written: true, not_in_catalogue: ['own'] });
    expect(await stored()).to.deep.equal({ 'inv-large': { input: 1.25, output: 10 }, own: { input: 3, output: 4 } });
    expect((await run()).stdout).to.contain('No price differs.');
  });

  it('takes a model under another name', async () => {
    const { code, stderr } = await run('--model', 'mine=alpha/inv-small');
    expect(code, stderr).to.equal(0);
    expect((await stored()).mine).to.deep.include({ input: 0.05, output: 0.4 });
  });

  it('writes nothing that is ten times another price, unless it is accepted', async () => {
    await writeFile(file, JSON.stringify({ currency: 'USD', models: { 'inv-large': { input: 0.1, output: 8 } } }));
    const refused = await run();
    expect([refused.code, (await stored())['inv-large'].input]).to.deep.equal([1, 0.1]);
    expect(refused.stdout).to.contain('10 times').and.to.contain('--accept');
    expect((await run('--accept')).code).to.equal(0);
    expect((await stored())['inv-large'].input).to.equal(1.25);
  });

  it('refuses a file that is no catalogue, another currency, and no file to write', async () => {
    await writeFile(file, JSON.stringify({ currency: 'EUR', models: {} }));
    expect((await run()).stderr).to.contain('USD');
    expect((await runCommand(['prices', 'import', catalogue], {})).stderr).to.contain('PRICES_FILE is not set');
    await writeFile(catalogue, '[]');
    await writeFile(file, JSON.stringify({ currency: 'USD', models: {} }));
    expect((await run()).code).to.equal(2);
  });
});
