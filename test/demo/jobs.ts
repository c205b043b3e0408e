/** The part of the demo with background jobs. */

import { setTimeout as sleep } from 'node:timers/promises';
import type { HttpAnswer } from '../support/processes/gateway-process.js';
import { documentBox, refusalBox } from './answer-box.js';
import { jobSample } from './link-samples.js';
import type { DemoPart, Stage } from './stage.js';

/** More often than a client is asked to, so that there is something to see. */
const POLL_MS = 500;

/** A slow link asked for in the background, and polled until it is there. */
export const jobPart: DemoPart = {
  title: 'A product in the background    POST /v1/extract with async_mode, GET /v1/extract/jobs/{id}',
  async play({ gateway, key, terminal, keep }) {
    const { url } = jobSample;
    const began = performance.now();
    const submitted = await gateway.extract(key, { url, async_mode: true });
    const submitMs = Math.round(performance.now() - began);
    if (!submitted.json.data?.job) throw new Error(`There is no job: ${submitted.status} ${submitted.text}`);
    const { job_id: id } = submitted.json.data.job;
    const polled = await pollToItsEnd(id, submitted, { gateway, key, terminal });
    await keep('background-job.json', JSON.stringify(polled.json, null, 2));
    const ms = Math.round(performance.now() - began);
    terminal.line(`  ${id}: answered with a job after ${submitMs} ms, with the product after ${ms} ms`);
    terminal.box(polled.json.ok ? documentBox(url, polled, ms) : refusalBox(url, polled, ms));
  },
};

async function pollToItsEnd(
  id: string,
  submitted: HttpAnswer,
  { gateway, key, terminal }: Pick<Stage, 'gateway' | 'key' | 'terminal'>,
): Promise<HttpAnswer> {
  let polled = submitted;
  const wait = terminal.wait(progressOf(polled));
  try {
    while (['queued', 'processing'].includes(polled.json.data.job.status)) {
      await sleep(POLL_MS);
      polled = await gateway.request(`/v1/extract/jobs/${id}`, { headers: { authorization: `Bearer ${key}` } });
      if (polled.status !== 200) throw new Error(`The job cannot be polled: ${polled.status} ${polled.text}`);
      wait.update(progressOf(polled));
    }
    return polled;
  } finally {
    wait.end();
  }
}

function progressOf({ json }: HttpAnswer): string {
  const { job, queue } = json.data;
  return `${job.status} · ${queue.active} of ${queue.max_active.toLocaleString('en-US')} places of the queue taken`;
}
