/** Sign-in to a gateway process with the development and a configured provider. */

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect } from 'chai';
import { type BrowserSession, createBrowserSession } from '../../support/accounts/browser-session.js';
import { type ScriptedIssuer, startScriptedIssuer } from '../../support/accounts/scripted-issuer.js';
import { runCommand } from '../../support/processes/command-line.js';
import { type GatewayProcess, startGatewayProcess } from '../../support/processes/gateway-process.js';

/** Goes through every page, and keeps what nobody else may see. */
async function signIn(gateway: GatewayProcess, browser: BrowserSession, secrets: string[]): Promise<void> {
  const page = await browser.open(`${gateway.url}/signin?return_to=/device`);
  let answer = page.text.includes('name="email"')
    ? await browser.send(page.url, { form: { email: 'ann@example.com', name: 'Ann', action: 'sign-in' } })
    : page;
  while (answer.location !== undefined) {
    for (const [name, value] of new URL(answer.location).searchParams) if (name !== 'iss') secrets.push(value);
    answer = await browser.send(answer.location);
  }
  for (const step of browser.trail) {
    for (const name of ['state', 'nonce', 'code']) secrets.push(new URL(step).searchParams.get(name) ?? '');
  }
  expect(answer.text).to.contain('The code is in the terminal');
  secrets.push(browser.cookie(gateway.url, 'mediagate') ?? '');
}

function expectNoneOf(secrets: readonly string[], output: string): void {
  const long = secrets.filter((secret) => secret.length >= 16);
  expect(long.length).to.be.greaterThan(3);
  for (const secret of long) expect(output).not.to.contain(secret);
}

describe('signing in to a gateway process', () => {
  let folder: string;

  beforeEach(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'mediagate-sign-in-'));
  });
  afterEach(() => rm(folder, { recursive: true, force: true }));

  it('works out of the box, survives a restart, and leaves no secret in the log', async () => {
    const options = { dataFolder: folder, environment: { LOG_LEVEL: 'debug' }, firstRun: true };
    const browser = createBrowserSession();
    const secrets: string[] = [];
    const first = await startGatewayProcess(options);
    await signIn(first, browser, secrets);
    const { json: health } = await first.request('/health');
    const form = { 'content-type': 'application/x-www-form-urlencoded' };
    const { json } = await first.request('/api/agent/device', { method: 'POST', headers: form, body: 'client_id=CLI' });
    await browser.send(`${first.url}/device`, { form: { user_code: json.user_code, answer: 'approve' } });
    const body = JSON.stringify({ device_code: json.device_code });
    const headers = { 'content-type': 'application/json' };
    const granted = await first.request('/api/agent/device/token', { method: 'POST', headers, body });
    const token = granted.json.access_token;
    secrets.push(json.device_code, token);
    await first.stop();
    expect(health.checks.sign_in).to.deep.equal({ ok: true, state: 'ready', provider: 'dev_identity', stand_in: true });
    expect(first.output()).to.match(/sign-in +dev_identity: for development, anyone can sign in as anyone/);
    expectNoneOf(secrets, first.output());

    const second = await startGatewayProcess(options);
    const kept = await browser.send(`${second.url}/device`);
    const authorization = `Bearer ${token}`;
    const device = await second.request('/device', { headers: { authorization }, redirect: 'manual' });
    await signIn(second, createBrowserSession(), []);
    await second.stop();
    expect(kept.status).to.equal(200);
    expect(device.status).to.equal(200);
  });

  it('uses the configured issuer, and shows its secret nowhere', async () => {
    const issuer = await startScriptedIssuer();
    const environment = issuerSettings(issuer);
    const gateway = await startGatewayProcess({ dataFolder: folder, environment });
    const secrets = [issuer.clientSecret];
    await signIn(gateway, createBrowserSession(), secrets);
    const { json: health } = await gateway.request('/health');
    issuer.script = { token: () => ({ error: 'invalid_client' }), tokenStatus: 401 };
    const failed = await createBrowserSession().open(`${gateway.url}/signin`);
    await issuer.close();
    await gateway.stop();
    expect(failed.status).to.equal(503);
    expect(health.checks.sign_in).to.include({ state: 'ready', provider: new URL(issuer.url).host });
    expect(health.checks.sign_in).not.to.have.property('stand_in');
    expect(JSON.stringify(health.checks.plugins)).not.to.contain('dev_identity');
    expectNoneOf([...secrets, ...issuer.exchanges.map((body) => body.get('code_verifier') ?? '')], gateway.output());
  });

  it('does not exist if the site is off', async () => {
    const gateway = await startGatewayProcess({ dataFolder: folder, environment: { SITE: 'off' } });
    const answer = await gateway.request('/signin');
    const { json: health } = await gateway.request('/health');
    await gateway.stop();
    expect(answer.json.error.code).to.equal('route_not_found');
    expect(health.checks).not.to.have.property('sign_in');
  });

  it('is checked by doctor', async () => {
    const issuer = await startScriptedIssuer();
    const doctor = async (environment: Record<string, string>) => {
      const { stdout } = await runCommand(['doctor', '--json'], { DATA_DIR: folder, BROWSER: 'off', ...environment });
      return (JSON.parse(stdout) as { name: string; level: string; detail: string }[]).find(
        ({ name }) => name === 'sign-in',
      );
    };
    const [standIn, off, configured] = [
      await doctor({}),
      await doctor({ HOST: '0.0.0.0' }),
      await doctor(issuerSettings(issuer)),
    ];
    await issuer.close();
    const gone = await doctor(issuerSettings(issuer));
    expect(standIn).to.include({ level: 'ok', detail: 'dev_identity, for development: anyone can sign in as anyone' });
    expect(off).to.include({ level: 'warn', detail: 'sign-in is not available' });
    expect(configured).to.include({ level: 'ok', detail: `${new URL(issuer.url).host} answers` });
    expect(gone).to.include({ level: 'fail' });
  });
});

function issuerSettings({ url, clientId, clientSecret }: ScriptedIssuer): Record<string, string> {
  return {
    OIDC_ISSUER: url,
    OIDC_CLIENT_ID: clientId,
    OIDC_CLIENT_SECRET: clientSecret,
    TRUSTED_ORIGINS: url,
    LOG_LEVEL: 'debug',
  };
}
