import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect } from 'chai';
import { type GatewayProcess, startGatewayProcess } from './support/gateway-process.js';
import { packageRoot } from './support/package-root.js';

/** Recorded pages with the values a careful reader finds in them; too large, and not ours, to lie in the repository. */
const folder = path.resolve(packageRoot, process.env.CAPTURES_DIR ?? '../shared/captures');
const PLATFORMS = ['clip_shop', 'clip_video', 'vidsite', 'social', 'photo'];
const PLATFORM_MS = 300_000;

interface Runner {
  runCases(options: {
    cases: readonly unknown[];
    proxy: ReplayProxy;
    fresh: (lane: string) => Promise<{ base: string; key: string }>;
    platform: string;
    min: number;
    print: (line: string) => void;
  }): Promise<{ met: boolean; total: { cases: number; right: number; total: number } }>;
}

interface ReplayProxy {
  url: string;
  caPath: string;
  close(): Promise<void>;
}

interface ProxyModule {
  startReplayProxy(options: { filesDir: string }): Promise<ReplayProxy>;
}

describe('recorded pages', () => {
  if (!existsSync(path.join(folder, 'cases.json'))) {
    it(`are read field by field (pending: there is no cases.json in ${folder}; CAPTURES_DIR names another folder)`);
    return;
  }

  for (const platform of PLATFORMS) {
    it(`of ${platform} are read field by field`, async function () {
      this.timeout(PLATFORM_MS);
      const load = (name: string) => import(pathToFileURL(path.join(folder, name)).href);
      const { startReplayProxy }: ProxyModule = await load('replay-proxy.mjs');
      const { runCases }: Runner = await load('run-cases.mjs');
      const { cases }: { cases: readonly unknown[] } = JSON.parse(
        readFileSync(path.join(folder, 'cases.json'), 'utf8'),
      );

      const proxy = await startReplayProxy({ filesDir: path.join(folder, 'files') });
      const lines: string[] = [];
      let gateway: GatewayProcess | undefined;
      try {
        const outcome = await runCases({
          cases,
          proxy,
          platform,
          min: 1,
          print: (line) => lines.push(line),
          // Each lane leaves other ways to the platform shut; a new process has none of them resting.
          fresh: async () => {
            await gateway?.stop();
            gateway = await startGatewayProcess({ proxy });
            const { key } = await gateway.makeKey();
            return { base: gateway.url, key };
          },
        });
        console.log(lines.slice(-3).join('\n'));
        expect(outcome.total.cases).to.be.greaterThan(0);
        expect(outcome.met, `\n${lines.filter((line) => !line.startsWith('pass')).join('\n')}\n`).to.equal(true);
      } finally {
        await gateway?.stop();
        await proxy.close();
      }
    });
  }
});
