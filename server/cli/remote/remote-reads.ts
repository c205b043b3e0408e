/*
 * Commands with `--server` that read what the admin API has in parts: a balance with its statement, the check of the
 * ledger, the plans, the transfers under review, a group with the usage of its keys. Their JSON is that of the command on the machine
 * itself.
 */

import { csvCell, dayOf } from '../../format/index.js';
import { CommandFailure } from '../mistakes.js';
import { joinParts, type Outcome } from '../output.js';
import type { AdminClient, Json } from './admin-client.js';
import type { RemoteCommand } from './remote-commands.js';
import { cell, factsOf, tableOf } from './remote-output.js';

/** Movements that are shown with a balance. */
const LINES = 20;
const REVIEWED = 100;
const MOVEMENTS = ['at', 'kind', 'amount', 'left', 'reference', 'note'];
const COLUMNS = ['number', 'time', 'kind', 'amount', 'balance', 'currency', 'reference', 'note'];

const without = (run: RemoteCommand['run']): RemoteCommand => ({ options: [], run });
const balanceOf = (id: string) => `/balances/${encodeURIComponent(id)}`;

async function readBalance(client: AdminClient, id: string): Promise<Json> {
  const { balance } = await client.get(balanceOf(id));
  if (balance) return balance as Json;
  throw new CommandFailure('This account has no prepaid balance.');
}

async function showBalance(client: AdminClient, id: string): Promise<Outcome> {
  const balance = await readBalance(client, id);
  const statement = await client.list(`${balanceOf(id)}/movements`, {}, LINES);
  const facts = factsOf(balance);
  return {
    json: { ...balance, statement },
    text: statement.length === 0 ? facts : joinParts(facts, tableOf(statement, MOVEMENTS)),
  };
}

/** As CSV, oldest first, without the names of operators. */
async function readStatement(client: AdminClient, id: string): Promise<Outcome> {
  const { currency } = await readBalance(client, id);
  const newestFirst = await client.list(`${balanceOf(id)}/movements`);
  const isWhole = newestFirst.length === 0 || newestFirst.at(-1)?.number === 1;
  if (!isWhole) {
    const advice = 'Its page in the console has the whole statement, and so has the command on its machine.';
    throw new CommandFailure(`The statement has more than ${newestFirst.length} movements. ${advice}`);
  }
  const lines = newestFirst.toReversed().map(({ number, at, kind, amount, left, reference, note }) => {
    const texts = [currency, reference, kind === 'adjustment' ? '' : note].map((text) => csvCell(String(text)));
    return [number, at, kind, amount, left, ...texts].join(',');
  });
  const csv = [COLUMNS.join(','), ...lines, ''].join('\r\n');
  return { json: { csv }, text: csv.trimEnd() };
}

async function checkLedger(client: AdminClient): Promise<Outcome> {
  const json = await client.get('/ledger');
  const sums = (json.accounts as Json[]).map(({ account, currency, amount }) => ({
    ledger: account,
    sum: `${amount} ${currency}`,
  }));
  const faults = [
    ...(json.unbalanced as string[]).map((id) => `The rows of the movement ${id} do not sum up to 0.`),
    ...(json.different as Json[]).map(
      ({ account, balance, ledger }) => `The balance of ${account} is ${balance}, and its ledger ${ledger}.`,
    ),
  ].map(cell);
  const table = sums.length === 0 ? 'The ledger is empty.' : tableOf(sums, ['ledger', 'sum']);
  return {
    json,
    text: joinParts(table, json.ok ? 'All sums agree.' : faults.join('\n')),
    exitCode: json.ok ? 0 : 1,
  };
}

/** Without a transfer those under review; with one, it is settled. */
async function reviewTransfers(client: AdminClient, transfer: string, note: unknown): Promise<Outcome> {
  if (transfer === '') {
    const rows = await client.list('/transfers', { review: 'true' }, REVIEWED);
    const columns = ['provider', 'id', 'amount', 'currency', 'order', 'review', 'booked_at', 'text'];
    return { json: rows, text: rows.length === 0 ? 'No transfer is under review.' : tableOf(rows, columns) };
  }
  const [, provider = '', id = ''] = /^([^:]+):(.+)$/.exec(transfer) ?? [];
  const json = await client.post('/transfers/settle', { provider, id, ...(note !== undefined && { note }) });
  if (!json.settled) throw new CommandFailure(`Transfer ${cell(transfer)} is not under review.`);
  return { json, text: `Transfer ${cell(transfer)} is settled.` };
}

async function showGroup(client: AdminClient, name: string): Promise<Outcome> {
  const { data } = (await client.get('/groups')) as { data: Json[] };
  const group = data.find((one) => one.name === name);
  if (!group) throw new CommandFailure(`There is no group ${cell(name)}.`);
  const { members_see_keys: _shown, ...described } = group;
  const to = dayOf(Date.now());
  const month = { group: name, from: `${to.slice(0, 8)}01`, to, by: 'key' };
  const [keys, usage] = await Promise.all([client.list('/keys', { group: name }), client.get('/usage', month)]);
  const { currency } = usage as { currency?: string };
  const [{ describeCounts }, { addUp }] = await Promise.all([
    import('../../admin/index.js'),
    import('../../usage/index.js'),
  ]);
  const nothing = describeCounts(addUp([]), currency);
  const used = new Map((usage.data as Json[]).map(({ key, name: keyName, ...counts }) => [key ?? keyName, counts]));
  const rows = keys.map(({ id, name: keyName }) => ({
    id,
    name: keyName,
    usage_this_month: { ...nothing, ...used.get(id) } as Json,
  }));
  const shown = rows.map(({ usage_this_month: counts, ...key }) => ({
    ...key,
    requests: counts.requests ?? 0,
    cost: counts.cost,
  }));
  return {
    json: { ...described, keys: rows },
    text: joinParts(factsOf(described), tableOf(shown, ['id', 'name', 'requests', 'cost'])),
  };
}

/** By the name of the command. */
export const REMOTE_READS: Readonly<Record<string, RemoteCommand>> = {
  'balances show': without((client, [id = '']) => showBalance(client, id)),
  'balances statement': without((client, [id = '']) => readStatement(client, id)),
  'balances check': without((client) => checkLedger(client)),
  'groups show': without((client, [name = '']) => showGroup(client, name)),
  'links list': without(async (client) => {
    const { data } = (await client.get('/links/blocked')) as { data: Json[] };
    return {
      json: data,
      text: data.length === 0 ? 'No items are blocked.' : tableOf(data, ['url', 'blocked_at', 'note']),
    };
  }),
  'plans list': without(async (client) => {
    const json = await client.get('/plans');
    const columns = ['id', 'name', 'tokenLimit', 'requestLimit', 'durationDays'];
    return { json, text: tableOf([...(json.plans as Json[]), json.freeTier as Json], columns) };
  }),
  'payments review': {
    options: ['note'],
    run: (client, [transfer = ''], { note }) => reviewTransfers(client, transfer, note),
  },
};
