/** Metrics of the process and of models. */

import { expect } from 'chai';
import { describeOnStacks } from '../../support/databases/stacks.js';
import { productLink } from '../../support/links/invented-shop.js';
import { startTextUpstream, type TextUpstream } from '../../support/models/text-upstream.js';
import { onceIt } from '../../support/runner/variants.js';
import { until } from '../../support/until.js';
import { LINK, type ListeningApp, startApp } from '../http/listening-app.js';
import { CHAT, post, startOpenStream, startUpstreamApp } from '../models/text-app.js';
import { readMetrics } from './metrics-page.js';

const SMALL_BODIES = 'mediagate_request_body_room_taken_ratio{size="small"}';

describeOnStacks('metrics', (stack) => {
  const once = onceIt(stack);
  let app: ListeningApp;
  let release: () => void;

  beforeEach(async () => {
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    app = await startApp({
      stack,
      publicMetrics: true,
      jobs: { workers: 1 },
      shop: {
        async extract() {
          await held;
          throw new Error('nothing is on that shelf');
        },
      },
    });
  });
  afterEach(async () => {
    release();
    await app.close();
  });

  once('do not exist unless configured', async () => {
    const other = await startApp({ stack });
    try {
      expect((await other.request('/metrics')).status).to.equal(404);
    } finally {
      await other.close();
    }
  });

  once('count requests by route template, method and status, with durations', async () => {
    const key = await app.makeKey();
    for (let index = 0; index < 3; index += 1) await app.extract(key, { url: LINK });
    await app.poll(key, `exjob_${'0'.repeat(32)}`);
    const metrics = await readMetrics(app);
    const route = 'route="/v1/extract",method="POST"';
    expect(Object.fromEntries(metrics)).to.include({
      [`mediagate_http_requests_total{${route},status="200"}`]: 3,
      [`mediagate_http_request_duration_seconds_count{${route}}`]: 3,
      [`mediagate_http_request_duration_seconds_bucket{le="+Inf",${route}}`]: 3,
    });
    const looked = 'route="/v1/extract/jobs/:id",method="GET",status="404"';
    expect(metrics.get(`mediagate_http_requests_total{${looked}}`)).to.equal(1);
  });

  once('use no label from a request', async () => {
    await app.request('/v1/made-up-by-a-caller');
    await app.raw('PROPFIND /v1/extract HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n');
    const { text } = await app.request('/metrics');
    expect(text).to.not.match(/made-up|PROPFIND/);
    const metrics = await readMetrics(app);
    expect(Object.fromEntries(metrics)).to.include({
      'mediagate_http_requests_total{route="(none)",method="GET",status="404"}': 1,
      'mediagate_http_requests_total{route="(none)",method="other",status="405"}': 1,
    });
  });

  once('count errors by code, and rate-limited requests among them', async () => {
    const key = await app.makeKey({ rpm: 1 });
    for (let index = 0; index < 3; index += 1) await app.extract(key, { url: LINK });
    await app.extract('mg_not-a-key', { url: LINK });
    const metrics = await readMetrics(app);
    const route = 'route="/v1/extract"';
    expect(Object.fromEntries(metrics)).to.include({
      [`mediagate_http_errors_total{${route},code="rate_limit_exceeded"}`]: 2,
      [`mediagate_http_errors_total{${route},code="invalid_api_key"}`]: 1,
      [`mediagate_window_refusals_total{${route}}`]: 2,
    });
  });

  once('separate waiting from running jobs', async () => {
    const key = await app.makeKey();
    for (const id of [1, 2, 3]) await app.extract(key, { url: productLink(id), async_mode: true });
    const jobs = (metrics: ReadonlyMap<string, number>, kind: string, state: string) =>
      metrics.get(`mediagate_jobs{kind="${kind}",state="${state}"}`);
    const metrics = await until(async () => {
      const now = await readMetrics(app);
      return jobs(now, 'extraction', 'running') === 1 ? now : undefined;
    });
    expect(jobs(metrics, 'extraction', 'queued')).to.equal(2);
    expect([jobs(metrics, 'image', 'queued'), jobs(metrics, 'image', 'running')]).to.deep.equal([0, 0]);
  });

  it('omit the jobs while the database is unavailable', async () => {
    await app.state.close();
    const metrics = await readMetrics(app);
    expect([...metrics.keys()].some((name) => name.startsWith('mediagate_jobs'))).to.equal(false);
    expect(metrics.get('mediagate_open_requests')).to.equal(1);
  });

  once('report open requests, and the memory of bodies', async () => {
    const key = await app.makeKey();
    const body = '{"url":"';
    const head = `POST /v1/extract HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${key}\r\nContent-Type: application/json\r\n`;
    const slow = app.raw(`${head}Content-Length: 20\r\nConnection: close\r\n\r\n${body}`, 0);
    const metrics = await until(async () => {
      const now = await readMetrics(app);
      return now.get(SMALL_BODIES) === 0 ? undefined : now;
    });
    expect(metrics.get('mediagate_open_requests')).to.equal(2);
    // What has arrived counts, not what was announced.
    expect(metrics.get(SMALL_BODIES)).to.equal(body.length / (64 * 1024 * 1024));
    expect(metrics.get('mediagate_request_body_room_taken_ratio{size="big"}')).to.equal(0);
    app.server.closeAllConnections();
    await slow;
  });

  once('report the process: memory, CPU, event loop delay', async () => {
    const metrics = await readMetrics(app);
    expect(metrics.get('process_resident_memory_bytes')).to.be.greaterThan(10_000_000);
    expect(metrics.get('process_cpu_seconds_total')).to.be.greaterThan(0);
    expect(metrics.has('nodejs_eventloop_lag_p99_seconds')).to.equal(true);
  });
});

describe('metrics of models', () => {
  const CHATS = '/v1/chat/completions';
  let upstream: TextUpstream;
  let app: ListeningApp | undefined;

  before(async () => {
    upstream = await startTextUpstream();
  });
  beforeEach(() => upstream.reset());
  afterEach(() => app?.close());
  after(() => upstream.close());

  it('count admitted requests by model, route and status, and their tokens', async () => {
    app = await startUpstreamApp(upstream, { publicMetrics: true });
    const key = await app.makeKey({ grants: ['text'] });
    const answers = [await post(app, CHATS, key, CHAT), await post(app, CHATS, key, CHAT)];
    const used = (name: string) => answers.reduce((sum, { json }) => sum + json.usage[name], 0);
    upstream.behave(() => ({ does: 'error', status: 400 }));
    expect((await post(app, CHATS, key, CHAT)).status).to.equal(400);
    expect((await post(app, CHATS, key, { ...CHAT, model: 'made-up' })).status).to.equal(404);

    const route = `route="${CHATS}"`;
    const metrics = await readMetrics(app);
    const requests = (status: number) =>
      metrics.get(`mediagate_model_requests_total{model="m-5.5",${route},status="${status}"}`);
    expect([requests(200), requests(400)]).to.deep.equal([2, 1]);
    const tokens = (direction: string) =>
      metrics.get(`mediagate_model_tokens_total{model="m-5.5",direction="${direction}"}`);
    expect(used('prompt_tokens')).to.be.greaterThan(0);
    expect([tokens('input'), tokens('output')]).to.deep.equal([used('prompt_tokens'), used('completion_tokens')]);
    expect([...metrics.keys()].join('\n')).to.not.contain('made-up');
  });

  it('report open streams', async () => {
    const stream = await startOpenStream({ publicMetrics: true });
    app = stream.app;
    const open = async () => (await readMetrics(stream.app)).get('mediagate_open_streams');
    expect(await open()).to.equal(1);
    stream.leave();
    expect(await until(async () => (await open()) === 0)).to.equal(true);
  });
});
