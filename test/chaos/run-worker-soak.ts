/*
 * `npm run faults -- soak [--requests 200000] [--streams 2000] [--kills 20] [--reloads 5] [--workers 2]`: ends with 1
 * if a request was lost, or cut by a reload.
 */

import { startGatewayProcess } from '../support/processes/gateway-process.js';
import { readFlags } from '../support/processes/program-flags.js';
import { until } from '../support/until.js';
import { allWorkersServe } from './image-workers.js';
import { soakWorkers } from './worker-soak.js';

const flags = readFlags({
  command: 'npm run faults -- soak',
  typed: process.argv.slice(3),
  flags: {
    requests: { default: 200_000, least: 100 },
    streams: { default: 2_000, least: 1 },
    kills: { default: 20, least: 0 },
    reloads: { default: 5, least: 0 },
    workers: { default: 2, least: 2 },
  },
});

const gateway = await startGatewayProcess({ environment: { WORKERS: String(flags.workers), LOG_LEVEL: 'error' } });
try {
  const { key } = await gateway.makeKey({ grants: ['text'], rpm: 100_000 });
  await until(() => allWorkersServe(gateway));
  const { requests, streams, kills: workerKills, reloads } = flags;
  const report = await soakWorkers(gateway, key, { requests, streams, clients: 12, workerKills, reloads });
  const rounded = Object.entries(report).map(([name, value]) => [name, Math.round(value * 10) / 10]);
  console.table(Object.fromEntries(rounded));
  process.exitCode = report.lost + report.cut === 0 ? 0 : 1;
} finally {
  await gateway.stop();
}
