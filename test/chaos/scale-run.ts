/** One run of image jobs on several nodes under random faults, from the start to the findings. */

import { readdir } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type ImageFindings, judge } from './image-findings.js';
import { runClient } from './image-kills.js';
import { drain, isUntold, type OrderLedger, replayUntold } from './image-orders.js';
import { drawSlowly } from './image-site.js';
import { createDice } from './scale-dice.js';
import { bringAboutFaults } from './scale-faults.js';
import { type LinkFindings, runLinkClient } from './scale-links.js';
import { nodeFaults } from './scale-node-faults.js';
import { sharedFaults } from './scale-shared-faults.js';
import type { ScaleNode, ScaleSite } from './scale-site.js';
import { countEarlySlots } from './scale-slots.js';
import { createZombies, type ZombieFindings } from './scale-zombies.js';

export interface ScalePlan {
  /** At least one for each kind. */
  faults: number;
  /** Faults under way at the same time. */
  atOnce: number;
  /** The same seed brings about the same faults in the same order. */
  seed: number;
  clients: number;
  /** Milliseconds between two requests of a client: some take half of it at most, others twice as much. */
  paceMs: number;
  /** Milliseconds that the upstream takes for a picture at most. */
  drawMs: number;
  /** Milliseconds for the last jobs to end, and the last files to be uploaded. */
  timeoutMs: number;
  /** Called with what happens. Default: nothing. */
  progress?(text: string): void;
}

export interface ScaleReport extends ImageFindings, ZombieFindings, LinkFindings {
  /** How often each kind of fault happened. */
  faults: ReadonlyMap<string, number>;
  /** Requests whose outcome no client knew when the faults were over. */
  untold: number;
  /** Of the jobs that failed, how many for which reason. */
  failures: ReadonlyMap<string, number>;
  /** What the nodes logged as errors, a line each. */
  logged: readonly string[];
  seconds: number;
}

const RARE = ['zombie worker', 'rolling restart'];
const LINK_CLIENTS = 2;
const POLL_MS = 200;

/** Does harm to three nodes and all that they share, while clients ask for pictures; then counts what became of them. */
export async function runScaleFaults(site: ScaleSite, plan: ScalePlan): Promise<ScaleReport> {
  const { progress = () => undefined, timeoutMs, clients, paceMs } = plan;
  const begunAt = performance.now();
  const dice = createDice(plan.seed);
  const zombies = createZombies(site);
  const kinds = { ...nodeFaults(site, dice, zombies), ...sharedFaults(site, dice) };
  const ledger: OrderLedger = [];
  const over = new AbortController();
  drawSlowly(site, plan.drawMs);
  await startAll(site);

  const asking = Array.from({ length: clients }, (_, client) =>
    // Some ask more often than they may, and some less.
    runClient(site, ledger, { client, paceMs: paceMs * (0.5 + (1.5 * client) / clients), over: over.signal }),
  );
  const linkClients = Array.from({ length: LINK_CLIENTS }, () => runLinkClient(site, over.signal));
  const happened = (kind: string, count: number) => progress(`${count} of ${plan.faults}: ${kind}`);
  const faults = await bringAboutFaults(kinds, { ...plan, rare: RARE, happened }, dice);
  over.abort();
  await Promise.all(asking);
  const links = (await Promise.all(linkClients)).reduce(addLinks);

  progress('everything is restarted');
  await restartAll(site);
  const deadline = performance.now() + timeoutMs;
  const untold = ledger.filter(isUntold).length;
  progress(`${untold} requests are sent again`);
  await replayUntold(site, ledger, deadline);
  progress('the last jobs end');
  await drain(site, ledger, deadline);
  await untilUploaded(site.nodes, deadline);
  progress('the ledgers are compared');
  const findings = await judge(site, ledger, { wallClock: false });
  const earlySlots = await countEarlySlots(site.database.url, site.rpm);
  return {
    ...findings,
    slotErrors: findings.slotErrors + earlySlots,
    ...(await zombies.judge()),
    ...links,
    faults,
    untold,
    failures: await failuresOf(site),
    logged: site.nodes.flatMap((node) =>
      node
        .log()
        .split('\n')
        .filter((line) => line.startsWith('{')),
    ),
    seconds: Math.round((performance.now() - begunAt) / 1000),
  };
}

/** One after the other, since the first brings the schema up to date. */
async function startAll({ nodes }: ScaleSite): Promise<void> {
  for (const node of nodes) await node.start();
}

async function restartAll(site: ScaleSite): Promise<void> {
  for (const node of site.nodes) {
    await node.kill();
    node.setClock(0);
  }
  await site.database.end('SIGINT');
  await site.database.start();
  await startAll(site);
}

/** What a worker could not upload it uploads once it can. */
async function untilUploaded(nodes: readonly ScaleNode[], deadline: number): Promise<void> {
  for (const { dataFolder } of nodes) {
    const left = async () =>
      (await readdir(path.join(dataFolder, 'files'))).some((name) => /^(img|inline)_/.test(name));
    while ((await left()) && performance.now() < deadline) await sleep(POLL_MS);
  }
}

async function failuresOf(site: ScaleSite): Promise<Map<string, number>> {
  const database = await site.openDatabase();
  try {
    const rows = await database.queries.selectFrom('jobs').select('error').where('state', '=', 'failed').execute();
    const codes = rows.map(({ error }) => (JSON.parse(error ?? '{}') as { code?: string }).code ?? 'none');
    return new Map([...Map.groupBy(codes, (code) => code)].map(([code, those]) => [code, those.length]));
  } finally {
    await database.close();
  }
}

function addLinks(one: LinkFindings, other: LinkFindings): LinkFindings {
  return {
    linksAnswered: one.linksAnswered + other.linksAnswered,
    linksUnanswered: one.linksUnanswered + other.linksUnanswered,
    wrongLinks: one.wrongLinks + other.wrongLinks,
  };
}
