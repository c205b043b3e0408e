/** Benchmark of `/health` under large images from clients and models. */

import { openImageSite } from '../chaos/image-site.js';
import { sampleImage } from '../support/images/sample-images.js';
import { watchHealthDuring } from './health-watch.js';
import { launcherEnvironment } from './image-server.js';
import { type Figure, percentile } from './measure.js';

const REFERENCES = 8;
const BURSTS = 3;
/** About 20 megapixels. */
const REFERENCE = { width: 5_472, height: 3_648, format: 'jpeg', seed: 3 } as const;
const TARGET_MS = 200;

/** How long `/health` takes while large pictures come in from clients and from the model at the same time. */
export async function measureImageLoad(): Promise<Figure> {
  const site = await openImageSite({ keys: 1, rpm: 10_000, environment: { IMAGE_WORKERS: '8' } });
  try {
    // Noise of this size is 5 MB of base64.
    site.upstream.behave(() => ({ does: 'image', large: true, size: '1152x1088' }));
    const reference = (await sampleImage(REFERENCE)).toString('base64');
    const gateway = await site.start(launcherEnvironment());
    const headers = { authorization: `Bearer ${site.keys[0]}`, 'content-type': 'application/json' };
    const make = async (prompt: string) => {
      const image = `data:image/jpeg;base64,${reference}`;
      const body = JSON.stringify({ model: 'gen-img-2', prompt, image });
      const { status, text } = await gateway.request('/v1/images/generations', { method: 'POST', headers, body });
      if (status !== 200) throw new Error(`There is no picture: ${status} ${text.slice(0, 500)}`);
    };
    await make('warm-up');
    const work = async () => {
      for (let burst = 0; burst < BURSTS; burst += 1) {
        await Promise.all(Array.from({ length: REFERENCES }, (_, index) => make(`burst ${burst}, picture ${index}`)));
      }
    };
    const times = await watchHealthDuring(gateway.url, work);
    const at = (share: number) => percentile(times, share);
    return {
      what: `\`/health\` while ${REFERENCES} input images of 20 megapixels and answers of 5 MB of base64 are worked on at once`,
      measured: `p50 ${at(0.5).toFixed(0)} ms, p99 ${at(0.99).toFixed(0)} ms, longest ${at(1).toFixed(0)} ms of ${times.length}`,
      target: `p99 < ${TARGET_MS} ms`,
      met: at(0.99) < TARGET_MS,
    };
  } finally {
    await site.remove();
  }
}
