/** Runs the recorded cases of a folder outside the project. */

import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

export interface RecordedCasesOptions {
  /** Has `cases.json`, `files` and the programs that replay them and compare. */
  folder: string;
  platform: string;
  /** Called once a lane: starts a gateway anew, all of whose requests go through the proxy. */
  fresh(proxy: ReplayProxy): Promise<Target>;
}

export interface ReplayProxy {
  url: string;
  caPath: string;
}

export interface Target {
  /** Of the gateway, without a trailing slash. */
  base: string;
  key: string;
}

export interface Outcome {
  met: boolean;
  total: { cases: number; right: number; total: number };
}

export interface RecordedCases extends Outcome {
  /** What the program that compares has printed. */
  lines: readonly string[];
}

/** What the process of the cases says; it is answered with a {@link Target} when it has asked for one. */
export type CasesMessage = { line: string } | { wantsTarget: ReplayProxy } | { outcome: Outcome };

/** Exit code of that process where the proxy has made a certificate that nobody can read. */
export const UNREADABLE_CERTIFICATE = 70;
/** One certificate in 512 is such a one, and a platform takes a few. */
const TRIES = 10;

const PROGRAM = fileURLToPath(new URL('./run-recorded-cases.js', import.meta.url));

/**
 * Runs the cases of a platform in a process of their own. The proxy gives its certificates random serial numbers, some of
 * which are no valid DER, and TLS throws such a certificate where nothing can catch it; then all is run again, with others.
 * @throws Error with its output where that process fails otherwise.
 */
export async function runRecordedCases(options: RecordedCasesOptions): Promise<RecordedCases> {
  for (let tries = 1; ; tries += 1) {
    const run = await runOnce(options);
    if (run.outcome) return { ...run.outcome, lines: run.lines };
    if (run.code !== UNREADABLE_CERTIFICATE || tries === TRIES)
      throw new Error(
        `the cases of ${options.platform} ended with ${run.code}:\n${run.lines.join('\n')}\n${run.errors}`,
      );
  }
}

interface Run {
  code: number | NodeJS.Signals | null;
  /** Undefined where it did not come to its end. */
  outcome?: Outcome;
  lines: readonly string[];
  errors: string;
}

async function runOnce({ folder, platform, fresh }: RecordedCasesOptions): Promise<Run> {
  const child = fork(PROGRAM, [folder, platform], { stdio: ['ignore', 'inherit', 'pipe', 'ipc'] });
  const lines: string[] = [];
  const errors: Buffer[] = [];
  let outcome: Outcome | undefined;
  let noTarget: unknown;
  child.stderr?.on('data', (chunk: Buffer) => errors.push(chunk));
  child.on('message', (message: CasesMessage) => {
    if ('line' in message) lines.push(message.line);
    else if ('outcome' in message) outcome = message.outcome;
    else
      fresh(message.wantsTarget).then(
        // It may have died meanwhile, which its exit code tells.
        (target) => child.send(target, () => undefined),
        (error: unknown) => {
          noTarget = error;
          child.kill();
        },
      );
  });
  const [code, signal] = (await once(child, 'close')) as [number | null, NodeJS.Signals | null];
  if (noTarget) throw noTarget;
  return { code: code ?? signal, ...(outcome && { outcome }), lines, errors: Buffer.concat(errors).toString() };
}
