/** Image jobs while their process is killed at random moments. */

import { setTimeout as sleep } from 'node:timers/promises';
import { type ImageFindings, judge } from './image-findings.js';
import { cancel, drain, newOrder, type OrderLedger, pollJob, replayUntold, submit } from './image-orders.js';
import { drawSlowly, type ImageSite, MOMENTS, type Moment, type OrderSite } from './image-site.js';

export interface KillPlan {
  kills: number;
  clients: number;
  /** Milliseconds that a process lives at most once it works, and that the upstream takes at most for a picture. */
  lifeMs: number;
  drawMs: number;
  /** Milliseconds between two requests of a client, at most. */
  paceMs: number;
  /** Milliseconds for the last jobs to end once the killing is over. */
  timeoutMs: number;
}

export interface KillReport extends ImageFindings {
  kills: number;
  /** Of them, those at a named moment. */
  atMoments: number;
  /** Requests whose outcome no client knew after the last kill. */
  untold: number;
  /** Milliseconds until a killed process's successor answered: the median. */
  restartMs: number;
}

/** A picture of one pixel, as an input image. */
const PIXEL =
  'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

/** Kills the process at random instants and at named moments, while clients ask for pictures; then counts what became of them. */
export async function runKillFaults(site: ImageSite, plan: KillPlan): Promise<KillReport> {
  const ledger: OrderLedger = [];
  const over = new AbortController();
  drawSlowly(site, plan.drawMs);
  await site.start();
  const clients = Array.from({ length: plan.clients }, (_, client) =>
    runClient(site, ledger, { client, paceMs: plan.paceMs, over: over.signal }),
  );
  const restarts: number[] = [];
  let atMoments = 0;
  for (let kill = 0; kill < plan.kills; kill += 1) {
    const moment = MOMENTS[kill % (2 * MOMENTS.length)];
    if (await (moment ? comes(site, moment, plan.lifeMs * 3) : sleep(Math.random() * plan.lifeMs, false))) {
      atMoments += 1;
    }
    await site.kill();
    const killedAt = performance.now();
    await site.start();
    restarts.push(performance.now() - killedAt);
  }
  over.abort();
  await Promise.all(clients);

  const deadline = performance.now() + plan.timeoutMs;
  const untold = ledger.filter(({ ids, refusal }) => ids.size === 0 && refusal === undefined).length;
  await replayUntold(site, ledger, deadline);
  await drain(site, ledger, deadline);
  const findings = await judge(site, ledger, { wallClock: true });
  const restartMs = Math.round(restarts.toSorted((left, right) => left - right)[restarts.length >> 1] ?? 0);
  return { kills: plan.kills, atMoments, untold, restartMs, ...findings };
}

/** Resolves at the very moment, some of them later; false where it does not come in time. */
export function comes({ moments }: Pick<OrderSite, 'moments'>, moment: Moment, timeoutMs: number): Promise<boolean> {
  let left = Math.floor(Math.random() * 4);
  return new Promise((resolve) => {
    const end = (came: boolean) => {
      clearTimeout(timer);
      moments.off(moment, pass);
      resolve(came);
    };
    const pass = () => {
      left -= 1;
      if (left < 0) end(true);
    };
    const timer = setTimeout(() => end(false), timeoutMs);
    moments.on(moment, pass);
  });
}

export interface ClientPlan {
  client: number;
  paceMs: number;
  over: AbortSignal;
}

/** Submits, submits again, polls and cancels, as clients do. */
export async function runClient(
  site: OrderSite,
  ledger: OrderLedger,
  { client, paceMs, over }: ClientPlan,
): Promise<void> {
  const key = site.keys[client % site.keys.length] ?? '';
  for (let index = 0; !over.aborted; index += 1) {
    await sleep(Math.random() * paceMs);
    if (!site.gateway) continue;
    const references = Math.random() < 0.2 && { image: PIXEL };
    const order = newOrder(key, { prompt: `client ${client}, picture ${index}`, ...references });
    ledger.push(order);
    const answer = await submit(site, order);
    // A client that was cut off comes back with the same key, or does not come back before all is over.
    if (Math.random() < (answer ? 0.2 : 0.5)) await submit(site, order);
    if (order.ids.size === 0) continue;
    if (Math.random() < 0.1) await cancel(site, order);
    if (Math.random() < 0.3) await pollJob(site, order);
  }
}
