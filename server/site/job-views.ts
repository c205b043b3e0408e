/*
 * Prepares the latest jobs of an account for its dashboard: images with their files and, where pages of the site submitted
 * them, their prompts; links with the names of their platforms.
 */

import type { Gateway } from 'mediagate';
import type { JobRecord, Jobs } from '../../core/jobs/index.js';
import { pictureOf } from './image-pages.js';
import type { JobView } from './pages/dashboard-jobs.js';

const SHOWN_JOBS = 8;

export interface JobSources {
  jobs: Pick<Jobs, 'latest'>;
  gateway: Pick<Gateway, 'images' | 'platforms'>;
}

/** The latest jobs, newest first. */
export async function loadLatestJobs({ jobs, gateway }: JobSources, accountId: string): Promise<JobView[]> {
  const records = await jobs.latest(accountId, SHOWN_JOBS);
  const hasImages = records.some(({ kind }) => kind === 'image');
  const images = hasImages ? await gateway.images.list(accountId, SHOWN_JOBS) : [];
  const imageOf = new Map(images.map((image) => [image.id, image]));
  const names = new Map(gateway.platforms().map(({ key, name }) => [key, name]));
  return records.map(({ summary, result: _, ...job }) => {
    const image = imageOf.get(job.id);
    const platform = platformOf(summary);
    return {
      ...job,
      ...(image && { prompt: image.request?.prompt, picture: pictureOf(image) }),
      ...(platform !== undefined && { platform: names.get(platform) }),
    };
  });
}

function platformOf(summary: JobRecord['summary']): string | undefined {
  const { platform } = (summary ?? {}) as { platform?: unknown };
  return typeof platform === 'string' ? platform : undefined;
}
