/** The SQL of every page of the console reads along indexes: SQLite explains it. */

import Sqlite from 'better-sqlite3';
import { expect } from 'chai';
import openaiText from 'mediagate/plugins/openai_text';
import { type ConsoleApp, fillHostile, startConsoleApp } from './console-app.js';

/** Tables with as many rows as there are requests, users, orders and changes. */
const LARGE =
  /^SCAN (?:usage_entries|usage_totals|total|users|accounts|orders|bank_transactions|api_keys|audit_entries|application_sign_ins|jobs|sessions|alerts|budgets|incident_updates)\b(?!.* USING (?:COVERING )?INDEX )/;

describe('the SQL of the console', () => {
  let its: ConsoleApp;
  const texts = new Map<string, string>();
  const { prepare } = Sqlite.prototype;
  let page = '';

  before(async () => {
    Sqlite.prototype.prepare = function (this: Sqlite.Database, text: string) {
      if (!texts.has(text)) texts.set(text, page);
      return prepare.call(this, text);
    } as typeof prepare;
    const options = { models: [{ id: 'm-one' }], upstreams: [{ name: 'one', url: 'https://models.example/v1' }] };
    its = await startConsoleApp({ plugins: [{ use: openaiText, options }] });
  });
  after(async () => {
    Sqlite.prototype.prepare = prepare;
    await its?.app.close();
  });

  it('scans no large table', async () => {
    const { user, review, key } = await fillHostile(its.app);
    texts.clear();
    const lists = ['users', 'orders', 'transfers', 'keys', 'requests', 'jobs', 'alerts', 'incidents', 'audit'];
    lists.push('groups', 'balances', `balances/${user.accountId}`, 'invitations');
    const filters = ['users?q=person', 'users?state=suspended', 'users?state=active', 'orders?state=needs_review'];
    const paths = [
      ...['', ...lists, ...filters, 'transfers?review=all', 'models'].map((name) =>
        `/admin/${name}`.replace(/\/$/, ''),
      ),
      ...[`/admin/users/${user.id}`, `/admin/orders/${review.code}`, `/admin/keys/${key.id}`],
      ...[`/admin/orders?account=${user.accountId}`, `/admin/requests?account=${user.accountId}`],
      ...['/admin/requests?outcome=failed', '/admin/requests?code=queue_full', '/admin/requests?request_id=req_1'],
      ...[`/admin/audit?subject=${user.id}`, '/admin/audit?actor=ann', '/admin/audit?action=key.created'],
      ...[
        '/admin/keys?q=laptop',
        '/admin/keys?group=research',
        '/admin/jobs?state=failed',
        '/admin/jobs?account=acct_1',
        '/admin/jobs?state=active',
        '/admin/applications',
        `/admin/orders?q=${review.code}`,
        `/admin/orders?q=${user.id}&state=paid`,
        `/admin/balances?q=${user.id}`,
        '/admin/requests?model=m-5.5',
        '/admin/requests?route=%2Fv1%2Fchat%2Fcompletions',
        '/admin/users?q=second',
        `/admin/audit?subject=${user.id}&actor=person`,
        '/admin/audit?from=2026-06-01&to=2026-06-30&action=key.created',
        '/admin/audit?from=2026-06-01&to=2026-06-30',
      ],
    ];
    for (const path of [...paths, '/admin/models/m-one']) {
      page = path;
      expect((await its.read(path)).status, path).to.equal(200);
    }
    const database = new Sqlite(`${its.app.dataDir}/state.sqlite`, { readonly: true });
    const selects = [...texts].filter(([text, of]) => of !== '' && /^\s*(?:select|with)\b/i.test(text));
    expect(selects.length).to.be.at.least(20);
    for (const [text, of] of selects) {
      const values = (text.match(/\?/g) ?? []).map(() => null);
      const statement = prepare.call(database, `explain query plan ${text}`) as Sqlite.Statement<unknown[]>;
      const rows = statement.all(...values) as { detail: string }[];
      const details = rows.map(({ detail }) => detail);
      expect(
        details.filter((detail) => LARGE.test(detail)),
        `${of}\n${text}\n${details.join('\n')}`,
      ).to.deep.equal([]);
    }
    database.close();
  });
});
