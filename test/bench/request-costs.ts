/*
 * Benchmark of what one request of each kind costs the database: statements, transactions, statements that lock rows,
 * bytes of the write-ahead log, and CPU. Each kind is sent one at a time, and 32 at a time, when requests share
 * commits. The work of an idle gateway is measured first and subtracted.
 */

import { chmod, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { startPostgres } from '../support/databases/postgres.js';
import { startReplayingProxy } from '../support/links/replaying-proxy.js';
import { type GatewayProcess, startGatewayProcess } from '../support/processes/gateway-process.js';
import { DURABLE } from './growth.js';
import { type LoadedRequest, loadHttp } from './http-load.js';
import { cpuOfProcess, type Figure } from './measure.js';
import { linkOf } from './page-parse.js';
import { PLATFORMS } from './platforms.js';
import { cpuOfPostgres, findPostmaster } from './postgres-cpu.js';

const TOGETHER = 32;
const ALONE_COUNT = 40;
const TOGETHER_COUNT = 640;
const CPU_COUNT = 2_000;
const IDLE_MS = 4_000;
/** Every write that does not delay an answer is done after this. */
const SETTLE_MS = 400;
const LOG = 'statements.log';
const LOG_PREFIX = '#%a %p# ';

/** What the gateway and the database have done so far, or for one request. */
interface Costs {
  statements: number;
  transactions: number;
  /** Statements that lock rows until their transaction ends. */
  locks: number;
  /** Of the write-ahead log. */
  bytes: number;
  /** Milliseconds. */
  nodeCpu: number;
  databaseCpu: number;
}

/** Where the costs are read. */
interface Sources {
  client: pg.Client;
  log: string;
  /** Of the gateway. */
  pid: number;
  postmaster: number;
}

interface Kind {
  what: string;
  /** At most so many, one at a time. Default: as many as the others. */
  most?: number;
  /** Requests whose CPU is measured together. Default 2,000. */
  many?: number;
  next(index: number): LoadedRequest;
}

/** Statements, transactions, rows and bytes of one request of each kind on PostgreSQL. */
export async function measureRequestCosts(): Promise<Figure[]> {
  const logFolder = await mkdtemp(path.join(tmpdir(), 'mediagate-log-'));
  // The server runs as another user when this process is root's.
  await chmod(logFolder, 0o777);
  const logged = { logging_collector: 'on', log_directory: logFolder, log_filename: LOG, log_statement: 'all' };
  const postgres = await startPostgres({
    configuration: { ...DURABLE, ...logged, log_line_prefix: LOG_PREFIX, log_file_mode: '0644' },
  });
  if ('unavailable' in postgres) throw new Error(`There is no PostgreSQL: ${postgres.unavailable}.`);
  const databaseUrl = await postgres.createDatabase();
  const link = PLATFORMS.vidsite.link(1);
  const page = PLATFORMS.vidsite.build(linkOf(PLATFORMS.vidsite, link));
  const headers = { 'content-type': 'text/html; charset=utf-8' };
  const proxy = await startReplayingProxy({ answer: () => ({ headers, body: page }) });
  const client = new pg.Client({ connectionString: databaseUrl, application_name: 'bench' });
  let gateway: GatewayProcess | undefined;
  try {
    gateway = await startGatewayProcess({
      proxy,
      environment: {
        ...{ DATABASE_URL: databaseUrl, EXTRACT_CACHE_SECONDS: '3600', LOG_LEVEL: 'error' },
        ...{ IMAGE_MAX_ACTIVE: '100000', IMAGE_WORKERS: '4' },
      },
    });
    await client.connect();
    const { pid } = gateway;
    const postmaster = await findPostmaster(postgres.url);
    const read = () => readCosts({ client, log: path.join(logFolder, LOG), pid, postmaster });
    const kinds = await kindsOf(gateway, link);
    const idle = await idlePerMs(read);
    const costsOf = async (kind: Kind, connections: number, count: number) => {
      await send(gateway as GatewayProcess, kind, connections, connections);
      return costOf(read, idle, count, () => send(gateway as GatewayProcess, kind, connections, count));
    };
    const figures: Figure[] = [];
    for (const kind of kinds) {
      const alone = renderStatements(await costsOf(kind, 1, kind.most ?? ALONE_COUNT));
      const together = kind.most
        ? ''
        : `; 32 at a time ${renderStatements(await costsOf(kind, TOGETHER, Math.min(TOGETHER_COUNT, kind.many ?? TOGETHER_COUNT)))}`;
      figures.push({ what: kind.what, measured: alone + together, target: '', met: true });
    }
    // Writing down each statement costs CPU.
    await client.query(`alter system set log_statement = 'none'`);
    await client.query('select pg_reload_conf()');
    for (const kind of kinds) {
      if (kind.most) continue;
      const costs = await costsOf(kind, TOGETHER, kind.many ?? CPU_COUNT);
      figures.push({ what: `${kind.what}: CPU, 32 at a time`, measured: renderCpu(costs), target: '', met: true });
    }
    return figures;
  } finally {
    await client.end();
    await gateway?.stop();
    await proxy.close();
    await postgres.stop();
    await rm(logFolder, { recursive: true, force: true });
  }
}

async function send({ url }: GatewayProcess, { next }: Kind, connections: number, count: number): Promise<void> {
  await loadHttp({ url, connections, count, next });
  await sleep(SETTLE_MS);
}

/** The requests of each kind. An image that has been made is polled and read. */
async function kindsOf(gateway: GatewayProcess, link: string): Promise<Kind[]> {
  const keyOf = async (...options: string[]) => {
    const grant = ['--grant', 'extract,text,images', '--rpm', '1000000'];
    const { stdout } = await gateway.command('keys', 'create', '--json', ...grant, ...options);
    return (JSON.parse(stdout) as { key: string }).key;
  };
  const key = await keyOf();
  const limited = await keyOf('--budget', '100M tokens/day');
  const get = (path: string): LoadedRequest => ({ method: 'GET', path, headers: bearer(key), status: 200 });
  const post = (path: string, body: object, { status = 200, sentKey = key } = {}): LoadedRequest => ({
    ...{ method: 'POST', path, status, body: JSON.stringify(body) },
    headers: { ...bearer(sentKey), 'content-type': 'application/json' },
  });
  const first = await gateway.extract(key, { url: link });
  if (first.status !== 200) throw new Error(`The extraction to be cached failed: ${first.text}`);
  const chat = { model: 'm-5.5', messages: [{ role: 'user', content: 'What is the capital of France?' }] };
  const picture = (index: number) => ({ model: 'gen-img-2', prompt: `a lighthouse, number ${index}` });
  const { id, file } = await makeImage(gateway, post('/v1/images/jobs', picture(0), { status: 202 }));
  return [
    { what: 'a key check: `GET /v1/capabilities`', next: () => get('/v1/capabilities') },
    { what: 'a cached link', next: () => post('/v1/extract', { url: link }) },
    { what: 'a plain chat', next: () => post('/v1/chat/completions', chat) },
    { what: 'a chat with a budget', next: () => post('/v1/chat/completions', chat, { sentKey: limited }) },
    // A key may poll 20 times a second.
    { what: 'a poll of a finished job', most: 15, next: () => get(`/v1/images/jobs/${id}`) },
    { what: 'a file', next: () => get(file) },
    {
      what: 'an image, from submit to file',
      many: 160,
      next: (index) => post('/v1/images/generations', picture(index)),
    },
  ];
}

function bearer(key: string): Record<string, string> {
  return { authorization: `Bearer ${key}` };
}

async function makeImage(
  gateway: GatewayProcess,
  { path, method, headers, body }: LoadedRequest,
): Promise<{ id: string; file: string }> {
  const { json } = await gateway.request(path, { method, headers, body });
  for (;;) {
    const { json: job } = await gateway.request(`/v1/images/jobs/${json.id}`, { headers });
    if (job.data[0]) return { id: json.id, file: new URL(job.data[0].url, gateway.url).pathname };
    if (job.error) throw new Error(`The image failed: ${JSON.stringify(job.error)}`);
    await sleep(100);
  }
}

async function readCosts({ client, log, pid, postmaster }: Sources): Promise<Costs> {
  const { rows } = await client.query<{ bytes: string }>(`select pg_current_wal_insert_lsn() - '0/0' as bytes`);
  return {
    ...countStatements(await readFile(log, 'utf8')),
    bytes: Number(rows[0]?.bytes),
    nodeCpu: cpuOfProcess(pid),
    databaseCpu: cpuOfPostgres(postmaster),
  };
}

/** Counts what the gateway's sessions sent. A statement outside `begin` and `commit` is a transaction of its own. */
function countStatements(log: string): Pick<Costs, 'statements' | 'transactions' | 'locks'> {
  const counts = { statements: 0, transactions: 0, locks: 0 };
  const open = new Set<string>();
  for (const entry of log.split('\n#')) {
    const [, session, statement] =
      /^#?mediagate (\d+)# LOG: {2}(?:statement|execute [^:]*): ([\s\S]*)/.exec(entry) ?? [];
    if (session === undefined || statement === undefined) continue;
    counts.statements += 1;
    if (/^begin/i.test(statement)) open.add(session);
    else if (/^(?:commit|rollback)/i.test(statement)) open.delete(session);
    else {
      if (/for (?:no key )?update/i.test(statement)) counts.locks += 1;
      if (open.has(session)) continue;
    }
    if (!/^(?:commit|rollback)/i.test(statement)) counts.transactions += 1;
  }
  return counts;
}

function combine(left: Costs, right: Costs, of: (left: number, right: number) => number): Costs {
  const names = Object.keys(left) as (keyof Costs)[];
  return Object.fromEntries(names.map((name) => [name, of(left[name], right[name])])) as unknown as Costs;
}

async function idlePerMs(read: () => Promise<Costs>): Promise<Costs> {
  const before = await read();
  await sleep(IDLE_MS);
  const after = await read();
  return combine(after, before, (now, then) => (now - then) / IDLE_MS);
}

async function costOf(
  read: () => Promise<Costs>,
  idle: Costs,
  count: number,
  work: () => Promise<void>,
): Promise<Costs> {
  const [before, began] = [await read(), performance.now()];
  await work();
  const [after, elapsed] = [await read(), performance.now() - began];
  const spent = combine(after, before, (now, then) => now - then);
  return combine(spent, idle, (all, perMs) => Math.max(0, all - perMs * elapsed) / count);
}

function renderStatements({ statements, transactions, locks, bytes }: Costs): string {
  const shown = (value: number) => (value < 0.05 ? '0' : value.toFixed(1));
  return `${shown(statements)} statements in ${shown(transactions)} transactions, ${shown(locks)} with row locks, ${Math.round(bytes)} bytes`;
}

function renderCpu({ nodeCpu, databaseCpu }: Costs): string {
  return `node ${Math.round(nodeCpu * 1000)} µs, PostgreSQL ${Math.round(databaseCpu * 1000)} µs`;
}
