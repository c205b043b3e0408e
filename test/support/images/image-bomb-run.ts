/** Runs hostile images through the image service in a process of its own. */

import { readFileSync, writeFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { newOrder, submit } from '../../chaos/image-orders.js';
import { openImageSite } from '../../chaos/image-site.js';
import { makeImageBombs } from './image-bombs.js';

export interface BombOutcome {
  /** As it should be, and as it was: `accepted`, or the code of the refusal. */
  expected: string;
  verdict: string;
  /** Most memory of the gateway beyond what it had before; undefined where the system does not tell. */
  extraBytes?: number;
  /** From the request to the refusal, or to the end of the job. */
  ms: number;
}

/** Sends every harmful image to a gateway of its own, as the input image of a job, one after the other. */
export async function runImageBombs(origins: readonly string[]): Promise<Record<string, BombOutcome>> {
  const site = await openImageSite({ keys: 1, rpm: 1_000 });
  try {
    const gateway = await site.start();
    const headers = { authorization: `Bearer ${site.keys[0]}` };
    const bombs = await makeImageBombs(origins);

    /** Accepted, or the code of the refusal, whether that came at once or as the end of the job. */
    async function judge(bytes: Buffer): Promise<string> {
      const image = `data:image/png;base64,${bytes.toString('base64')}`;
      const answer = await submit(site, newOrder(site.keys[0] ?? '', { prompt: 'as it is', image }));
      if (answer?.status !== 202) return answer?.json?.error?.code ?? 'no answer';
      for (;;) {
        const { json } = await gateway.request(`/v1/images/jobs/${answer.json.id}?wait=30`, { headers });
        if (json.status === 'completed') return 'accepted';
        if (json.pending === 0) return json.error.code;
      }
    }

    // Whatever is loaded at the first use is there before anything is measured.
    for (const [verdict, bytes] of Object.values(bombs)) if (verdict === 'image/png') await judge(bytes);
    const outcomes: Record<string, BombOutcome> = {};
    for (const [name, [expected, bytes]] of Object.entries(bombs)) {
      await sleep(50);
      const before = resetPeak(gateway.pid);
      const began = performance.now();
      const verdict = await judge(bytes);
      const ms = performance.now() - began;
      const extra = before === undefined ? undefined : residentBytes(gateway.pid, 'VmHWM') - before;
      const accepted = expected.startsWith('image/') ? 'accepted' : expected;
      outcomes[name] = { expected: accepted, verdict, ms, ...(extra !== undefined && { extraBytes: extra }) };
    }
    return outcomes;
  } finally {
    await site.remove();
  }
}

/** Forgets the most memory that the process ever had, and gives what it has; undefined where there is no such thing. */
function resetPeak(pid: number): number | undefined {
  try {
    writeFileSync(`/proc/${pid}/clear_refs`, '5');
    return residentBytes(pid, 'VmRSS');
  } catch {
    return undefined;
  }
}

function residentBytes(pid: number, field: 'VmRSS' | 'VmHWM'): number {
  const kibibytes = new RegExp(`^${field}:\\s+(\\d+)`, 'm').exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
  return Number(kibibytes) * 1024;
}
