/** Settings of traces from the OpenTelemetry variables. */

import { expect } from 'chai';
import { readSettings, SettingsError } from 'mediagate/server';
import { secretsOf } from '../../../server/settings/secrets.js';

const SECRET = 'a-token-that-nobody-may-see';

describe('settings of traces', () => {
  it('are empty without a variable', () => {
    const settings = readSettings({});
    expect([settings.otlpEndpoint, settings.otlpHeaders, settings.sampler]).to.deep.equal([
      undefined,
      undefined,
      undefined,
    ]);
  });

  it("append the path to a collector's address, and use a trace address unchanged", () => {
    const general = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector.example:4318/' };
    expect(readSettings(general).otlpEndpoint).to.equal('http://collector.example:4318/v1/traces');
    const traces = { OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'https://traces.example/otlp' };
    expect(readSettings({ ...traces, ...general }).otlpEndpoint).to.equal('https://traces.example/otlp');
  });

  it('prefer trace variables to general ones', () => {
    const settings = readSettings({
      OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: 'http/json',
      OTEL_EXPORTER_OTLP_PROTOCOL: 'http/protobuf',
      OTEL_EXPORTER_OTLP_TRACES_TIMEOUT: '7',
      OTEL_EXPORTER_OTLP_TIMEOUT: '8',
      OTEL_EXPORTER_OTLP_TRACES_HEADERS: 'x-one=1',
      OTEL_EXPORTER_OTLP_HEADERS: 'x-two=2',
    });
    expect(settings).to.deep.include({ otlpProtocol: 'http/json', otlpTimeoutMs: 7, otlpHeaders: { 'x-one': '1' } });
  });

  it('decode header fields and attributes, and keep header values out of the log', () => {
    const settings = readSettings({
      OTEL_EXPORTER_OTLP_HEADERS: `authorization=Bearer%20${SECRET}, x-tenant=a%2Cb`,
      OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=production,team=links%20and%20more',
    });
    expect(settings.otlpHeaders).to.deep.equal({ authorization: `Bearer ${SECRET}`, 'x-tenant': 'a,b' });
    expect(settings.resourceAttributes).to.deep.equal({
      'deployment.environment.name': 'production',
      team: 'links and more',
    });
    expect(secretsOf(settings)).to.include.members([`Bearer ${SECRET}`, SECRET, 'a,b']);
  });

  it('name what is wrong without values', () => {
    const wrong: readonly [name: string, value: string][] = [
      ['OTEL_EXPORTER_OTLP_ENDPOINT', `http://user:${SECRET}@collector.example`],
      ['OTEL_EXPORTER_OTLP_PROTOCOL', 'grpc'],
      ['OTEL_EXPORTER_OTLP_HEADERS', SECRET],
      ['OTEL_EXPORTER_OTLP_HEADERS', `x-token=${SECRET}%0d%0ax-other: 1`],
      ['OTEL_EXPORTER_OTLP_HEADERS', `x-token=${SECRET}%`],
      ['OTEL_TRACES_EXPORTER', 'zipkin'],
      ['OTEL_TRACES_SAMPLER', 'jaeger_remote'],
      ['OTEL_TRACES_SAMPLER_ARG', '1.5'],
      ['OTEL_BSP_MAX_QUEUE_SIZE', '0'],
    ];
    for (const [name, value] of wrong) {
      expect(() => readSettings({ [name]: value }), name)
        .to.throw(SettingsError)
        .with.property('message')
        .that.satisfies((message: string) => message.startsWith(`${name} must be`) && !message.includes(SECRET));
    }
  });
});
