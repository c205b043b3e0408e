/** Benchmark of two nodes against one: submits per second and CPU per submit. */

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import pg from 'pg';
import { openImageSite, PEPPER } from '../chaos/image-site.js';
import { startPostgres } from '../support/databases/postgres.js';
import { type GatewayProcess, startGatewayProcess } from '../support/processes/gateway-process.js';
import { DURABLE } from './growth.js';
import { launcherEnvironment } from './image-server.js';
import { cpuOfProcess, type Figure, median } from './measure.js';
import { cpuOfPostgres, findPostmaster } from './postgres-cpu.js';
import { renderWaits, type Waits, watchWaits } from './postgres-waits.js';
import { createRawConnection } from './raw-connection.js';

const ROUNDS = 5;
const SUBMITS = 1_500;
const CONNECTIONS = 48;
const KEYS = 400;
const RPM = 1_000_000;
const TARGET_RATIO = 1.6;

/** What one submit cost, in microseconds of CPU, and how many there were in a second. */
interface Round {
  perSecond: number;
  nodes: number;
  database: number;
  clients: number;
  waits: Waits;
}

/** Durable submits through one api node and through two, over one PostgreSQL; the same clients, in alternating rounds. */
export async function measureNodes(): Promise<Figure[]> {
  const postgres = await startPostgres({ configuration: DURABLE });
  if ('unavailable' in postgres) throw new Error(`There is no PostgreSQL: ${postgres.unavailable}.`);
  const databaseUrl = await postgres.createDatabase();
  const site = await openImageSite({ keys: KEYS, rpm: RPM, databaseUrl });
  const folders: string[] = [];
  const nodes: GatewayProcess[] = [];
  try {
    for (let index = 0; index < 2; index += 1) {
      const folder = await mkdtemp(path.join(tmpdir(), 'mediagate-node-'));
      folders.push(folder);
      const environment = {
        ...launcherEnvironment(),
        ...{
          DATABASE_URL: databaseUrl,
          KEY_PEPPER: PEPPER,
          LINK_SECRET: PEPPER,
          LOG_LEVEL: 'error',
          IMAGE_UPSTREAM_URL: site.upstream.baseUrl,
        },
        ...{
          TRUSTED_ORIGINS: site.upstream.origin,
          IMAGE_WORKERS: '0',
          EXTRACT_WORKERS: '0',
          IMAGE_MAX_ACTIVE: '1000000',
        },
      };
      nodes.push(await startGatewayProcess({ dataFolder: folder, environment }));
    }
    const postmaster = await findPostmaster(postgres.url);
    const submit = async (used: readonly GatewayProcess[]): Promise<Round> => {
      await emptyQueue(databaseUrl);
      const waits = await watchWaits(databaseUrl);
      const cpu = () => ({
        nodes: used.reduce((sum, { pid }) => sum + cpuOfProcess(pid), 0),
        database: cpuOfPostgres(postmaster),
        clients: process.cpuUsage().user / 1000 + process.cpuUsage().system / 1000,
      });
      const before = cpu();
      const seconds = await submitAll(
        used.map(({ url }) => url),
        site.keys,
      );
      const after = cpu();
      const each = (name: 'nodes' | 'database' | 'clients') => ((after[name] - before[name]) * 1000) / SUBMITS;
      const costs = { nodes: each('nodes'), database: each('database'), clients: each('clients') };
      return { perSecond: SUBMITS / seconds, ...costs, waits: await waits.stop() };
    };
    const [one] = nodes as [GatewayProcess, GatewayProcess];
    await submit(nodes);
    const rounds: { one: Round; two: Round }[] = [];
    for (let round = 0; round < ROUNDS; round += 1) rounds.push({ one: await submit([one]), two: await submit(nodes) });
    return figuresOf(rounds);
  } finally {
    for (const node of nodes) await node.kill();
    for (const folder of folders) await rm(folder, { recursive: true, force: true });
    await site.remove();
    await postgres.stop();
  }
}

/** No worker runs here: the jobs that the last round queued are removed. */
async function emptyQueue(databaseUrl: string): Promise<void> {
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  await client.query(`update jobs set state = 'cancelled', "finishedAt" = "createdAt" where state = 'queued'`);
  await client.query('vacuum analyze');
  await client.query('checkpoint');
  await client.end();
}

/** Seconds. */
async function submitAll(origins: readonly string[], keys: readonly string[]): Promise<number> {
  let index = 0;
  const began = performance.now();
  const client = async (origin: string) => {
    const connection = createRawConnection(origin);
    const { host } = new URL(origin);
    while (index < SUBMITS) {
      const number = index;
      index += 1;
      const body = JSON.stringify({ model: 'gen-img-2', prompt: `picture ${number}` });
      const head = `POST /v1/images/jobs HTTP/1.1\r\nhost: ${host}\r\nauthorization: Bearer ${keys[number % keys.length]}`;
      const type = `content-type: application/json\r\ncontent-length: ${body.length}`;
      const request = Buffer.from(`${head}\r\n${type}\r\n\r\n${body}`);
      let answer = await connection.exchange(request);
      // Too many waited on a machine that does other things as well: it is asked again, as clients do it.
      while (answer.status === 503) answer = await connection.exchange(request);
      if (answer.status !== 202) throw new Error(`A job was answered with ${answer.status}: ${answer.text}`);
    }
    connection.destroy();
  };
  await Promise.all(
    Array.from({ length: CONNECTIONS }, (_, number) => client(origins[number % origins.length] as string)),
  );
  return (performance.now() - began) / 1000;
}

function figuresOf(rounds: readonly { one: Round; two: Round }[]): Figure[] {
  const of = (pick: (round: { one: Round; two: Round }) => number) => median(rounds.map(pick));
  const ratio = of(({ one, two }) => two.perSecond / one.perSecond);
  const costs = (side: 'one' | 'two') => {
    const each = (name: 'nodes' | 'database' | 'clients') => Math.round(of((round) => round[side][name]));
    const waits = renderWaits(rounds.map((round) => round[side].waits));
    return `node ${each('nodes')} µs, PostgreSQL ${each('database')} µs, clients ${each('clients')} µs; busy connections: ${waits}`;
  };
  return [
    {
      what: `Durable submits over PostgreSQL, two api nodes beside one (${CONNECTIONS} clients, 2 cores for all)`,
      measured: `${Math.round(of(({ two }) => two.perSecond))} a second, ${Math.round(of(({ one }) => one.perSecond))} a second: ${ratio.toFixed(2)}x`,
      target: `≥ ${TARGET_RATIO}x`,
      met: ratio >= TARGET_RATIO,
    },
    { what: 'CPU of a submit through one node', measured: costs('one'), target: '', met: true },
    { what: 'The same through two', measured: costs('two'), target: '', met: true },
  ];
}
