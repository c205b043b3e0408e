import { spawnSync } from 'node:child_process';
import path from 'node:path';
import { expect } from 'chai';
import { packageRoot } from './support/package-root.js';

describe('npm run faults', () => {
  const program = path.join(packageRoot, 'dist/test/torture/run-faults.js');
  const refused: readonly [string, string][] = [
    ['limit', 'There are no faults "limit"; there are: scale, restart, limits, hints.'],
    ['limits --rounds 0', '--rounds must be a whole number, at least 1.'],
    ['limits 100', '"100" is no flag.'],
    ['restart --rate fast', '--rate must be a whole number, at least 1.'],
    ['restart --drain=-1', '--drain must be a whole number, at least 0.'],
    ['restart --nodes 3', "Unknown option '--nodes'."],
    ['restart --rounds 5 --update', 'README has no row for this run: 2 × api and 1 × worker, each restarted 5 ×'],
    ['hints --times', "Option '--times <value>' argument missing"],
    ['--only kills,fire', '--only must be some of kills,upstream,disk,clock.'],
    ['--engine mysql', '--engine must be some of sqlite,postgres.'],
  ];
  for (const [typed, said] of refused) {
    it(`refuses "${typed}" before it does any harm`, () => {
      const { status, stdout, stderr } = spawnSync(process.execPath, [program, ...typed.split(' ')], {
        encoding: 'utf8',
      });
      expect([status, stdout]).to.deep.equal([2, '']);
      expect(stderr).to.contain(said);
      expect(stderr).not.to.contain('    at ');
    });
  }
});
