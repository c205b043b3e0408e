import { parentPort } from 'node:worker_threads';
import { type Heard, openMoonshine } from './moonshine.js';

/** 16,000 samples a second, -1 to 1; at most a few tens of seconds. */
export type HearOrder = Float32Array;
export type HearAnswer = Heard;

const hear = openMoonshine();
parentPort?.on('message', async (order: HearOrder) => parentPort?.postMessage(await (await hear)(order)));
