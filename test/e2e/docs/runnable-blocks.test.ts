/** Code blocks of the documentation that are marked as runnable: in a usual run those of the first pages, and the first of each other page. */

import { execFile, spawnSync } from 'node:child_process';
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { documentPages, type RunnableBlock, readPage, runnableBlocksOf } from '../../support/docs/documents.js';
import { packageRoot } from '../../support/package-root.js';
import { type GatewayHere, startGatewayHere } from '../../support/processes/gateway-here.js';
import { longIt } from '../../support/runner/variants.js';

const run = promisify(execFile);

/** What a newcomer reads first. */
const FIRST_PAGES = ['README.md', 'docs/quickstart.md'];

/** The program of a language, with its arguments, for a file with the block; the file's name ends like this. */
const PROGRAMS: Readonly<Record<string, { ending: string; command: readonly string[] }>> = {
  sh: { ending: 'sh', command: ['bash', '-e', '-o', 'pipefail'] },
  js: { ending: 'mjs', command: [process.execPath] },
  ts: { ending: 'mts', command: [process.execPath] },
  python: { ending: 'py', command: ['python3'] },
};

describe('code blocks that a page marks as runnable', () => {
  let folder: string;
  let gateway: GatewayHere;
  let key: string;

  before(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'mediagate-blocks-'));
    await symlink(path.join(packageRoot, 'node_modules'), path.join(folder, 'node_modules'));
    gateway = await startGatewayHere();
    ({ key } = await gateway.makeKey({ grants: ['extract', 'images', 'text', 'audio'] }));
  });
  after(async () => {
    await gateway.stop();
    await rm(folder, { recursive: true, force: true });
  });

  async function outputOf({ language, code }: RunnableBlock, place: string, number: number): Promise<string> {
    const program = PROGRAMS[language];
    if (!program) throw new Error(`Nothing runs blocks of ${language}.`);
    const [command = '', ...args] = program.command;
    const file = path.join(place, `block-${number}.${program.ending}`);
    await writeFile(file, code.replaceAll('http://127.0.0.1:8787', gateway.url).replaceAll('sk-mg-…', key));
    const env = { ...process.env, BASE: gateway.url, KEY: key, MEDIAGATE_API_KEY: key };
    const { stdout } = await run(command, [...args, file], { cwd: place, env });
    return stdout;
  }

  for (const page of documentPages()) {
    const blocks = runnableBlocksOf(page);
    // The blocks of a page share a folder, so that one can use the files of those before it.
    const place = () => path.join(folder, page.replaceAll('/', '-'));
    blocks.forEach((block, index) => {
      const title = block.code.split('\n').find((line) => /^(curl|const|import|for)\b/.test(line)) ?? block.language;
      const define = index === 0 || FIRST_PAGES.includes(page) ? it : longIt;
      define(`${page}: block ${index + 1}, ${title.slice(0, 60)}`, async function () {
        // Engines of speech on a busy machine take their time.
        if (block.language === 'python' && spawnSync('python3', ['--version']).error) this.skip();
        await mkdir(place(), { recursive: true });
        const printed = await outputOf(block, place(), index + 1);
        expect(printed).not.to.match(/"error": ?\{/);
        expect(printed).to.contain(block.prints ?? '');
        expect(printed.trim(), 'a block prints something').not.to.equal('');
      });
    });
  }

  it('follow each marker', () => {
    for (const page of documentPages())
      expect(readPage(page).match(/^<!-- run\b/gm) ?? [], page).to.have.length(runnableBlocksOf(page).length);
  });

  it('exist in README and the quick start', () => {
    for (const page of FIRST_PAGES) expect(runnableBlocksOf(page), page).not.to.deep.equal([]);
  });
});
