/** Secrets on disk: one for all callers, readable only by the owner. */

import { chmod, mkdtemp, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect } from 'chai';
import { loadSecret, mendSecrets, secretsOfOthers } from '../../../core/storage/secrets.js';

describe('secrets on disk', () => {
  let dataDir: string;

  beforeEach(async () => {
    dataDir = await mkdtemp(path.join(tmpdir(), 'mediagate-secrets-'));
  });

  afterEach(() => rm(dataDir, { recursive: true, force: true }));

  it('makes one secret for simultaneous callers, and stores it', async () => {
    const made = await Promise.all(Array.from({ length: 10 }, () => loadSecret(dataDir, 'pepper')));
    const again = await loadSecret(dataDir, 'pepper');
    expect(again).to.have.length(32);
    for (const secret of made) expect(secret).to.deep.equal(again);
    expect(await loadSecret(dataDir, 'links')).not.to.deep.equal(again);
  });

  it('writes files that only the owner can read', async () => {
    await loadSecret(dataDir, 'pepper');
    const folder = path.join(dataDir, 'secrets');
    expect(await readdir(folder)).to.deep.equal(['pepper']);
    expect((await stat(folder)).mode & 0o777).to.equal(0o700);
    expect((await stat(path.join(folder, 'pepper'))).mode & 0o777).to.equal(0o600);
  });

  it('does not replace a truncated secret, nor accept a path as a name', async () => {
    await loadSecret(dataDir, 'pepper');
    const file = path.join(dataDir, 'secrets', 'pepper');
    await chmod(file, 0o600);
    await writeFile(file, 'short');
    for (const name of ['pepper', '../pepper', '']) {
      const outcome = await loadSecret(dataDir, name).catch((error: unknown) => error);
      expect(outcome, name).to.be.an('error');
    }
  });

  it('restricts files that were readable by others, and names them', async () => {
    const made = await loadSecret(dataDir, 'pepper');
    await loadSecret(dataDir, 'links');
    const file = path.join(dataDir, 'secrets', 'pepper');
    await chmod(file, 0o644);
    expect(await secretsOfOthers(dataDir)).to.deep.equal(['pepper']);
    expect(await mendSecrets(dataDir)).to.deep.equal(['pepper']);
    expect((await stat(file)).mode & 0o777).to.equal(0o600);
    expect([await mendSecrets(dataDir), await loadSecret(dataDir, 'pepper')]).to.deep.equal([[], made]);
    await chmod(file, 0o620);
    await loadSecret(dataDir, 'pepper');
    expect((await stat(file)).mode & 0o777).to.equal(0o600);
  });
});
