/** Image models of a running gateway: mocks, failures and upstreams. */

import { expect } from 'chai';
import { type ImageUpstream, startImageUpstream } from '../../support/images/image-upstream.js';
import { runCommand } from '../../support/processes/command-line.js';
import { type GatewayProcess, startGatewayProcess } from '../../support/processes/gateway-process.js';

describe('image models of a running gateway', () => {
  let gateway: GatewayProcess;
  let upstream: ImageUpstream;
  before(async () => {
    upstream = await startImageUpstream();
  });
  afterEach(() => gateway.stop());
  after(() => upstream.close());

  const entries = async () => (await gateway.request('/health')).json.checks.plugins.entries as { id: string }[];
  const doctor = async () => {
    const findings: { name: string; detail: string }[] = JSON.parse((await gateway.command('doctor', '--json')).stdout);
    return findings.find(({ name }) => name === 'plugins')?.detail;
  };

  it('are mocks without an upstream, and marked in every answer', async () => {
    gateway = await startGatewayProcess({ firstRun: true });
    expect(await entries()).to.deep.include({ id: 'sketch_image', state: 'ready', stand_in: true });
    expect((await entries()).map(({ id }) => id)).not.to.include('openai_image');
    expect(gateway.output()).to.match(/sketch_image +ready +gen-img-2, gen-image-2 \(mock\)/);
    expect(await doctor()).to.include('sketch_image (mock for gen-img-2, gen-image-2)');
    expect((await gateway.command('plugins')).stdout).to.match(/sketch_image .*\(mock\)/);
  });

  it('report a failure in one line of the command line', async () => {
    const environment = { IMAGE_UPSTREAM_URL: 'http://127.0.0.1:1/v1' };
    gateway = await startGatewayProcess({ environment });
    const away = await gateway.command('image', 'A tug');
    expect([away.code, away.stdout, away.stderr]).to.deep.equal([
      1,
      '',
      'mediagate: The server could not be reached.\n',
    ]);
    const settings = { ...environment, DATA_DIR: gateway.dataFolder, BROWSER: 'off', LOG_LEVEL: 'debug' };
    const debugged = await runCommand(['image', 'A tug'], settings);
    expect(debugged.stderr)
      .to.contain('"message":"an image could not be generated"')
      .and.to.contain('mediagate: The server could not be reached.\n');
  });

  it('use the configured upstream', async () => {
    const IMAGE_UPSTREAM_URL = upstream.baseUrl;
    gateway = await startGatewayProcess({ environment: { IMAGE_UPSTREAM_URL } });
    expect(await entries()).to.deep.include({ id: 'openai_image', state: 'ready' });
    expect((await entries()).map(({ id }) => id)).not.to.include('sketch_image');
    expect((await gateway.command('plugins')).stdout).to.match(/openai_image +ready +image +gen-img-2, gen-image-2\n/);
  });
});
