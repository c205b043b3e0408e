/** Origins that stall, flood, break off, mislabel their bodies or redirect into private networks. */

import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { gzipSync } from 'node:zlib';
import { expect } from 'chai';
import { type ProxyAnswer, type ReplayingProxy, startReplayingProxy } from '../../support/links/replaying-proxy.js';
import { type GatewayHere, startGatewayHere } from '../../support/processes/gateway-here.js';
import { firstVariants } from '../../support/runner/variants.js';

const MEBIBYTE = 1024 * 1024;
/** A deadline that a test can wait for, where it is what ends the call. */
const SHORT_MS = 2_000;
/** One that is kept on a busy machine as well, where something else must end the call. */
const LONG_MS = 30_000;

interface HostileOrigin {
  origin: string;
  answer: () => ProxyAnswer;
  status: number;
  codes: readonly string[];
}

const bomb = gzipSync(Buffer.alloc(64 * MEBIBYTE));
const html = { 'content-type': 'text/html; charset=utf-8' };

const ORIGINS: readonly HostileOrigin[] = [
  { origin: 'says nothing', answer: () => ({ fault: 'hang' }), status: 504, codes: ['upstream_timeout'] },
  {
    origin: 'sends a byte now and then',
    answer: () => ({ headers: html, body: trickle() }),
    status: 504,
    codes: ['upstream_timeout'],
  },
  { origin: 'cuts every connection', answer: () => ({ fault: 'reset' }), status: 502, codes: ['upstream_error'] },
  {
    origin: 'cuts every body in the middle',
    answer: () => ({ headers: html, body: page('x'.repeat(4096)), fault: 'truncate' }),
    status: 502,
    codes: ['upstream_error'],
  },
  {
    origin: 'sends without end',
    answer: () => ({ headers: html, body: flood() }),
    status: 502,
    codes: ['upstream_error'],
  },
  {
    origin: 'sends a gzip bomb',
    answer: () => ({ headers: { ...html, 'content-encoding': 'gzip' }, body: bomb }),
    status: 502,
    codes: ['upstream_error'],
  },
  {
    origin: 'mislabels its content coding',
    answer: () => ({ headers: { ...html, 'content-encoding': 'gzip' }, body: 'this is no gzip' }),
    status: 502,
    codes: ['upstream_error'],
  },
  {
    origin: 'sends a page cut in the middle of a script',
    answer: () => ({
      headers: html,
      body: '<html><body><script>var ytInitialPlayerResponse = {"videoDetails":{"videoId":"',
    }),
    status: 502,
    codes: ['upstream_changed', 'upstream_refused'],
  },
  {
    origin: 'answers 200 with something else altogether',
    answer: () => ({ headers: html, body: page('<h1>Welcome to the hotel network</h1><form action="/login">') }),
    status: 502,
    codes: ['upstream_changed', 'upstream_refused'],
  },
  {
    origin: 'fails',
    answer: () => ({ status: 500, headers: html, body: page('Internal error') }),
    status: 502,
    codes: ['upstream_error'],
  },
  {
    origin: 'has had enough of us',
    answer: () => ({ status: 429, headers: { ...html, 'retry-after': '30' }, body: page('Too many requests') }),
    status: 502,
    codes: ['upstream_rate_limited'],
  },
  {
    origin: 'redirects to the metadata service',
    answer: () => ({ status: 302, headers: { location: 'http://169.254.169.254/latest/meta-data/' } }),
    status: 502,
    codes: ['upstream_refused', 'upstream_changed', 'upstream_error', 'bot_check'],
  },
  {
    origin: 'redirects into the local network',
    answer: () => ({ status: 307, headers: { location: 'https://127.0.0.1/admin' } }),
    status: 502,
    codes: ['upstream_refused', 'upstream_changed', 'upstream_error', 'bot_check'],
  },
];

describe('misbehaving origins', () => {
  let proxy: ReplayingProxy;
  let folder: string;
  let key: string;
  let gateway: GatewayHere;

  before(async () => {
    proxy = await startReplayingProxy({ answer: () => ({ status: 404 }) });
    folder = await mkdtemp(path.join(tmpdir(), 'mediagate-config-'));
    const first = await start(LONG_MS);
    ({ key } = await first.makeKey());
    await first.kill();
  });

  after(async () => {
    await proxy.close();
    await rm(folder, { recursive: true, force: true });
  });

  afterEach(() => gateway.kill());

  async function start(timeoutMs: number): Promise<GatewayHere> {
    const environment = { PLUGINS_CONFIG: path.join(folder, 'plugins.config.json') };
    const plugins = [{ use: 'mediagate/plugins/vidsite', timeoutMs }];
    await writeFile(environment.PLUGINS_CONFIG, JSON.stringify({ plugins }));
    return startGatewayHere({ proxy, dataFolder: path.join(folder, 'data'), environment });
  }

  // Each takes a process, and the HTTP client has tests of each: `npm test` has one of each answer.
  const origins = firstVariants(ORIGINS, ({ codes }) => [codes.join()]);
  for (const [index, { origin, answer, status, codes }] of origins.entries()) {
    it(`get ${status} ${codes.join(' or ')} if an origin ${origin}`, async () => {
      // A way that failed may rest: each origin meets a process of its own.
      gateway = await start(status === 504 ? SHORT_MS : LONG_MS);
      proxy.setAnswer(answer);
      const began = Date.now();
      const refused = await gateway.extract(key, { url: `https://youtu.be/mgHostile${10 + index}` });
      expect(Date.now() - began, 'milliseconds').to.be.lessThan(LONG_MS);
      expect(refused.status, refused.text).to.equal(status);
      expect(refused.json.error.code).to.be.oneOf(codes);
      expect(refused.json).to.include({ ok: false, platform: 'vidsite' });
      expect(refused.json.error.retryable).to.be.a('boolean');
      expect(refused.json.error.attempts).to.be.an('array').that.is.not.empty;
      expect(proxy.requests.length, 'requests to the origin').to.be.greaterThan(0);
      for (const { url } of proxy.requests) expect(url.hostname).to.match(/(^|\.)(youtube\.com|googleapis\.com)$/);

      const health = await gateway.request('/health');
      expect(health.json).to.nested.include({
        ok: true,
        'checks.plugins.ok': true,
        'checks.database.ok': true,
      });
    });
  }
});

describe('an unusable egress proxy', () => {
  it('is reported as 502 without a crash', async () => {
    const proxy = await startReplayingProxy({ answer: () => ({}) });
    const { url } = proxy;
    await proxy.close();
    const gateway = await startGatewayHere({ environment: { EGRESS_PROXY_URL: url } });
    try {
      const { key } = await gateway.makeKey();
      const refused = await gateway.extract(key, { url: 'https://youtu.be/mgHostile02' });
      expect(refused.status, refused.text).to.equal(502);
      expect(refused.json.error).to.include({ code: 'upstream_error', type: 'source_failed', retryable: true });
      expect((await gateway.request('/health')).status).to.equal(200);
    } finally {
      await gateway.kill();
    }
  });
});

function page(body: string): string {
  return `<!doctype html><html><head><title>A page</title></head><body>${body}</body></html>`;
}

async function* trickle(): AsyncGenerator<Uint8Array> {
  for (;;) {
    yield Buffer.from(' ');
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

async function* flood(): AsyncGenerator<Uint8Array> {
  const chunk = Buffer.alloc(256 * 1024, 'x');
  for (;;) {
    yield chunk;
    await new Promise((resolve) => setImmediate(resolve));
  }
}
