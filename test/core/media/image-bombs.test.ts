/** Hostile images: all are accepted or refused within bounded memory. */

import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { makeImageBombs } from '../../support/images/image-bombs.js';
import type { ImageOutcome } from '../../support/images/image-memory.js';
import { type Canary, startCanary } from '../../support/links/live-probe.js';
import { packageRoot } from '../../support/package-root.js';

const MIB = 1024 * 1024;

describe('hostile images', () => {
  let folder: string;
  let canary: Canary;

  before(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'mediagate-bombs-'));
    canary = await startCanary();
  });

  after(async () => {
    await canary.close();
    await rm(folder, { recursive: true, force: true });
  });

  it('are accepted or refused correctly within 64 MiB of memory, and reach no host', async () => {
    const cases = await makeImageBombs(canary.origins);
    await Promise.all(
      Object.values(cases).map(([, bytes], index) => writeFile(path.join(folder, String(index)), bytes)),
    );

    const script = path.join(packageRoot, 'dist', 'test', 'support', 'images', 'image-memory.js');
    const { stdout } = await promisify(execFile)(process.execPath, ['--expose-gc', script, folder], {
      // As the launcher starts the gateway.
      env: { ...process.env, MALLOC_ARENA_MAX: '2' },
    });
    const outcomes: Record<string, ImageOutcome> = JSON.parse(stdout);

    const found = Object.keys(cases).map((name, index) => [name, outcomes[index]?.verdict]);
    expect(found).to.deep.equal(Object.entries(cases).map(([name, [verdict]]) => [name, verdict]));
    expect(Math.max(...Object.values(outcomes).map(({ extraBytes }) => extraBytes))).to.be.lessThan(64 * MIB);
    expect(canary.connections).to.equal(0);
  });
});
