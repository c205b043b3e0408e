import { isGatewayError } from 'mediagate';
import type { Progress } from '../backup/index.js';
import { grouped } from '../usage/index.js';
import { CommandFailure } from './output.js';
import { mistakeOf } from './request-mistake.js';
import { startSpinner } from './spinner.js';

const INTERRUPTED_EXIT_CODE = 130;
/** What such a command is given; whatever else the state refuses is a matter of settings. */
const TYPED = ['folder', 'from'];

/** What work that takes long is given. */
export interface Lengthy {
  /** Aborts at Ctrl-C and SIGTERM, for the work to undo what it has begun. */
  signal: AbortSignal;
  /** Shows how far it is, where somebody looks on. */
  report(progress: Progress): void;
}

/** Runs work that somebody may want to see, and to cut off. */
export async function runLengthy<Result>(work: (lengthy: Lengthy) => Promise<Result>): Promise<Result> {
  const interrupted = new AbortController();
  const interrupt = () => interrupted.abort(new CommandFailure('Cut off; nothing was kept.', INTERRUPTED_EXIT_CODE));
  const spinner = startSpinner('beginning');
  process.once('SIGINT', interrupt);
  process.once('SIGTERM', interrupt);
  try {
    const report = ({ step, done, of }: Progress) =>
      spinner?.update(of === undefined ? step : `${step}: ${grouped(done)} of ${grouped(of)}`);
    return await work({ signal: interrupted.signal, report });
  } catch (error) {
    throw describe(error);
  } finally {
    spinner?.stop();
    process.off('SIGINT', interrupt);
    process.off('SIGTERM', interrupt);
  }
}

/** The folders of such a command are the command's own: what is wrong with them says nothing of DATA_DIR. */
function describe(error: unknown): unknown {
  if (isGatewayError(error) && TYPED.includes(error.param ?? '')) return mistakeOf(error, {});
  const code = error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : '';
  if (!(error instanceof Error) || !('syscall' in error || code.startsWith('SQLITE_'))) return error;
  return new CommandFailure(`It cannot be done: ${error.message}.`);
}
