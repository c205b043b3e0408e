/** The separate listener for metrics of a process. */

import { expect } from 'chai';
import { type GatewayProcess, startGatewayProcess } from '../../support/processes/gateway-process.js';
import { until } from '../../support/until.js';

describe('metrics of a process', () => {
  let gateway: GatewayProcess;

  before(async () => {
    gateway = await startGatewayProcess({ environment: { METRICS_PORT: '0' } });
  });
  after(() => gateway.stop());

  it('are served on a listener of their own, without other routes', async () => {
    const address = await until(
      () => /Metrics are at (http:\/\/127\.0\.0\.1:\d+)\/metrics/.exec(gateway.output())?.[1],
    );
    await gateway.request('/health');
    const answer = await fetch(`${address}/metrics`);
    expect(answer.status).to.equal(200);
    expect(await answer.text()).to.match(
      /^mediagate_http_requests_total\{route="\/health",method="GET",status="200"\} \d+$/m,
    );
    expect((await fetch(`${address}/health`)).status).to.equal(404);
    expect((await fetch(`${address}/metrics`, { method: 'POST' })).status).to.equal(405);
  });

  it('are not on the public listener', async () => {
    expect((await gateway.request('/metrics')).status).to.equal(404);
  });

  it('do not keep it from ending', async () => {
    const other = await startGatewayProcess({ environment: { METRICS_PORT: '0', METRICS_PUBLIC: 'on' } });
    expect((await other.request('/metrics')).status).to.equal(200);
    expect(await other.stop()).to.equal(0);
  });
});
