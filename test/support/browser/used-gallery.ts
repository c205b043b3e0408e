/** Image jobs of a used account: by its key, whose prompts the site does not know, and by its session. */

import type { BrowserContext } from 'playwright-core';
import type { State } from '../../../server/state.js';
import type { GatewayProcess } from '../processes/gateway-process.js';
import { until } from '../until.js';

const POLL_MS = 200;
const JOBS = '/v1/images/jobs';

interface AskedImage {
  prompt: string;
  size: string;
}

/** Oldest first. */
const BY_KEY: readonly [AskedImage, ...AskedImage[]] = [
  { prompt: 'A tug in the harbour at dawn', size: '1024x1536' },
  { prompt: 'An old town with a stone bridge at night', size: '1536x1024' },
];
const CANCELLED: AskedImage = { prompt: 'A wooden cabin by a lake at sunset', size: '1024x1024' };
const BY_SESSION: readonly AskedImage[] = [
  { prompt: 'Lighthouse on a rocky island, evening storm', size: '1024x1024' },
  { prompt: 'Ruộng bậc thang và núi ở Sa Pa buổi sáng', size: '1536x1024' },
  { prompt: 'Poster for a sailing regatta in summer', size: '1024x1536' },
  { prompt: 'A quiet harbour town under snow', size: '1024x1024' },
  { prompt: 'Phố cổ Hội An với đèn lồng ban đêm', size: '1024x1024' },
];

interface GalleryOwner {
  state: State;
  gateway: GatewayProcess;
  /** API key with the grant `images`. */
  key: string;
  /** A browser in which the account is signed in. */
  context: BrowserContext;
}

/** Creates the images, and waits for them. @returns the id of one whose prompt the site shows. */
export async function fillGallery({ state, gateway, key, context }: GalleryOwner): Promise<string> {
  const byKey = ({ prompt, size }: AskedImage) =>
    gateway.request(JOBS, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'gen-img-2', prompt, size }),
    });
  const post = async (path: string, data: object) => {
    const headers = { 'sec-fetch-site': 'same-origin' };
    const answer = await context.request.post(`${gateway.url}/api/play${path}`, { headers, data });
    if (!answer.ok()) throw new Error(`${path} was answered ${answer.status()}`);
    return (await answer.json()).id as string;
  };
  const bySession = (asked: AskedImage) => post(JOBS, { model: 'gen-img-2', ...asked });

  const [first, ...others] = BY_KEY;
  // The gateway learns of the key within seconds.
  await until(async () => (await byKey(first)).status === 202, POLL_MS);
  for (const asked of others) await byKey(asked);
  await post(`${JOBS}/${await bySession(CANCELLED)}/cancel`, {});
  const ids: string[] = [];
  for (const asked of BY_SESSION) ids.push(await bySession(asked));
  await until(async () => (await state.jobs.active('image')) === 0, POLL_MS);
  return ids[0] ?? '';
}
