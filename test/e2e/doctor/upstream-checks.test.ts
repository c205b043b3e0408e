/** Checks of upstreams by doctor and at the start. */

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect } from 'chai';
import { type OriginServer, startOrigin } from '../../support/links/origin-server.js';
import { startTextUpstream, type TextUpstream } from '../../support/models/text-upstream.js';
import { runCommand } from '../../support/processes/command-line.js';
import { type GatewayProcess, startGatewayProcess } from '../../support/processes/gateway-process.js';
import { until } from '../../support/until.js';

const KEY = 'sk-canary-of-the-upstream-0004';

/** An operator who connects a model server, with and without mistakes. */
describe('checks of upstreams by doctor and the start', () => {
  let texts: TextUpstream;
  let silent: OriginServer;
  let folder: string;
  let gateway: GatewayProcess | undefined;

  before(async () => {
    [texts, silent] = await Promise.all([
      startTextUpstream({ apiKey: KEY, models: ['llama3.2'] }),
      startOrigin(() => {}),
    ]);
    folder = await mkdtemp(path.join(tmpdir(), 'mediagate-checks-'));
  });
  afterEach(async () => {
    await gateway?.stop();
    gateway = undefined;
  });
  after(async () => {
    await Promise.all([texts.close(), silent.close()]);
    await rm(folder, { recursive: true, force: true });
  });

  async function doctor(environment: Record<string, string>) {
    const settings = { DATA_DIR: folder, BROWSER: 'off', SITE: 'off', ...environment };
    const { stdout, stderr } = await runCommand(['doctor', '--json'], settings);
    expect(stdout + stderr).not.to.contain(KEY);
    const findings: { name: string; level: string; detail: string; advice?: string }[] = JSON.parse(stdout);
    return findings.filter(({ name }) => name === 'upstream');
  }

  it('print what works, and the variable to correct, in doctor', async () => {
    const connected = { TEXT_UPSTREAM_URL: texts.baseUrl, TEXT_UPSTREAM_KEY: KEY, TEXT_UPSTREAM_MODEL: 'llama3.2' };
    const models = 'llama3.2';
    expect(await doctor({})).to.deep.equal([]);
    expect(await doctor(connected)).to.deep.equal([{ name: 'upstream', level: 'ok', detail: `${models}: reachable` }]);
    const [refused, absent, unknown, other] = await Promise.all([
      doctor({ ...connected, TEXT_UPSTREAM_KEY: 'sk-another-key-000' }),
      doctor({ ...connected, TEXT_UPSTREAM_KEY: '' }),
      doctor({ ...connected, TEXT_UPSTREAM_MODEL: 'lama' }),
      doctor({ ...connected, TEXT_UPSTREAM_URL: texts.origin }),
    ]);
    const warning = (detail: string, advice: string, asked = models) => [
      { name: 'upstream', level: 'warn', detail: `${asked}: ${detail}`, advice },
    ];
    expect(refused).to.deep.equal(
      warning('key refused. It refused the key with status 401.', 'Check TEXT_UPSTREAM_KEY.'),
    );
    expect(absent).to.deep.equal(
      warning('key refused. It answered with status 401: it needs a key.', 'Check TEXT_UPSTREAM_KEY.'),
    );
    expect(unknown).to.deep.equal(
      warning('unknown model. It does not list lama. It lists llama3.2.', 'Check TEXT_UPSTREAM_MODEL.', 'lama'),
    );
    expect(other).to.deep.equal(
      warning(
        'not this format. It answers below /v1, and the address does not end so.',
        'Check TEXT_UPSTREAM_URL. Put /v1 at its end.',
      ),
    );
  });

  it('do not delay the start, and warn in its log', async () => {
    const began = Date.now();
    gateway = await startGatewayProcess({
      environment: { TEXT_UPSTREAM_URL: texts.baseUrl, IMAGE_UPSTREAM_URL: `${silent.origin}/v1` },
    });
    expect((await gateway.request('/health')).status).to.equal(200);
    expect(gateway.output()).not.to.contain('not reachable');
    await until(() => gateway?.output().includes('Check TEXT_UPSTREAM_KEY.') ?? false);
    expect(Date.now() - began).to.be.below(60_000);
    // The silent one does not hold up the end either.
    expect(await gateway.stop()).to.equal(0);
    gateway = undefined;
    await silent.idle();
  });
});
