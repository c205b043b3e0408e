/** Image jobs while the disk is full. */

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type ImageFindings, judge } from './image-findings.js';
import { drain, newOrder, type OrderLedger, pollJob, replayUntold, submit } from './image-orders.js';
import { drawSlowly, openImageSite } from './image-site.js';
import { fillDisk, mountSmallDisk } from './small-disk.js';

const DISK_MIB = 48;
const FULL_MS = 1_500;
const TIMEOUT_MS = 120_000;
const CLIENTS = 8;

export interface DiskFullReport extends ImageFindings {
  /** Requests that were answered while the disk was full: taken all the same, and refused. */
  takenWhileFull: number;
  refusedWhileFull: number;
  /** Looks at a finished job, and at its file, that failed while the disk was full. Must be 0. */
  failedReads: number;
  /** Milliseconds from there being room again to the next job that was accepted, without a restart. */
  recoveryMs: number;
}

/** Runs a gateway on a small disk of its own, fills that, and makes room again; undefined where no disk can be mounted. */
export async function runDiskFullFaults(): Promise<DiskFullReport | undefined> {
  const folder = await mkdtemp(path.join(tmpdir(), 'mediagate-disk-'));
  try {
    const disk = await mountSmallDisk(folder, DISK_MIB);
    if (!disk) return undefined;
    try {
      return await fillAndEmpty(folder);
    } finally {
      await disk.remove();
    }
  } finally {
    await rm(folder, { recursive: true });
  }
}

async function fillAndEmpty(folder: string): Promise<DiskFullReport> {
  const site = await openImageSite({ keys: CLIENTS, rpm: 1_000, folder });
  try {
    drawSlowly(site, 80);
    await site.start();
    const ledger: OrderLedger = [];
    const order = (client: number) => {
      const made = newOrder(site.keys[client] ?? '', { prompt: `picture ${ledger.length}` });
      ledger.push(made);
      return made;
    };
    const first = order(0);
    await submit(site, first);
    await drain(site, [first], performance.now() + TIMEOUT_MS);

    const over = new AbortController();
    let isFull = false;
    let takenWhileFull = 0;
    let refusedWhileFull = 0;
    const clients = Array.from({ length: CLIENTS - 1 }, async (_, client) => {
      while (!over.signal.aborted) {
        const status = (await submit(site, order(client + 1)))?.status;
        if (isFull && status === 202) takenWhileFull += 1;
        if (isFull && status !== 202) refusedWhileFull += 1;
        await sleep(50);
      }
    });
    await sleep(500);
    const ballast = path.join(folder, 'ballast');
    await fillDisk(ballast);
    isFull = true;
    let failedReads = 0;
    for (const end = performance.now() + FULL_MS; performance.now() < end; await sleep(100)) {
      if ((await pollJob(site, first))?.status !== 200) failedReads += 1;
      const file = await site.gateway?.request(first.files?.links[0] ?? '');
      if (file?.status !== 200) failedReads += 1;
      // What is written meanwhile frees and takes pages; it shall stay full.
      await fillDisk(ballast);
    }
    isFull = false;
    over.abort();
    await Promise.all(clients);
    await rm(ballast);
    const roomAt = performance.now();
    while ((await submit(site, order(0)))?.status !== 202 && performance.now() < roomAt + TIMEOUT_MS) await sleep(20);
    const recoveryMs = Math.round(performance.now() - roomAt);

    await replayUntold(site, ledger, performance.now() + TIMEOUT_MS);
    await drain(site, ledger, performance.now() + TIMEOUT_MS);
    const findings = await judge(site, ledger, { wallClock: true });
    return { takenWhileFull, refusedWhileFull, failedReads, recoveryMs, ...findings };
  } finally {
    await site.remove();
  }
}
