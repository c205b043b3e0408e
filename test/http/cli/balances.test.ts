/** The commands about prepaid balances: who may top up, what is in one, changes, statement, and the check of the ledger. */

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect } from 'chai';
import { systemClock } from 'mediagate';
import { openState } from '../../../server/state.js';
import { signUp, topUpOrder } from '../../support/accounts/people.js';
import { ListLogger } from '../../support/databases/engines.js';
import { runCommand } from '../../support/processes/command-line.js';

describe('mediagate balances', () => {
  let dataDir: string;
  let accountId: string;
  let code: string;

  before(async () => {
    dataDir = await mkdtemp(path.join(tmpdir(), 'mediagate-balances-'));
    const state = await openState({ dataDir, clock: systemClock, logger: new ListLogger() });
    ({ accountId } = await signUp(state));
    ({ code } = await topUpOrder(state, accountId));
    await state.orders.confirm({ code, actor: 'operator:ann' });
    await state.close();
  });
  after(() => rm(dataDir, { recursive: true, force: true }));

  const run = (...args: string[]) => runCommand(['balances', ...args], { DATA_DIR: dataDir });
  async function json(...args: string[]) {
    const [verb = '', ...rest] = args;
    const { code: exit, stdout, stderr } = await run(verb, '--json', ...rest);
    expect(exit, stderr).to.equal(0);
    return JSON.parse(stdout);
  }

  it('lists and shows them, and lets an account top up or no longer', async () => {
    const [listed] = await json('list');
    expect(listed).to.deep.include({ account: accountId, may_top_up: null });
    expect(listed.balance).to.include({ currency: 'EUR', amount: '10', free: '10', on_hold_since: null });
    expect(await json('allow', accountId, '--note', 'asked')).to.include({ may_top_up: true });
    expect(await json('refuse', accountId)).to.include({ may_top_up: false });
    const shown = await json('show', accountId);
    expect(shown.statement).to.have.length(1);
    expect(shown.statement[0]).to.include({ kind: 'top_up', amount: '10', left: '10', reference: code });
    const none = await run('show', 'acct_none');
    expect([none.code, none.stderr]).to.satisfy(([exit, text]: [number, string]) => exit === 1 && text !== '');
  });

  it('adds and takes money, in the currency of the balance, at most what is free', async () => {
    expect(await json('adjust', accountId, '2.5 EUR', '--note', 'a gift')).to.include({ moved: '2.5' });
    expect(await json('adjust', '--', accountId, '-20 EUR')).to.include({ moved: '-12.5' });
    for (const amount of ['5 USD', '5', '5 EUR/month', '0 EUR']) {
      expect((await run('adjust', accountId, amount)).code, amount).to.equal(2);
    }
    expect(await json('resume', accountId)).to.include({ changed: false });
  });

  it('prints the statement as CSV, and checks the ledger', async () => {
    const { stdout } = await run('statement', accountId);
    const lines = stdout.trimEnd().split('\n');
    expect(lines).to.have.length(4);
    expect(lines[0]?.trim()).to.equal('number,time,kind,amount,balance,currency,reference,note');
    expect(lines[3]).to.contain('adjustment,-12.5,0,EUR');
    expect(await json('check')).to.deep.include({ ok: true, unbalanced: [], different: [] });
  });
});
