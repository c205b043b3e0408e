/** Jobs and batches of a running gateway. */

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import { runExtractionChaos } from '../../chaos/extract-jobs.js';
import { answersFromSamples, linkSamples } from '../../demo/link-samples.js';
import { describeOnStacks, type StackPlace } from '../../support/databases/stacks.js';
import { type ReplayingProxy, startReplayingProxy } from '../../support/links/replaying-proxy.js';
import { type GatewayProcess, type HttpAnswer, startGatewayProcess } from '../../support/processes/gateway-process.js';
import { until } from '../../support/until.js';

const SHOP = linkSamples.find(({ platform }) => platform === 'clip_shop') ?? { url: '', id: '' };
const VIDEO = linkSamples[0]?.url ?? '';

const batch = (gateway: GatewayProcess, key: string, body: object) =>
  gateway.request('/v1/extract/batch', {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });

/** A key may poll twenty times a second. */
const POLL_MS = 100;

const poll = (gateway: GatewayProcess, key: string, id: string) =>
  gateway.request(`/v1/extract/jobs/${id}`, { headers: { 'x-api-key': key } });

const ended = (gateway: GatewayProcess, key: string, id: string): Promise<HttpAnswer> =>
  until(async () => {
    const answer = await poll(gateway, key, id);
    return answer.headers.get('retry-after') === null && answer;
  }, POLL_MS);

describeOnStacks('jobs and batches through the real process', (stack) => {
  let proxy: ReplayingProxy;
  let dataFolder: string;
  let place: StackPlace;
  let gateway: GatewayProcess;

  const start = (environment: Readonly<Record<string, string>> = {}) =>
    startGatewayProcess({
      proxy,
      dataFolder,
      environment: { ...environment, ...place.environment },
    });

  before(async () => {
    proxy = await startReplayingProxy({ answer: answersFromSamples(linkSamples) });
  });
  after(() => proxy?.close());

  beforeEach(async () => {
    dataFolder = await mkdtemp(path.join(tmpdir(), 'mediagate-data-'));
    place = await stack.place();
    proxy.setAnswer(answersFromSamples(linkSamples));
  });
  afterEach(async () => {
    await gateway.kill();
    await rm(dataFolder, { recursive: true, force: true });
    await place.remove();
  });

  /** A job that runs, and would for ever: the platform does not answer. */
  async function startHangingJob(key: string): Promise<HttpAnswer> {
    const asked = new Promise<void>((resolve) => {
      proxy.setAnswer(() => {
        resolve();
        return { fault: 'hang' };
      });
    });
    const submitted = await gateway.extract(key, { url: SHOP.url, async_mode: true });
    await asked;
    return submitted;
  }

  it('queue, complete, cache and refresh a shop link', async () => {
    gateway = await start();
    const { key } = await gateway.makeKey();
    const queued = await gateway.extract(key, { url: SHOP.url, async_mode: true });
    expect(queued.status, queued.text).to.equal(200);
    expect(queued.json.data.job).to.include({ status: 'queued', product_id: SHOP.id });
    const done = await ended(gateway, key, queued.json.data.job.job_id);
    expect(done.json.data.job).to.include({ status: 'completed', attempts: 1 });
    expect(done.json.data.product).to.include({ product_id: SHOP.id });
    const fetched = proxy.requests.length;

    const cached = await gateway.extract(key, { url: SHOP.url, async_mode: true });
    expect(cached.json.data.product).to.deep.equal(done.json.data.product);
    expect(proxy.requests).to.have.length(fetched);

    const forced = await gateway.extract(key, { url: SHOP.url, force_async: true });
    const again = await ended(gateway, key, forced.json.data.job.job_id);
    expect(again.json.data.job.job_id).not.to.equal(done.json.data.job.job_id);
    expect(proxy.requests).to.have.length(2 * fetched);
    const { json } = await gateway.request('/v1/capabilities', { headers: { 'x-api-key': key } });
    const shop = json.details.find((one: { key: string }) => one.key === 'clip_shop');
    expect(shop.features).to.deep.equal({ async: true, batch: true, reviews: true, audio_mp3: false });
    expect(json.limits).to.include({ batch_max_urls: 50, max_active: 1_000 });
  });

  it('complete a job of a killed process in the next one', async () => {
    gateway = await start();
    const { key } = await gateway.makeKey();
    const { json } = await startHangingJob(key);
    await gateway.kill();
    proxy.setAnswer(answersFromSamples(linkSamples));
    gateway = await start();
    const done = await ended(gateway, key, json.data.job.job_id);
    expect(done.json.data.job).to.include({ status: 'completed', attempts: 2 });
    expect(done.json.data.product.product_id).to.equal(SHOP.id);
  });

  it('return a running job to the queue when the process stops, which exits with 0', async () => {
    gateway = await start();
    const { key } = await gateway.makeKey();
    const { json } = await startHangingJob(key);
    expect(await gateway.stop()).to.equal(0);
    proxy.setAnswer(answersFromSamples(linkSamples));
    gateway = await start();
    expect((await ended(gateway, key, json.data.job.job_id)).json.data.job.status).to.equal('completed');
  });

  it('run jobs of a node without workers on another, and answer polls on both', async () => {
    gateway = await start({ EXTRACT_WORKERS: '0' });
    const { key } = await gateway.makeKey();
    const { json } = await gateway.extract(key, { url: SHOP.url, async_mode: true });
    const id = json.data.job.job_id;
    await sleep(300);
    expect((await poll(gateway, key, id)).json.data.job.status).to.equal('queued');
    const worker = await start();
    try {
      expect((await ended(worker, key, id)).json.data.job.status).to.equal('completed');
      const seen = await poll(gateway, key, id);
      expect(seen.json.data.product.product_id).to.equal(SHOP.id);
      const cached = await gateway.extract(key, { url: SHOP.url, async_mode: true });
      expect(cached.json.data.product).to.deep.equal(seen.json.data.product);
    } finally {
      await worker.kill();
    }
  });

  it('survive two kills of the process: none of thirty jobs is lost or run twice at a time', async () => {
    const report = await runExtractionChaos({ jobs: 30, kills: 2, databaseUrl: place.settings.databaseUrl });
    expect(report.completed + report.answered, JSON.stringify(report)).to.equal(30);
    expect(report).to.include({ failed: 0, lost: 0, kills: 2, overlappingFetches: 0, unaccountedFetches: 0 });
    expect(report.repeatedRuns).to.be.greaterThan(0);
  });

  // What follows asks nothing of the database that tests of the routes do not ask of it as well.
  if (stack.name !== 'SQLite and a folder') return;

  it('answer 503 if the queue is full, and leave the key its slot', async () => {
    gateway = await start({ EXTRACT_WORKERS: '0', EXTRACT_MAX_ACTIVE: '1' });
    const { key } = await gateway.makeKey({ rpm: 2 });
    const first = await gateway.extract(key, { url: SHOP.url, async_mode: true });
    expect(first.json.data.queue).to.deep.equal({ active: 1, max_active: 1 });
    for (let time = 0; time < 3; time += 1) {
      const full = await gateway.extract(key, { url: SHOP.url, clip_review_limit: 99, async_mode: true });
      expect([full.status, full.json.error.code]).to.deep.equal([503, 'queue_full']);
    }
    const joined = await gateway.extract(key, { url: SHOP.url, async_mode: true });
    expect(joined.json.data.job.job_id).to.equal(first.json.data.job.job_id);
  });

  it('answer a batch with a document, a job and an error, and take all its slots or none', async () => {
    gateway = await start();
    const { key } = await gateway.makeKey({ rpm: 4 });
    const { status, json, text } = await batch(gateway, key, { urls: [VIDEO, SHOP.url, 'nonsense'] });
    expect(status, text).to.equal(200);
    expect(json).to.include({ count: 3, succeeded: 1, queued: 1, failed: 1 });
    expect(json.items[0].result.platform).to.equal('vidsite');
    const done = await ended(gateway, key, json.items[1].result.data.job.job_id);
    expect(done.json.data.product.product_id).to.equal(SHOP.id);
    expect(json.items[2].error.code).to.equal('invalid_url');
    const refused = await batch(gateway, key, { urls: [VIDEO, SHOP.url] });
    expect([refused.status, refused.headers.get('x-ratelimit-remaining-requests')]).to.deep.equal([429, '1']);
    expect((await batch(gateway, key, { urls: [SHOP.url] })).json).to.include({ succeeded: 1 });
  });
});
