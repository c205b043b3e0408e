/** A gateway on the state of an early release. */

import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect } from 'chai';
import { withSchema } from '../../../core/database/database.js';
import { type Kysely, Migrator } from '../../../core/database/kysely.js';
import { readSchemaStatus } from '../../../core/database/schema-migration.js';
import { migrations } from '../../../server/migrations.js';
import { answersFromSamples, linkSamples } from '../../demo/link-samples.js';
import { describeOnFirstStack, type StackPlace } from '../../support/databases/stacks.js';
import { type ReplayingProxy, startReplayingProxy } from '../../support/links/replaying-proxy.js';
import { packageRoot } from '../../support/package-root.js';
import { type GatewayProcess, startGatewayProcess } from '../../support/processes/gateway-process.js';
import { until } from '../../support/until.js';

type Row = Record<string, string | number | null>;

/** What a gateway of an early release had in its database when it was killed. */
interface EarlyState {
  /** Milliseconds since 1970. */
  capturedAt: number;
  /** The latest that its release had. */
  migration: string;
  KEY_PEPPER: string;
  LINK_SECRET: string;
  key: string;
  /** Image jobs: completed, running and queued. */
  done: string;
  running: string;
  queued: string;
  token: string;
  userKey: string;
  order: string;
  tables: Record<string, Row[]>;
}

const POLL_MS = 200;
/** Bigger than any count, and than times that are not of the clock. */
const FIRST_TIME = 1_600_000_000_000;

/** As if it had been captured now: nothing in it has expired. */
function ofToday(row: Row, capturedAt: number): Row {
  const moved = (value: Row[string]) =>
    typeof value === 'number' && value > FIRST_TIME ? value + Date.now() - capturedAt : value;
  return Object.fromEntries(Object.entries(row).map(([column, value]) => [column, moved(value)]));
}

describeOnFirstStack('a gateway on the state of an early release', (stack) => {
  let place: StackPlace;
  let dataFolder: string;
  let proxy: ReplayingProxy;
  let gateway: GatewayProcess | undefined;

  beforeEach(async () => {
    place = await stack.place();
    dataFolder = await mkdtemp(path.join(tmpdir(), 'mediagate-upgrade-'));
    proxy = await startReplayingProxy({ answer: answersFromSamples(linkSamples) });
  });

  afterEach(async () => {
    await gateway?.kill();
    gateway = undefined;
    await proxy.close();
    await place.remove();
    await rm(dataFolder, { recursive: true, force: true });
  });

  const databasePlace = () => ({ dataDir: dataFolder, databaseUrl: place.settings.databaseUrl });

  async function upgrade({
    capturedAt,
    migration,
    tables,
    KEY_PEPPER,
    LINK_SECRET,
  }: EarlyState): Promise<GatewayProcess> {
    await withSchema(databasePlace(), async (anyTables) => {
      const queries = anyTables as unknown as Kysely<Record<string, Row>>;
      if (place.settings.databaseUrl !== undefined) {
        // It may be lent out for the second time, and has today's schema then.
        await queries.schema.dropSchema('public').cascade().execute();
        await queries.schema.createSchema('public').execute();
      }
      const provider = { getMigrations: async () => migrations };
      const { error } = await new Migrator({ db: queries, provider }).migrateTo(migration);
      if (error) throw error;
      expect((await readSchemaStatus(anyTables, migrations)).done.at(-1)).to.equal(migration);
      for (const [table, rows] of Object.entries(tables)) {
        const values = rows.map((row) => ofToday(row, capturedAt));
        await queries.insertInto(table).values(values).execute();
      }
    });
    const environment = { ...place.environment, KEY_PEPPER, LINK_SECRET };
    gateway = await startGatewayProcess({ proxy, dataFolder, environment });
    return gateway;
  }

  const authorized = (key: string) => ({ authorization: `Bearer ${key}`, 'content-type': 'application/json' });

  it('finishes its images once each, and keeps its idempotency keys, users, budgets and orders', async () => {
    const file = path.join(packageRoot, 'test/fixtures/states/0001.json');
    const state: EarlyState = JSON.parse(await readFile(file, 'utf8'));
    const now = await upgrade(state);
    for (const prompt of ['done', 'running', 'queued'] as const) {
      const id = state[prompt];
      const { json } = await now.request('/v1/images/jobs', {
        method: 'POST',
        headers: { ...authorized(state.key), 'idempotency-key': prompt },
        body: JSON.stringify({ model: 'gen-img-2', size: '64x64', prompt }),
      });
      expect(json.id).to.equal(id);
      await until(async () => {
        const polled = await now.request(`/v1/images/jobs/${id}`, { headers: authorized(state.key) });
        return polled.json.status === 'completed';
      }, POLL_MS);
    }
    const user = await now.request('/api/user', { headers: authorized(state.token) });
    expect(user.json.budget.requests).to.deep.equal({ limit: 50, used: 5, left: 45 });
    const answer = await now.request('/v1/responses', {
      method: 'POST',
      headers: authorized(state.userKey),
      body: JSON.stringify({ model: 'm-5.5', input: 'One more.' }),
    });
    expect(answer.status, answer.text).to.equal(200);
    const order = await now.command('payments', 'show', state.order, '--json');
    expect(JSON.parse(order.stdout)).to.deep.include({ code: state.order, state: 'pending' });
    const charged = await withSchema(databasePlace(), (queries) =>
      queries.selectFrom('job_charges').select(['jobId', 'units']).execute(),
    );
    const ids = [state.done, state.running, state.queued];
    expect(charged).to.have.deep.members(ids.map((id) => ({ jobId: id, units: 1 })));
  });
});
