/** A collector of traces that refuses, hangs or is unavailable. */

import { expect } from 'chai';
import { startOrigin } from '../../support/links/origin-server.js';
import {
  type CollectorBehaviour,
  type OtlpCollector,
  startOtlpCollector,
} from '../../support/observability/otlp-collector.js';
import { type GatewayProcess, startGatewayProcess } from '../../support/processes/gateway-process.js';
import { until } from '../../support/until.js';

const COMPLAINT = /the trace collector does not accept spans/g;
const SECRET = 'a-token-that-nobody-may-see';
const REQUESTS = 30;

describe('a failing collector of traces', () => {
  let collector: OtlpCollector;
  let gateway: GatewayProcess | undefined;

  beforeEach(async () => {
    collector = await startOtlpCollector();
  });
  afterEach(async () => {
    await gateway?.stop();
    gateway = undefined;
    await collector.close();
  });

  async function start(endpoint: string, more: Record<string, string> = {}): Promise<GatewayProcess> {
    gateway = await startGatewayProcess({
      environment: {
        OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: endpoint,
        OTEL_EXPORTER_OTLP_HEADERS: `x-token=${SECRET}`,
        OTEL_BSP_SCHEDULE_DELAY: '10',
        METRICS_PUBLIC: 'on',
        ...more,
      },
    });
    return gateway;
  }

  async function ask(of: GatewayProcess): Promise<void> {
    for (let index = 0; index < REQUESTS; index += 1) expect((await of.request('/v1/models')).status).to.equal(401);
  }

  async function spans(of: GatewayProcess, outcome: string): Promise<number> {
    const { text } = await of.request('/metrics');
    return Number(new RegExp(`^mediagate_trace_spans_total\\{outcome="${outcome}"\\} (\\d+)$`, 'm').exec(text)?.[1]);
  }

  async function end(of: GatewayProcess): Promise<number | null> {
    gateway = undefined;
    return of.stop();
  }

  async function deadEndpoint(): Promise<string> {
    const origin = await startOrigin(() => undefined);
    await origin.close();
    return `${origin.origin}/v1/traces`;
  }

  const away: readonly [string, CollectorBehaviour | undefined, Record<string, string>][] = [
    ['is not there', undefined, {}],
    ['answers 500', { status: 500 }, {}],
    ['never answers', 'hang', { OTEL_EXPORTER_OTLP_TIMEOUT: '150' }],
  ];
  for (const [what, behaviour, more] of away) {
    it(`loses only spans when it ${what}, counts them, and logs it once`, async () => {
      if (behaviour) collector.behave(behaviour);
      const running = await start(behaviour ? `${collector.origin}/v1/traces` : await deadEndpoint(), more);
      await ask(running);
      await until(async () => (await spans(running, 'failed')) >= REQUESTS);
      await ask(running);
      await until(async () => (await spans(running, 'failed')) >= 2 * REQUESTS);
      expect(await spans(running, 'sent')).to.equal(0);
      const complained = await until(() => running.output().match(COMPLAINT));
      expect(await end(running)).to.equal(0);
      expect(complained).to.have.length(1);
      expect(running.output().match(COMPLAINT)).to.have.length(1);
      expect(running.output()).to.not.include(SECRET);
    });
  }

  it('delays neither a request nor the end of the process when it never answers', async () => {
    collector.behave('hang');
    const running = await start(`${collector.origin}/v1/traces`);
    await ask(running);
    await until(() => collector.exports.length > 0);
    // The export hangs for ten seconds; all of these are answered meanwhile.
    await ask(running);
    expect(collector.exports).to.have.length(1);
    expect(await end(running)).to.equal(0);
  });

  it('fills only the buffer of spans', async () => {
    collector.behave('hang');
    const running = await start(`${collector.origin}/v1/traces`, {
      OTEL_BSP_MAX_QUEUE_SIZE: '5',
      OTEL_BSP_MAX_EXPORT_BATCH_SIZE: '2',
    });
    await ask(running);
    expect(await until(() => spans(running, 'dropped'))).to.be.within(REQUESTS - 7, REQUESTS);
    expect(await end(running)).to.equal(0);
  });

  it('is used again as soon as it accepts them', async () => {
    collector.behave({ status: 503 });
    const running = await start(`${collector.origin}/v1/traces`);
    await ask(running);
    await until(async () => (await spans(running, 'failed')) >= REQUESTS);
    collector.behave('take');
    await ask(running);
    await until(() => collector.spans.length >= REQUESTS);
    await until(() => running.output().includes('the trace collector accepts spans again'));
  });

  it('gets waiting spans when the process ends', async () => {
    const running = await start(`${collector.origin}/v1/traces`, { OTEL_BSP_SCHEDULE_DELAY: '600000' });
    await ask(running);
    expect(collector.spans).to.deep.equal([]);
    expect(await end(running)).to.equal(0);
    expect(collector.spans.filter(({ name }) => name === 'GET /v1/models')).to.have.length(REQUESTS);
  });

  it('is not used if traces are off', async () => {
    for (const [name, value] of [
      ['OTEL_SDK_DISABLED', 'true'],
      ['OTEL_TRACES_EXPORTER', 'none'],
    ] as const) {
      const running = await start(`${collector.origin}/v1/traces`, { [name]: value });
      await ask(running);
      expect((await running.request('/metrics')).text).to.not.match(/^mediagate_trace_spans_total\{/m);
      expect(await end(running)).to.equal(0);
    }
    expect(collector.connections).to.equal(0);
  });
});
