/** The process that runs test files. */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect } from 'chai';
import { packageRoot } from './support/package-root.js';
import { runTestFiles, TestProcess } from './support/runner/test-process.js';

describe('test process', () => {
  let folder: string;

  before(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'mediagate-invented-tests-'));
  });
  after(() => rm(folder, { recursive: true, force: true }));

  async function run(suites: readonly string[], order: { reverse?: boolean } = {}, where = '.') {
    await mkdir(path.join(folder, where), { recursive: true });
    const files = suites.map((_, index) => path.join(folder, where, `${index}.test.js`));
    await Promise.all(files.map((file, index) => writeFile(file, suites[index] ?? '')));
    return runTestFiles(files, order);
  }

  it('counts passed, failed and skipped tests, with reasons', async () => {
    const { output, seconds, cpu, ...totals } = await run([
      `describe('tugs', () => { it('pull', () => {}); it('sink', () => { throw new Error('leak'); }); it('fly'); });`,
      `describe('docks', () => { before(() => { throw new Error('shut'); }); it('open', () => {}); });`,
    ]);
    const failures = ['tugs sink (leak)', 'docks "before all" hook for "open" (shut)'];
    expect(totals).to.deep.equal({ passed: 1, skipped: 1, failures, nearTimeout: [] });
    expect(Object.keys(seconds).map((file) => path.basename(file))).to.deep.equal(['0.test.js', '1.test.js']);
    expect(Object.keys(cpu)).to.deep.equal(Object.keys(seconds));
    for (const each of [seconds, cpu].flatMap(Object.values)) expect(each).to.be.at.least(0);
    expect(output).to.contain('Error: leak').and.to.contain('Error: shut');
  });

  it('runs files, suites and tests from the last to the first if requested', async () => {
    const suites = ['a', 'b'].map((name) => {
      const test = (title: string) => `it('${name} ${title}', () => console.log('ran ${name} ${title}'));`;
      return `describe('${name}', () => { ${test('1')} ${test('2')} describe('in it', () => { ${test('3')} }); });`;
    });
    const ran = async (order?: { reverse: boolean }, where?: string) =>
      [...(await run(suites, order, where)).output.matchAll(/ran (\w \d)/g)].map(([, title]) => title);
    expect(await ran()).to.deep.equal(['a 1', 'a 2', 'a 3', 'b 1', 'b 2', 'b 3']);
    expect(await ran({ reverse: true })).to.deep.equal(['b 2', 'b 1', 'b 3', 'a 2', 'a 1', 'a 3']);
    const walks = path.join('test', 'e2e', 'tugs');
    expect(await ran({ reverse: true }, walks)).to.deep.equal(['b 1', 'b 2', 'b 3', 'a 1', 'a 2', 'a 3']);
  });

  it('counts the time of the processor, with that of the processes that a file has started', async () => {
    const busy = `while (process.cpuUsage().user < 300_000);`;
    const start = `require('node:child_process').execFileSync(process.execPath, ['--eval', '${busy}'])`;
    const { cpu } = await run([`describe('starts', () => { it('one', () => { ${start}; }); });`]);
    if (process.platform === 'linux') expect(Object.values(cpu)[0]).to.be.within(0.1, 10);
  });

  it('names tests that take more than a third of their time', async () => {
    const wait = `() => new Promise((resolve) => setTimeout(resolve, 500))`;
    const { passed, nearTimeout } = await run([`it('slow', ${wait}).timeout(1_400); it('quick', ${wait});`]);
    expect(passed).to.equal(2);
    expect(nearTimeout.join()).to.match(/^slow \(0\.\d of 1\.4 s\)$/);
  });

  it('runs share after share in one process, each with its own totals and output', async () => {
    const shares = ['sail', 'row'].map((word) => path.join(folder, `${word}.test.js`));
    const one = await TestProcess.start();
    try {
      for (const file of shares) {
        const word = path.basename(file, '.test.js');
        await writeFile(file, `it('can ${word}', () => console.log('${word} in', process.pid));`);
      }
      const runs = [];
      for (const file of shares) runs.push(await one.run([file]));
      const pids = runs.map(({ output }) => /(?:sail|row) in (\d+)/.exec(output)?.[1]);
      expect(new Set(pids).size).to.equal(1);
      expect(runs.map(({ passed, output }) => [passed, output.includes('sail'), output.includes('row')])).to.deep.equal(
        [
          [1, true, false],
          [1, false, true],
        ],
      );
      expect(one.isWorn).to.equal(false);
    } finally {
      await one.end();
    }
    expect(one.isWorn).to.equal(true);
  });

  for (const [death, code] of [
    ['is killed', `process.kill(process.pid, 'SIGKILL')`],
    ['ends before its tests do', 'process.exit(0)'],
    ['cannot be loaded', `it('is never run', () => {}); } + throw`],
  ] as const) {
    it(`fails if it ${death}, and names its files`, async () => {
      const { passed, failures } = await run([`it('passes', () => {});`, `it('dies', () => { ${code}; });`]);
      expect([passed, failures.length]).to.deep.equal([0, 1]);
      expect(failures[0]).to.match(/^a process of the tests ended with (SIGKILL|0|1): .*0\.test\.js .*1\.test\.js$/);
    });
  }
});

describe('test process that starts others', () => {
  it('ends them on any number of signals', async () => {
    const support = pathToFileURL(path.join(packageRoot, 'dist', 'test', 'support', 'processes', 'command-line.js'));
    // The second signal comes while the handlers of "exit" are at work, which take their time here.
    const program = `
      import { writeSync } from 'node:fs';
      import ${JSON.stringify(support)};
      process.on('exit', () => {
        writeSync(1, 'ending ');
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 500);
        writeSync(1, 'ended');
      });
      setInterval(() => undefined, 1_000);
      writeSync(1, 'started ');`;
    const child = spawn(process.execPath, ['--input-type=module', '--eval', program]);
    let said = '';
    child.stdout.on('data', (chunk: Buffer) => {
      said += chunk.toString();
      if (said === 'started ' || said === 'started ending ') child.kill('SIGTERM');
    });
    const [code] = await once(child, 'close');
    expect([code, said]).to.deep.equal([1, 'started ending ended']);
  });
});
