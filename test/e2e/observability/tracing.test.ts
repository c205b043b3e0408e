/** Traces of a request and its job over two processes. */

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect } from 'chai';
import { sharedPostgres, type TestPostgres } from '../../support/databases/postgres.js';
import { type ImageUpstream, startImageUpstream } from '../../support/images/image-upstream.js';
import {
  type CollectedSpan,
  type OtlpCollector,
  startOtlpCollector,
} from '../../support/observability/otlp-collector.js';
import { type GatewayProcess, startGatewayProcess } from '../../support/processes/gateway-process.js';
import { until } from '../../support/until.js';

const TRACE_ID = '0af7651916cd43dd8448eb211c80319c';
const PARENT_ID = 'b7ad6b7169203331';
const REQUEST_ID = 'req-of-a-test';
const SECRET = 'a-token-that-nobody-may-see';
const PROMPT = 'a heron whose name is nobody else’s business';
const VENDOR_KEY = 'vendor-key-that-nobody-may-see';

for (const protocol of ['http/protobuf', 'http/json']) {
  describe(`traces over two processes, sent as ${protocol}`, () => {
    let postgres: TestPostgres;
    let databaseUrl: string;
    let dataFolder: string;
    let collector: OtlpCollector;
    let upstream: ImageUpstream;
    let api: GatewayProcess;
    let worker: GatewayProcess;
    const running: GatewayProcess[] = [];
    let key: string;

    before(async function () {
      const found = await sharedPostgres();
      if ('unavailable' in found) {
        this.skip();
        return;
      }
      postgres = found;
      databaseUrl = await postgres.createDatabase();
      dataFolder = await mkdtemp(path.join(tmpdir(), 'mediagate-traces-'));
      [collector, upstream] = await Promise.all([startOtlpCollector(), startImageUpstream()]);
      const environment = {
        DATABASE_URL: databaseUrl,
        IMAGE_UPSTREAM_URL: upstream.baseUrl,
        IMAGE_UPSTREAM_KEY: VENDOR_KEY,
        TRUSTED_ORIGINS: upstream.origin,
        OTEL_EXPORTER_OTLP_ENDPOINT: collector.origin,
        OTEL_EXPORTER_OTLP_HEADERS: `authorization=Bearer%20${SECRET}`,
        OTEL_EXPORTER_OTLP_PROTOCOL: protocol,
        OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=test',
        OTEL_BSP_SCHEDULE_DELAY: '20',
      };
      async function start(name: string, workers: string): Promise<GatewayProcess> {
        const own = { OTEL_SERVICE_NAME: name, IMAGE_WORKERS: workers, EXTRACT_WORKERS: workers };
        const started = await startGatewayProcess({ dataFolder, environment: { ...environment, ...own } });
        running.push(started);
        return started;
      }
      api = await start('api', '0');
      worker = await start('worker', '2');
      ({ key } = await api.makeKey({ grants: ['images'] }));
    });

    after(async () => {
      if (!postgres) return;
      await Promise.all(running.map((started) => started.stop()));
      await Promise.all([collector.close(), upstream.close()]);
      await postgres.dropDatabase(databaseUrl);
      await rm(dataFolder, { recursive: true, force: true });
    });

    const named = (name: string) => collector.span(name);
    const parentOf = ({ parentSpanId }: CollectedSpan) =>
      collector.spans.find(({ spanId }) => spanId === parentSpanId)?.name;

    it('connect a request, its job, the worker in another process and the upstream', async () => {
      const accepted = await api.request('/v1/images/jobs', {
        method: 'POST',
        headers: {
          authorization: `Bearer ${key}`,
          'content-type': 'application/json',
          'x-request-id': REQUEST_ID,
          traceparent: `00-${TRACE_ID}-${PARENT_ID}-01`,
        },
        body: JSON.stringify({ model: 'gen-img-2', prompt: PROMPT, size: '1024x1024' }),
      });
      expect(accepted.status).to.equal(202);
      const run = await named('run image job');
      const ours = () => collector.spans.filter(({ traceId }) => traceId === TRACE_ID);
      const server = await named('POST /v1/images/jobs');

      expect(server).to.include({ traceId: TRACE_ID, parentSpanId: PARENT_ID, kind: 2, status: 0 });
      expect(server.resource).to.include({ 'service.name': 'api', 'deployment.environment.name': 'test' });
      expect(server.attributes).to.include({
        'http.request.method': 'POST',
        'http.route': '/v1/images/jobs',
        'url.path': '/v1/images/jobs',
        'http.response.status_code': 202,
        'mediagate.request.id': REQUEST_ID,
      });
      expect(parentOf(await named('accept image job'))).to.equal('POST /v1/images/jobs');
      expect(parentOf(await named('wait image job'))).to.equal('accept image job');
      expect(run).to.include({ traceId: TRACE_ID, kind: 5, status: 0 });
      expect(parentOf(run)).to.equal('accept image job');
      expect(run.resource).to.include({ 'service.name': 'worker' });
      expect(run.attributes).to.include({
        'mediagate.job.id': accepted.json.id,
        'mediagate.job.attempt': 1,
        'mediagate.request.id': REQUEST_ID,
      });
      expect(parentOf(await named('generate_content gen-img-2'))).to.equal('run image job');
      expect(parentOf(await named('attempt'))).to.equal('generate_content gen-img-2');
      const sent = await named('POST');
      expect(parentOf(sent)).to.equal('attempt');
      expect(sent.attributes).to.include({
        'http.request.method': 'POST',
        'http.response.status_code': 200,
        'server.address': '127.0.0.1',
        'server.port': upstream.port,
        'mediagate.entry': 'openai_image',
      });
      expect(parentOf(await named('image pass'))).to.equal('run image job');
      expect(parentOf(await named('file put'))).to.equal('run image job');
      expect(upstream.requests[0]?.traceparent).to.equal(`00-${TRACE_ID}-${sent.spanId}-01`);
      for (const span of ours()) expect(span.endedAt >= span.startedAt, span.name).to.equal(true);
    });

    it('appear in the log lines of the worker with the request and the job', async () => {
      const line = await until(() => /^\{.*"message":"an image was generated"\}$/m.exec(worker.output())?.[0]);
      const run = await named('run image job');
      const { requestId, jobId, traceId, spanId } = JSON.parse(line);
      expect({ requestId, jobId, traceId, spanId }).to.deep.equal({
        requestId: REQUEST_ID,
        jobId: run.attributes['mediagate.job.id'],
        traceId: TRACE_ID,
        spanId: run.spanId,
      });
    });

    it('contain no key, prompt or path of the caller', async () => {
      await api.request('/v1/images/files/file-of-a-capability.png?token=in-the-query');
      const span = await named('GET /v1/images/files/:name');
      expect(span.attributes).not.to.have.property('url.path');
      const told = [JSON.stringify(collector.spans, (_key, value) => (typeof value === 'bigint' ? '' : value))];
      told.push(...collector.exports.map(({ body }) => body.toString('latin1')), api.output(), worker.output());
      for (const secret of [SECRET, key, VENDOR_KEY, PROMPT, 'capability', 'in-the-query']) {
        expect(told.filter((text) => text.includes(secret))).to.deep.equal([]);
      }
    });

    it('reach the path of the collector with its header fields', () => {
      for (const { path, headers } of collector.exports) {
        expect(path).to.equal('/v1/traces');
        expect(headers.authorization).to.equal(`Bearer ${SECRET}`);
        expect(headers).not.to.have.property('traceparent');
      }
    });

    it('exclude requests for the health of the gateway', async () => {
      await api.request('/health');
      await api.request('/v1/nothing');
      await named('GET');
      expect(collector.spans.filter(({ attributes }) => attributes['http.route'] === '/health')).to.deep.equal([]);
    });
  });
}
