/** Benchmark of submits, polls and files of image jobs, each beside its floor. */

import { Agent } from 'node:http';
import { loadHttp } from './http-load.js';
import { type Floor, type ImageServer, startImageServer } from './image-server.js';
import { cpuOfProcess, type Figure, median } from './measure.js';

const ROUNDS = 5;
/** As many as may wait at once, unless the operator says otherwise; then the queue is emptied. */
const SUBMITS = 1_000;
const BATCHES = 5;
const SUBMIT_ROUNDS = 7;
/** Until the compiler has done its work in both. */
const WARM_UP_ROUNDS = 2;
const POLLS = 6_000;
const FILES = 300;
const CONNECTIONS = 50;
/** Enough for a request at any time, and few enough that the server waits at times. */
const CLIENTS = [200, 50];

/** What the routes of images cost beside servers that do nothing else. Rounds alternate, so that the machine's moods hit both. */
export async function measureImageRoutes(): Promise<Figure[]> {
  const idle = await startImageServer({ environment: { IMAGE_WORKERS: '0' } });
  const submits: Figure[] = [];
  try {
    const floor = await idle.startFloor();
    for (const clients of CLIENTS) submits.push(await measureSubmits(idle, floor, clients));
  } finally {
    await idle.stop();
  }
  const server = await startImageServer();
  try {
    const floor = await server.startFloor();
    return [...submits, ...(await measurePolls(server, floor)), await measureFiles(server, floor)];
  } finally {
    await server.stop();
  }
}

async function measureSubmits(
  { site, gateway, submission }: ImageServer,
  floor: Floor,
  clients: number,
): Promise<Figure> {
  const database = await site.openDatabase();
  const agents = [0, 1].map(() => new Agent({ keepAlive: true, maxSockets: clients }));
  // Each client has a key of its own.
  const next = (index: number) => submission(index % clients);
  const rate = async (url: string, agent: Agent | undefined) => {
    let taken = 0;
    for (let batch = 0; batch < BATCHES; batch += 1) {
      await emptyQueue();
      const { seconds } = await loadHttp({ url, connections: clients, count: SUBMITS, next, agent });
      taken += seconds;
    }
    return (SUBMITS * BATCHES) / taken;
  };
  const emptyQueue = () =>
    database.run((queries) =>
      queries
        .updateTable('jobs')
        .set({ state: 'cancelled', finishedAt: Date.now() })
        .where('state', '=', 'queued')
        .execute(),
    );
  try {
    const { ours, theirs, ratio } = await alternate(
      () => rate(gateway.url, agents[0]),
      () => rate(floor.submits, agents[1]),
      { rounds: SUBMIT_ROUNDS, warmUp: WARM_UP_ROUNDS },
    );
    return {
      what: `\`POST /v1/images/jobs\`, each 202 after its commit, beside the same server without storage (${clients} clients)`,
      measured: `${Math.round(ours)} a second, ${Math.round(theirs)} a second: ${ratio.toFixed(2)}x`,
      target: '≥ 0.5x',
      met: ratio >= 0.5,
    };
  } finally {
    for (const agent of agents) agent.destroy();
    await database.close();
  }
}

async function measurePolls({ gateway, keyOf, make }: ImageServer, floor: Floor): Promise<Figure[]> {
  const { id } = await make();
  const target = `/v1/images/jobs/${id}`;
  const first = await gateway.request(target, { headers: { authorization: `Bearer ${keyOf(0)}` } });
  const etag = first.headers.get('etag') ?? '';
  const cpu = async (url: string, pid: number, status: number, more: Record<string, string> = {}) => {
    const next = (index: number) => {
      const headers = { authorization: `Bearer ${keyOf(index)}`, ...more };
      return { method: 'GET', path: target, headers, status };
    };
    const before = cpuOfProcess(pid);
    await loadHttp({ url, connections: CONNECTIONS, count: POLLS, next });
    return ((cpuOfProcess(pid) - before) * 1000) / POLLS;
  };
  const figure = async (what: string, most: number, ours: () => Promise<number>): Promise<Figure> => {
    const found = await alternate(ours, () => cpu(floor.koa, floor.process.pid ?? 0, 200));
    return {
      what: `${what}, beside a no-op Koa route (CPU a request)`,
      measured: `${Math.round(found.ours)} µs, ${Math.round(found.theirs)} µs: ${found.ratio.toFixed(2)}x`,
      target: `≤ ${most}x`,
      met: found.ratio <= most,
    };
  };
  return [
    await figure('Poll of a finished job', 5, () => cpu(gateway.url, gateway.pid, 200)),
    await figure('The same, answered with 304', 4, () => cpu(gateway.url, gateway.pid, 304, { 'if-none-match': etag })),
  ];
}

async function measureFiles({ gateway, make }: ImageServer, floor: Floor): Promise<Figure> {
  const { data } = await make({ size: '2048x2048', output_format: 'png' });
  const { pathname } = new URL(data[0]?.url ?? '');
  const rate = async (url: string) => {
    const next = () => ({ method: 'GET', path: pathname, headers: {}, status: 200 });
    const { seconds } = await loadHttp({ url, connections: 16, count: FILES, next });
    return FILES / seconds;
  };
  const { ours, theirs, ratio } = await alternate(
    () => rate(gateway.url),
    () => rate(floor.files),
  );
  const kilobytes = Math.round((data[0]?.bytes ?? 0) / 1000);
  return {
    what: `\`GET /v1/images/files/{name}\` of ${kilobytes} kB, beside a plain server of the same file`,
    measured: `${Math.round(ours)} a second, ${Math.round(theirs)} a second: ${ratio.toFixed(2)}x`,
    target: '≥ 0.5x',
    met: ratio >= 0.5,
  };
}

interface Compared {
  ours: number;
  theirs: number;
  ratio: number;
}

async function alternate(
  ours: () => Promise<number>,
  theirs: () => Promise<number>,
  { rounds: wanted, warmUp } = { rounds: ROUNDS, warmUp: 1 },
): Promise<Compared> {
  const rounds: { ours: number; theirs: number }[] = [];
  for (let round = 0; round < warmUp + wanted; round += 1) rounds.push({ ours: await ours(), theirs: await theirs() });
  rounds.splice(0, warmUp);
  return {
    ours: median(rounds.map((round) => round.ours)),
    theirs: median(rounds.map((round) => round.theirs)),
    ratio: median(rounds.map((round) => round.ours / round.theirs)),
  };
}
