/*
 * What the commands share: their errors, their output, and work with a gateway or the state for the duration of one
 * command. Standard output contains only a command's result; progress and problems go to standard error. A {@link
 * CommandMistake} is a usage error and exits with 2, other failures with 1 unless they name a code. Commands refuse to
 * create an empty state, which would hide a mistyped folder; those that may create one use {@link withNewState}. Long
 * work can be interrupted and then leaves nothing behind.
 */

import type { Gateway } from 'mediagate';
import { createSpinner } from 'nanospinner';
import type { PluginEntry } from '../../core/contracts/index.js';
import { createLogger } from '../../core/observability/index.js';
import { closestMatch, type GatewayError, isGatewayError, type Logger } from '../../core/runtime/index.js';
import { isStateThere, type Progress } from '../backup/index.js';
import { sanitizeForTerminal } from '../format/index.js';
import { openGateway } from '../open-gateway.js';
import { readSettings, type Settings, secretsOf } from '../settings/index.js';
import { openRecordsOf, type Records } from '../state.js';
import { grouped } from '../usage/index.js';

/** A failed command, with a message for the person who typed it. */
export class CommandFailure extends Error {
  override readonly name = 'CommandFailure';
  readonly exitCode: number;

  constructor(message: string, exitCode = 1) {
    super(message);
    this.exitCode = exitCode;
  }
}

/** A usage error: `cli.ts` adds the help command. The option is named by its flag, `--clip-sort`. */
export class CommandMistake extends CommandFailure {
  constructor(message: string) {
    super(message, 2);
  }
}

/** Standard output contains only the command's result. */
export function print(text: string): void {
  process.stdout.write(text);
}

export function printJson(value: unknown): void {
  print(`${JSON.stringify(value, null, 2)}\n`);
}

/**
 * Runs a command with the settings of the environment and converts its failure to one readable line.
 * @throws CommandMistake
 */
export async function runCommand(run: (settings: Settings) => Promise<number>): Promise<void> {
  let settings: Settings | undefined;
  try {
    settings = readSettings(process.env);
    process.exitCode = await run(settings);
  } catch (error) {
    if (error instanceof CommandMistake) throw error;
    process.exitCode = await report(error, settings);
  }
}

async function report(error: unknown, settings: Settings | undefined): Promise<number> {
  if (error instanceof CommandFailure) {
    process.stderr.write(`mediagate: ${error.message}\n`);
    return error.exitCode;
  }
  const { describeStartFailure } = await import('./start.js');
  const failure = describeStartFailure(error, settings);
  if (failure) {
    process.stderr.write(`mediagate: ${failure.message}\n`);
    return failure.exitCode;
  }
  process.stderr.write(`mediagate failed unexpectedly: ${error instanceof Error ? error.stack : String(error)}\n`);
  return 1;
}

/**
 * A gateway without state, for the duration of `work`.
 * @param plugins Default: those of the plugins file.
 */
export async function withGateway<Result>(
  settings: Settings,
  logger: Logger,
  work: (gateway: Gateway) => Promise<Result>,
  plugins?: readonly PluginEntry[],
): Promise<Result> {
  const gateway = await openGateway({
    ...(plugins && { plugins }),
    settings,
    environment: process.env,
    logger,
    baseUrl: () => '',
    readOnly: true,
  });
  try {
    return await work(gateway);
  } finally {
    await gateway.close();
  }
}

/** Logger of a command that ends by itself: only problems are logged. */
export function openCommandLogger(settings: Settings) {
  const level = settings.logLevel === 'info' ? 'warn' : settings.logLevel;
  return createLogger({ level, secrets: secretsOf(settings) });
}

/** Logger of a command that reports all problems in its result. */
export function openQuietLogger(settings: Settings) {
  return createLogger({ level: settings.logLevel === 'debug' ? 'debug' : 'silent', secrets: secretsOf(settings) });
}

/** Opens the state for one command, without its files. @throws CommandFailure as {@link requireState}. */
export async function withState<Result>(
  settings: Settings,
  work: (state: Records) => Promise<Result>,
): Promise<Result> {
  await requireState(settings);
  return withNewState(settings, work);
}

/** As {@link withState}, for a command that may create a state. */
export async function withNewState<Result>(
  settings: Settings,
  work: (state: Records) => Promise<Result>,
): Promise<Result> {
  const logger = openCommandLogger(settings);
  try {
    const state = await openRecordsOf(settings, logger);
    try {
      return await work(state);
    } finally {
      await state.close();
    }
  } finally {
    await logger.close();
  }
}

/** Creating an empty state would hide a mistyped folder. @throws CommandFailure */
export async function requireState(settings: Settings): Promise<void> {
  if (await isStateThere(settings)) return;
  throw new CommandFailure(`There is no database in ${settings.dataDir}; set DATA_DIR to the data folder.`, 2);
}

/**
 * A request error that the options of a command caused, with the names of the options.
 * @param options Field of the request → option that it came from. Arguments have the name of their field.
 */
export function mistakeOf(error: GatewayError, options: Readonly<Record<string, string>>): CommandMistake {
  const { message, param = '' } = error;
  const [field = ''] = param.split('[');
  const option = options[field];
  if (option === undefined) return new CommandMistake(message);
  return new CommandMistake(message.startsWith(param) ? option + message.slice(param.length) : `${option}: ${message}`);
}

/** Names that are shown when one is unknown. */
const MAX_SHOWN = 12;

/** What a mistyped name was meant to be, and what exists: ` Did you mean "m-5.5"? Known: m-5.5, m-6.` */
export function suggestName(name: string, known: readonly string[]): string {
  const match = closestMatch(name, known);
  const more = known.length > MAX_SHOWN ? ', …' : '';
  const all = known.length === 0 ? '' : ` Known: ${known.slice(0, MAX_SHOWN).join(', ')}${more}.`;
  return `${match === undefined ? '' : ` Did you mean "${sanitizeForTerminal(match)}"?`}${sanitizeForTerminal(all)}`;
}

const INTERRUPTED_EXIT_CODE = 130;
/** Input errors of such a command; other errors of the state concern the settings. */
const TYPED = ['folder', 'from'];

/** Context of long work. */
export interface Lengthy {
  /** Aborts at Ctrl-C and SIGTERM, so that the work can undo its changes. */
  signal: AbortSignal;
  /** Shows the progress on a terminal. */
  report(progress: Progress): void;
}

/** Runs long work with progress and cancellation. */
export async function withProgress<Result>(work: (lengthy: Lengthy) => Promise<Result>): Promise<Result> {
  const interrupted = new AbortController();
  const interrupt = () =>
    interrupted.abort(new CommandFailure('Interrupted; nothing was saved.', INTERRUPTED_EXIT_CODE));
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

/** The folders are arguments of the command, so their errors are not about DATA_DIR. */
function describe(error: unknown): unknown {
  if (isGatewayError(error) && TYPED.includes(error.param ?? '')) return mistakeOf(error, {});
  const code = error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : '';
  if (!(error instanceof Error) || !('syscall' in error || code.startsWith('SQLITE_'))) return error;
  return new CommandFailure(`The command failed: ${error.message}.`);
}

export interface Spinner {
  update(text: string): void;
  stop(): void;
}

/**
 * Shows progress on standard error; undefined without a terminal. A terminal of width zero, which a container may have,
 * counts as none: the package divides by the width and hangs.
 */
export function startSpinner(text: string): Spinner | undefined {
  const stream = process.stderr;
  if (!stream.isTTY || !stream.columns) return undefined;
  const spinner = createSpinner(text, { stream }).start();
  return { update: (next) => void spinner.update({ text: next }), stop: () => void spinner.stop() };
}
