/** A hostile page in the browser: which addresses it reaches. */

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import { BrowserService } from '../../../core/browser/browser.js';
import { connectBrowser, createPipeTransport } from '../../../core/browser/browser-connection.js';
import { type BrowserExecutable, startBrowserProcess } from '../../../core/browser/browser-process.js';
import type { Browser, BrowserPage } from '../../../core/contracts/services.js';
import { createAddressGuard } from '../../../core/net/egress.js';
import { silentLogger } from '../../../core/runtime/logger.js';
import { ATTACKS, attackPage } from '../../support/browser/attack-page.js';
import { chromiumFor } from '../../support/browser/chromium.js';
import { type Canary, SECRET, startCanary } from '../../support/links/live-probe.js';
import { type OriginServer, startOrigin } from '../../support/links/origin-server.js';
import { rejection } from '../../support/rejection.js';
import { until } from '../../support/until.js';

const AMPLE_MS = 40_000;

describe('a hostile page', () => {
  let executable: BrowserExecutable;
  let canary: Canary;
  let site: OriginServer;

  before(async function () {
    executable = await chromiumFor(this);
  });

  beforeEach(async () => {
    canary = await startCanary();
    site = await startOrigin((request, response) => {
      const { pathname, searchParams } = new URL(request.url ?? '/', 'http://site.invalid');
      const to = searchParams.get('to') ?? '';
      if (pathname === '/redirect') response.writeHead(302, { location: to }).end();
      else if (pathname === '/worker.js') {
        response.setHeader('content-type', 'text/javascript').end(`fetch(${JSON.stringify(canary.origins[0])})`);
      } else {
        response.setHeader('content-type', 'text/html');
        response.end(pathname === '/meta' ? `<meta http-equiv="refresh" content="0;url=${to}">` : attackPage(canary));
      }
    });
  });

  afterEach(async () => {
    await site?.close();
    await canary?.close();
  });

  /** Names of the ways that did not get there, while the page is open, in time for a busy machine. */
  async function missing(closed: readonly string[] = []): Promise<readonly string[]> {
    const names = () => ATTACKS.filter((name) => !canary.paths.has(name) && !closed.includes(name));
    for (let looks = 0; names().length > 0 && looks < 100; looks += 1) await sleep(100);
    return names();
  }

  async function attack(page: BrowserPage): Promise<string> {
    await page.goto(`${site.origin}/`, { waitUntil: 'commit' });
    await page.waitForSelector('title', { state: 'attached' });
    await page.evaluate(
      () =>
        new Promise<void>((resolve) => {
          const look = () => (document.title === 'done' ? resolve() : setTimeout(look, 50));
          look();
        }),
    );
    return page.content();
  }

  it('reaches the target from an unprotected browser in every way it tries', async () => {
    const profile = await mkdtemp(path.join(tmpdir(), 'mediagate-unguarded-'));
    const process = await startBrowserProcess(executable, {
      profile,
      arguments: [
        '--headless',
        '--no-sandbox',
        '--no-startup-window',
        '--remote-debugging-pipe',
        `--user-data-dir=${profile}`,
        '--disable-gpu',
        '--disable-software-rasterizer',
        '--disable-popup-blocking',
      ],
    });
    try {
      const transport = createPipeTransport({ ...process, onBroken: () => {} });
      const browser = await connectBrowser(transport, { artifactsDir: profile, timeoutMs: AMPLE_MS });
      const exit = { server: 'http://127.0.0.1:9', bypass: '*', username: '', password: '' };
      const { page } = await browser.openPage({ exit, locale: 'en-US', checkUrl: () => {} });
      await attack(page);
      // Chrome prefetches nothing across origins where a proxy is set; the headless shell does.
      expect(await missing(['speculation'])).to.deep.equal([]);
      expect(canary.datagrams).to.be.greaterThan(0);
    } finally {
      await process.kill();
      await rm(profile, { recursive: true, force: true });
    }
  });

  describe('in the browser of the gateway', () => {
    let service: BrowserService;

    before(() => {
      // A name that an attacker has pointed at this machine.
      const guard = createAddressGuard({ resolve: async () => ['127.0.0.1'] });
      service = new BrowserService({ executable: async () => executable, guard, logger: silentLogger });
    });

    after(() => service?.close());

    function browserFor(...trustedOrigins: string[]): Browser {
      return service.scoped({ timeoutMs: AMPLE_MS, trustedOrigins, signal: new AbortController().signal });
    }

    it('reaches nothing: no connection, no datagram, no file', async () => {
      const html = await browserFor(site.origin).run({ visit: attack });
      expect(html).to.contain('done').and.not.to.contain(SECRET).and.not.to.contain('root:');
      expect(canary).to.include({ connections: 0, datagrams: 0 });
    });

    it('reaches a trusted origin over http, so only the guard stops it', async () => {
      const left = await browserFor(site.origin, ...canary.origins).run({
        async visit(page) {
          await attack(page);
          // A page opens no other page, and Chrome sends no pings (the headless shell does).
          return missing(['popup', 'ping']);
        },
      });
      expect(left).to.deep.equal([]);
      expect(canary.datagrams).to.equal(0);
    });

    it('follows no kind of redirect to a refused address', async () => {
      for (const target of [...canary.origins, 'http://127.1/', 'http://2130706433/', 'http://rebound.example/']) {
        for (const way of ['redirect', 'meta']) {
          const address = `${site.origin}/${way}?to=${encodeURIComponent(target)}`;
          const html = await browserFor(site.origin).run({
            async visit(page) {
              // A target that the exit refuses fails the navigation.
              await page.goto(address).catch(() => {});
              // The page that moves on does so at once, and cannot be read while it does.
              await page.evaluate(() => new Promise((resolve) => setTimeout(resolve, 200))).catch(() => {});
              return until(() => page.content().catch(() => undefined));
            },
          });
          expect(html, address).not.to.contain(SECRET);
        }
      }
      expect(canary.connections).to.equal(0);
    });

    it('opens no URL of another scheme for a plugin', async () => {
      for (const url of [
        'file:///etc/passwd',
        'chrome://version',
        `view-source:${site.origin}/`,
        'data:text/html,x',
        'javascript:1',
        'about:blank',
        `blob:${site.origin}/1`,
        'not a url',
        `${canary.origins[0]}/`,
        'http://localhost/',
      ]) {
        const error = await rejection(browserFor(site.origin).run({ visit: (page) => page.goto(url) }));
        expect(error, url).to.include({ code: 'upstream_refused' });
      }
      expect(canary.connections).to.equal(0);
    });
  });
});
