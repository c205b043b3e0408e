/** Runs a local cluster until Ctrl-C, and prints how to use it. */

import path from 'node:path';
import { createTerminal } from '../demo/terminal.js';
import { readFlags } from '../support/processes/program-flags.js';
import { type LocalCluster, startCluster } from './cluster.js';

/*
 * `npm run cluster [-- --api 2] [--workers 2] [--port N] [--keep FOLDER]`: two nodes that answer requests and two that run
 * jobs behind a balancer, over PostgreSQL, an object store and a cache of their own, until Ctrl-C.
 */
const flags = readFlags({
  command: 'npm run cluster --',
  flags: {
    api: { default: 2, least: 1 },
    workers: { default: 2, least: 0 },
    port: { default: 0, least: 0 },
    keep: { text: 'FOLDER' },
  },
});

const terminal = createTerminal(process.stdout);
const interrupted = new Promise<void>((resolve) => {
  process.once('SIGINT', () => {
    resolve();
    // Who asks again does not want to wait; leaving by exit takes everything along.
    process.once('SIGINT', () => process.exit(130));
  });
});

const begun = performance.now();
const starting = terminal.wait('starting');
const cluster = await startCluster({
  apiNodes: flags.api,
  workerNodes: flags.workers,
  port: flags.port,
  ...(flags.keep && { folder: path.resolve(flags.keep) }),
  progress: (text) => starting.update(`starting ${text}`),
});
starting.end();
await show(cluster);
await interrupted;
const stopping = terminal.wait('finishing what is in flight');
await cluster.stop();
stopping.end();
process.exit();

async function show({ url, engines, nodes }: LocalCluster): Promise<void> {
  const [first] = nodes;
  const made = await first?.process.makeKey({
    name: 'cluster',
    grants: ['images', 'extract', 'text', 'audio'],
    rpm: 1_000,
  });
  const seconds = ((performance.now() - begun) / 1000).toFixed(1);
  terminal.box({
    title: `mediagate on ${nodes.length} nodes`,
    note: `up after ${seconds} s`,
    good: true,
    rows: [
      ['address', url],
      ['key', made?.key ?? ''],
      ...nodes.map(
        ({ name, process: { url: own, pid }, metricsUrl }) =>
          [name, `${own}  process ${pid}  figures at ${metricsUrl}`] as const,
      ),
      ['engines', engines.names.join(', ')],
      ['database', engines.environment.DATABASE_URL],
      ['cache', engines.environment.CACHE_URL],
      ['kept in', flags.keep ? path.resolve(flags.keep) : 'nothing; --keep FOLDER keeps all of it'],
    ],
  });
  terminal.line('One node takes this picture, a worker makes it, and any node hands it out:');
  terminal.line();
  terminal.line(`curl -s '${url}/v1/images/generations' -H 'Authorization: Bearer ${made?.key}' \\`);
  terminal.line(
    `  -H 'content-type: application/json' -d '{"model":"gen-img-2","prompt":"a lighthouse","size":"512x512"}'`,
  );
  terminal.line();
  terminal.line('Ctrl-C ends it.');
}
