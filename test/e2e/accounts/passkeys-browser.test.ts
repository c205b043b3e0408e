/** Invitations and passkeys in a real browser with a virtual authenticator, on a gateway that other machines reach. */

import { expect } from 'chai';
import type { Browser, BrowserContext, CDPSession, Page } from 'playwright-core';
import { chromiumFor } from '../../support/browser/chromium.js';
import { findings, launchPageBrowser, showIn, WIDE_AND_NARROW } from '../../support/browser/page-browser.js';
import { freePort } from '../../support/processes/free-port.js';
import { type GatewayProcess, startGatewayProcess } from '../../support/processes/gateway-process.js';
import { variants } from '../../support/runner/variants.js';

const LINK = /http:\/\/localhost:\d+\/invite#[\w-]{43}/;

/** A device of a person: it verifies that person, and keeps passkeys. */
async function addAuthenticator(session: CDPSession): Promise<string> {
  await session.send('WebAuthn.enable');
  const { authenticatorId } = await session.send('WebAuthn.addVirtualAuthenticator', {
    options: {
      protocol: 'ctap2',
      transport: 'internal',
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: true,
      automaticPresenceSimulation: true,
    },
  });
  return authenticatorId;
}

describe('passkeys in a browser', () => {
  let gateway: GatewayProcess;
  let environment: Record<string, string>;
  let site: string;
  let browser: Browser;
  let context: BrowserContext;
  let page: Page;
  let session: CDPSession;
  let authenticatorId: string;
  let codes: string[];

  before(async function () {
    const executable = await chromiumFor(this);
    const port = await freePort();
    site = `http://localhost:${port}`;
    environment = { HOST: '0.0.0.0', PORT: String(port), BASE_URL: site };
    gateway = await startGatewayProcess({ environment });
    browser = await launchPageBrowser(executable);
    context = await browser.newContext();
    page = await context.newPage();
    session = await context.newCDPSession(page);
    authenticatorId = await addAuthenticator(session);
  });
  after(async () => {
    await browser?.close();
    await gateway?.stop();
  });

  async function expectAccessible(at: Page, what: string): Promise<void> {
    const { credentials } = await session.send('WebAuthn.getCredentials', { authenticatorId });
    for (const medium of variants(WIDE_AND_NARROW, ({ width }) => width === 390)) {
      await showIn(at, medium);
      expect(await findings(at), `${what} at ${medium.width}`).to.deep.equal([]);
    }
    if (at !== page) return;
    // The session of the check takes the virtual devices of the page with it.
    authenticatorId = await addAuthenticator(session);
    for (const credential of credentials) await session.send('WebAuthn.addCredential', { authenticatorId, credential });
  }

  async function invite(...options: string[]): Promise<string> {
    const { stdout, stderr, code } = await gateway.command('users', 'invite', ...options);
    expect(code, stderr).to.equal(0);
    return LINK.exec(stdout)?.[0] ?? '';
  }

  it('let nobody in before the invitation of the start is used', async () => {
    expect(gateway.output()).to.contain('There is no operator yet');
    await page.goto(`${site}/login`);
    await page.getByRole('button', { name: 'Sign in with a passkey' }).click();
    await page.getByRole('alert').filter({ hasText: 'No passkey was chosen' }).waitFor();
    await expectAccessible(page, 'sign-in');
    await page.goto(`${site}/invite#${'A'.repeat(43)}`);
    await page.getByRole('alert').filter({ hasText: 'was used, has expired or was withdrawn' }).waitFor();
    expect(await page.getByRole('button', { name: 'Create a passkey' }).isVisible()).to.equal(false);
  });

  it('make the operator by the link that the start prints', async () => {
    const link = LINK.exec(gateway.output())?.[0] ?? '';
    await page.goto('about:blank');
    await page.goto(link);
    await page.getByText('You become an operator').waitFor();
    await expectAccessible(page, 'invitation');
    await page.getByLabel('Your name').fill('Ann');
    await page.getByRole('button', { name: 'Create a passkey' }).click();
    await page.getByRole('heading', { name: 'Your recovery codes' }).waitFor();
    codes = (await page.locator('#recovery-codes').innerText()).split('\n');
    expect(codes).to.have.length(10);
    expect(page.url(), 'the secret is gone').to.equal(`${site}/invite`);
    await expectAccessible(page, 'recovery codes');
    await page.getByRole('link', { name: 'I have stored them' }).click();
    await page.waitForURL(`${site}/dashboard`);
    expect(await page.textContent('main'))
      .to.contain('Ann')
      .and.to.contain('Operator');
    const users = JSON.parse((await gateway.command('users', 'list', '--json')).stdout);
    expect(users).to.have.length(1);
    expect(users[0]).to.include({ name: 'Ann', role: 'operator' });
    await page.goto('about:blank');
    await page.goto(link);
    await page.getByRole('alert').filter({ hasText: 'was used' }).waitFor();
  });

  it('sign in again, and lead back to the page that was asked for', async () => {
    await page.getByText('Menu', { exact: true }).click();
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.goto(`${site}/keys`);
    await page.getByRole('button', { name: 'Sign in with a passkey' }).click();
    await page.waitForURL(`${site}/keys`);
  });

  it('are added, named and removed on their page', async () => {
    await page.goto(`${site}/passkeys`);
    await page.getByRole('button', { name: 'Add a passkey' }).click();
    await page.getByRole('alert').filter({ hasText: 'has a passkey of your account already' }).waitFor();
    // The first device is elsewhere, and another one is there.
    await session.send('WebAuthn.removeVirtualAuthenticator', { authenticatorId });
    authenticatorId = await addAuthenticator(session);
    await page.getByRole('button', { name: 'Add a passkey' }).click();
    await page.getByText('The passkey is added.').waitFor();
    await expectAccessible(page, 'passkeys');
    await page.locator('summary', { hasText: 'Rename' }).first().click();
    await page.getByLabel('Name', { exact: true }).first().fill('Old phone');
    await page.getByRole('button', { name: 'Save' }).first().click();
    await page.getByText('The name is saved.').waitFor();
    await page.getByRole('button', { name: 'Remove Old phone' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Remove' }).click();
    await page.getByText('The passkey is removed.').waitFor();
    expect(await page.getByRole('button', { name: /^Remove/ }).count()).to.equal(0);
    await page.getByRole('button', { name: 'Make new codes' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Make new codes' }).click();
    await page.locator('#new-codes:not([hidden])').waitFor();
    const renewed = (await page.locator('#recovery-codes').innerText()).split('\n');
    expect(new Set([...codes, ...renewed]).size).to.equal(20);
    codes = renewed;
  });

  it('are replaced by a recovery code, which works once', async () => {
    const other = await (await browser.newContext()).newPage();
    await addAuthenticator(await other.context().newCDPSession(other));
    const use = async () => {
      await other.goto(`${site}/recover`);
      await other.getByLabel('Recovery code').fill(codes[0]?.toLowerCase() ?? '');
      await other.getByRole('button', { name: 'Sign in' }).click();
    };
    await use();
    await other.getByText('You are signed in with a recovery code').waitFor();
    await other.getByRole('button', { name: 'Add a passkey' }).click();
    await other.getByText('The passkey is added.').waitFor();
    expect(await other.textContent('main')).to.contain('9 unused codes are left.');
    await other.getByRole('button', { name: 'Sign out' }).click();
    await use();
    await other
      .getByRole('alert')
      .filter({ hasText: 'did not succeed' })
      .or(other.getByText('used before'))
      .first()
      .waitFor();
    await expectAccessible(other, 'recovery');
    await other.context().close();
  });

  it('make members by the links of the command line, in Vietnamese too', async () => {
    const link = await invite('--name', 'Bình');
    const other = await (await browser.newContext({ locale: 'vi-VN' })).newPage();
    await addAuthenticator(await other.context().newCDPSession(other));
    await other.goto(link);
    await other.getByRole('button', { name: 'Tạo passkey' }).click();
    await other.getByRole('link', { name: 'Tôi đã cất' }).click();
    await other.waitForURL(`${site}/dashboard`);
    expect(await other.textContent('main')).to.contain('Bình');
    await expectAccessible(other, 'dashboard');
    await other.context().close();
    const { stdout } = await gateway.command('users', 'list', '--json');
    expect(JSON.parse(stdout)[0]).to.include({ name: 'Bình', role: 'member' });
  });

  it('say where the site is if the page was opened at an IP address', async () => {
    const elsewhere = `http://127.0.0.1:${environment.PORT}`;
    await page.goto(`${elsewhere}/login?return_to=/keys`);
    const link = page.getByRole('main').getByRole('link', { name: site });
    await link.waitFor();
    expect(await link.getAttribute('href')).to.equal(`${site}/login?return_to=/keys`);
  });

  it('end with another host name, which the start and doctor say', async () => {
    const { dataFolder } = gateway;
    const doctor = await gateway.command('doctor', '--json');
    expect(doctor.stdout).to.contain('with passkeys of localhost');
    const moved = { HOST: '0.0.0.0', BASE_URL: 'https://other.example' };
    const other = await startGatewayProcess({ environment: moved, dataFolder });
    expect(other.output()).to.contain('3 passkeys were registered at another host name').and.not.to.contain('/invite#');
    expect((await other.command('doctor', '--json')).stdout).to.contain('cannot be used at other.example');
    await other.stop();
  });
});

describe('a gateway for other machines without a host name', () => {
  it('stays closed, prints no invitation, and says what is missing', async () => {
    const gateway = await startGatewayProcess({ environment: { HOST: '0.0.0.0' } });
    try {
      expect(gateway.output()).to.contain('Nobody can sign in.').and.to.contain('Set BASE_URL to https://');
      expect(gateway.output()).not.to.contain('/invite#');
      const login = await gateway.request('/login');
      expect(login.text).to.contain('host name over https').and.not.to.contain('data-passkey');
      const invited = await gateway.command('users', 'invite', '--operator');
      expect([invited.code, invited.stdout]).to.deep.equal([2, '']);
      expect(invited.stderr).to.contain('Invitations do not work here.');
      expect((await gateway.command('doctor', '--json')).stdout).to.contain('host name over https');
    } finally {
      await gateway.stop();
    }
  });
});
