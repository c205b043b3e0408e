/** Which plugins of a gateway get a browser. */

import { expect } from 'chai';
import { type Browser, createGateway, definePlugin, GatewayError, type Need } from 'mediagate';
import type { BrowserExecutable } from '../../../core/browser/browser-process.js';
import { browsersOf, chromiumFor } from '../../support/browser/chromium.js';
import { inventedExtractor } from '../../support/links/invented-plugin.js';
import { type OriginServer, startOrigin } from '../../support/links/origin-server.js';
import { rejection } from '../../support/rejection.js';

/** An entry whose browser the test gets hold of. */
function entryOf(id: string, declared: { needs?: readonly Need[]; wants?: readonly Need[] }, more: object = {}) {
  const got: { browser?: Browser } = {};
  const plugin = definePlugin({
    name: id,
    apiVersion: 1,
    summary: 'Looks at pages.',
    provides: ['extractor'],
    ...declared,
    setup({ browser }) {
      got.browser = browser;
      return { extractors: [inventedExtractor({ platform: id })] };
    },
  });
  return { entry: { use: plugin, ...more }, browser: () => got.browser as Browser };
}

describe("a gateway's browser", () => {
  let executable: BrowserExecutable;
  let site: OriginServer;

  before(async function () {
    executable = await chromiumFor(this);
    site = await startOrigin((_request, response) => response.end('shown'));
  });

  after(() => site?.close());

  const visit: Parameters<Browser['run']>[0]['visit'] = async (page) => {
    await page.goto(`${site.origin}/`);
    return page.content();
  };

  it('serves plugins that need or want it, each with its trusted origins, and closes with the gateway', async () => {
    const needing = entryOf('needing', { needs: ['browser'] }, { trustedOrigins: [site.origin] });
    const wanting = entryOf('wanting', { wants: ['browser'] });
    const silent = entryOf('silent', {}, { trustedOrigins: [site.origin] });
    const gateway = await createGateway({
      plugins: [needing.entry, wanting.entry, silent.entry],
      browser: { executable: async () => executable },
    });
    expect([needing, wanting, silent].map(({ browser }) => browser().available)).to.deep.equal([true, true, false]);
    expect(await needing.browser().run({ visit })).to.contain('shown');
    expect(await rejection(wanting.browser().run({ visit }))).to.include({ code: 'upstream_refused' });
    expect(await rejection(silent.browser().run({ visit }))).to.include({ code: 'plugin_unavailable' });
    expect(browsersOf(process.pid)).to.have.length(1);
    await gateway.close();
    expect(browsersOf(process.pid)).to.deep.equal([]);
    expect(await rejection(needing.browser().run({ visit }))).to.include({ code: 'shutting_down' });
  });

  it('is reported as missing to plugins that need it, not to those that want it', async () => {
    const needing = entryOf('needing', { needs: ['browser'] });
    const wanting = entryOf('wanting', { wants: ['browser'] });
    await using gateway = await createGateway({ plugins: [needing.entry, wanting.entry] });
    expect(gateway.plugins().map(({ id, state }) => [id, state])).to.deep.equal([
      ['needing', 'failed'],
      ['wanting', 'ready'],
    ]);
    expect(wanting.browser().available).to.equal(false);
    expect(await rejection(wanting.browser().run({ visit }))).to.include({ code: 'plugin_unavailable' });
  });

  it("may be the embedder's own, with the same deadline and end of the plugin", async () => {
    const calls: Parameters<Browser['run']>[0][] = [];
    const own: Browser = {
      available: true,
      run(call) {
        calls.push(call);
        return Promise.reject(new GatewayError('upstream_error', 'own'));
      },
    };
    const wanting = entryOf('wanting', { wants: ['browser'] }, { timeoutMs: 2_000 });
    const gateway = await createGateway({
      plugins: [wanting.entry],
      services: { browser: own },
      browser: { executable: () => expect.fail('it has a browser') },
    });
    expect(await rejection(wanting.browser().run({ visit, timeoutMs: 9_000 }))).to.include({ message: 'own' });
    expect(calls[0]?.timeoutMs).to.equal(2_000);
    expect(calls[0]?.signal?.aborted).to.equal(false);
    await gateway.close();
    expect(calls[0]?.signal?.aborted).to.equal(true);
  });
});
