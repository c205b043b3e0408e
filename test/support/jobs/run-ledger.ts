/** The ledger of job runs over processes, and its evaluation. */

import { appendFileSync, readFileSync } from 'node:fs';

/** A line of the ledger. Lines are appended whole, so their order in the file is the order in which they happened. */
export type LedgerLine =
  | { event: 'begin' | 'end' | 'aborted'; job: string; attempt: number; pid: number }
  | { event: 'killed'; pid: number };

/** The file that all processes of a test write to: which run of which job began and ended where. */
export interface RunLedger {
  write(line: LedgerLine): void;
  read(): LedgerLine[];
}

export function openLedger(file: string): RunLedger {
  return {
    write: (line) => appendFileSync(file, `${JSON.stringify(line)}\n`),
    read: () =>
      readFileSync(file, { encoding: 'utf8', flag: 'a+' })
        .split('\n')
        .filter(Boolean)
        .map((line) => JSON.parse(line) as LedgerLine),
  };
}

export interface LedgerFindings {
  runs: number;
  /** Runs that began while another of the same job was under way in a process that had not been killed. */
  overlapping: number;
  /** Jobs that two runs ended of, although the process of the first lived on to write down its result. */
  endedTwice: number;
}

export function judgeLedger(lines: readonly LedgerLine[]): LedgerFindings {
  const underWay = new Map<string, number>();
  const endedIn = new Map<string, number>();
  const killed = new Set<number>();
  const findings: LedgerFindings = { runs: 0, overlapping: 0, endedTwice: 0 };
  for (const line of lines) {
    if (line.event === 'killed') {
      killed.add(line.pid);
      continue;
    }
    const { event, job, pid } = line;
    if (event === 'begin') {
      findings.runs += 1;
      const other = underWay.get(job);
      if (other !== undefined && !killed.has(other)) findings.overlapping += 1;
      underWay.set(job, pid);
      continue;
    }
    underWay.delete(job);
    if (event === 'aborted') continue;
    const before = endedIn.get(job);
    if (before !== undefined && !killed.has(before)) findings.endedTwice += 1;
    endedIn.set(job, pid);
  }
  return findings;
}
