/** Examples of the account pages, run as they are. */

import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { readCatalogue } from '../../../server/plans/plans-file.js';
import { readSettings } from '../../../server/settings/settings.js';
import { SECRETS } from '../../http/payments/app.js';
import { createBrowserSession, OPERATOR, signInAt } from '../../support/accounts/browser-session.js';
import { snippetsOf } from '../../support/docs/documents.js';
import { type GatewayHere, startGatewayHere } from '../../support/processes/gateway-here.js';

const run = promisify(execFile);
const ADDRESS = 'http://127.0.0.1:8787';
const CODE = 'MG7K3M9QXD';
const PAGES = ['sign-in', 'plans', 'payments'].map((name) => `docs/accounts/${name}.md`);

describe('account pages of the docs', () => {
  let folder: string;
  let gateway: GatewayHere;
  let token = '';

  /** The only one that says this. */
  function snippet(says: string): string {
    const found = PAGES.flatMap((page) => snippetsOf(page, 'sh')).filter((code) => code.includes(says));
    expect(found, says).to.have.length(1);
    return found[0] ?? '';
  }

  async function inShell(script: string, env: Record<string, string> = {}): Promise<string> {
    const options = { cwd: folder, env: { ...process.env, ...env } };
    return (await run('bash', ['-e', '-o', 'pipefail', '-c', script.replaceAll(ADDRESS, gateway.url)], options)).stdout;
  }

  before(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'mediagate-account-snippets-'));
    const settings = snippet('export PAYMENT_BANK_NAME').replace('sepay:…', `generic:${SECRETS.generic}`);
    const [, plans = ''] = /# (\{"plans".*\})/.exec(settings) ?? [];
    await writeFile(path.join(folder, 'plans.json'), plans);
    const { stdout } = await run('bash', ['-c', `${settings}\nenv -0`], {
      cwd: folder,
      env: { PATH: process.env.PATH },
    });
    const exported = stdout.split('\0').flatMap((line): [string, string][] => {
      const [, name = '', value = ''] = /^((?:PAYMENT|PLANS)_\w+)=(.*)$/s.exec(line) ?? [];
      return name ? [[name, value]] : [];
    });
    const environment = { ...Object.fromEntries(exported), PLANS_FILE: path.join(folder, 'plans.json') };
    expect(Object.keys(environment)).to.include.members(['PAYMENT_ACCOUNT_NAME', 'PAYMENT_WEBHOOK_SECRET']);
    gateway = await startGatewayHere({ environment });
    await signInAt(gateway, OPERATOR);
  });
  after(async () => {
    await gateway?.stop();
    await rm(folder, { recursive: true, force: true });
  });

  it('describe a device flow that works', async () => {
    const [begin = '', ask = ''] = snippet('device_code').split(/(?<=\n)(?=curl .*token)/);
    const device = JSON.parse(await inShell(begin));
    const waiting = JSON.parse(await inShell(ask, { DEVICE_CODE: device.device_code }));
    expect(waiting.error).to.equal('authorization_pending');
    const browser = createBrowserSession();
    const page = await browser.open(`${gateway.url}/signin?return_to=/device`);
    let answer = await browser.send(page.url, { form: { email: 'ann@example.com', name: '', action: 'sign-in' } });
    while (answer.location !== undefined) answer = await browser.send(answer.location);
    await browser.send(device.verification_uri, { form: { user_code: device.user_code, answer: 'approve' } });
    await new Promise((resolve) => setTimeout(resolve, device.interval * 1_000));
    const granted = JSON.parse(await inShell(ask, { DEVICE_CODE: device.device_code }));
    expect(granted).to.include({ token_type: 'Bearer', expires_in: 43_200 });
    token = granted.access_token;
  });

  it('makes a key', async () => {
    const made = JSON.parse(await inShell(snippet('"name":"laptop"'), { TOKEN: token }));
    expect(made.key).to.deep.include({ name: 'laptop', state: 'active', planId: 'free', grants: ['text'], rpm: 30 });
  });

  it('orders a plan, and signs as a bank does', async () => {
    const { payment } = JSON.parse(await inShell(snippet('/api/agent/payment'), { TOKEN: token }));
    expect(payment).to.include({ status: 'pending', amount: 299_000, currency: 'VND' });
    const told = snippet('openssl').replace(CODE, payment.code);
    expect(JSON.parse(await inShell(told, { SECRET: SECRETS.generic }))).to.deep.equal({ success: true });
    const after = await gateway.request(`/api/payment/gateway?code=${payment.code}`);
    expect(after.json.payment).to.include({ status: 'paid' });
    const forged = JSON.parse(await inShell(told, { SECRET: 'another-secret-of-at-least-32-characters' }));
    expect(forged.error.code).to.equal('invalid_signature');
  });

  it('show plans files that are accepted', async () => {
    const shown = PAGES.flatMap((page) => snippetsOf(page, 'json'));
    const read = async (text: string, number: number) => {
      const file = path.join(folder, `example-${number}.json`);
      await writeFile(file, text);
      return readCatalogue(file);
    };
    const [own, topUps, ...others] = await Promise.all(shown.map(read));
    expect(others).to.deep.equal([]);
    expect(own?.plans.map(({ id }) => id)).to.include.members(['token_30m', 'pictures', 'team']);
    expect([own?.prices.length, own?.freeTier.requestLimit]).to.deep.equal([2, 20]);
    expect(topUps?.topUps?.map(({ terms }) => terms.planId)).to.deep.equal(['topup_10']);
  });

  it('show production settings that are accepted', () => {
    const [text = ''] = snippetsOf('docs/operate/deploy.md', 'sh');
    const lines = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
    const environment = Object.fromEntries(
      lines.map((line) => {
        const [name = '', value = ''] = line.split(/=(.*)/s);
        return [name, value === '…' ? 'x'.repeat(64) : value];
      }),
    );
    expect(Object.keys(environment)).to.include.members(['BASE_URL', 'SITE_URL', 'OIDC_ISSUER', 'KEY_PEPPER']);
    const settings = readSettings(environment);
    expect(settings).to.include({ siteUrl: 'https://api.example.com', oidcIssuer: 'https://accounts.example.com' });
  });
});
