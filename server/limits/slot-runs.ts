/** Slots that were taken at the same time: from number `seq` up to where the next run begins. */
export interface SlotRun {
  seq: number;
  at: number;
}

/** @param text Runs, oldest first: `12,1700000000000,13,1700000000250`. */
export function readRuns(text: string): SlotRun[] {
  const numbers: number[] = JSON.parse(`[${text}]`);
  return Array.from({ length: numbers.length / 2 }, (_, index) => ({
    seq: numbers[2 * index] as number,
    at: numbers[2 * index + 1] as number,
  }));
}

export function writeRuns(runs: readonly SlotRun[]): string {
  return runs.map(({ seq, at }) => `${seq},${at}`).join();
}

export function addRun(text: string, { seq, at }: SlotRun): string {
  return text === '' ? `${seq},${at}` : `${text},${seq},${at}`;
}

/** Those that still have a slot at or after number `tail`. */
export function liveRuns(runs: readonly SlotRun[], tail: number): SlotRun[] {
  return runs.filter((_, index) => (runs[index + 1]?.seq ?? Number.POSITIVE_INFINITY) > tail);
}
