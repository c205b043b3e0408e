/** The payment commands, bank statements, and settings that are refused. */

import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir, userInfo } from 'node:os';
import path from 'node:path';
import { expect } from 'chai';
import { systemClock } from 'mediagate';
import { createRecordingLogger } from 'mediagate/testing';
import { openState, type State } from '../../../server/state.js';
import { grantsOf, order, signUp } from '../../support/accounts/people.js';
import { type CommandResult, runCommand } from '../../support/processes/command-line.js';

describe('mediagate payments', () => {
  let folder: string;
  let state: State;

  before(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'mediagate-payments-'));
    state = await openState({ dataDir: folder, clock: systemClock, logger: createRecordingLogger() });
  });
  after(async () => {
    await state.close();
    await rm(folder, { recursive: true, force: true });
  });

  const run = (...args: string[]): Promise<CommandResult> => runCommand(['payments', ...args], { DATA_DIR: folder });
  const made = async (change: Parameters<typeof order>[2] = {}) =>
    order(state, (await signUp(state)).accountId, change);
  // biome-ignore lint/suspicious/noExplicitAny: what commands print is looked at member by member
  async function json(...args: string[]): Promise<any> {
    const { code, stdout, stderr } = await run(...args, '--json');
    expect([code, stderr]).to.deep.equal([0, '']);
    return JSON.parse(stdout);
  }
  async function file(name: string, content: string): Promise<string> {
    const whole = path.join(folder, name);
    await writeFile(whole, content);
    return whole;
  }

  it('confirms an order with a name in the audit, and refunds it', async () => {
    const wanted = await made();
    const { stdout } = await run('confirm', wanted.code.toLowerCase(), '--note', 'paid in cash');
    expect(stdout).to.equal(`Order ${wanted.code} is paid.\n`);
    expect((await grantsOf(state, wanted)).granted).to.equal(1);
    expect((await run('confirm', wanted.code)).code).to.equal(0);
    expect((await grantsOf(state, wanted)).granted).to.equal(1);
    expect(await json('refund', wanted.code)).to.include({ code: wanted.code, state: 'refunded' });
    const { audit } = await json('show', wanted.code);
    const told = audit.map(({ actor, action, note }: Record<string, string>) => [actor, action, note]);
    const operator = `operator:${userInfo().username}`;
    expect(told).to.deep.equal([
      [operator, 'order.refunded', null],
      [operator, 'order.confirmed', 'paid in cash'],
      ['user:test', 'order.created', null],
    ]);
  });

  it('cancels an unpaid order, and refuses to cancel a paid one', async () => {
    const [open, paid] = [await made(), await made()];
    expect((await run('cancel', open.code)).stdout).to.equal(`Order ${open.code} is cancelled.\n`);
    await run('confirm', paid.code);
    const refused = await run('cancel', paid.code);
    expect([refused.code, refused.stderr]).to.deep.equal([
      1,
      'mediagate: An order that is paid cannot become cancelled.\n',
    ]);
    expect((await run('cancel', 'MG00000000')).stderr).to.equal('mediagate: There is no such order.\n');
    expect((await run('confirm', open.code, '--note', ' ')).code).to.equal(2);
  });

  it('lists orders by state and account', async () => {
    const wanted = await made();
    const listed = await json('list', '--account', wanted.accountId, '--state', 'pending');
    expect(listed).to.have.length(1);
    expect(listed[0]).to.include({ code: wanted.code, amount: 1_000, paid_amount: 0, currency: 'EUR' });
    expect(await json('list', '--account', wanted.accountId, '--state', 'paid')).to.deep.equal([]);
    expect((await run('list')).stdout).to.match(new RegExp(`${wanted.code}.*10\\.00 EUR`));
    expect((await run('list', '--state', 'lost')).code).to.equal(2);
  });

  it('counts a bank statement once, and marks unknown transfers for review', async () => {
    const [one, two, webhook] = [await made(), await made({ amount: 250 }), await made()];
    const told = { provider: 'payos', id: 'P1', amount: 1_000, currency: 'EUR', text: webhook.code, at: 1_000 };
    await state.orders.record(told);
    const csv = await file(
      'statement.csv',
      [
        '\ufeffBooked;id;amount;currency;text;at',
        `x;B1;10.00;EUR;"Plan ""30M""; ${one.code.toLowerCase()}";2026-06-15`,
        `x;B2;2.5;eur;${two.code};2026-06-15T18:25:00+07:00`,
        '',
        'x;B3;-99.00;EUR;rent;2026-06-16',
        'x;B4;12.00;EUR;"for nobody\nat all";2026-06-16',
      ].join('\r\n'),
    );
    const first = await json('import', csv);
    const rows = first.map((each: Record<string, unknown>) => [each.id, each.order, each.state, each.review]);
    expect(rows).to.deep.equal([
      ['B1', one.code, 'paid', null],
      ['B2', two.code, 'paid', null],
      ['B4', null, null, 'unmatched'],
    ]);
    expect((await json('import', csv)).every(({ replayed }: { replayed: boolean }) => replayed)).to.equal(true);
    expect((await grantsOf(state, one)).granted).to.equal(1);
    const list = await file('list.json', JSON.stringify([{ ...told, at: '2026-06-15' }]));
    expect(await json('import', list, '--provider', 'payos')).to.deep.include({
      provider: 'payos',
      id: 'P1',
      amount: 1_000,
      currency: 'EUR',
      order: webhook.code,
      state: 'paid',
      review: null,
      replayed: true,
    });
    const waiting = await json('review');
    expect(waiting.map(({ provider, id }: Record<string, string>) => `${provider}:${id}`)).to.deep.equal([
      'statement:B4',
    ]);
    expect((await run('review', 'statement:B4', '--note', 'sent back')).code).to.equal(0);
    expect((await run('review')).stdout).to.equal('No transfer is under review.\n');
    expect((await run('review', 'statement:B4')).code).to.equal(1);
  });

  it('counts nothing of a file with an error, and names the line', async () => {
    const wanted = await made();
    const head = 'id,amount,currency,text,at\n';
    const good = `G1,10.00,EUR,${wanted.code},2026-06-15\n`;
    for (const [name, content, problem] of [
      ['a.csv', `${head}${good}G2,"1,5",EUR,x,2026-06-15\n`, 'line 3: amount is not a valid amount of EUR'],
      ['b.csv', `${head}${good}G2,1.505,EUR,x,2026-06-15\n`, 'line 3: amount is not a valid amount of EUR'],
      ['c.csv', `${head}${good}G2,1.50,EURO,x,2026-06-15\n`, 'line 3: currency must be an ISO 4217 code'],
      ['d.csv', `${head}${good}G2,1.50,EUR,x,15.06.2026\n`, 'line 3: at must be a day'],
      ['e.csv', `${head}${good},1.50,EUR,x,2026-06-15\n`, 'line 3: id must have'],
      ['k.csv', `${head}${good}G2,10000000000.01,EUR,x,2026-06-15\n`, 'line 3: "amount" must be a whole number'],
      ['l.csv', `${head}${good}"G\u0007",1.50,EUR,x,2026-06-15\n`, 'line 3: "id" must be'],
      ['m.csv', `${head}${good}G2,1.50,EUR,x,2026-02-31\n`, 'line 3: at must be a day'],
      ['n.csv', `${head}${good.replace('EUR,', 'EUR,"two\r\nlines ')}\r\n`, 'a quoted cell does not end'],
      ['o.csv', `${head}G0,1.00,EUR,"two\r\nlines",2026-06-15\r\n\r\nG2,1.5x,EUR,x,2026-06-15\n`, 'line 5: amount'],
      ['f.csv', `number${head}${good}`, 'has no column id'],
      ['g.json', '[{"id":"G2","amount":1.5,"currency":"EUR","text":"x","at":"2026-06-15"}]', 'number 1: amount'],
      ['h.json', '{}', 'is not a list'],
      ['i.json', '[', 'is not JSON'],
      ['j.txt', '', 'must end in .csv or .json'],
    ] as const) {
      const { code, stderr } = await run('import', await file(name, content));
      expect([code, stderr.includes(problem)]).to.deep.equal([2, true], `${name}: ${stderr}`);
    }
    expect((await run('import', path.join(folder, 'nowhere.csv'))).stderr).to.contain('cannot be read');
    expect((await state.orders.find(wanted.code))?.state).to.equal('pending');
  });
});

describe('settings of payments', () => {
  it('end the start if they are invalid, with their names and without their values', async () => {
    const { code, stderr } = await runCommand(['serve'], {
      DATA_DIR: path.join(tmpdir(), 'mediagate-never'),
      PAYMENT_ACCOUNT: 'DE88 3704 0044 0532 0130 00',
      PAYMENT_FORMAT: 'epc',
      PAYMENT_BANK_NAME: 'Bank',
      PAYMENT_ACCOUNT_NAME: 'Ann',
      PAYMENT_WEBHOOK_SECRET: 'payos:too-short',
    });
    expect(code).to.equal(2);
    expect(stderr).to.contain('PAYMENT_ACCOUNT must be an IBAN').and.to.contain('PAYMENT_WEBHOOK_SECRET must be');
    expect(stderr).not.to.contain('DE88').and.not.to.contain('too-short');
  });
});
