/** Request and token budgets of a running gateway. */

import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect } from 'chai';
import pg from 'pg';
import { describeOnFirstStack, type StackPlace } from '../../support/databases/stacks.js';
import { startTextSite, type TextSite } from '../../support/models/text-site.js';
import { until } from '../../support/until.js';

const ROUTE = '/v1/chat/completions';
const ASKED = 100;
const ALLOWED = 60;
/** So that no window refuses what a budget is to refuse. */
const RPM = 10_000;
const OUTPUT_TOKENS = 1_000;
const BODY = { model: 'm-5.5', messages: [{ role: 'user', content: 'one two' }], max_tokens: OUTPUT_TOKENS };

describeOnFirstStack('budgets of a running gateway', (stack) => {
  let place: StackPlace;
  let folder: string;
  let site: TextSite;

  before(async () => {
    place = await stack.place();
    folder = await mkdtemp(path.join(tmpdir(), 'mediagate-plans-'));
    const file = path.join(folder, 'plans.json');
    const perRequest = OUTPUT_TOKENS + Math.ceil(JSON.stringify(BODY).length / 4);
    const plans = [{ id: 'small', tokenLimit: ALLOWED * perRequest, includedRpm: RPM, maxRpm: RPM }];
    await writeFile(file, JSON.stringify({ plans, freeTier: { requestLimit: ALLOWED, rpm: RPM } }));
    site = await startTextSite({ environment: { PLANS_FILE: file, ...place.environment } });
  });
  beforeEach(() => site.upstream.reset());
  after(async () => {
    await site.close();
    await place.remove();
    await rm(folder, { recursive: true, force: true });
  });

  for (const [plan, what] of [
    ['free', 'requests'],
    ['small', 'tokens'],
  ] as const) {
    it(`admit at most as many of 100 parallel requests as they have ${what} for`, async () => {
      const { key } = await site.makePlanKey(plan);
      // Nothing ends before all of them have been let in or refused: what is given back must not let others in.
      site.upstream.behave(() => ({ does: 'answer', stall: 'before_headers' }));
      const leaving = new AbortController();
      const refusals: Response[] = [];
      const headers = { authorization: `Bearer ${key}` };
      const all = Array.from({ length: ASKED }, () =>
        site.post(ROUTE, BODY, { headers, signal: leaving.signal }).then(
          (answer) => refusals.push(answer),
          () => undefined,
        ),
      );
      await until(() => refusals.length + site.upstream.requests.length >= ASKED);
      expect(site.upstream.requests).to.have.length(ALLOWED);
      for (const refusal of refusals) {
        expect([refusal.status, refusal.headers.get('x-should-retry')]).to.deep.equal([429, 'false']);
        expect((await refusal.json()).error).to.include({ code: 'insufficient_quota', type: 'insufficient_quota' });
      }
      leaving.abort();
      await Promise.all(all);
    });
  }

  it('charge the usage of an answer, and not its reservation', async () => {
    const { key } = await site.makePlanKey('small');
    const headers = { authorization: `Bearer ${key}` };
    for (let count = 0; count < 3; count += 1) await (await site.post(ROUTE, BODY, { headers })).json();
    const used = site.upstream.requests.map(({ usage }) => (usage?.input ?? 0) + (usage?.output ?? 0));
    const { tokens, total } = await until(async () => {
      const { json } = await site.gateway.request('/v1/usage', { headers });
      return json.budget.tokens.reserved === 0 && { tokens: json.budget.tokens, total: json.total };
    });
    expect(tokens.used).to.equal(used.reduce((sum, one) => sum + one));
    expect(total).to.include({ requests: 3, failed: 0, estimated: 0 });
    expect(total.input_tokens + total.output_tokens).to.equal(tokens.used);
  });

  // Elsewhere the database is of one process, and nobody else commits.
  if (stack.name !== 'PostgreSQL, S3 and Redis') return;

  it('never show tokens that no request used', async () => {
    const { key } = await site.makePlanKey('small');
    const headers = { authorization: `Bearer ${key}` };
    await (await site.post(ROUTE, BODY, { headers })).json();
    const usage = async () => (await site.gateway.request('/v1/usage', { headers })).json;
    await until(async () => (await usage()).total.requests === 1);

    const other = new pg.Client({ connectionString: place.settings.databaseUrl });
    await other.connect();
    // As a commit of another process that comes while the budget is being read.
    await other.query('begin; lock table budgets in access exclusive mode');
    const reading = usage();
    await until(async () => {
      const { rowCount } = await other.query(
        `select 1 from pg_locks join pg_database on pg_database.oid = pg_locks.database
         where datname = current_database() and relation = 'budgets'::regclass and not granted`,
      );
      return rowCount === 1;
    });
    await other.query(
      'update budgets set "tokensUsed" = "tokensUsed" * 2; update usage_totals set requests = requests * 2',
    );
    await other.query('commit');
    await other.end();
    const { budget, total } = await reading;
    expect([budget.tokens.used > 0, total.requests]).to.deep.equal([true, 2]);
  });
});
