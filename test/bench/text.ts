/** The benchmarks of the model routes in their order. */

import type { Figure } from './measure.js';
import { canPin } from './pinning.js';
import { measureAddedTime } from './text-added-time.js';
import { measureChat } from './text-chat.js';
import { startTextSite } from './text-site.js';
import { measureHangUp, measureStreams } from './text-streams.js';

/** The model routes before a fast upstream, one core for the gateway and one for everything else. */
export async function measureText(): Promise<Figure[]> {
  if (!canPin) process.stderr.write('cores cannot be given to processes here: expect noise\n');
  const site = await startTextSite({ withPortkey: true });
  try {
    return [
      ...(await measureChat(site)),
      ...(await measureStreams(site)),
      await measureAddedTime(site),
      await measureHangUp(site),
    ];
  } finally {
    await site.stop();
  }
}
