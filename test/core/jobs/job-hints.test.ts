/** Hints between nodes, also over lost connections. */

import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { expect } from 'chai';
import { openDatabase } from '../../../core/database/database.js';
import { listenPostgres } from '../../../core/database/database-postgres.js';
import { sql } from '../../../core/database/kysely.js';
import type { State } from '../../../server/state.js';
import { type Place, postgresEngine } from '../../support/databases/engines.js';
import { inTime } from '../../support/in-time.js';
import { until } from '../../support/until.js';
import { untilAborted } from '../../support/until-aborted.js';

const kind = 'image' as const;
/** Longer than a test may take: whoever looks by himself is too late. */
const NEVER_MS = 600_000;
/** The database of a busy machine may take longer than that of a request may. */
const TIMEOUT_MS = 20_000;

describe('hints between nodes', () => {
  let place: Place;

  beforeEach(async function () {
    place = await postgresEngine.reusedPlace(this);
  });
  afterEach(() => place?.remove());

  const open = (databaseUrl?: string) =>
    place.open({ jobPollMs: NEVER_MS, databaseTimeoutMs: TIMEOUT_MS, ...(databaseUrl && { databaseUrl }) });

  function workOn(node: State): void {
    node.jobs.work({ kind, concurrency: 1, run: async ({ input }) => input });
  }

  async function submit(node: State, input: unknown): Promise<string> {
    const { job } = await node.jobs.accept({ job: { kind, owner: 'one', input, maxActive: 100 } });
    return job?.id ?? '';
  }

  async function resultOf(node: State, id: string): Promise<unknown> {
    return (await node.jobs.waitFor(id, 'one', { timeoutMs: NEVER_MS }))?.result;
  }

  async function endListening(): Promise<void> {
    const database = await openDatabase(place);
    const ended = sql`select pg_terminate_backend(pid) from pg_stat_activity
      where datname = current_database() and query like 'listen %'`;
    await ended.execute(database.queries);
    await database.close();
  }

  it('start a job at once that another node accepted, and report its end to that node', async () => {
    const [accepting, working] = await Promise.all([open(), open()]);
    workOn(working);
    for (let index = 0; index < 10; index += 1) {
      expect(await resultOf(accepting, await submit(accepting, index))).to.equal(index);
    }
  });

  it('are replaced by polls if their connection was lost', async () => {
    const [accepting, working] = await Promise.all([open(), open()]);
    workOn(working);
    await resultOf(accepting, await submit(accepting, 'before'));
    for (let index = 0; index < 3; index += 1) {
      const ending = endListening();
      const ids = [await submit(accepting, index)];
      await ending;
      ids.push(await submit(accepting, index));
      for (const id of ids) expect(await resultOf(accepting, id)).to.equal(index);
    }
  });

  describe('lost hints between nodes', () => {
    let wire: Wire;
    /** Reaches the database by the wire. */
    let far: State;
    let near: State;

    beforeEach(async () => {
      const url = new URL(place.databaseUrl ?? '');
      wire = await startWire(url);
      url.search = '';
      url.host = `127.0.0.1:${wire.port}`;
      far = await open(url.href);
      near = await open();
    });
    afterEach(async () => {
      wire?.heal();
      await far?.close();
      await wire?.close();
    });

    /** Its first wait connects to hear of ends. */
    async function untilListening(): Promise<void> {
      const id = await submit(near, 'before');
      const wait = far.jobs.waitFor(id, 'one', { timeoutMs: NEVER_MS });
      await near.jobs.cancel(id, 'one');
      await wait;
    }

    /** Until nothing that was asked is on its way: a question that the cut takes with it fails. */
    async function untilAnswered(): Promise<void> {
      const database = await openDatabase(place);
      const asked = sql<{ asked: string }>`select count(*) as asked from pg_stat_activity
        where datname = current_database() and state = 'active' and pid <> pg_backend_pid()`;
      await until(async () => Number((await asked.execute(database.queries)).rows[0]?.asked) === 0);
      await database.close();
      // Passes the wire after the answers that were on it.
      await far.ping();
    }

    it('end a wait when the connection is back', async () => {
      await untilListening();
      const ids = [await submit(near, 'a'), await submit(near, 'b')];
      const waits = ids.map((id) => far.jobs.waitFor(id, 'one', { timeoutMs: NEVER_MS }));
      await untilAnswered();
      wire.cut();
      for (const id of ids) await near.jobs.cancel(id, 'one');
      wire.heal();
      for (const wait of waits) expect(await inTime(wait)).to.include({ state: 'cancelled' });
    });

    it('start a job when the connection is back', async () => {
      workOn(far);
      await resultOf(near, await submit(near, 'before'));
      wire.cut();
      const id = await submit(near, 'meanwhile');
      wire.heal();
      expect(await inTime(resultOf(near, id))).to.equal('meanwhile');
    });
  });

  it("pass a stopping worker's job to another at once", async () => {
    const [accepting, stopping, other] = await Promise.all([open(), open(), open()]);
    let began = () => {};
    const begun = new Promise<void>((resolve) => {
      began = resolve;
    });
    const workers = stopping.jobs.work({
      kind,
      concurrency: 1,
      run: (_job, signal) => {
        began();
        return untilAborted(signal);
      },
    });
    const id = await submit(accepting, 'moved');
    await begun;
    workOn(other);
    await workers.stop();
    expect(await resultOf(accepting, id)).to.equal('moved');
    expect(await accepting.jobs.find(id, 'one')).to.include({ attempts: 2 });
  });

  it('resume after the network has dropped the connection silently', async () => {
    const url = new URL(place.databaseUrl ?? '');
    const wire = await startWire(url);
    url.search = '';
    url.host = `127.0.0.1:${wire.port}`;
    const heard: string[] = [];
    let connections = 0;
    const listening = listenPostgres({
      url: url.href,
      channel: 'hints',
      notified: (payload) => heard.push(payload),
      connected: () => {
        connections += 1;
      },
      failed: () => undefined,
      beatMs: 50,
    });
    const database = await openDatabase(place);
    try {
      await until(() => connections === 1);
      wire.swallow();
      await until(() => connections === 2);
      await sql`select pg_notify('hints', 'again')`.execute(database.queries);
      await until(() => heard.includes('again'));
      wire.swallow();
    } finally {
      // Although nobody answers any more.
      await listening.stop();
      await database.close();
      await wire.close();
    }
  });
});

interface Wire {
  port: number;
  /** Of the connections that there are, nothing reaches the other side any more, and neither side is told. */
  swallow(): void;
  /** Ends all connections, and refuses new ones until it is healed. */
  cut(): void;
  heal(): void;
  close(): Promise<void>;
}

/** From a port to the server of a URL, which names the folder of its socket or a host. */
async function startWire({ hostname, port, searchParams }: URL): Promise<Wire> {
  const folder = searchParams.get('host');
  const reach = () =>
    folder ? connect(`${folder}/.s.PGSQL.5432`) : connect({ host: hostname, port: Number(port || 5432) });
  const pairs = new Set<readonly [Socket, Socket]>();
  let isCut = false;
  const server: Server = createServer((client) => {
    if (isCut) return void client.destroy();
    const pair = [client, reach()] as const;
    pairs.add(pair);
    const [one, other] = pair;
    one.pipe(other);
    other.pipe(one);
    for (const socket of pair) {
      socket.on('error', () => undefined);
      // One side that is gone takes the other with it.
      socket.on('close', () => {
        for (const each of pair) each.destroy();
        pairs.delete(pair);
      });
    }
  });
  const breakAll = () => {
    for (const pair of pairs) for (const socket of pair) socket.destroy();
  };
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    swallow() {
      for (const [one, other] of pairs) {
        one.unpipe(other).resume();
        other.unpipe(one).resume();
      }
    },
    cut() {
      isCut = true;
      breakAll();
    },
    heal() {
      isCut = false;
    },
    async close() {
      breakAll();
      server.close();
      await once(server, 'close');
    },
  };
}
