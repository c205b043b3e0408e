/** A gateway whose PostgreSQL became read-only. */

import { expect } from 'chai';
import pg from 'pg';
import { sharedPostgres } from '../../support/databases/postgres.js';
import { type GatewayProcess, startGatewayProcess } from '../../support/processes/gateway-process.js';
import { until } from '../../support/until.js';

describe('a gateway whose PostgreSQL became read-only', () => {
  let gateway: GatewayProcess | undefined;

  afterEach(async () => {
    await gateway?.stop();
    gateway = undefined;
  });

  it('is not ready, reports why, and recovers by itself; its public https address is sent as HSTS', async function () {
    const postgres = await sharedPostgres();
    if ('unavailable' in postgres) return this.skip();
    const databaseUrl = await postgres.createDatabase();
    gateway = await startGatewayProcess({
      environment: { DATABASE_URL: databaseUrl, BASE_URL: 'https://gateway.example' },
    });
    const ready = async () => (await gateway?.request('/health/ready'))?.status;
    await until(async () => (await ready()) === 200);
    const live = await gateway.request('/health/live');
    expect(live.headers.get('strict-transport-security')).to.match(/^max-age=\d+/);

    await setReadOnly(databaseUrl, true);
    await until(async () => (await ready()) === 503);
    await until(async () => {
      const { json } = (await gateway?.request('/health')) ?? {};
      return json?.checks.database.ok === false && /read-only/.test(json.checks.database.message);
    });
    await setReadOnly(databaseUrl, false);
    await until(async () => (await ready()) === 200);
  });

  it('sends no HSTS if its public address is http', async () => {
    gateway = await startGatewayProcess();
    const { headers } = await gateway.request('/health/live');
    expect(headers.get('strict-transport-security')).to.equal(null);
  });
});

async function setReadOnly(url: string, isReadOnly: boolean): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    await client.query('set default_transaction_read_only = off');
    const name = new URL(url).pathname.slice(1);
    await client.query(`alter database "${name}" set default_transaction_read_only = ${isReadOnly ? 'on' : 'off'}`);
    await client.query(
      'select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()',
    );
  } finally {
    await client.end();
  }
}
