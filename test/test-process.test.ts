import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect } from 'chai';
import { runTestFiles } from './support/test-process.js';

describe('a process of the tests', () => {
  let folder: string;

  before(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'mediagate-invented-tests-'));
  });
  after(() => rm(folder, { recursive: true, force: true }));

  async function run(...suites: string[]) {
    const files = suites.map((_, index) => path.join(folder, `${index}.test.js`));
    await Promise.all(files.map((file, index) => writeFile(file, suites[index] ?? '')));
    return runTestFiles(files);
  }

  it('counts what passed, failed and was left out, and says why', async () => {
    const { output, ...totals } = await run(
      `describe('tugs', () => { it('pull', () => {}); it('sink', () => { throw new Error('leak'); }); it('fly'); });`,
      `describe('docks', () => { before(() => { throw new Error('shut'); }); it('open', () => {}); });`,
    );
    const failures = ['tugs sink (leak)', 'docks "before all" hook for "open" (shut)'];
    expect(totals).to.deep.equal({ passed: 1, skipped: 1, failures });
    expect(output).to.contain('Error: leak').and.to.contain('Error: shut');
  });

  for (const [death, code] of [
    ['is killed', `process.kill(process.pid, 'SIGKILL')`],
    ['ends before its tests do', 'process.exit(0)'],
    ['cannot be loaded', `it('is never run', () => {}); } + throw`],
  ] as const) {
    it(`has failed where it ${death}, and names its files`, async () => {
      const { passed, failures } = await run(`it('passes', () => {});`, `it('dies', () => { ${code}; });`);
      expect([passed, failures.length]).to.deep.equal([0, 1]);
      expect(failures[0]).to.match(/^a process of the tests ended with (SIGKILL|0|1): .*0\.test\.js .*1\.test\.js$/);
    });
  }
});
