/**
 * What `npm run slim` removes is not used: a checkout without it compiles, and passes the tests of the packages that it takes
 * from: speech, tokens, ffmpeg, SQLite, the clients of the makers of models, types of the API document.
 */

import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { packageRoot } from '../support/package-root.js';

const run = promisify(execFile);

const COPIED = [
  ...['core', 'docs', 'examples', 'plugins', 'server', 'test', 'README.md', 'LICENSE', '.mocharc.cjs', '.npmrc'],
  ...['package.json', 'package-lock.json', 'plugins.config.json', 'tsconfig.json', 'biome.json'],
];
const TESTS = [
  'plugins/offline_speech/test/offline-speech',
  'test/clients/direct-and-through',
  'test/core/media/ffmpeg',
  'test/http/mcp/conformance',
  'test/http/openapi/client',
  'test/architecture',
];
/** One of each package that much is removed from. */
const REMOVED = ['onnxruntime-web/dist/ort.all.js', 'gpt-tokenizer/cjs', 'better-sqlite3/deps', 'openai/src'];

describe('a checkout after npm run slim', function () {
  this.timeout(900_000);
  let folder: string;

  before(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'mediagate-slim-'));
    for (const name of COPIED.filter((one) => existsSync(path.join(packageRoot, one))))
      await cp(path.join(packageRoot, name), path.join(folder, name), { recursive: true });
    await run('cp', ['-al', path.join(packageRoot, 'node_modules'), path.join(folder, 'node_modules')]);
    await run('npm', ['run', 'slim'], { cwd: folder });
  });
  after(() => rm(folder, { recursive: true, force: true }));

  it('lacks what it was told to remove, which others with links to the same files keep', () => {
    for (const name of REMOVED) expect(existsSync(path.join(folder, 'node_modules', name)), name).to.equal(false);
    expect(existsSync(path.join(packageRoot, 'node_modules', 'onnxruntime-web', 'package.json'))).to.equal(true);
  });

  it('compiles with its types checked', () => run(process.execPath, ['server/run.cjs', '--build'], { cwd: folder }));

  it('passes the tests of what uses these packages', async () => {
    const files = TESTS.map((name) => `dist/${name}.test.js`);
    const order = ['server/run.cjs', '--test', ...files];
    const { stdout } = await run(process.execPath, order, { cwd: folder, maxBuffer: 1e8 });
    expect(stdout).to.match(/^ {2}\d{3} passing/m);
  });
});
