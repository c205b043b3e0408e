/** Files in an object store, also with a failing store. */

import { randomBytes } from 'node:crypto';
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import type { Clock } from '../../../core/contracts/services.js';
import { describeError } from '../../../core/observability/logger.js';
import { systemClock } from '../../../core/runtime/time.js';
import { openS3Files, type S3Files } from '../../../core/storage/files-s3.js';
import { damageFiles } from '../../support/audio/damaged-files.js';
import { ListLogger } from '../../support/databases/engines.js';
import { rejection } from '../../support/rejection.js';
import { type ObjectFault, type ObjectProxy, startObjectProxy } from '../../support/storage/object-proxy.js';
import { type ObjectServer, startObjectServer } from '../../support/storage/object-server.js';
import { until } from '../../support/until.js';
import { content, describeStorage, refusal } from './storage-contract.js';

let server: ObjectServer;
let proxy: ObjectProxy;
let fresh = 0;

async function startStore(): Promise<void> {
  server = await startObjectServer();
  proxy = await startObjectProxy(server);
}

async function stopStore(): Promise<void> {
  await proxy.close();
  await server.stop();
}

/** The machine's clock, which can be put forward; sleeping takes the time it takes. */
function createMovingClock(): Clock & { advance(ms: number): void } {
  let moved = 0;
  return {
    now: () => systemClock.now() + moved,
    monotonic: () => systemClock.monotonic() + moved,
    sleep: systemClock.sleep,
    advance(ms) {
      moved += ms;
    },
  };
}

/** Tells the sleep between two rounds from all others. */
const ROUND_MS = 3_600_001;

/** The machine's clock, on which a round begins when the test says so. */
function createRoundClock(): { clock: Clock; next(): Promise<void> } {
  let begin: (() => void) | undefined;
  const sleepOf: Clock['sleep'] = (ms, signal) =>
    ms !== ROUND_MS
      ? systemClock.sleep(ms, signal)
      : new Promise((resolve, reject) => {
          begin = resolve;
          signal?.addEventListener('abort', () => reject(signal.reason), { once: true });
        });
  return {
    clock: { ...systemClock, sleep: sleepOf },
    async next() {
      const go = await until(() => begin);
      begin = undefined;
      go();
      // The round is over when the next one is waited for.
      await until(() => begin);
    },
  };
}

interface Node {
  files: S3Files;
  logger: ListLogger;
  /** Names of what lies on its disk. */
  onDisk(): Promise<string[]>;
  /** Ends it as a process would; its disk stays. */
  stop(): Promise<void>;
}

describe('files in an object store', () => {
  let parent: string;
  let prefix: string;
  const nodes: Node[] = [];

  before(startStore);
  after(stopStore);

  beforeEach(async () => {
    parent = await mkdtemp(path.join(tmpdir(), 'mediagate-s3-'));
    fresh += 1;
    prefix = `run-${fresh}/files`;
    proxy.setFault();
  });

  afterEach(async () => {
    proxy.setFault();
    for (const node of nodes.splice(0)) await node.stop();
    await rm(parent, { recursive: true, force: true });
  });

  async function open({
    disk = 'a',
    clock = systemClock as Clock,
    timeoutMs = 5_000,
    pollMs = 50,
  } = {}): Promise<Node> {
    const folder = path.join(parent, disk);
    const logger = new ListLogger();
    const files = await openS3Files({ url: proxy.filesUrl(prefix), folder, clock, logger, pollMs, timeoutMs });
    const node = { files, logger, onDisk: () => readdir(folder), stop: async () => files.close() };
    nodes.push(node);
    return node;
  }

  function write({ files }: Node, name: string, body: Uint8Array | string = name): Promise<string> {
    return files.write({ name, contentType: 'image/png', body: Buffer.from(body) });
  }

  async function sourceOf({ files }: Node, name: string): Promise<string | undefined> {
    return (await files.stat(name))?.source;
  }

  async function untilStored(node: Node): Promise<void> {
    while ((await node.onDisk()).length > 0) await sleep(20);
  }

  it('uploads a file completely, under its prefix, and keeps nothing on the disk', async () => {
    const node = await open();
    await write(node, 'a.png');
    expect(await node.onDisk()).to.deep.equal([]);
    expect(await sourceOf(node, 'a.png')).to.equal('objstore_s3');
    const put = proxy.requests.filter(({ method }) => method === 'PUT');
    expect(put.map(({ key }) => key)).to.deep.equal([`${prefix}/a.png`]);
  });

  it('returns a file that another node stored', async () => {
    const [one, other] = [await open({ disk: 'a' }), await open({ disk: 'b' })];
    await write(one, 'shared.png');
    expect((await content(await other.files.read('shared.png'))).toString()).to.equal('shared.png');
    expect(await other.files.stat('shared.png')).to.deep.equal(await one.files.stat('shared.png'));
    await other.files.delete('shared.png');
    expect(await one.files.stat('shared.png')).to.equal(undefined);
  });

  it('uploads a large file in parts, and reads any range of it', async () => {
    const node = await open({ timeoutMs: 60_000 });
    const body = randomBytes(20_000_001);
    await write(node, 'large.png', body);
    expect(await sourceOf(node, 'large.png')).to.equal('objstore_s3');
    const puts = proxy.requests.filter(({ method, key }) => method === 'PUT' && key.endsWith('large.png'));
    expect(puts.map(({ bytes }) => bytes)).to.deep.equal([8_388_608, 8_388_608, 20_000_001 - 2 * 8_388_608]);
    expect(Buffer.compare(await content(await node.files.read('large.png')), body)).to.equal(0);
    const part = await node.files.read('large.png', { start: 8_388_000, end: 8_389_000 });
    expect(await content(part)).to.deep.equal(body.subarray(8_388_000, 8_389_001));
  });

  it('discards a broken large upload, and starts it again', async () => {
    const node = await open();
    proxy.setFault(({ query }) => (query.includes('partNumber=2') ? 403 : undefined));
    const body = randomBytes(10_000_000);
    await write(node, 'large.png', body);
    expect(await sourceOf(node, 'large.png')).to.equal('local_cache');
    expect(proxy.requests.filter(({ method, query }) => method === 'DELETE' && query.includes('uploadId'))).to.not.be
      .empty;
    proxy.setFault();
    await untilStored(node);
    expect(Buffer.compare(await content(await node.files.read('large.png')), body)).to.equal(0);
  });

  const FAULTS: readonly ObjectFault[] = [
    500,
    503,
    403,
    404,
    'reset',
    'hang',
    'cut',
    'damage',
    'forget',
    'halve',
    'strip',
    'skew',
    'redirect',
  ];
  for (const fault of FAULTS) {
    it(`keeps files while the store fails (${fault}), and uploads them afterwards`, async () => {
      const node = await open({ timeoutMs: 1_000 });
      proxy.setFault(({ method }) => (method === 'PUT' ? fault : undefined));
      const names = ['one.png', 'two.png', 'three.png'];
      await Promise.all(names.map((name) => write(node, name)));
      for (const name of names) {
        expect(await sourceOf(node, name), name).to.equal('local_cache');
        expect((await content(await node.files.read(name))).toString()).to.equal(name);
      }
      const before = await Promise.all(names.map((name) => node.files.stat(name)));
      proxy.setFault();
      await untilStored(node);
      for (const [index, name] of names.entries()) {
        const stat = await node.files.stat(name);
        expect(stat).to.deep.equal({ ...before[index], source: 'objstore_s3' });
        expect((await content(await node.files.read(name))).toString()).to.equal(name);
      }
      expect(proxy.redirected, 'requests sent elsewhere').to.equal(0);
      const said = JSON.stringify(node.logger.lines, (_key, value) =>
        value instanceof Error ? { ...value, text: `${value.stack} ${value.cause}` } : value,
      );
      expect(said).to.contain('the object store is unavailable').and.to.contain('the object store is back');
      for (const secret of [proxy.secret, encodeURIComponent(proxy.secret), 'S3RVER', 'Secret words']) {
        expect(said).not.to.contain(secret);
      }
    });
  }

  it('uploads what an ended process left on the disk', async () => {
    proxy.setFault(() => 'reset');
    const first = await open();
    await write(first, 'left.png');
    await first.stop();
    expect(await first.onDisk()).to.deep.equal(['left.png']);
    proxy.setFault();
    const second = await open();
    await untilStored(second);
    expect(await sourceOf(second, 'left.png')).to.equal('objstore_s3');
  });

  it('does not wait for a store that was unavailable a moment ago', async () => {
    const node = await open({ timeoutMs: 200 });
    proxy.setFault(() => 'hang');
    await write(node, 'first.png');
    const asked = () => proxy.requests.filter(({ method }) => method === 'PUT').length;
    const before = asked();
    for (let index = 0; index < 20; index += 1) await write(node, `next-${index}.png`);
    expect(asked()).to.equal(before);
    proxy.setFault();
    await untilStored(node);
  });

  it('limits simultaneous uploads', async () => {
    const node = await open();
    let [under, most] = [0, 0];
    proxy.setFault(({ method, key }) => {
      if (method === 'PUT') under += 1;
      if (method === 'HEAD' && key.includes('many')) under -= 1;
      most = Math.max(most, under);
      return 'slow';
    });
    await Promise.all(Array.from({ length: 24 }, (_, index) => write(node, `many-${index}.png`)));
    await untilStored(node);
    expect(most).to.be.within(2, 4);
  });

  it('reads a file without interruption while it moves from the disk to the store', async () => {
    const node = await open({ timeoutMs: 1 });
    const body = randomBytes(300_000);
    proxy.setFault(({ method }) => (method === 'PUT' ? 'hang' : undefined));
    await write(node, 'moving.png', body);
    const late = await node.files.read('moving.png', { start: 1_000, end: 200_000 });
    expect(late?.source).to.equal('local_cache');
    proxy.setFault();
    let reads = 0;
    while ((await node.onDisk()).length > 0) {
      expect(Buffer.compare(await content(await node.files.read('moving.png')), body)).to.equal(0);
      reads += 1;
    }
    expect(reads).to.be.greaterThan(0);
    expect(Buffer.compare(await content(late), body.subarray(1_000, 200_001)), 'begun before, read after').to.equal(0);
  });

  it('gives no reader the bytes of a newer file with the same name', async () => {
    const [one, other] = [await open({ disk: 'a', timeoutMs: 1 }), await open({ disk: 'b' })];
    proxy.setFault(({ method }) => (method === 'PUT' ? 'hang' : undefined));
    await write(one, 'replaced.png', 'the older bytes');
    const whole = await one.files.read('replaced.png');
    const part = await one.files.read('replaced.png', { start: 2, end: 6 });
    expect(whole?.source).to.equal('local_cache');
    proxy.setFault();
    await untilStored(one);
    await write(other, 'replaced.png', 'the newer bytes');
    for (const late of [whole, part]) expect(await refusal(content(late))).to.equal('file_not_found');
    expect((await content(await one.files.read('replaced.png'))).toString()).to.equal('the newer bytes');
  });

  it('gives no reader the bytes of a rewritten or deleted file', async () => {
    const node = await open({ timeoutMs: 1, pollMs: 600_000 });
    proxy.setFault(({ method }) => (method === 'PUT' ? 'reset' : undefined));
    await write(node, 'same.png', 'the older bytes');
    const late = await node.files.read('same.png');
    await write(node, 'same.png', 'the newer bytes');
    expect(await refusal(content(late))).to.equal('file_not_found');
    const gone = await node.files.read('same.png');
    await node.files.delete('same.png');
    expect(await refusal(content(gone))).to.equal('file_not_found');
  });

  it('returns the newer version while an older one is being uploaded', async () => {
    const node = await open({ timeoutMs: 1 });
    proxy.setFault(({ method }) => (method === 'PUT' ? 'hang' : undefined));
    await write(node, 'same.png', 'older');
    await write(node, 'same.png', 'newer');
    proxy.setFault();
    expect((await content(await node.files.read('same.png'))).toString()).to.equal('newer');
    await untilStored(node);
    expect(await sourceOf(node, 'same.png')).to.equal('objstore_s3');
    expect((await content(await node.files.read('same.png'))).toString()).to.equal('newer');
  });

  it('keeps a file deleted that was deleted during its upload', async () => {
    const node = await open({ timeoutMs: 1 });
    proxy.setFault(({ method }) => (method === 'PUT' ? 'hang' : undefined));
    await write(node, 'gone.png');
    while (!proxy.requests.some(({ method }) => method === 'PUT')) await sleep(5);
    const deleted = node.files.delete('gone.png');
    await sleep(50);
    proxy.setFault();
    await deleted;
    expect(await node.files.stat('gone.png')).to.equal(undefined);
    const stored = proxy.requests.map(({ method, key }) => `${method} ${path.basename(key)}`);
    expect(stored.lastIndexOf('DELETE gone.png')).to.be.greaterThan(stored.lastIndexOf('PUT gone.png'));
  });

  it('uploads the other files if the store refuses one', async () => {
    const node = await open();
    proxy.setFault(({ method, key }) => (method === 'PUT' && key.includes('refused') ? 403 : undefined));
    for (const name of ['refused-1.png', 'refused-2.png', 'refused-3.png', 'refused-4.png']) await write(node, name);
    await write(node, 'taken.png');
    while ((await node.onDisk()).includes('taken.png')) await sleep(20);
    expect((await node.onDisk()).length).to.equal(4);
    proxy.setFault();
    await untilStored(node);
  });

  it('tries each file once a round, failed ones last', async () => {
    const rounds = createRoundClock();
    const node = await open({ clock: rounds.clock, pollMs: ROUND_MS });
    const puts = () => proxy.requests.filter(({ method }) => method === 'PUT').map(({ key }) => path.basename(key));
    const refuse = () =>
      proxy.setFault(({ method, key }) => (method === 'PUT' && key.includes('refused') ? 403 : undefined));
    const refused = ['refused-1.png', 'refused-2.png'];
    refuse();
    for (const name of refused) await write(node, name);
    for (let round = 0; round < 2; round += 1) {
      refuse();
      await rounds.next();
      expect(puts().sort(), `round ${round}`).to.deep.equal(refused);
    }
    // What is written while the store is away is there for the next round.
    proxy.setFault(({ method }) => (method === 'PUT' ? 'reset' : undefined));
    const fresh = Array.from({ length: 4 }, (_, index) => `fresh-${index}.png`);
    for (const name of fresh) await write(node, name);
    refuse();
    await rounds.next();
    expect((await node.onDisk()).sort()).to.deep.equal(refused);
    expect(puts().sort(), 'the round after an outage').to.deep.equal([...fresh, ...refused]);
    proxy.setFault();
    await rounds.next();
    expect(puts().sort(), 'once all are taken').to.deep.equal(refused);
    expect(await node.onDisk()).to.deep.equal([]);
    proxy.setFault();
    await rounds.next();
    expect(puts(), 'with nothing left').to.deep.equal([]);
  });

  it('ends a round early if the store accepts nothing', async () => {
    const rounds = createRoundClock();
    const node = await open({ clock: rounds.clock, pollMs: ROUND_MS, timeoutMs: 1 });
    proxy.setFault(({ method }) => (method === 'PUT' ? 403 : undefined));
    for (let index = 0; index < 30; index += 1) await write(node, `many-${index}.png`);
    proxy.setFault(({ method }) => (method === 'PUT' ? 403 : undefined));
    await rounds.next();
    expect(proxy.requests.filter(({ method }) => method === 'PUT').length).to.be.within(3, 8);
    proxy.setFault(() => 403);
    await rounds.next();
    expect(proxy.requests.filter(({ method }) => method === 'PUT').length, 'of a store that is away').to.equal(0);
    expect(await node.onDisk()).to.have.length(30);
  });

  it('does not report a file as missing if the store is silent or refuses', async () => {
    const node = await open();
    await write(node, 'there.png');
    expect(await sourceOf(node, 'missing.png')).to.equal(undefined);
    for (const fault of [500, 'reset'] as const) {
      proxy.setFault(() => fault);
      expect(await refusal(node.files.stat('there.png')), `${fault}`).to.equal('upstream_unavailable');
    }
    for (const fault of [304, 403, 412, 'skew', 'redirect'] as const) {
      proxy.setFault(() => fault);
      expect(await refusal(node.files.stat('there.png')), `${fault}`).to.equal('upstream_unavailable');
      expect(await refusal(node.files.read('there.png')), `${fault}`).to.equal('upstream_unavailable');
      expect(await refusal(node.files.delete('there.png')), `${fault}`).to.equal('upstream_unavailable');
    }
    proxy.setFault();
    expect((await content(await node.files.read('there.png'))).toString()).to.equal('there.png');
  });

  it("replaces a damaged file by the store's, and reports damage if no copy is whole", async () => {
    const node = await open({ pollMs: 600_000 });
    await write(node, 'whole.png');
    for (const name of ['whole.png', 'broken.png']) await writeFile(path.join(parent, 'a', name), 'half of it');
    expect((await content(await node.files.read('whole.png'))).toString()).to.equal('whole.png');
    expect(await sourceOf(node, 'whole.png')).to.equal('objstore_s3');
    expect(await refusal(node.files.stat('broken.png'))).to.equal('storage_error');
    expect(await refusal(node.files.read('broken.png'))).to.equal('storage_error');
    await write(node, 'broken.png');
    expect((await content(await node.files.read('broken.png'))).toString()).to.equal('broken.png');
  });

  it('cuts the transfer if the store returns other bytes, and logs the file', async () => {
    const node = await open();
    const body = randomBytes(300_000);
    await write(node, 'there.png', body);
    expect(await damageFiles({ dataDir: parent, filesUrl: proxy.filesUrl(prefix) }, '.png', 'flipped')).to.equal(1);
    let got = 0;
    const failure = await rejection(
      (async () => {
        for await (const chunk of (await node.files.read('there.png'))?.body ?? []) got += chunk.byteLength;
      })(),
    );
    expect(failure).to.include({ code: 'storage_error', retryable: false });
    expect(got).to.be.below(body.length);
    expect(node.logger.lines.map(({ message }) => message)).to.include('a stored file is damaged');
  });

  it('retries temporary failures, and reports a broken transfer', async () => {
    const node = await open();
    const body = randomBytes(100_000);
    await write(node, 'there.png', body);
    let left = 2;
    proxy.setFault(() => {
      left -= 1;
      return left >= 0 ? 503 : undefined;
    });
    expect(Buffer.compare(await content(await node.files.read('there.png')), body)).to.equal(0);
    proxy.setFault(({ method }) => (method === 'GET' ? 'truncate' : undefined));
    const broken = await node.files.read('there.png');
    expect(await refusal(content(broken))).to.equal('upstream_unavailable');
  });

  it('reports the state of the store without a request each time', async () => {
    const clock = createMovingClock();
    const node = await open({ clock, pollMs: 600_000 });
    await node.files.ping();
    proxy.setFault(() => 403);
    await node.files.ping();
    expect(proxy.requests).to.have.length(0);
    clock.advance(15_000);
    const outcome = await node.files.ping().catch((error: unknown) => error);
    expect(outcome).to.be.an('error').with.property('message', 'The object store answered 403 Injected.');
  });

  const ERROR_XML = '<?xml version="1.0"?>\n<Error><Code>SlowDown</Code><Message>Secret words</Message></Error>';
  for (const [what, body, code] of [
    ['a page', '<!doctype html><title>We are moving house</title>', 'an unexpected answer'],
    ['an error that says it is none', ERROR_XML, '500 SlowDown'],
  ] as const) {
    it(`does not accept ${what} as the answer of a store`, async () => {
      const node = await open();
      proxy.setFault(() => ({ status: 200, headers: { 'content-type': 'application/xml' }, body }));
      const outcome = await node.files.ping().catch((error: unknown) => error);
      expect(outcome).to.be.an('error').with.property('message').that.contains(code);
      await write(node, 'kept.png');
      expect(await sourceOf(node, 'kept.png')).to.equal('local_cache');
      proxy.setFault();
      await untilStored(node);
    });
  }

  it("hides the store's message if an upload is not confirmed", async () => {
    const node = await open({ timeoutMs: 30_000, pollMs: 600_000 });
    const body = 'Secret words, AWSAccessKeyId=S3RVER';
    proxy.setFault(({ method, query }) =>
      method === 'POST' && query.includes('uploadId') ? { status: 200, body } : undefined,
    );
    await write(node, 'large.png', randomBytes(9_000_000));
    expect(await sourceOf(node, 'large.png')).to.equal('local_cache');
    const said = node.logger.lines.flatMap(({ fields }) => JSON.stringify(describeError(fields?.error, String)));
    expect(said).to.have.length(2);
    expect(said.join()).not.to.contain('Secret words').and.not.to.contain('S3RVER');
  });

  it('keeps no connection on which an answer never ends', async () => {
    const node = await open({ pollMs: 600_000 });
    proxy.setFault(() => ({ status: 200, headers: { 'content-length': '100' }, body: '<', endless: true }));
    const outcomes = await Promise.all(['a.png', 'b.png'].map((name) => refusal(node.files.delete(name))));
    expect(outcomes).to.deep.equal(['upstream_unavailable', 'upstream_unavailable']);
    await until(() => proxy.open === 0);
  });

  it('removes only expired files, also after an interrupted sweep', async () => {
    const clock = createMovingClock();
    const node = await open({ clock, pollMs: 600_000 });
    const expiresAt = new Date(clock.now() + 60_000);
    const names = ['a.png', 'b.png', 'renewed.png'];
    for (const name of names)
      await node.files.write({ name, contentType: 'image/png', body: Buffer.from('x'), expiresAt });
    await write(node, 'kept.png');
    const later = new Date(clock.now() + 86_400_000);
    await node.files.write({ name: 'renewed.png', contentType: 'image/png', body: Buffer.from('y'), expiresAt: later });
    expect(await node.onDisk()).to.deep.equal([]);

    const deleted = () =>
      proxy.requests.filter(({ method }) => method === 'DELETE').map(({ key }) => path.basename(key));
    proxy.setFault();
    await node.files.sweep();
    expect(deleted(), 'before its time').to.deep.equal([]);
    clock.advance(7_200_000);
    proxy.setFault(({ query }) => (query.includes('list-type') ? 'truncate' : undefined));
    expect(await refusal(node.files.sweep())).to.equal('upstream_unavailable');
    expect(deleted(), 'without a list').to.deep.equal([]);
    proxy.setFault();
    await node.files.sweep();
    const removed = proxy.requests.filter(({ method, key }) => method === 'DELETE' && !key.includes('.expiry'));
    expect(removed.map(({ key }) => path.basename(key)).sort()).to.deep.equal(['a.png', 'b.png']);
    proxy.setFault();
    await node.files.sweep();
    expect(deleted(), 'twice').to.deep.equal([]);
    expect(await sourceOf(node, 'kept.png')).to.equal('objstore_s3');
    expect((await content(await node.files.read('renewed.png'))).toString()).to.equal('y');
  });
});

describe('storage in an object store', () => {
  before(startStore);
  after(stopStore);

  describeStorage('does what every storage does', async (clock) => {
    const folder = await mkdtemp(path.join(tmpdir(), 'mediagate-s3-'));
    fresh += 1;
    const files = await openS3Files({ url: proxy.filesUrl(`run-${fresh}`), folder, clock, logger: new ListLogger() });
    async function close(): Promise<void> {
      await files.close();
      await rm(folder, { recursive: true, force: true });
    }
    return { files, close };
  });
});
