/** The user commands: find, sign out, suspend, plans. */

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect } from 'chai';
import { systemClock } from 'mediagate';
import { createRecordingLogger } from 'mediagate/testing';
import { openState, type State } from '../../../server/state.js';
import { FREE, newKey, order, signUp } from '../../support/accounts/people.js';
import { type CommandResult, runCommand } from '../../support/processes/command-line.js';

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

  it('finds users by their unique address', async () => {
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

  it('signs a user out everywhere and keeps the keys', async () => {
    const { id } = await signUp(state);
    const session = { userId: id, kind: 'browser', idleMs: 60_000, lifetimeMs: 60_000 } as const;
    for (const hash of ['here', 'there']) await state.sessions.create({ ...session, hash });
    const ended = await run('users', 'sign-out', id, '--note', 'lost a laptop');
    expect([ended.code, ended.stdout]).to.deep.equal([0, `User ${id} is signed out: 2 sessions have ended.\n`]);
    expect(await state.sessions.find('here')).to.equal(undefined);
    expect((await run('users', 'sign-out', id)).stdout).to.equal(`User ${id} has no sessions.\n`);
    expect(JSON.parse((await run('users', 'sign-out', id, '--json')).stdout)).to.deep.equal({ id, ended: 0 });
    const [row, ...more] = await state.audit.list({ subject: id, limit: 9 });
    expect(row).to.include({ action: 'user.signed-out', note: 'lost a laptop' });
    expect(row?.actor).to.match(/^operator:/);
    expect(more).to.deep.equal([]);
  });

  it('suspends the keys of a user, as the list of keys shows', async () => {
    const user = await signUp(state);
    const { id } = await state.keys.issue({ accountId: user.accountId, otherwise: FREE, maxKeys: 10, key: newKey() });
    const stateOf = async () => {
      const listed: { id: string; state: string }[] = JSON.parse((await run('keys', 'list', '--json')).stdout);
      return listed.find((key) => key.id === id)?.state;
    };
    await run('users', 'suspend', user.id);
    expect(await stateOf()).to.equal('suspended');
    await run('users', 'resume', user.id);
    expect(await stateOf()).to.equal('valid');
  });

  it('cancels queued jobs of a user unless they are to be kept', async () => {
    const { id: userId, accountId } = await signUp(state);
    const issue = () => state.keys.issue({ accountId, otherwise: FREE, maxKeys: 10, key: newKey() });
    const keys = [await issue(), await issue(), await issue()];
    const jobs: string[] = [];
    for (const { id: keyId } of keys) {
      const job = { kind: 'image', owner: accountId, keyId, input: null, maxActive: 100 } as const;
      jobs.push((await state.jobs.accept({ job })).job?.id ?? '');
    }
    const states = () => Promise.all(jobs.map(async (id) => (await state.jobs.find(id, accountId))?.state));
    expect((await run('keys', 'revoke', keys[0]?.id ?? '')).code).to.equal(0);
    expect((await run('keys', 'revoke', keys[1]?.id ?? '', '--keep-jobs')).code).to.equal(0);
    expect(await states()).to.deep.equal(['cancelled', 'queued', 'queued']);
    expect((await run('users', 'suspend', userId)).code).to.equal(0);
    expect(await states()).to.deep.equal(['cancelled', 'cancelled', 'cancelled']);
  });

  it('show a plan that was taken back as ended, until the next key begins the free tier', async () => {
    const user = await signUp(state);
    const { accountId } = user;
    const { code } = await order(state, accountId);
    const planIn = async () =>
      new RegExp(`${user.id}.*?(token_30m|free)( \\(ended\\))? +active`)
        .exec((await run('users', 'list')).stdout)
        ?.slice(1);
    await run('payments', 'confirm', code);
    expect(await planIn()).to.deep.equal(['token_30m', undefined]);
    const issue = { accountId, otherwise: FREE, maxKeys: 10 };
    const first = await state.keys.issue({ ...issue, key: newKey() });

    await run('payments', 'refund', code);
    expect(await planIn()).to.deep.equal(['token_30m', ' (ended)']);
    expect((await run('users', 'show', user.id)).stdout).to.match(/\nplan +token_30m, ended 20\S+Z\nleft +-\n/);
    const { plan_expires_at: end } = JSON.parse((await run('users', 'show', user.id, '--json')).stdout);
    expect(Date.parse(end)).to.be.at.most(Date.now());
    expect((await state.keys.find(first.id))?.expiresAt).to.equal(Date.parse(end));

    await state.keys.issue({ ...issue, key: newKey() });
    expect(await planIn()).to.deep.equal(['free', undefined]);
    expect(await state.keys.find(first.id)).to.include({ planId: 'free', expiresAt: null });
  });
});
