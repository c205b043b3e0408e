/*
 * Loaded before everything else of a process (`--import`): its wall clock is wrong by the milliseconds that the file
 * CLOCK_FILE contains. Its monotonic clock stays right, as on a machine whose time is set.
 */

import { readFileSync } from 'node:fs';

const file = process.env.CLOCK_FILE ?? '';
const POLL_MS = 10;
const RealDate = Date;
let offsetMs = read();

setInterval(() => {
  offsetMs = read();
}, POLL_MS).unref();

globalThis.Date = new Proxy(RealDate, {
  construct: (target, args, newTarget) =>
    Reflect.construct(target, args.length === 0 ? [RealDate.now() + offsetMs] : args, newTarget),
  apply: () => new RealDate(RealDate.now() + offsetMs).toString(),
  get: (target, name, receiver) =>
    name === 'now' ? () => RealDate.now() + offsetMs : Reflect.get(target, name, receiver),
});

function read(): number {
  return Number(readFileSync(file, 'utf8'));
}
