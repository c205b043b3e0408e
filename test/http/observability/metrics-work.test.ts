/** Metrics of jobs, caches, upstreams and the node. */

import { expect } from 'chai';
import { GatewayError } from 'mediagate';
import { inventedProduct, productLink } from '../../support/links/invented-shop.js';
import { startTextUpstream } from '../../support/models/text-upstream.js';
import { until } from '../../support/until.js';
import { LINK, type ListeningApp, startApp } from '../http/listening-app.js';
import { CHAT, post, startUpstreamApp } from '../models/text-app.js';
import { readMetrics } from './metrics-page.js';

describe('metrics of work', () => {
  let app: ListeningApp | undefined;
  afterEach(() => app?.close());

  it('count jobs: submissions, commits, waits, runs by outcome, failures by code', async () => {
    app = await startApp({
      publicMetrics: true,
      jobs: { workers: 2 },
      shop: {
        async extract({ link }) {
          if (link.id === '1') return inventedProduct(link.id);
          throw new GatewayError('removed', 'It is gone.');
        },
      },
    });
    const key = await app.makeKey();
    for (const id of [1, 2]) {
      const { json } = await app.extract(key, { url: productLink(id), async_mode: true });
      await app.ended(key, json.data.job.job_id);
    }
    const metrics = await readMetrics(app);
    const kind = 'kind="extraction"';
    expect(Object.fromEntries(metrics)).to.include({
      [`mediagate_job_submissions_total{${kind}}`]: 2,
      [`mediagate_job_accept_commit_duration_seconds_count{${kind}}`]: 2,
      [`mediagate_job_wait_seconds_count{${kind}}`]: 2,
    });
    const runs = (outcome: string) =>
      metrics.get(`mediagate_job_run_duration_seconds_count{${kind},outcome="${outcome}"}`);
    expect([runs('completed'), runs('failed')]).to.deep.equal([1, 1]);
    expect(Object.fromEntries(metrics)).to.include({
      [`mediagate_job_failures_total{${kind},code="removed"}`]: 1,
      [`mediagate_job_oldest_queued_seconds{${kind}}`]: 0,
    });
    expect(metrics.get('mediagate_job_retries_total')).to.equal(undefined);
  });

  it('count results of the cache', async () => {
    app = await startApp({ publicMetrics: true });
    const key = await app.makeKey();
    for (let index = 0; index < 3; index += 1) await app.extract(key, { url: LINK });
    const metrics = await readMetrics(app);
    const answered = (cache: string) =>
      metrics.get(`mediagate_extractions_total{platform="invented",cache="${cache}"}`);
    expect([answered('miss'), answered('hit')]).to.deep.equal([1, 2]);
  });

  it('count upstreams: answers by outcome, tries, failures, cool-downs', async () => {
    const upstream = await startTextUpstream();
    try {
      app = await startUpstreamApp(upstream, { publicMetrics: true });
      const key = await app.makeKey({ grants: ['text'] });
      await post(app, '/v1/chat/completions', key, CHAT);
      upstream.behave(() => ({ does: 'error', status: 500 }));
      // Ten failures in a row, of three tries for each request at most.
      const running = app;
      const metrics = await until(async () => {
        await post(running, '/v1/chat/completions', key, CHAT);
        const now = await readMetrics(running);
        return now.get('mediagate_upstream_resting{entry="openai_text",upstream="upstreams.0"}') === 1
          ? now
          : undefined;
      });
      const requests = (outcome: string) =>
        metrics.get(`mediagate_upstream_request_duration_seconds_count{entry="openai_text",outcome="${outcome}"}`);
      const of = (name: string) =>
        metrics.get(`mediagate_upstream_${name}{entry="openai_text",upstream="upstreams.0"}`);
      expect(requests('2xx')).to.equal(1);
      expect(requests('5xx')).to.equal(10);
      expect([of('tries_total'), of('failures_total')]).to.deep.equal([11, 10]);
    } finally {
      await upstream.close();
    }
  });

  it('report the node: checks, disk space, age of keys, and only existing parts', async () => {
    app = await startApp({ publicMetrics: true });
    const metrics = await readMetrics(app);
    expect(metrics.get('mediagate_check_up{check="database"}')).to.equal(1);
    expect(metrics.get('mediagate_data_folder_free_bytes')).to.be.greaterThan(0);
    expect(metrics.get('mediagate_data_folder_size_bytes')).to.be.at.least(
      metrics.get('mediagate_data_folder_free_bytes') ?? Number.NaN,
    );
    expect(metrics.get('mediagate_key_refresh_age_seconds')).to.be.within(0, 60);
    expect(metrics.has('mediagate_files_awaiting_upload')).to.equal(false);
    expect([...metrics.keys()].some((name) => name.startsWith('mediagate_trace_spans'))).to.equal(false);
  });

  it('report an unavailable database, and the growing age of the keys', async () => {
    app = await startApp({ publicMetrics: true });
    await app.state.close();
    const running = app;
    const metrics = await until(async () => {
      const now = await readMetrics(running);
      return now.get('mediagate_check_up{check="database"}') === 0 ? now : undefined;
    });
    const age = metrics.get('mediagate_key_refresh_age_seconds') ?? Number.NaN;
    const later = await until(async () => {
      const now = (await readMetrics(running)).get('mediagate_key_refresh_age_seconds') ?? 0;
      return now > age && now;
    });
    expect(later).to.be.greaterThan(age);
  });

  it('add nothing twice for two simultaneous scrapes', async () => {
    app = await startApp({ publicMetrics: true });
    const running = app;
    const all = await Promise.all(Array.from({ length: 5 }, () => readMetrics(running)));
    for (const metrics of all) {
      expect([...metrics].find(([name]) => name.startsWith('mediagate_build_info'))?.[1]).to.equal(1);
      expect(metrics.get('mediagate_check_up{check="database"}')).to.equal(1);
    }
  });
});
