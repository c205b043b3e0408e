/** The benchmarks of images in their order. */

import { measureAddedTime } from './image-added-time.js';
import { measureImageBombs } from './image-bombs.js';
import { measureImageMemory } from './image-job-memory.js';
import { measureImageLoad } from './image-load.js';
import { measureImageRoutes } from './image-routes.js';
import type { Figure } from './measure.js';

/** Images as jobs: what accepting, polling, serving and making cost. */
export async function measureImages(): Promise<Figure[]> {
  return [
    ...(await measureImageRoutes()),
    ...(await measureAddedTime()),
    await measureImageLoad(),
    await measureImageBombs(),
    await measureImageMemory(),
  ];
}
