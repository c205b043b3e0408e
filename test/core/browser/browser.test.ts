/** The browser service on every installed Chromium: visits, deadlines, crashes and the end. */

import { existsSync, readFileSync } from 'node:fs';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect } from 'chai';
import { BrowserService, type BrowserServiceOptions } from '../../../core/browser/browser.js';
import type { BrowserExecutable } from '../../../core/browser/browser-process.js';
import type { Browser, BrowserPage } from '../../../core/contracts/services.js';
import { createAddressGuard } from '../../../core/net/egress.js';
import { GatewayError } from '../../../core/runtime/errors.js';
import { createRecordingLogger } from '../../../core/testing/index.js';
import { browsersOf, chromiumFor, pageProcessesOf, processesOf } from '../../support/browser/chromium.js';
import { createCertificateAuthority } from '../../support/http/certificates.js';
import { type OriginServer, startOrigin, startSecureOrigin } from '../../support/links/origin-server.js';
import { startReplayingProxy } from '../../support/links/replaying-proxy.js';
import { rejection } from '../../support/rejection.js';
import { until } from '../../support/until.js';

const AMPLE_MS = 30_000;

describe('the browser', () => {
  let executable: BrowserExecutable;
  let site: OriginServer;
  let service: BrowserService;
  let log: ReturnType<typeof createRecordingLogger>;
  const seen: { path: string; headers: NodeJS.Dict<string | string[]> }[] = [];

  before(async function () {
    executable = await chromiumFor(this);
    site = await startOrigin((request, response) => {
      const { pathname } = new URL(request.url ?? '/', 'http://site.invalid');
      seen.push({ path: pathname, headers: request.headers });
      if (pathname === '/hang') return;
      response.setHeader('content-type', 'text/html; charset=utf-8');
      if (pathname === '/missing') response.statusCode = 404;
      if (pathname === '/cookie') response.setHeader('set-cookie', ['a=1', 'b=2']);
      if (pathname === '/reviews') response.setHeader('content-type', 'application/json');
      if (pathname === '/download') response.setHeader('content-disposition', 'attachment; filename=x');
      if (pathname === '/large') response.end(Buffer.alloc(70 * 1024 * 1024, 0x20));
      else if (pathname === '/reviews') request.pipe(response);
      else if (pathname === '/refused') response.writeHead(403, { 'content-length': 0 }).end();
      else response.end(`<title>${pathname}</title><h1>Grüße</h1>`);
    });
  });

  beforeEach(() => {
    log = createRecordingLogger();
    seen.length = 0;
  });

  async function endService(): Promise<void> {
    await service?.close();
    expect(browsersOf(process.pid)).to.deep.equal([]);
  }

  after(() => site?.close());

  function start(options: Partial<BrowserServiceOptions> = {}): Browser {
    service = new BrowserService({
      executable: async () => executable,
      guard: createAddressGuard(),
      logger: log,
      ...options,
    });
    return faceOf(service);
  }

  function faceOf(from: BrowserService, signal = new AbortController().signal): Browser {
    return from.scoped({ timeoutMs: AMPLE_MS, trustedOrigins: [site.origin], signal });
  }

  const open = (page: BrowserPage) => page.goto(`${site.origin}/`);
  const never = () => new Promise<never>(() => {});
  /** Runs until nobody runs it any more. */
  const loop = async (page: BrowserPage) => {
    await open(page);
    await page.evaluate(() => {
      for (;;);
    });
  };

  // A start takes longer than most visits, which leave nothing behind.
  describe('that has been started before', () => {
    let sharedLog: typeof log;
    before(() => {
      log = createRecordingLogger();
      sharedLog = log;
      start();
    });
    after(endService);

    it('opens pages, reads them and runs code in them', async () => {
      const answer = await faceOf(service).run({
        async visit(page) {
          await page.goto(`${site.origin}/a?b=c`, { waitUntil: 'domcontentloaded' });
          await page.waitForSelector('h1', { state: 'attached', timeout: 10_000 });
          const fetched = await page.evaluate(
            async (body: object) => {
              const response = await fetch('/reviews', { method: 'POST', body: JSON.stringify(body) });
              return response.text();
            },
            { page_start: 1 },
          );
          return { url: page.url(), html: await page.content(), fetched };
        },
      });
      expect(answer.url).to.equal(`${site.origin}/a?b=c`);
      expect(answer.html).to.contain('<title>/a</title>').and.to.contain('Grüße');
      expect(answer.fetched).to.equal('{"page_start":1}');
    });

    it('has the user agent of the windowed version, in the requested language', async () => {
      const told = await faceOf(service).run({
        locale: 'de-CH',
        async visit(page) {
          await open(page);
          return page.evaluate(() => ({ agent: navigator.userAgent, language: navigator.language }));
        },
      });
      const headers = seen[0]?.headers ?? {};
      expect(headers['user-agent']).to.equal(told.agent);
      expect(told.agent).to.match(
        /^Mozilla\/5\.0 \([^)]+\) AppleWebKit\/\S+ \(KHTML, like Gecko\) Chrome\/\d+\.0\.0\.0 Saf/,
      );
      expect([told.language, headers['accept-language']]).to.deep.equal(['de-CH', 'de-CH']);
      expect(headers).not.to.have.any.keys('proxy-authorization', 'proxy-connection', 'via', 'x-forwarded-for');
    });

    it('downloads nothing', async () => {
      const error = await rejection(faceOf(service).run({ visit: (page) => page.goto(`${site.origin}/download`) }));
      expect(error).to.be.instanceOf(Error);
    });

    it('fails on a refusal with an empty body, on every build', async () => {
      const visit = (page: BrowserPage) => page.goto(`${site.origin}/refused`);
      const error = await rejection(faceOf(service).run({ visit }));
      expect(error).to.include({ code: 'upstream_error', message: 'The page could not be loaded.' });
      expect(seen.map(({ path }) => path)).to.include('/refused');
      // A refusal that says something is a page.
      const html = await faceOf(service).run({
        async visit(page) {
          await page.goto(`${site.origin}/missing`);
          return page.content();
        },
      });
      expect(html).to.contain('/missing');
    });

    it('rethrows what a visit throws', async () => {
      const thrown = new TypeError('of the plugin');
      expect(await rejection(faceOf(service).run({ visit: () => Promise.reject(thrown) }))).to.equal(thrown);
      const timeout = (page: BrowserPage) => page.waitForSelector('b', { timeout: 1 });
      expect(await rejection(faceOf(service).run({ visit: timeout }))).to.include({ code: 'upstream_timeout' });
    });

    it('ends at once with the signal of the caller or of the plugin', async () => {
      for (const whose of ['caller', 'entry']) {
        const controller = new AbortController();
        const reason = new GatewayError('shutting_down', whose);
        const visit = async (page: BrowserPage) => {
          controller.abort(reason);
          await loop(page);
        };
        const { signal } = controller;
        const run = () =>
          whose === 'caller' ? faceOf(service).run({ visit, signal }) : faceOf(service, signal).run({ visit });
        expect(await rejection(run())).to.equal(reason);
        expect(await rejection(run())).to.equal(reason);
      }
      await until(() => pageProcessesOf(browsersOf(process.pid)).length === 0);
    });

    it('answers in time if a page never arrives, and ends its processes', async () => {
      const browser = faceOf(service);
      await browser.run({ visit: open });
      const error = await rejection(browser.run({ visit: (page) => page.goto(`${site.origin}/hang`), timeoutMs: 400 }));
      expect(error).to.include({ code: 'upstream_timeout' });
      await until(() => pageProcessesOf(browsersOf(process.pid)).length === 0);
      await browser.run({ visit: open });
    });

    it('ends the processes of a page that never stops computing', async () => {
      const browser = faceOf(service);
      await browser.run({ visit: open });
      const error = await rejection(browser.run({ visit: loop, timeoutMs: 800 }));
      expect(error).to.include({ code: 'upstream_timeout' });
      await until(() => pageProcessesOf(browsersOf(process.pid)).length === 0);
      await browser.run({ visit: open });
    });

    it('keeps nothing from one visit to the next', async () => {
      const browser = faceOf(service);
      const look = async (page: BrowserPage) => {
        await page.goto(`${site.origin}/cookie`);
        return page.evaluate(() => {
          const before = localStorage.getItem('x');
          localStorage.setItem('x', '1');
          return { before, cookies: document.cookie };
        });
      };
      await browser.run({ visit: look });
      expect(await browser.run({ visit: look })).to.deep.equal({ before: null, cookies: 'a=1; b=2' });
      expect(seen.filter(({ path }) => path === '/cookie').map(({ headers }) => headers.cookie)).to.deep.equal([
        undefined,
        undefined,
      ]);
    });

    it('ends a visit that loads too much', async () => {
      const error = await rejection(faceOf(service).run({ visit: (page) => page.goto(`${site.origin}/large`) }));
      expect(error).to.include({ code: 'upstream_error' });
      const line = sharedLog.lines.findLast(({ fields }) => fields.bytes !== undefined);
      expect(line?.fields.bytes).to.be.within(60 * 1024 * 1024, 65 * 1024 * 1024);
    });

    it('lets each user reach only its own private origins', async () => {
      const other = service.scoped({ timeoutMs: AMPLE_MS, trustedOrigins: [], signal: new AbortController().signal });
      const asking = (page: BrowserPage) => page.goto(`${site.origin}/`);
      const [, error] = await Promise.all([
        faceOf(service).run({ visit: asking }),
        rejection(other.run({ visit: asking })),
      ]);
      expect(error).to.include({ code: 'upstream_refused' });
      expect(seen).to.have.length(1);
    });
  });

  describe('that is started for one test', () => {
    afterEach(endService);

    it('starts on first use', async () => {
      start({ executable: () => expect.fail('it was looked for') });
      expect(browsersOf(process.pid)).to.deep.equal([]);
    });

    it('refuses untrusted certificates and reports the problem', async () => {
      const proxy = await startReplayingProxy({ answer: () => ({ body: 'never shown' }) });
      try {
        const browser = start({ egressProxyUrl: proxy.url });
        const error = await rejection(browser.run({ visit: (page) => page.goto('https://example.com/') }));
        const message = 'The TLS connection to the origin failed.';
        expect(error).to.include({ code: 'upstream_error', message });
        expect(proxy.requests).to.deep.equal([]);
      } finally {
        await proxy.close();
      }
    });

    it('sends no request to an origin with an untrusted certificate, nor to other hosts', async () => {
      const authority = await createCertificateAuthority();
      const received: (string | undefined)[] = [];
      const secure = await startSecureOrigin(authority.contextFor, (request, response) => {
        received.push(request.url);
        response.end('never shown');
      });
      const target = `https://localhost:${secure.port}`;
      const asked = new Set<string>();
      const guard = createAddressGuard({
        async resolve(name) {
          asked.add(name);
          return ['127.0.0.1'];
        },
      });
      try {
        start({ guard });
        const trustedOrigins = [site.origin, target];
        const browser = service.scoped({ timeoutMs: AMPLE_MS, trustedOrigins, signal: new AbortController().signal });
        const failed = await browser.run({
          async visit(page) {
            const error = await rejection(page.goto(`${target}/document`));
            // What a browser asks for by itself, it asks for within this time.
            await page.waitForSelector('video', { timeout: 1_500 }).catch(() => {});
            return error;
          },
        });
        expect(failed).to.include({ message: 'The TLS connection to the origin failed.' });
        const attempts = await browser.run({
          async visit(page) {
            await open(page);
            return page.evaluate(async (origin) => {
              // A form that a browser would like to fill in.
              document.body.innerHTML = `<form action="${origin}/form"><input type="email" name="email" autocomplete="email">
                <input type="password" name="password"><input name="address"><input name="card" autocomplete="cc-number"></form>
                <img src="${origin}/image"><iframe src="${origin}/frame"></iframe>`;
              navigator.sendBeacon(`${origin}/beacon`, 'x');
              const socket = new Promise((resolve) => {
                const opening = new WebSocket(`${origin.replace('https', 'wss')}/socket`);
                opening.onopen = () => resolve('open');
                opening.onerror = () => resolve('failed');
              });
              const fetched = fetch(`${origin}/fetch`, { mode: 'no-cors' }).then(
                () => 'open',
                () => 'failed',
              );
              await new Promise((resolve) => setTimeout(resolve, 1_500));
              return Promise.all([socket, fetched]);
            }, target);
          },
        });
        expect(attempts).to.deep.equal(['failed', 'failed']);
        expect(secure.connections).to.be.greaterThan(0);
        expect(received).to.deep.equal([]);
        expect([...asked]).to.deep.equal([]);
      } finally {
        await secure.close();
      }
    });

    describe('at the deadline', () => {
      it('counts the wait for a turn, and does not start a visit that is too late', async () => {
        const browser = start({ maxPages: 1 });
        const begun: string[] = [];
        const first = browser.run({ visit: (page) => loop(page), timeoutMs: 1_500 });
        const second = browser.run({
          visit: async () => void begun.push('second'),
          timeoutMs: 200,
        });
        expect(await rejection(second)).to.include({ code: 'upstream_timeout' });
        expect(await rejection(first)).to.include({ code: 'upstream_timeout' });
        await browser.run({ visit: async () => void begun.push('third') });
        expect(begun).to.deep.equal(['third']);
      });

      it('ends a browser that no longer closes a page', async () => {
        const browser = start();
        await browser.run({ visit: open });
        const [pid = 0] = browsersOf(process.pid);
        // Not a deadline: on a busy machine it would come before the page has opened, and nothing would have stopped.
        const caller = new AbortController();
        const visit = async () => {
          process.kill(pid, 'SIGSTOP');
          caller.abort(new GatewayError('upstream_timeout', 'nobody waits any more'));
          await never();
        };
        expect(await rejection(browser.run({ visit, signal: caller.signal }))).to.equal(caller.signal.reason);
        await until(() => processesOf([pid]).length === 0);
        await browser.run({ visit: open });
      });
    });

    it('opens two pages at a time, and refuses callers who would wait too long', async () => {
      const browser = start();
      let open = 0;
      let most = 0;
      let release = () => {};
      const released = new Promise<void>((resolve) => {
        release = resolve;
      });
      const visit = async () => {
        most = Math.max(most, ++open);
        await released;
        open--;
      };
      const visits = Array.from({ length: 18 }, () => browser.run({ visit }));
      await until(() => open === 2);
      const error = await rejection(browser.run({ visit }));
      expect(error).to.include({ code: 'queue_full', retryable: true }).and.to.have.property('retryAfterSeconds');
      release();
      await Promise.all(visits);
      expect(most).to.equal(2);
      await browser.run({ visit });
    });

    it('is replaced after a number of visits, without disturbing running ones', async () => {
      const browser = start({ visitsPerBrowser: 3 });
      let finish = () => {};
      let began = () => {};
      const begun = new Promise<void>((resolve) => {
        began = resolve;
      });
      const long = browser.run({
        async visit(page) {
          await open(page);
          began();
          await new Promise<void>((resolve) => {
            finish = resolve;
          });
          return page.content();
        },
      });
      await begun;
      const [first = 0] = browsersOf(process.pid);
      const beside = () => browsersOf(process.pid).filter((pid) => pid !== first);
      await browser.run({ visit: open });
      const [second = 0] = beside();
      await browser.run({ visit: open });
      expect(beside()).to.deep.equal([second]);
      await browser.run({ visit: open });
      await until(() => processesOf([second]).length === 0);
      await browser.run({ visit: open });
      expect(beside()).to.have.length(1);
      finish();
      expect(await long).to.contain('Grüße');
      expect(browsersOf(process.pid)).to.include(first);
    });

    it('isolates visits from crashes and hangs of others, and reuses an idle process', async () => {
      const browser = start();
      let victim = 0;
      const beside = browser.run({
        async visit(page) {
          await open(page);
          const [own = 0] = browsersOf(process.pid);
          const crashing = rejection(
            browser.run({
              async visit(other) {
                await open(other);
                victim = browsersOf(process.pid).find((pid) => pid !== own) ?? 0;
                expect(victim, 'a browser of its own').to.be.greaterThan(0);
                process.kill(victim, 'SIGKILL');
                await never();
              },
            }),
          );
          expect(await crashing).to.include({ code: 'upstream_error' });
          return { own, html: await page.content() };
        },
      });
      const { own, html } = await beside;
      expect(html).to.contain('Grüße');
      await until(() => processesOf([victim]).length === 0);
      await browser.run({ visit: open });
      expect(browsersOf(process.pid)).to.deep.equal([own]);
    });

    it('ends when it is idle, and starts again for the next visit', async () => {
      const browser = start({ idleMs: 50 });
      await browser.run({ visit: open });
      await until(() => browsersOf(process.pid).length === 0);
      await browser.run({ visit: open });
    });

    it('fails a visit when it crashes, and starts anew for the next', async () => {
      const browser = start();
      const kill = (pids: () => number[]) => async (page: BrowserPage) => {
        await open(page);
        for (const pid of pids()) process.kill(pid, 'SIGKILL');
        await never();
      };
      const leaders = () => browsersOf(process.pid);
      for (const victims of [leaders, () => pageProcessesOf(leaders())]) {
        const before = leaders();
        expect(await rejection(browser.run({ visit: kill(victims) }))).to.include({ code: 'upstream_error' });
        await browser.run({ visit: open });
        if (victims === leaders) await until(() => processesOf(before).length === 0);
      }
    });

    it('is killed with all its processes when it closes the pipe', async () => {
      const folder = await mkdtemp(path.join(tmpdir(), 'mediagate-wrapper-'));
      const wrapper = path.join(folder, 'chromium');
      const [real, ownEnds, wait] = [`'${executable.path}' "$@" & echo $! > "$0.pid"`, '3<&- 4>&-', 'sleep 0.1'];
      await writeFile(wrapper, `#!/bin/sh\n${real}\nexec ${ownEnds}\nwhile :; do ${wait}; done\n`, { mode: 0o700 });
      const browser = start({ executable: async () => ({ ...executable, path: wrapper }), idleMs: 600_000 });
      await browser.run({ visit: open });
      const [group = 0] = browsersOf(process.pid);
      process.kill(Number(readFileSync(`${wrapper}.pid`, 'utf8')), 'SIGKILL');
      await until(() => processesOf([group]).length === 0);
      await browser.run({ visit: open });
      await rm(folder, { recursive: true });
    });

    it('reports a failed start, and tries again for the next visit', async () => {
      let asked = 0;
      const broken: BrowserExecutable[] = [{ path: '/nonexistent/chromium' }, { path: '/bin/false' }, executable];
      const browser = start({ executable: async () => broken[asked++] ?? executable });
      for (let attempt = 0; attempt < 2; attempt++) {
        const error = await rejection(browser.run({ visit: open }));
        expect(error).to.include({ code: 'plugin_unavailable', message: 'The browser could not be started.' });
      }
      expect(log.lines.filter(({ level }) => level === 'error')).to.have.length(2);
      await browser.run({ visit: open });
    });

    it("does not get the gateway's environment variables", async () => {
      process.env.MEDIAGATE_CANARY_SECRET = 'canary';
      try {
        const browser = start();
        await browser.run({ visit: open });
        const environments = processesOf(browsersOf(process.pid)).map(environmentOf);
        expect(environments.join('\0')).to.contain('HOME=').and.not.to.contain('CANARY');
      } finally {
        delete process.env.MEDIAGATE_CANARY_SECRET;
      }
    });

    it('ends with the service at any moment, and leaves no folder', async () => {
      const browser = start();
      let begun = 0;
      const begin = (visit: (page: BrowserPage) => Promise<void>) =>
        rejection(
          browser.run({
            visit(page) {
              begun++;
              return visit(page);
            },
          }),
        );
      const working = begin(loop);
      const waiting = begin(never);
      await until(() => begun === 2);
      const groups = browsersOf(process.pid);
      await service.close();
      await service.close();
      for (const error of [await working, await waiting]) expect(error).to.include({ code: 'shutting_down' });
      await until(() => processesOf(groups).length === 0);
      expect(await rejection(browser.run({ visit: open }))).to.include({ code: 'shutting_down' });
    });

    it('removes folders of killed gateways, and keeps those in use', async () => {
      const [left, used] = [2 ** 22 + 1, process.ppid].map((pid) => path.join(tmpdir(), `mediagate-browser-${pid}-x`));
      await Promise.all([left, used].map((folder) => mkdir(path.join(folder ?? '', 'Default'), { recursive: true })));
      await start().run({ visit: open });
      expect([left, used].map((folder) => existsSync(folder ?? ''))).to.deep.equal([false, true]);
      await rm(used ?? '', { recursive: true });
    });

    it('removes folders of an earlier process with the same id, as in a container', async () => {
      const left = path.join(tmpdir(), `mediagate-browser-${process.pid}-x`);
      await start().run({ visit: open });
      await mkdir(left);
      const other = new BrowserService({
        executable: async () => executable,
        guard: createAddressGuard(),
        logger: log,
      });
      await faceOf(other).run({ visit: open });
      expect(existsSync(left)).to.equal(false);
      const inUse = browsersOf(process.pid);
      expect(inUse).to.have.length(2);
      await faceOf(service).run({ visit: open });
      expect(browsersOf(process.pid)).to.deep.equal(inUse);
      await other.close();
    });
  });
});

/** Empty where the process has ended meanwhile, as those of a page that was left do. */
function environmentOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/environ`, 'latin1');
  } catch {
    return '';
  }
}
