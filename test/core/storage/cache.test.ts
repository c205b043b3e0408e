/** The cache in SQL and in Redis, also with a failing Redis. */

import { once } from 'node:events';
import net from 'node:net';
import { expect } from 'chai';
import type { Cache } from '../../../core/contracts/services.js';
import { untilConnected } from '../../support/databases/connected-cache.js';
import { createPlace, engines, ListLogger, ManualClock, type Place } from '../../support/databases/engines.js';
import { startRedis, type TestRedis } from '../../support/databases/redis.js';
import { type ScriptedRedis, startScriptedRedis } from '../../support/databases/scripted-redis.js';
import { freePort } from '../../support/processes/free-port.js';
import { until } from '../../support/until.js';

interface Surroundings {
  place: Place;
  clock: ManualClock;
  cache: Cache;
}

function describeCache(name: string, open: (context: Mocha.Context) => Promise<Surroundings>, expires: boolean): void {
  describe(`cache on ${name}`, () => {
    let place: Place | undefined;
    let clock: ManualClock;
    let cache: Cache;

    before(async function () {
      ({ place, clock, cache } = await open(this));
      await untilConnected(cache);
    });

    after(() => place?.remove());

    it('returns values of every JSON type until they are deleted', async () => {
      const values = { text: 'ü\u0000😀', list: [1, null, { a: true }], number: 1.5, no: false };
      for (const [key, value] of Object.entries(values)) await cache.set(key, value, 60_000);
      for (const [key, value] of Object.entries(values)) expect(await cache.get(key)).to.deep.equal(value);
      await cache.set('text', 'other', 60_000);
      expect(await cache.get('text')).to.equal('other');
      await cache.delete('text');
      await cache.delete('text');
      expect(await cache.get('text')).to.equal(undefined);
      expect(await cache.get('list')).to.deep.equal(values.list);
    });

    it('stores nothing that is too large or already expired, and warns without failing', async () => {
      await cache.set('large', 'x'.repeat(4 * 1024 * 1024), 60_000);
      expect(await cache.get('large')).to.equal(undefined);
      await cache.set('over', 'x', 0);
      expect(await cache.get('over')).to.equal(undefined);
      await cache.set('fits', 'x'.repeat(1024 * 1024), 60_000);
      expect(await cache.get('fits')).to.have.length(1024 * 1024);
    });

    if (expires) {
      it('drops entries at their expiry', async () => {
        await cache.set('brief', 'value', 5_000);
        clock.advance(4_999);
        expect(await cache.get('brief')).to.equal('value');
        clock.advance(1);
        expect(await cache.get('brief')).to.equal(undefined);
      });
    }
  });
}

for (const engine of engines) {
  describeCache(
    engine.name,
    async (context) => {
      const place = await engine.reusedPlace(context);
      // Keyv looks at the machine's time as well, so the clock starts there.
      const clock = new ManualClock(Date.now());
      return { place, clock, cache: (await place.open({ clock })).cache };
    },
    true,
  );
}

describe('redis', () => {
  let redis: TestRedis | undefined;

  before(async function () {
    const started = await startRedis();
    if ('unavailable' in started) {
      const suite = this.test?.parent;
      if (suite) suite.title += ` (left out: ${started.unavailable})`;
      return this.skip();
    }
    redis = started;
  });

  after(() => redis?.stop());

  it('is not started on a port of another server', async () => {
    const port = await freePort();
    const taken = net.createServer().listen(port, '127.0.0.1');
    await once(taken, 'listening');
    try {
      expect(await startRedis({ port })).to.have.property('unavailable');
    } finally {
      taken.close();
    }
  });

  describeCache(
    'Redis',
    async () => {
      const place = await createPlace();
      const clock = new ManualClock(Date.now());
      return { place, clock, cache: (await place.open({ clock, cacheUrl: redis?.url })).cache };
    },
    false,
  );
});

describe('a failing cache', () => {
  let place: Place;
  let logger: ListLogger;

  beforeEach(async () => {
    place = await createPlace();
    logger = new ListLogger();
  });

  afterEach(() => place.remove());

  async function expectMisses(cacheUrl: string): Promise<void> {
    const { cache } = await place.open({ cacheUrl, logger });
    for (let round = 0; round < 3; round += 1) {
      await cache.set('key', 'value', 60_000);
      expect(await cache.get('key')).to.equal(undefined);
      await cache.delete('key');
    }
    expect(logger.lines.map(({ level }) => level)).to.deep.equal(['warn']);
    expect(
      JSON.stringify(logger.lines, (_key, value) => (value instanceof Error ? { ...value, text: value.stack } : value)),
    ).not.to.contain('hunter2');
  }

  it('is a miss while Redis is unavailable', async () => {
    await expectMisses(`redis://user:hunter2@127.0.0.1:${await freePort()}`);
  });

  it('is soon a miss while Redis is silent', async () => {
    const sockets = new Set<net.Socket>();
    const silent = net.createServer((socket) => sockets.add(socket)).listen(0, '127.0.0.1');
    await once(silent, 'listening');
    try {
      await expectMisses(`redis://user:hunter2@127.0.0.1:${(silent.address() as net.AddressInfo).port}`);
    } finally {
      for (const socket of sockets) socket.destroy();
      silent.close();
    }
  });

  it('is a miss if the stored text cannot be read', async () => {
    const { cache } = await place.open({ logger });
    await cache.set('key', 'value', 60_000);
    const { default: Sqlite } = await import('better-sqlite3');
    const file = new Sqlite(`${place.dataDir}/state.sqlite`);
    file.exec(`update cache_entries set value = '{"value":'`);
    file.close();
    expect(await cache.get('key')).to.equal(undefined);
    expect(logger.lines.map(({ level }) => level)).to.deep.equal(['warn']);
  });

  it('is a miss after its close', async () => {
    const state = await place.open({ logger });
    await state.cache.set('key', 'value', 60_000);
    await state.close();
    expect(await state.cache.get('key')).to.equal(undefined);
    expect(logger.lines).to.deep.equal([]);
  });

  it('refuses a URL of another kind without repeating it', async () => {
    for (const cacheUrl of ['http://user:hunter2@127.0.0.1', 'redis://user:hunter2@[', 'memory']) {
      const error = await place.open({ cacheUrl }).catch((refusal: unknown) => refusal);
      expect(error).to.include({ code: 'invalid_value', param: 'cacheUrl' });
      expect((error as Error).message).not.to.contain('hunter2');
    }
  });

  it('deletes expired entries in batches', async () => {
    const clock = new ManualClock(Date.now());
    const { cache } = await place.open({ clock });
    for (let index = 0; index < 600; index += 1) await cache.set(`key${index}`, index, 1_000);
    clock.advance(61_000);
    const { default: Sqlite } = await import('better-sqlite3');
    const file = new Sqlite(`${place.dataDir}/state.sqlite`, { readonly: true });
    const count = () => file.prepare('select count(*) as rows from cache_entries').get();
    expect(count()).to.deep.equal({ rows: 600 });
    await cache.set('first', 1, 1_000_000);
    expect(count()).to.deep.equal({ rows: 101 });
    await cache.set('second', 1, 1_000_000);
    expect(count()).to.deep.equal({ rows: 2 });
    file.close();
  });
});

describe('a misbehaving Redis', () => {
  let place: Place;
  let logger: ListLogger;
  let redis: ScriptedRedis;
  let cache: Cache;

  beforeEach(async () => {
    place = await createPlace();
    logger = new ListLogger();
    redis = await startScriptedRedis();
    const clock = new ManualClock(Date.now());
    ({ cache } = await place.open({ cacheUrl: redis.url, logger, clock }));
    await untilConnected(cache);
    // A busy machine may have needed more than one try, with a warning. The next warning is written again.
    clock.advance(61_000);
    await cache.set('one', 'the first', 60_000);
    await cache.set('two', 'the second', 60_000);
    logger.lines.length = 0;
  });

  afterEach(async () => {
    await place.remove();
    await until(() => redis.open === 0);
    await redis.close();
  });

  const isGet = ({ name }: { name: string }) => name === 'GET';
  const isAgainOfUse = () => until(async () => (await cache.get('two')) === 'the second', 50);

  it('gets no answers of other keys after an unreadable one', async () => {
    let asked = 0;
    redis.setFault((command) => {
      if (isGet(command)) asked += 1;
      return isGet(command) && asked === 1 ? { raw: 'HTTP/1.1 400 Bad Request\r\n\r\n' } : 'answer';
    });
    const first = cache.get('one');
    await until(() => asked > 0);
    const second = cache.get('two');
    expect(await first).to.equal(undefined);
    expect(await second).to.be.oneOf([undefined, 'the second']);
    await isAgainOfUse();
    expect(await cache.get('one')).to.equal('the first');
    expect(logger.lines.map(({ level }) => level)).to.deep.equal(['warn']);
  });

  it('is used again over a new connection after silence', async () => {
    redis.setFault((command) => (isGet(command) ? 'hang' : 'answer'));
    const unanswered = await Promise.all(Array.from({ length: 20 }, () => cache.get('one')));
    expect(new Set(unanswered)).to.deep.equal(new Set([undefined]));
    redis.setFault();
    await isAgainOfUse();
    expect(redis.open).to.equal(1);
    expect(logger.lines.map(({ level }) => level)).to.deep.equal(['warn']);
  });

  for (const greeting of ['hang', { raw: '\0\0nothing\r\n' }] as const) {
    it(`is used again after an invalid greeting (${JSON.stringify(greeting)})`, async () => {
      redis.setFault((command) => (isGet(command) ? 'reset' : greeting));
      expect(await cache.get('one')).to.equal(undefined);
      await until(() => redis.commands.some(({ name }) => name === 'CLIENT'));
      redis.setFault();
      await isAgainOfUse();
      expect(redis.open).to.equal(1);
    });
  }

  for (const error of [
    "OOM command not allowed when used memory > 'maxmemory'.",
    "READONLY You can't write against a read only replica.",
  ]) {
    it(`still returns entries if it accepts no more (${error.split(' ')[0]}), and logs that once`, async () => {
      redis.setFault(({ name }) => (name === 'SET' ? { error } : 'answer'));
      for (let round = 0; round < 5; round += 1) await cache.set('one', 'another', 60_000);
      expect(await cache.get('one')).to.equal('the first');
      expect(redis.commands.filter(({ name }) => name === 'SET')).to.have.length(5);
      expect(logger.lines.map(({ level }) => level)).to.deep.equal(['warn']);
      redis.setFault();
      await cache.set('one', 'another', 60_000);
      expect(await cache.get('one')).to.equal('another');
    });
  }
});
