/* Functions that a thread for large texts runs in tests. */

/** The text, and a value that was given to it. */
export function echo(bytes: Buffer, how: string): { body: string; length: number } {
  return { body: `${how}${bytes.toString('utf8').slice(0, 5)}`, length: bytes.length };
}

/** Never ends. */
export function hang(): string {
  for (;;);
}

/** Takes more memory than the thread has. */
export function fill(): string {
  const all: number[][] = [];
  for (;;) all.push(new Array<number>(1_000_000).fill(0.5));
}

export function fail(): string {
  throw new Error('no');
}
