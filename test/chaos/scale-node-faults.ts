/** Faults of a single node: kills, pauses, a full disk, a wrong clock. */

import { rm } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { comes } from './image-kills.js';
import { MOMENTS } from './image-site.js';
import type { Dice } from './scale-dice.js';
import { certain, type Fault, type FaultKinds } from './scale-faults.js';
import type { ScaleNode, ScaleSite } from './scale-site.js';
import type { Zombies } from './scale-zombies.js';
import { fillDisk } from './small-disk.js';

/** How long a node is down, in milliseconds. */
const DOWN_MS = [0, 800] as const;
/** How long a moment is waited for. */
const CHANCE_MS = 3_000;
const SKEWS_MS = [5_000, -5_000, 0] as const;
const SKEW_LASTS_MS = 1_000;
const FULL_MS = 1_500;
const FILL_AGAIN_MS = 100;

/** What can befall a node; without a disk that may be filled, all but that. */
export function nodeFaults(site: ScaleSite, dice: Dice, zombies: Zombies): FaultKinds {
  const { nodes } = site;
  const doors = nodes.filter(({ takesRequests }) => takesRequests) as [ScaleNode, ...ScaleNode[]];
  const workers = nodes.filter(({ runsJobs }) => runsJobs) as [ScaleNode, ...ScaleNode[]];
  const withDisk = nodes.find(({ hasDisk }) => hasDisk);

  function kill(node: ScaleNode): Fault {
    const moment = dice.pick([undefined, MOMENTS[0], MOMENTS[1], MOMENTS[2]]);
    const downMs = dice.between(...DOWN_MS);
    return certain([node.name], async () => {
      if (moment) await comes(site, moment, CHANCE_MS);
      await node.kill();
      await sleep(downMs);
      await node.start();
    });
  }

  function skew(node: ScaleNode): Fault {
    const offsetMs = dice.pick(SKEWS_MS);
    return certain([`clock of ${node.name}`], async () => {
      node.setClock(offsetMs);
      await sleep(SKEW_LASTS_MS);
    });
  }

  return {
    'kill -9 of an api node': () => kill(dice.pick(doors)),
    'kill -9 of a worker': () => kill(dice.pick(workers)),
    'SIGTERM of a node': () => {
      const node = dice.pick(nodes as [ScaleNode, ...ScaleNode[]]);
      return certain([node.name], () => restart(node));
    },
    'zombie worker': () => {
      const node = dice.pick(workers);
      // One at a time: with all workers stopped no process can take their jobs over.
      return { touches: [node.name, 'zombies'], bringAbout: () => zombies.hold(node) };
    },
    'rolling restart': () => {
      const inTurn = dice.shuffle(nodes);
      return certain(
        nodes.map(({ name }) => name),
        async () => {
          for (const node of inTurn) await restart(node);
        },
      );
    },
    'clock 5 s wrong': () => skew(dice.pick(nodes as [ScaleNode, ...ScaleNode[]])),
    ...(withDisk && { 'full disk': () => certain([`disk of ${withDisk.name}`], () => fillForAWhile(withDisk)) }),
  };
}

async function restart(node: ScaleNode): Promise<void> {
  await node.stop();
  await node.start();
}

async function fillForAWhile({ dataFolder }: ScaleNode): Promise<void> {
  const ballast = path.join(dataFolder, 'ballast');
  for (const end = performance.now() + FULL_MS; performance.now() < end; await sleep(FILL_AGAIN_MS)) {
    // What is removed meanwhile makes room; it shall stay full.
    await fillDisk(ballast);
  }
  await rm(ballast);
}
