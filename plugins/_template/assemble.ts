/*
 * Decide here when the parts that the methods found suffice, and how they become one document. In a merge, earlier
 * parts win, and later ones fill what is missing.
 */

import { type Extraction, type ItemRun, mergePosts, type PartialPost } from 'mediagate/plugin';

/** Whether the parts so far make further requests unnecessary. */
export function isEnough(found: readonly PartialPost[]): boolean {
  return found.some(({ metrics, media }) => metrics?.views !== undefined && media?.video_urls);
}

/** Whether the parts are worth an answer at all. */
export function isWorthwhile(found: readonly PartialPost[]): boolean {
  return found.some(({ common }) => common?.title !== undefined);
}

/** One document of all parts; `limitations` and `partial` are those of the run. */
export function assemble({ parts }: ItemRun<PartialPost>): Omit<Extraction, 'method'> {
  return { data: mergePosts(parts) };
}
