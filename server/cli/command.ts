/*
 * What the commands share while they run: settings, a state or a gateway for the duration of one command, and the name
 * of the operator for the audit log. A {@link CommandMistake} is a usage error and exits with 2, other failures with 1
 * unless they name a code. Commands refuse to create an empty state, which would hide a mistyped folder; those that may
 * create one use {@link withNewState}. Long work can be interrupted and then leaves nothing behind.
 */

import { userInfo } from 'node:os';
import type { Gateway } from 'mediagate';
import { createSpinner } from 'nanospinner';
import { createLogger } from '../../core/observability/index.js';
import { isGatewayError, type Logger } from '../../core/runtime/index.js';
import { isStateThere, type Progress } from '../backup/index.js';
import { type OpenGatewayOptions, openGateway } from '../open-gateway.js';
import { loadSettingsFile, readSettings, type Settings, secretsOf } from '../settings/index.js';
import { openRecordsOf, type Records } from '../state.js';
import { grouped } from '../usage/index.js';
import { CommandFailure, CommandMistake, mistakeOf } from './mistakes.js';
import { type Outcome, printOutcome } from './output.js';

/**
 * Runs a command with the settings of the environment and of the settings file, prints its result, and converts its failure to one readable
 * line.
 * @throws CommandMistake
 */
export async function runCommand(run: (settings: Settings) => Promise<Outcome>, asJson: boolean): Promise<void> {
  let settings: Settings | undefined;
  try {
    loadSettingsFile(process.env);
    settings = readSettings(process.env);
    printOutcome(await run(settings), asJson);
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

/** How a command logs: a quiet one reports all problems in its result. */
export interface LoggingOptions {
  quiet?: boolean;
}

/** Opens a logger for `work`. Without `quiet` only problems are logged, as the command ends by itself. */
export async function withLogger<Result>(
  settings: Settings,
  work: (logger: Logger) => Promise<Result>,
  { quiet = false }: LoggingOptions = {},
): Promise<Result> {
  const { logLevel } = settings;
  const usual = logLevel === 'info' ? 'warn' : logLevel;
  const level = quiet && logLevel !== 'debug' ? 'silent' : usual;
  return using(createLogger({ level, secrets: secretsOf(settings) }), work);
}

/** A gateway without state, for the duration of `work`. It only reads, unless the options say otherwise. */
export function withGateway<Result>(
  settings: Settings,
  work: (gateway: Gateway, logger: Logger) => Promise<Result>,
  { quiet = false, ...options }: LoggingOptions & Partial<OpenGatewayOptions> = {},
): Promise<Result> {
  const usual = { settings, environment: process.env, baseUrl: () => '', readOnly: true };
  const open = (logger: Logger) => openGateway({ ...usual, ...options, logger });
  return withLogger(settings, async (logger) => using(await open(logger), (gateway) => work(gateway, logger)), {
    quiet,
  });
}

/** Opens the state for one command, without its files. @throws CommandFailure as {@link requireState}. */
export async function withState<Result>(
  settings: Settings,
  work: (state: Records) => Promise<Result>,
): Promise<Result> {
  await requireState(settings);
  return withNewState(settings, work);
}

/** Opens the state for a command that may create it. */
export function withNewState<Result>(settings: Settings, work: (state: Records) => Promise<Result>): Promise<Result> {
  return withLogger(settings, async (logger) => using(await openRecordsOf(settings, logger), work));
}

/** Closes what was opened for `work`. */
export async function using<Opened extends { close(): void | Promise<void> }, Result>(
  opened: Opened,
  work: (opened: Opened) => Promise<Result>,
): Promise<Result> {
  try {
    return await work(opened);
  } finally {
    await opened.close();
  }
}

/** Creating an empty state would hide a mistyped folder. @throws CommandFailure */
export async function requireState(settings: Settings): Promise<void> {
  if (await isStateThere(settings)) return;
  throw new CommandFailure(`There is no database in ${settings.dataDir}; set DATA_DIR to the data folder.`, 2);
}

export const INTERRUPTED_EXIT_CODE = 130;
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

/**
 * Shows progress on standard error; undefined without a terminal. A terminal of width zero, which a container may have,
 * counts as none: the package divides by the width and hangs.
 */
export function startSpinner(text: string) {
  const stream = process.stderr;
  if (!stream.isTTY || !stream.columns) return undefined;
  const spinner = createSpinner(text, { stream }).start();
  return { update: (next: string) => void spinner.update({ text: next }), stop: () => void spinner.stop() };
}

const MAX_NOTE = 500;

/**
 * Who changes something, for the audit log: the system user who runs the command, and the reason given in `--note`.
 * @throws CommandMistake
 */
export function byOperator(text?: string): { actor: string; note?: string } {
  const actor = `operator:${userName()}`;
  if (text === undefined) return { actor };
  const note = text.trim();
  if (note !== '' && note.length <= MAX_NOTE) return { actor, note };
  throw new CommandMistake(`--note must have 1 to ${MAX_NOTE} characters.`);
}

function userName(): string {
  try {
    return userInfo().username;
  } catch {
    // Containers run with numeric users that have no name.
    return String(process.getuid?.() ?? 'unknown');
  }
}

const DEFAULT_LIMIT = 100;
const MAX_LIMIT = 1_000;

/** The maximum number of listed rows. @throws CommandMistake */
export function limitOf(text: string | undefined): number {
  if (text === undefined) return DEFAULT_LIMIT;
  const value = /^\d{1,4}$/.test(text) ? Number(text) : 0;
  if (value >= 1 && value <= MAX_LIMIT) return value;
  throw new CommandMistake(`--limit must be a whole number from 1 to ${MAX_LIMIT}.`);
}
