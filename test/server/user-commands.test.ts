import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect } from 'chai';
import { openState, type State, systemClock } from 'mediagate';
import { createRecordingLogger } from 'mediagate/testing';
import { signUp } from '../core/state/people.js';
import { type CommandResult, runCommand } from '../support/command-line.js';

describe('mediagate users', () => {
  let folder: string;
  let state: State;

  before(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'mediagate-users-'));
    state = await openState({ dataDir: folder, clock: systemClock, logger: createRecordingLogger() });
  });
  after(async () => {
    await state.close();
    await rm(folder, { recursive: true, force: true });
  });

  const run = (...args: string[]): Promise<CommandResult> => runCommand(args, { DATA_DIR: folder });

  it('are named by an address that nobody else has', async () => {
    const [one, two] = [await signUp(state), await signUp(state)];
    const address = one.email ?? '';
    expect((await run('users', 'show', address.toUpperCase())).stdout).to.contain(one.id);
    expect((await run('users', 'suspend', address)).stdout).to.equal(`User ${one.id} is suspended.\n`);
    expect((await run('users', 'resume', address)).stdout).to.equal(`User ${one.id} is active.\n`);
    expect((await run('plans', 'grant', address, 'token_30m')).stdout).to.contain(one.id);

    await state.users.signIn({ issuer: two.issuer, subject: two.subject, email: address, name: null });
    const shared = await run('users', 'suspend', address);
    expect([shared.code, shared.stdout]).to.deep.equal([1, '']);
    expect(shared.stderr).to.match(/^mediagate: 2 users have the address/);
    expect(shared.stderr).to.contain(one.id).and.to.contain(two.id);
    expect((await state.users.find(one.id))?.suspendedAt).to.equal(null);
    const nobody = await run('users', 'show', 'nobody@mail.example');
    expect([nobody.code, nobody.stderr]).to.deep.equal([
      1,
      'mediagate: No user has the address nobody@mail.example; "mediagate users list" shows them.\n',
    ]);
  });
});
