/*
 * Copies what a worker prints to the output of its supervisor in whole lines, so that lines of two workers never mix.
 * The worker waits while the output does not take more, and a line of a megabyte without an end is passed on as it is.
 */

import type { Readable, Writable } from 'node:stream';

const MAX_LINE_BYTES = 1024 * 1024;
const NEWLINE = 10;

export function copyLines(from: Readable | null, to: Writable): void {
  if (!from) return;
  let rest: Buffer = Buffer.alloc(0);
  const write = (bytes: Buffer) => {
    if (bytes.length === 0 || to.write(bytes)) return;
    from.pause();
    to.once('drain', () => from.resume());
  };
  from.on('data', (bytes: Buffer) => {
    const all = rest.length > 0 ? Buffer.concat([rest, bytes]) : bytes;
    const end = all.length > MAX_LINE_BYTES ? all.length : all.lastIndexOf(NEWLINE) + 1;
    write(all.subarray(0, end));
    rest = all.subarray(end);
  });
  from.on('end', () => write(rest));
  from.on('error', () => {});
}
