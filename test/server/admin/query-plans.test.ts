/** The SQL of the lists of the admin API reads along indexes: SQLite explains it. */

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import Sqlite from 'better-sqlite3';
import { expect } from 'chai';
import { createLogger, systemClock } from 'mediagate';
import {
  listAlerts,
  listAudit,
  listIncidents,
  listKeys,
  listOrders,
  listRequests,
  listTransfers,
  listUsers,
} from '../../../server/admin/index.js';
import { openState, type State } from '../../../server/state.js';

const PLACE = { at: 1_700_000_000_000, id: 'x' };
const FROM_TO = { from: 1_600_000_000_000, to: 1_800_000_000_000 };
const DAYS = { from: '2026-06-01', to: '2026-06-30' };

describe('the SQL of lists for operators', () => {
  let folder: string;
  let state: State;
  let sqlite: Sqlite.Database;

  before(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'mediagate-plans-'));
    state = await openState({ dataDir: folder, clock: systemClock, logger: createLogger({ level: 'silent' }) });
    sqlite = new Sqlite(path.join(folder, 'state.sqlite'), { readonly: true });
  });
  after(async () => {
    sqlite.close();
    await state.close();
    await rm(folder, { recursive: true, force: true });
  });

  /** The statements that the work prepares: of this process alone, each text once. */
  async function statementsOf(work: () => Promise<unknown>): Promise<string[]> {
    const texts = new Set<string>();
    const { prepare } = Sqlite.prototype;
    Sqlite.prototype.prepare = function (this: Sqlite.Database, text: string) {
      texts.add(text);
      return prepare.call(this, text);
    } as typeof prepare;
    try {
      await work();
    } finally {
      Sqlite.prototype.prepare = prepare;
    }
    return [...texts].filter((text) => /^\s*(?:select|with)\b/i.test(text));
  }

  function explain(text: string): string[] {
    const rows = sqlite.prepare(`explain query plan ${text}`).all(...(text.match(/\?/g) ?? []).map(() => null));
    return (rows as { detail: string }[]).map(({ detail }) => detail);
  }

  /** A scan of a table, or of an index that has no order to be read in. */
  const isScan = (detail: string) =>
    /^SCAN (?!CONSTANT|\(|found|place_|by_|named|rows_of_key|ended)/.test(detail) &&
    !/ USING (?:COVERING )?INDEX /.test(detail);

  const explained = new Set<string>();
  after(() => expect(explained.size, 'statements').to.be.at.least(25));

  const range = { limit: 50 };
  const next = { limit: 50, after: PLACE };
  const lists: Readonly<Record<string, () => Promise<unknown>>> = {
    users: () => listUsers({ state }, {}, range),
    'users, next page': () => listUsers({ state }, {}, next),
    'users, search': () => listUsers({ state }, { search: 'ann' }, next),
    'users, search by id': () => listUsers({ state }, { search: 'user_1' }, range),
    'users, suspended': () => listUsers({ state }, { state: 'suspended' }, next),
    'users, active': () => listUsers({ state }, { state: 'active' }, next),
    'users by address': () => state.users.findByEmail('ann@example.com'),
    orders: () => listOrders({ state }, {}, next),
    'orders, waiting': () => listOrders({ state }, { state: 'pending' }, range),
    'orders, expired': () => listOrders({ state }, { state: 'expired' }, next),
    'orders, review': () => listOrders({ state }, { state: 'needs_review' }, next),
    'orders, counted': () => Promise.all([state.orders.countIn('paid', 9), state.orders.countIn('pending', 9)]),
    'orders, account': () => listOrders({ state }, { accountId: 'acct_1' }, next),
    transfers: () => listTransfers({ state }, false, next),
    'transfers, review': () => listTransfers({ state }, true, next),
    keys: () => listKeys({ state }, {}, next),
    'keys, account': () => listKeys({ state }, { accountId: 'acct_1' }, next),
    'keys, group': () => listKeys({ state }, { group: 'research' }, next),
    'keys, search': () => listKeys({ state }, { search: 'lap' }, range),
    requests: () => listRequests({ state }, FROM_TO, next),
    'requests, failed': () => listRequests({ state }, { ...FROM_TO, outcome: 'failed' }, next),
    'requests, code': () => listRequests({ state }, { ...FROM_TO, errorCode: 'queue_full' }, range),
    'requests, id': () => listRequests({ state }, { ...FROM_TO, requestId: 'req_1' }, range),
    'requests, key': () => listRequests({ state }, { ...FROM_TO, keyId: 'AbCd1234', accountId: 'local' }, next),
    audit: () => listAudit({ state }, {}, next),
    'audit, subject': () => listAudit({ state }, { subject: 'user_1' }, next),
    'audit, actor': () => listAudit({ state }, { actor: 'operator:ann' }, next),
    'audit, action': () => listAudit({ state }, { action: 'key.created' }, next),
    alerts: () => listAlerts({ state }, {}, next),
    'alerts, active': () => listAlerts({ state }, { state: 'active' }, next),
    incidents: () => listIncidents({ state }, range),
    usage: () => state.usageSums.read({ by: 'model', ...DAYS, platforms: ['vidsite'], limit: 10 }),
    'usage, group': () => state.usageSums.read({ by: 'group', ...DAYS, platforms: [], limit: 10 }),
    'usage, keys': () => state.usageSums.read({ by: 'key', keyIds: ['a', 'b'], ...DAYS, platforms: [], limit: 10 }),
    'usage, account': () => state.usageSums.read({ by: 'day', accountId: 'acct_1', ...DAYS, platforms: [], limit: 10 }),
  };

  for (const [name, list] of Object.entries(lists)) {
    it(`${name}: no scan of a table`, async () => {
      const texts = await statementsOf(list);
      // A statement that another list has too is prepared once.
      for (const text of texts) explained.add(text);
      for (const text of texts) {
        const details = explain(text);
        expect(details.filter(isScan), `${text}\n${details.join('\n')}`).to.deep.equal([]);
        const sorts = details.filter((detail) => /TEMP B-TREE FOR ORDER BY/.test(detail));
        const isWhole = !/search|, id|group|usage|suspended|expired|by address|incidents/.test(name);
        if (isWhole) expect(sorts, `${text}\n${details.join('\n')}`).to.deep.equal([]);
      }
    });
  }
});
