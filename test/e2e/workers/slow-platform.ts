/** A platform that takes a second, and writes each fetch with the process that made it to FETCHES_FILE. */

import { appendFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { GatewayError } from 'mediagate';
import { invented, inventedExtraction } from '../../support/links/invented-plugin.js';

const FETCH_MS = 1_000;
/** An item that the platform has removed. */
export const REMOVED = '404';

async function fetchSlowly(id: string): Promise<void> {
  appendFileSync(process.env.FETCHES_FILE ?? '', `${process.pid} ${id}\n`);
  await sleep(FETCH_MS);
}

export default invented({
  async extract({ link }) {
    await fetchSlowly(link.id);
    if (link.id === REMOVED) throw new GatewayError('removed', 'The item was removed.');
    return inventedExtraction(link.id);
  },
  async resolve({ link }) {
    await fetchSlowly(link.id);
    return new URL('https://invented.example/item/77');
  },
});
