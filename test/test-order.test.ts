/** The order of test files in whole and quick runs. */

import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect } from 'chai';
import {
  expectedSeconds,
  isAbout,
  QuickQueue,
  readLastRun,
  storeLastRun,
  type TestQueue,
  WholeQueue,
} from './support/runner/test-order.js';

/** Everything that a queue gives out, share by share. */
function shares(queue: TestQueue): (readonly string[])[] {
  const given: (readonly string[])[] = [];
  for (let files = queue.next(); files; files = queue.next()) given.push(files);
  return given;
}

describe('a whole run of the tests', () => {
  it('runs each file once, the longest of the last run first, and ends with shorter shares', () => {
    const files = Array.from({ length: 60 }, (_, index) => `test/http/${index}.test.js`);
    const lastRun = Object.fromEntries(files.map((file, index) => [file, index]));
    const given = shares(new WholeQueue(files, lastRun, 4));
    expect(given.flat()).to.deep.equal(files.toReversed());
    const seconds = given.map((share) => share.reduce((sum, file) => sum + (lastRun[file] ?? 0), 0));
    // The longest file alone takes more than a share.
    expect(seconds[0]).to.equal(59);
    expect(Math.max(...seconds.slice(-8))).to.be.at.most(20);
    for (const share of given) expect(share.length).to.be.at.most(10);
    expect(Math.max(...seconds.slice(-4))).to.be.at.most(6);
  });

  it('runs a file that takes longer than any share in a process of its own', () => {
    const lastRun = { 'test/b.test.js': 500, 'test/a.test.js': 1, 'test/c.test.js': 2 };
    expect(shares(new WholeQueue(Object.keys(lastRun).sort(), lastRun, 1))).to.deep.equal([
      ['test/b.test.js'],
      ['test/c.test.js', 'test/a.test.js'],
    ]);
  });

  it('estimates durations without a last run', () => {
    const browser = 'test/core/browser/browser.test.js';
    expect(expectedSeconds(browser, {})).to.be.above(expectedSeconds('test/e2e/any.test.js', {}));
    expect(expectedSeconds('test/e2e/any.test.js', {})).to.be.above(expectedSeconds('test/words.test.js', {}));
    expect(expectedSeconds(browser, { [browser]: 3 })).to.equal(3);
  });

  it('stores durations beside those of other files, and ignores invalid ones', async () => {
    const folder = await mkdtemp(path.join(tmpdir(), 'mediagate-order-'));
    const file = path.join(folder, 'below', 'seconds.json');
    try {
      expect(readLastRun(file)).to.deep.equal({});
      storeLastRun({ one: 1, two: 2 }, file);
      storeLastRun({ two: 3 }, file);
      expect(readLastRun(file)).to.deep.equal({ one: 1, two: 3 });
      await writeFile(file, '{"one":"long","two":-1,"three":4}');
      expect(readLastRun(file)).to.deep.equal({ three: 4 });
      await writeFile(file, '{"one":');
      expect(readLastRun(file)).to.deep.equal({});
    } finally {
      await rm(folder, { recursive: true });
    }
  });
});

describe('a quick run of the tests', () => {
  const lastRun = { 'test/http/a.test.js': 3, 'test/http/b.test.js': 1, 'test/http/key-list.test.js': 40 };
  const files = [...Object.keys(lastRun), 'test/e2e/c.test.js', 'test/http/long.test.js'];
  const seconds = { ...lastRun, 'test/http/long.test.js': 100 };

  it('runs changed subjects first, then the shortest files, and no tests of whole processes', () => {
    const queue = new QuickQueue(files, seconds, ['server/keys/keys.ts'], () => 0);
    expect(shares(queue)).to.deep.equal([
      ['test/http/key-list.test.js'],
      ['test/http/b.test.js', 'test/http/a.test.js'],
    ]);
  });

  it('starts no file after its time, and reports the remaining number', () => {
    let now = 0;
    const queue = new QuickQueue(files, seconds, ['server/keys/keys.ts'], () => now);
    expect(queue.next()).to.deep.equal(['test/http/key-list.test.js']);
    now = 71;
    expect([queue.next(), queue.left]).to.deep.equal([undefined, 2]);
  });

  for (const [test, source, expected] of [
    ['test/server/usage/usage-log.test.js', 'server/usage/tables.ts', true],
    ['test/core/jobs/jobs.test.js', 'core/jobs/index.ts', true],
    ['test/http/limits/window.test.js', 'server/limits/rate-limit.ts', true],
    ['test/http/limits/window.test.js', 'server/keys/keys.ts', false],
    ['test/e2e/nodes/rate-limits.test.js', 'server/limits/rate-limit.ts', true],
    ['plugins/photo/test/photo.test.js', 'plugins/photo/pages.ts', true],
    ['plugins/photo/test/photo.test.js', 'plugins/social/pages.ts', false],
    ['test/http/models/text.test.js', 'test/http/models/text.test.ts', true],
    ['test/http/models/text.test.js', 'docs/guides/text.md', false],
  ] as const) {
    it(`${expected ? 'relates' : 'does not relate'} ${test} to ${source}`, () => {
      expect(isAbout(test, source)).to.equal(expected);
    });
  }
});
