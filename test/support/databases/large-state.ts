/**
 * A SQLite file of a large gateway: 1,000,000 requests in 30 days, and 100,000 users, accounts, keys, orders, transfers,
 * ended jobs and rows of the audit log. Rows are written by SQL, some 10,000 a second and table; columns without a value of
 * their own are 1 or empty.
 */

import Sqlite from 'better-sqlite3';

export const LARGE = { days: 30, requestsOfDay: 33_334, accounts: 100_000, models: 12 } as const;
const DAY_MS = 86_400_000;
const MINUTE_MS = 60_000;
const ORDER_STATES = ['paid', 'pending', 'expired', 'cancelled', 'underpaid', 'refunded'] as const;

type Column = { name: string; type: string; notnull: number; pk: number };
type Row = Readonly<Record<string, unknown>>;

export const large = {
  account: (index: number) => `acct_${String(index).padStart(16, '0')}`,
  user: (index: number) => `user_${String(index).padStart(16, '0')}`,
  key: (index: number) => `K${String(index).padStart(7, '0')}`,
  order: (index: number) => `MG${String(index).padStart(8, '0')}`,
  job: (index: number) => `exjob_${String(index).padStart(32, '0')}`,
  /** As the gateway makes ids of requests: the second, and what differs. */
  request(at: number, index: number): string {
    const bytes = Buffer.alloc(12);
    bytes.writeUInt32BE(Math.floor(at / 1_000), 0);
    bytes.writeUInt32BE(index, 8);
    return `req_${bytes.toString('base64url')}`;
  },
  /** Ten users have each name. */
  name: (index: number) => `Person ${Math.floor(index / 10)}`,
};

/** Fills a database that a gateway has made and that no process has open. */
export function fillLargeState(file: string, now: number): void {
  const database = new Sqlite(file);
  database.pragma('foreign_keys = off');
  const into = (table: string, more: readonly string[]) => inserted(database, table, more);
  database.transaction(() => {
    // The start before found these days without requests.
    database.exec('delete from usage_days; delete from usage_today');
    fillRequests(into, now);
    fillPeople(into, now);
    fillMoney(into, now);
    fillWork(into, now);
  })();
  database.close();
}

type Insert = (row: Row) => void;
type Into = (table: string, more: readonly string[]) => Insert;

/** @param more Columns that may be null and get values. */
function inserted(database: Sqlite.Database, table: string, more: readonly string[]): Insert {
  const columns = (database.prepare(`pragma table_info(${table})`).all() as Column[]).filter(
    ({ notnull, pk, name }) => notnull === 1 || pk > 0 || more.includes(name),
  );
  const names = columns.map(({ name }) => `"${name}"`).join(', ');
  const insert = database.prepare(`insert into ${table} (${names}) values (${columns.map(() => '?').join(', ')})`);
  const valueIn = (row: Row, { name, type, notnull }: Column) =>
    row[name] ?? (notnull === 0 ? null : type.toLowerCase() === 'text' ? '' : 1);
  return (row) => {
    insert.run(columns.map((column) => valueIn(row, column)));
  };
}

/** One total and one entry for each request. */
function fillRequests(into: Into, now: number): void {
  const [addTotal, addEntry] = [into('usage_totals', []), into('usage_entries', ['errorCode'])];
  for (let day = 0; day < LARGE.days; day += 1) {
    const at = now - day * DAY_MS;
    for (let index = 0; index < LARGE.requestsOfDay; index += 1) {
      const account = (index * 7_919 + day * 3_331) % LARGE.accounts;
      const of = { keyId: large.key(account), accountId: large.account(account), route: '/v1/chat/completions' };
      const model = `m-${index % LARGE.models}`;
      addTotal({ ...of, model, refused: 0, day: new Date(at).toISOString().slice(0, 10) });
      const failed = index % 50 === 0 && { status: 502, errorCode: 'upstream_error' };
      // Some clients send an id of their own.
      const own = large.request(at - index, index);
      const requestId = index % 10 === 7 ? `client-${day}-${index}/${own}` : own;
      addEntry({ ...of, model, at: at - index, requestId, status: 200, refused: 0, ...failed });
    }
  }
}

function fillPeople(into: Into, now: number): void {
  const addAccount = into('accounts', ['topsUp', 'suspendedAt']);
  const [addUser, addKey] = [into('users', ['email', 'name']), into('api_keys', ['lastUsedAt'])];
  const addEntry = into('audit_entries', ['to']);
  for (let index = 0; index < LARGE.accounts; index += 1) {
    const [accountId, createdAt] = [large.account(index), now - index * MINUTE_MS];
    const suspendedAt = index % 1_000 === 0 ? createdAt : null;
    addAccount({ id: accountId, createdAt, suspendedAt, topsUp: index % 10 === 0 ? 1 : null });
    const email = `person${index}@example.com`;
    const person = { issuer: 'urn:large', subject: email, email, name: large.name(index), role: 'member' };
    addUser({ id: large.user(index), accountId, ...person, createdAt, lastSignInAt: createdAt });
    const key = { id: large.key(index), name: `key ${index}`, hash: `hash ${index}`, grants: '["text"]' };
    addKey({ ...key, accountId, createdAt, changedAt: createdAt, lastUsedAt: createdAt });
    const by = { actor: `user:${large.user(index)}`, action: 'key.created', number: 1 };
    addEntry({ subject: large.key(index), at: createdAt, ...by });
  }
}

function fillMoney(into: Into, now: number): void {
  const addOrder = into('orders', ['paidAt']);
  const addTransfer = into('bank_transactions', ['orderCode', 'review']);
  const terms = JSON.stringify({ planId: 'token_30m', grants: ['text'], rpm: 30, models: null, imageDailyLimit: null });
  for (let index = 0; index < LARGE.accounts; index += 1) {
    const [code, createdAt] = [large.order(index), now - index * MINUTE_MS];
    const state = index % 2_000 === 0 ? 'needs_review' : ORDER_STATES[index % ORDER_STATES.length];
    const paid = state === 'paid' || state === 'refunded';
    const money = { amount: 1_900, currency: 'EUR', paidAmount: paid ? 1_900 : 0, paidAt: paid ? createdAt : null };
    const times = { createdAt, expiresAt: createdAt + DAY_MS };
    addOrder({ code, accountId: large.account(index), planId: 'token_30m', terms, state, ...money, ...times });
    const review = index % 2_000 === 0 ? 'overpaid' : null;
    const booked = { at: createdAt, recordedAt: createdAt, text: code, orderCode: code, review };
    addTransfer({ provider: 'bank', id: `B-${index}`, amount: 1_900, currency: 'EUR', ...booked });
  }
}

function fillWork(into: Into, now: number): void {
  const addJob = into('jobs', ['startedAt', 'finishedAt', 'error']);
  const addAlert = into('alerts', ['endedAt']);
  const summary = JSON.stringify({ platform: 'vidsite', link: { id: 'a1' }, options: {} });
  const error = JSON.stringify({ code: 'private', message: 'The item is private.' });
  for (let index = 0; index < LARGE.accounts; index += 1) {
    // Those that end last are of today: the sweep deletes older ones.
    const finishedAt = now - index * 200;
    const failed = index % 5_000 === 4_999;
    const of = { kind: 'extraction', summary, input: 'null', owner: large.account(index), keyId: large.key(index) };
    const times = { createdAt: finishedAt - 1_000, startedAt: finishedAt - 900, finishedAt };
    const end = failed ? { state: 'failed', error } : { state: 'completed', error: null };
    addJob({ id: large.job(index), ...of, ...times, ...end });
  }
  for (let index = 0; index < 1_000; index += 1) {
    const at = now - index * MINUTE_MS;
    const state = index < 5 ? 'open' : 'closed';
    const times = { openedAt: at, seenAt: at, endedAt: state === 'open' ? null : at, notifiedAt: at };
    const of = { kind: 'upstream_down', subject: `m-${index}`, detail: JSON.stringify({ model: `m-${index}` }) };
    addAlert({ id: `alr_${String(index).padStart(8, '0')}`, ...of, ...times, state });
  }
}
