/** Spans of requests and attempts, and which hosts get their ids. */

import { expect } from 'chai';
import { createGateway, definePlugin, type HttpClient, type HttpRequest, type Plugin } from 'mediagate';
import { Type } from 'mediagate/plugin';
import { runInScope } from '../../../core/observability/index.js';
import { createOtelTracer, type EndedSpan } from '../../../server/observability/otel-tracing.js';
import type { TracingSettings } from '../../../server/settings/tracing-settings.js';
import { inventedExtractor } from '../../support/links/invented-plugin.js';
import { startOrigin } from '../../support/links/origin-server.js';
import { startTextUpstream, type TextUpstream } from '../../support/models/text-upstream.js';
import { until } from '../../support/until.js';
import { LINK, type ListeningApp, startApp } from '../http/listening-app.js';
import { CHAT, post, startOpenStream, startUpstreamApp } from '../models/text-app.js';

const CHATS = '/v1/chat/completions';
const TRACE_ID = '4bf92f3577b34da6a3ce929d0e0e4736';

/** A tracer whose spans stay here. */
function recordingTracer(settings: TracingSettings = {}) {
  const spans: EndedSpan[] = [];
  const named = (name: string) => until(() => spans.find((span) => span.name === name));
  const parentOf = ({ parentSpanContext }: EndedSpan) =>
    spans.find((span) => span.spanContext().spanId === parentSpanContext?.spanId)?.name;
  return { tracer: createOtelTracer(settings, (span) => spans.push(span)), spans, named, parentOf };
}

describe('traces', () => {
  let upstream: TextUpstream;
  let app: ListeningApp | undefined;
  before(async () => {
    upstream = await startTextUpstream();
  });
  beforeEach(() => upstream.reset());
  afterEach(async () => {
    await app?.close();
    app = undefined;
  });
  after(() => upstream.close());

  it("show each upstream attempt, and the model's usage", async () => {
    const { tracer, spans, named, parentOf } = recordingTracer();
    app = await startUpstreamApp(upstream, { tracer });
    const key = await app.makeKey({ grants: ['text'] });
    upstream.behave([{ does: 'error', status: 500 }]);
    const { json } = await post(app, CHATS, key, CHAT);
    const chat = await named('chat m-5.5');
    expect(parentOf(chat)).to.equal(`POST ${CHATS}`);
    expect(chat.attributes).to.include({
      'gen_ai.operation.name': 'chat',
      'gen_ai.request.model': 'm-5.5',
      'gen_ai.usage.input_tokens': json.usage.prompt_tokens,
      'gen_ai.usage.output_tokens': json.usage.completion_tokens,
    });
    const attempts = spans.filter(({ name }) => name === 'attempt');
    expect(attempts.map(parentOf)).to.deep.equal(['chat m-5.5', 'chat m-5.5']);
    const fields = ['mediagate.attempt', 'error.type', 'mediagate.member'];
    expect(attempts.map(({ attributes }) => fields.map((name) => attributes[name]))).to.deep.equal([
      [1, 'upstream_error', 'upstreams.0'],
      [2, undefined, 'upstreams.0'],
    ]);
    const sent = spans.filter(({ name }) => name === 'POST');
    expect(sent.map(({ attributes }) => attributes['http.response.status_code'])).to.deep.equal([500, 200]);
    const told = upstream.requests.map(({ headers }) => headers.traceparent);
    const { traceId } = chat.spanContext();
    expect(told).to.deep.equal(sent.map((span) => `00-${traceId}-${span.spanContext().spanId}-01`));
  });

  it('last as long as a stream does', async () => {
    const { tracer, spans, named } = recordingTracer();
    const stream = await startOpenStream({ tracer });
    app = stream.app;
    expect(spans.map(({ name }) => name)).to.not.include.members(['chat m-5.5', `POST ${CHATS}`]);
    stream.leave();
    await named('chat m-5.5');
    await named(`POST ${CHATS}`);
  });

  it('show the methods of a platform, and separate gateway failures from caller errors', async () => {
    const { tracer, named } = recordingTracer();
    app = await startApp({
      tracer,
      extractor: {
        async extract() {
          throw new Error('a plugin that breaks');
        },
      },
    });
    const key = await app.makeKey();
    await app.extract(key, { url: LINK });
    const failed = await named('POST /v1/extract');
    expect([failed.status.code, failed.attributes['error.type']]).to.deep.equal([2, 'upstream_changed']);
    await app.request('/v1/models');
    const refused = await named('GET /v1/models');
    expect([refused.status.code, refused.attributes['error.type']]).to.deep.equal([0, 'missing_api_key']);
  });

  it('put their ids into the lines of requests', async () => {
    const { tracer, named } = recordingTracer();
    app = await startApp({ tracer });
    await app.request('/v1/models');
    const { traceId, spanId } = (await named('GET /v1/models')).spanContext();
    const line = app.log.find(({ message }) => message === 'request');
    expect(line?.fields).to.include({ traceId, spanId, route: '/v1/models' });
  });

  it("continue a caller's trace, and start a new one if it is invalid", async () => {
    const { tracer, spans, named } = recordingTracer();
    app = await startApp({ tracer });
    const ask = (traceparent: string) => app?.request('/v1/models', { headers: { traceparent } });
    await ask(`00-${TRACE_ID}-00f067aa0ba902b7-00`);
    expect(spans).to.deep.equal([]);
    for (const unreadable of [
      'nonsense',
      `00-${'0'.repeat(32)}-00f067aa0ba902b7-01`,
      `ff-${TRACE_ID}-00f067aa0ba902b7-01`,
    ]) {
      await ask(unreadable);
      expect((await named('GET /v1/models')).spanContext().traceId).to.not.equal(TRACE_ID);
      expect(spans.splice(0)[0]?.parentSpanContext).to.equal(undefined);
    }
    // A later version may say more behind the parts that are known.
    await ask(`01-${TRACE_ID}-00f067aa0ba902b7-01-more`);
    expect((await named('GET /v1/models')).spanContext().traceId).to.equal(TRACE_ID);
  });

  it('follow the sampler', async () => {
    const sampled = async (settings: TracingSettings, traceparent?: string) => {
      const { tracer, spans } = recordingTracer(settings);
      for (let index = 0; index < 200; index += 1) tracer.start({ name: 'one', parent: traceparent }).end();
      return spans.length;
    };
    const parent = `00-${TRACE_ID}-00f067aa0ba902b7-01`;
    expect(await sampled({})).to.equal(200);
    expect(await sampled({ sampler: 'always_off' })).to.equal(0);
    expect(await sampled({ sampler: 'always_off' }, parent)).to.equal(0);
    expect(await sampled({ sampler: 'parentbased_always_off' }, parent)).to.equal(200);
    expect(await sampled({ sampler: 'parentbased_traceidratio', samplerRatio: 0 })).to.equal(0);
    expect(await sampled({ sampler: 'traceidratio', samplerRatio: 0.5 })).to.be.within(50, 150);
  });
});

describe('propagation of traces', () => {
  const { tracer } = recordingTracer();

  /** Fields that a request to a server on loopback arrived with, sent by a plugin of this kind. */
  async function sentBy(
    kind: 'extractor' | 'text',
    configured: 'this origin' | 'another',
    more: Partial<HttpRequest> = {},
  ) {
    const seen: (string | string[] | undefined)[] = [];
    const origin = await startOrigin((request, response) => {
      seen.push(request.headers.traceparent);
      if (request.url === '/moved') response.writeHead(302, { location: '/' });
      response.end();
    });
    let http: HttpClient | undefined;
    const Options = Type.Object({ upstreams: Type.Array(Type.Object({ url: Type.String() })) });
    const plugin: Plugin<typeof Options> = definePlugin<typeof Options>({
      name: 'asking',
      apiVersion: 1,
      summary: 'Asks what it is told to.',
      provides: [kind],
      options: Options,
      setup(context) {
        http = context.http;
        const { models } = { models: [{ id: 'm', routes: ['responses' as const], efforts: [] }] };
        const send = () => Promise.reject(new Error('nobody asks'));
        return kind === 'text' ? { textProviders: [{ models, send }] } : { extractors: [inventedExtractor()] };
      },
    });
    const url = configured === 'this origin' ? `${origin.origin}/v1` : 'https://vendor.example/v1';
    const gateway = await createGateway({
      plugins: [{ use: plugin as Plugin, options: { upstreams: [{ url }] }, trustedOrigins: [origin.origin] }],
    });
    try {
      const span = tracer.start({ name: 'a test' });
      await runInScope({ span }, async () =>
        http?.request({ url: `${origin.origin}/`, ...more, ...(more.url && { url: origin.origin + more.url }) }),
      );
      return seen;
    } finally {
      await gateway.close();
      await origin.close();
    }
  }

  it('reaches a vendor that the operator configured', async () => {
    const [told] = await sentBy('text', 'this origin');
    expect(told).to.match(/^00-[0-9a-f]{32}-[0-9a-f]{16}-01$/);
  });

  it('reaches no other host, and no redirect target', async () => {
    expect(await sentBy('text', 'another')).to.deep.equal([undefined]);
    expect(await sentBy('text', 'this origin', { url: '/moved', maxRedirects: 1 })).to.deep.equal([
      undefined,
      undefined,
    ]);
  });

  it('reaches no platform', async () => {
    expect(await sentBy('extractor', 'this origin')).to.deep.equal([undefined]);
  });
});
