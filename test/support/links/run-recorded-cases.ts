/** The process that runs recorded cases behind a replay proxy. */

import { X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import {
  type CasesMessage,
  type Outcome,
  type ReplayProxy,
  type Target,
  UNREADABLE_CERTIFICATE,
} from './recorded-cases.js';

/** Forked by recorded-cases.ts, with the folder and the platform: asks for a gateway for each lane, and tells the outcome. */

interface Runner {
  runCases(options: {
    cases: readonly unknown[];
    proxy: ReplayProxy;
    fresh: (lane: string) => Promise<Target>;
    platform: string;
    min: number;
    print: (line: string) => void;
  }): Promise<Outcome>;
}

interface ProxyModule {
  startReplayProxy(options: { filesDir: string }): Promise<ReplayProxy>;
}

process.on('uncaughtException', (error: NodeJS.ErrnoException) => {
  console.error(error);
  process.exit(error.code === 'ERR_OSSL_ASN1_ILLEGAL_PADDING' ? UNREADABLE_CERTIFICATE : 1);
});
process.once('disconnect', () => process.exit(1));

const [folder = '', platform = ''] = process.argv.slice(2);
const load = (name: string) => import(pathToFileURL(path.join(folder, name)).href);
const { startReplayProxy }: ProxyModule = await load('replay-proxy.mjs');
const { runCases }: Runner = await load('run-cases.mjs');
const { cases }: { cases: readonly unknown[] } = JSON.parse(readFileSync(path.join(folder, 'cases.json'), 'utf8'));

const proxy = await startReplayProxy({ filesDir: path.join(folder, 'files') });
// A gateway would pass over an authority that it cannot read, and then trust nobody.
new X509Certificate(readFileSync(proxy.caPath));
const { met, total } = await runCases({
  cases,
  proxy,
  platform,
  min: 1,
  print: (line) => tell({ line }),
  async fresh() {
    tell({ wantsTarget: { url: proxy.url, caPath: proxy.caPath } });
    const [target] = (await once(process, 'message')) as [Target];
    return target;
  },
});
tell({ outcome: { met, total } }, () => process.exit(0));

function tell(message: CasesMessage, told?: () => void): void {
  process.send?.(message, undefined, undefined, told);
}
