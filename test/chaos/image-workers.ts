/** Image jobs on several workers of one machine, of which one, or their supervisor, is killed, and which are reloaded. */

import { setTimeout as sleep } from 'node:timers/promises';
import { childrenOf } from '../support/processes/child-processes.js';
import type { GatewayProcess } from '../support/processes/gateway-process.js';
import { until } from '../support/until.js';
import { type ImageFindings, judge } from './image-findings.js';
import { runClient } from './image-kills.js';
import { drain, isUntold, type OrderLedger, replayUntold } from './image-orders.js';
import { drawSlowly, type ImageSite } from './image-site.js';

export interface WorkerPlan {
  workerKills: number;
  supervisorKills: number;
  reloads: number;
  clients: number;
  /** Milliseconds that the upstream takes at most for a picture, and between two requests of a client at most. */
  drawMs: number;
  paceMs: number;
  /** Milliseconds for the last jobs to end. */
  timeoutMs: number;
}

export interface WorkerReport extends ImageFindings {
  /** Reloads after which all workers had been replaced. */
  reloaded: number;
  /** Requests whose outcome no client knew when the faults were over. */
  untold: number;
}

const PAUSE_MS = 1_000;
const LEARNED_MS = 250;
const RELOADED = /^Reloaded\.$/gm;

/** Whether all workers take requests. */
export async function allWorkersServe({ request }: GatewayProcess): Promise<boolean> {
  const answer = await request('/health').catch(() => undefined);
  return answer?.json?.checks?.workers?.ok === true;
}

/** Kills a worker, of those that serve or of those that have a successor, and waits until all of them serve. */
export async function killWorker(gateway: GatewayProcess): Promise<void> {
  const killed = await until(async () => {
    const workers = await childrenOf(gateway.pid);
    const pid = workers[Math.floor(Math.random() * workers.length)];
    return pid !== undefined && kill(pid) && pid;
  });
  await until(async () => !(await childrenOf(gateway.pid)).includes(killed));
  await until(() => allWorkersServe(gateway));
  // A client learns a moment later that its connection is gone; nothing has to start where a worker had a successor.
  await sleep(LEARNED_MS);
}

/** False if it has just ended: one with a successor ends by itself. */
function kill(pid: number): boolean {
  try {
    return process.kill(pid, 'SIGKILL');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ESRCH') return false;
    throw error;
  }
}

/** Replaces all workers. */
export async function reloadWorkers(gateway: GatewayProcess): Promise<void> {
  const count = () => gateway.output().match(RELOADED)?.length ?? 0;
  const before = count();
  process.kill(gateway.pid, 'SIGHUP');
  await until(async () => count() > before);
}

/** Does harm to the workers of a site, while clients ask for pictures; then counts what became of them. */
export async function runWorkerFaults(site: ImageSite, plan: WorkerPlan): Promise<WorkerReport> {
  const ledger: OrderLedger = [];
  const over = new AbortController();
  drawSlowly(site, plan.drawMs);
  let gateway = await site.start();
  const clients = Array.from({ length: plan.clients }, (_, client) =>
    runClient(site, ledger, { client, paceMs: plan.paceMs, over: over.signal }),
  );
  let reloaded = 0;
  const faults = {
    killWorker: () => killWorker(gateway),
    async killSupervisor() {
      await site.kill();
      gateway = await site.start();
    },
    async reload() {
      await reloadWorkers(gateway);
      reloaded += 1;
    },
  };
  const planned = [
    ...Array.from({ length: plan.workerKills }, () => faults.killWorker),
    ...Array.from({ length: plan.supervisorKills }, () => faults.killSupervisor),
    ...Array.from({ length: plan.reloads }, () => faults.reload),
  ];
  while (planned.length > 0) {
    await until(() => allWorkersServe(gateway));
    await sleep(Math.random() * PAUSE_MS);
    const [fault] = planned.splice(Math.floor(Math.random() * planned.length), 1);
    await fault?.();
  }
  over.abort();
  await Promise.all(clients);

  const deadline = performance.now() + plan.timeoutMs;
  const untold = ledger.filter(isUntold).length;
  await replayUntold(site, ledger, deadline);
  await drain(site, ledger, deadline);
  return { ...(await judge(site, ledger, { wallClock: true })), reloaded, untold };
}
