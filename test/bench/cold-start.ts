/** Benchmark of a start on an empty data folder. */

import { startGatewayProcess } from '../support/processes/gateway-process.js';
import { type Figure, median } from './measure.js';

const ROUNDS = 7;
const TARGET_MS = 1_000;

/** From starting the process on an empty data folder to the first answered `/health`. */
export async function measureColdStart(): Promise<Figure[]> {
  const times: number[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    const began = performance.now();
    const gateway = await startGatewayProcess();
    times.push(performance.now() - began);
    await gateway.stop();
  }
  const typical = median(times);
  return [
    {
      what: 'Cold start: process to first answered `/health`, empty data folder',
      measured: `${Math.round(typical)} ms (worst of ${ROUNDS}: ${Math.round(Math.max(...times))} ms)`,
      target: '≤ 1,000 ms',
      met: typical <= TARGET_MS,
    },
  ];
}
