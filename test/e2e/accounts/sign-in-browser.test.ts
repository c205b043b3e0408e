/** Sign-in and the authorization of a program in a real browser. */

import { expect } from 'chai';
import { type Browser, chromium, type Page } from 'playwright-core';
import { chromiumFor } from '../../support/browser/chromium.js';
import { type OriginServer, startOrigin } from '../../support/links/origin-server.js';
import { type GatewayHere, startGatewayHere } from '../../support/processes/gateway-here.js';
import { until } from '../../support/until.js';

/** Pages of somebody who means harm, on this machine too: to a browser they are of the same site, and of another origin. */
function startHostileSite(gateway: string): Promise<OriginServer> {
  const forms = ['/signout', '/device']
    .map(
      (path) =>
        `<form method="post" action="${gateway}${path}" target="frame"><input name="answer" value="deny"></form>`,
    )
    .join('');
  const script = `
    for (const form of document.forms) form.submit();
    const headers = { 'content-type': 'text/plain' };
    const send = (method, path) => fetch('${gateway}' + path, { method, mode: 'no-cors', credentials: 'include', headers, body: '{}' });
    Promise.allSettled([send('POST', '/signout'), send('POST', '/api/agent/session')]).then(() => { document.title = 'done'; });
  `;
  return startOrigin((_request, response) => {
    response.setHeader('Content-Type', 'text/html');
    response.end(`<!doctype html><iframe name="frame"></iframe>${forms}<script>${script}</script>`);
  });
}

describe('signing in with a real browser', () => {
  let gateway: GatewayHere;
  let browser: Browser;
  let page: Page;

  before(async function () {
    const executable = await chromiumFor(this);
    gateway = await startGatewayHere();
    browser = await chromium.launch({
      executablePath: executable.path,
      args: ['--no-sandbox'],
      ...(executable.libraryFolder && { env: { LD_LIBRARY_PATH: executable.libraryFolder } }),
    });
    page = await (await browser.newContext()).newPage();
  });
  after(async () => {
    await browser?.close();
    await gateway?.stop();
  });

  it('authorizes a program without scripts: sign-in, page and answer', async () => {
    const headers = { 'content-type': 'application/json' };
    const post = (path: string, body: object) =>
      gateway.request(path, { method: 'POST', headers, body: JSON.stringify(body) });
    const { json } = await post('/api/agent/device', { client_id: 'Shipyard CLI' });
    await page.goto(json.verification_uri_complete);
    expect(await page.textContent('.warning')).to.contain('anyone can sign in as anyone here');
    await page.fill('input[name=email]', 'ann@example.com');
    await page.click('button[value=sign-in]');
    await page.waitForURL(json.verification_uri_complete);
    expect(await page.textContent('main'))
      .to.contain('Shipyard CLI')
      .and.to.contain(json.user_code);
    await page.click('button[value=approve]');
    await page.waitForSelector('text=Program connected');
    const { json: granted } = await post('/api/agent/device/token', { device_code: json.device_code });
    expect(granted.access_token).to.match(/^mgd_/);
    expect(await page.evaluate(() => document.cookie)).to.equal('');
  });

  it("cannot be ended or used by another site's page", async () => {
    const hostile = await startHostileSite(gateway.url);
    const answers: number[] = [];
    page.on('response', (response) => {
      if (response.request().method() === 'POST') answers.push(response.status());
    });
    await page.goto(hostile.origin);
    await page.waitForFunction(() => document.title === 'done');
    // Two forms into one frame: the last one goes out, and both of the script's requests.
    await until(() => answers.length >= 3);
    await hostile.close();
    expect(answers.every((status) => status === 403)).to.equal(true);
    const shown = await page.goto(`${gateway.url}/device`);
    expect(shown?.status()).to.equal(200);
    expect(page.url()).to.equal(`${gateway.url}/device`);
  });
});
