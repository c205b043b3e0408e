import { existsSync } from 'node:fs';
import path from 'node:path';
import { type ImageJobSummary, type JobRecord, openFiles, removeInputImages, systemClock } from 'mediagate';
import type { Settings } from '../settings/index.js';
import { openCommandLogger } from './command-logger.js';
import { withState } from './command-state.js';
import { unknownJob } from './jobs.js';
import { noteOf, operatorActor } from './operator.js';
import { print, printJson } from './output.js';

export interface CancelJobOptions {
  note?: string;
  json?: boolean;
}

/** Ends a job for all it belongs to; a worker that runs it stops within seconds, on whatever node. */
export async function cancelJobCommand(
  settings: Settings,
  id: string,
  { note, json }: CancelJobOptions,
): Promise<number> {
  const cancellation = { id, actor: operatorActor(), ...noteOf(note) };
  const done = await withState(settings, ({ jobs }) => jobs.cancelAsOperator(cancellation));
  if (!done) throw unknownJob(id);
  const { job, changed } = done;
  if (changed && job.kind === 'image') await tidy(settings, job);
  if (json) printJson({ id, state: job.state, changed });
  else print(changed ? `Job ${id} is cancelled.\n` : `Job ${id} was cancelled before.\n`);
  return 0;
}

/** Input images go as well, unless this machine has no data folder of a node: then they expire within a day. */
async function tidy(settings: Settings, job: JobRecord): Promise<void> {
  const { dataDir, filesUrl } = settings;
  const { files: names } = job.summary as ImageJobSummary;
  if (names.length === 0 || !existsSync(path.join(dataDir, 'files'))) return;
  const logger = openCommandLogger(settings);
  try {
    const storage = await openFiles({ dataDir, filesUrl, clock: systemClock, logger });
    try {
      await removeInputImages(job, { storage, clock: systemClock, logger });
    } finally {
      await storage.close();
    }
  } finally {
    await logger.close();
  }
}
