/** Flags of the scripts for developers. */

import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { expect } from 'chai';
import { packageRoot } from '../support/package-root.js';

const { scripts } = JSON.parse(readFileSync(path.join(packageRoot, 'package.json'), 'utf8')) as {
  scripts: Readonly<Record<string, string>>;
};

/** As npm runs the script of package.json, with the Node of the tests. */
function run(script: string, ...typed: readonly string[]) {
  const [, ...words] = scripts[script]?.split(' ') ?? [];
  return spawnSync(process.execPath, [...words, ...typed], { cwd: packageRoot, encoding: 'utf8' });
}

describe('scripts that take flags', () => {
  const flags: Readonly<Record<string, string>> = {
    demo: 'npm run demo -- [--keep]',
    cluster: 'npm run cluster -- [--api 2] [--workers 2] [--port 0] [--keep FOLDER]',
    bench: 'npm run bench -- [PART] [--only PART,PART] [--baseline COMMIT] [--update]',
    screenshots: 'npm run screenshots -- [FOLDER]',
    tour: 'npm run tour -- [FOLDER]',
    faults: 'npm run faults -- [--only kills,workers,upstream,disk,clock] [--engine sqlite,postgres] [--kills 200]',
  };
  for (const [script, usage] of Object.entries(flags)) {
    it(`${script} lists its commands, and refuses others`, () => {
      const help = run(script, '--help');
      expect([help.status, help.stderr]).to.deep.equal([0, '']);
      expect(help.stdout).to.contain(usage);
      const refused = run(script, '--nonsense');
      expect([refused.status, refused.stdout]).to.deep.equal([2, '']);
      expect(refused.stderr)
        .to.contain("Unknown option '--nonsense'")
        .and.to.contain(usage)
        .and.not.to.contain('    at ');
    });
  }

  it('include all scripts that run a program', () => {
    const launched = Object.keys(scripts).filter((name) => scripts[name]?.startsWith('node server/run.cjs'));
    const others = ['test', 'test:quick', 'test:long', 'mediagate', 'probe', 'build', 'prepack'];
    expect(launched).to.have.members([...Object.keys(flags), ...others]);
    for (const name of ['mediagate', 'probe']) {
      const help = run(name, '--help');
      expect([help.status, help.stderr], name).to.deep.equal([0, '']);
      expect(help.stdout).to.contain('Usage: mediagate');
    }
  });

  it('have help for each word of faults, and refuse invalid values', () => {
    const help = run('faults', 'limits', '--help');
    expect([help.status, help.stdout]).to.deep.equal([0, 'npm run faults -- limits [--rounds 100] [--update]\n']);
    for (const [script, ...typed] of [
      ['cluster', '--api', 'x'],
      ['bench', 'speed'],
      ['demo', 'now'],
    ] as const) {
      const { status, stdout, stderr } = run(script, ...typed);
      expect([status, stdout], stderr).to.deep.equal([2, '']);
      expect(stderr).not.to.contain('    at ');
    }
  });
});

describe('npm run faults', () => {
  const refused: readonly [string, string][] = [
    [
      'limit',
      'There are no faults "limit"; there are: scale, restart, limits, hints, bodies, soak, batch, ledger, alerts.',
    ],
    ['limits --rounds 0', '--rounds must be a whole number, at least 1.'],
    ['limits 100', '"100" is no flag.'],
    ['restart --rate fast', '--rate must be a whole number, at least 1.'],
    ['restart --drain=-1', '--drain must be a whole number, at least 0.'],
    ['restart --nodes 3', "Unknown option '--nodes'."],
    [
      'restart --rounds 5 --update',
      'docs/operate/multi-node.md has no row for this run: 2 × api and 1 × worker, each restarted 5 ×',
    ],
    ['hints --times', "Option '--times <value>' argument missing"],
    ['--only kills,fire', '--only must be some of kills,workers,upstream,disk,clock.'],
    ['--engine mysql', '--engine must be some of sqlite,postgres.'],
  ];
  for (const [typed, said] of refused) {
    it(`refuses "${typed}" before it starts anything`, () => {
      const { status, stdout, stderr } = run('faults', ...typed.split(' '));
      expect([status, stdout]).to.deep.equal([2, '']);
      expect(stderr).to.contain(said);
      expect(stderr).not.to.contain('    at ');
    });
  }
});
