/** Requests links during faults, and counts answers with the data of another link. */

import { setTimeout as sleep } from 'node:timers/promises';
import type { ScaleSite } from './scale-site.js';

export interface LinkFindings {
  /** Requests for link data that were answered with it, and those that were not: no node, no database, too slow. */
  linksAnswered: number;
  linksUnanswered: number;
  /** Of those answered, the ones with the data of another link. Must be 0. */
  wrongLinks: number;
}

const PAUSE_MS = 100;
/** Few enough that the shared cache has most of them. */
const ITEMS = 20;

/** Asks for the data of links, which the nodes keep in the shared cache. */
export async function runLinkClient(site: ScaleSite, over: AbortSignal): Promise<LinkFindings> {
  const found: LinkFindings = { linksAnswered: 0, linksUnanswered: 0, wrongLinks: 0 };
  const headers = { authorization: `Bearer ${site.linkKey}`, 'content-type': 'application/json' };
  for (; !over.aborted; await sleep(PAUSE_MS)) {
    const id = String(1 + Math.floor(Math.random() * ITEMS));
    const body = JSON.stringify({ url: `https://invented.example/item/${id}` });
    const answer = await site.gateway?.request('/v1/extract', { method: 'POST', headers, body }).catch(() => undefined);
    if (answer?.status !== 200) found.linksUnanswered += 1;
    else {
      found.linksAnswered += 1;
      if (answer.json.data.ids.video_id !== id) found.wrongLinks += 1;
    }
  }
  return found;
}
