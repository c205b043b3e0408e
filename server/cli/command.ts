import { createLogger, type Gateway, type GatewayError, isGatewayError, type Logger } from 'mediagate';
import { createSpinner } from 'nanospinner';
import { isStateThere, type Progress } from '../backup/index.js';
import { openGateway } from '../open-gateway.js';
import { readSettings, type Settings, secretsOf } from '../settings/index.js';
import { openRecordsOf, type Records } from '../state.js';
import { grouped } from '../usage/index.js';

/** A command that ended badly, in words for the person who typed it. */
export class CommandFailure extends Error {
  override readonly name = 'CommandFailure';
  readonly exitCode: number;

  constructor(message: string, exitCode = 1) {
    super(message);
    this.exitCode = exitCode;
  }
}

/** What was typed is wrong: `cli.ts` adds which help to read. The option at fault goes by its own name, `--clip-sort`. */
export class CommandMistake extends CommandFailure {
  constructor(message: string) {
    super(message, 2);
  }
}

/** Standard output belongs to the command's result alone. */
export function print(text: string): void {
  process.stdout.write(text);
}

export function printJson(value: unknown): void {
  print(`${JSON.stringify(value, null, 2)}\n`);
}

/**
 * Runs a command with the settings of the environment and turns its failure into one readable line.
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
  process.stderr.write(
    `mediagate failed in a way nobody foresaw: ${error instanceof Error ? error.stack : String(error)}\n`,
  );
  return 1;
}

/** A gateway to look at, without state, for as long as `work` takes. */
export async function withGateway<Result>(
  settings: Settings,
  logger: Logger,
  work: (gateway: Gateway) => Promise<Result>,
): Promise<Result> {
  const gateway = await openGateway({
    settings,
    environment: process.env,
    logger,
    baseUrl: () => '',
    lookOnly: true,
  });
  try {
    return await work(gateway);
  } finally {
    await gateway.close();
  }
}

/** Logger of a command that ends by itself: its person wants the result, so what went well is not logged. */
export function openCommandLogger(settings: Settings) {
  const level = settings.logLevel === 'info' ? 'warn' : settings.logLevel;
  return createLogger({ level, secrets: secretsOf(settings) });
}

/** Logger of a command whose result says all that went wrong. */
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

/** As {@link withState}, for a command that may begin a state: where there is none yet, it is made. */
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

/** An empty state that was made by the way would answer for the one that a mistyped folder hides. @throws CommandFailure */
export async function requireState(settings: Settings): Promise<void> {
  if (await isStateThere(settings)) return;
  throw new CommandFailure(`There is no database in ${settings.dataDir}; DATA_DIR names the data folder.`, 2);
}

/**
 * A mistake that the gateway found in the request which a command has made of its options, in the words of the command.
 * @param options Member of the request → option that it came from. Arguments bear the name of their member.
 */
export function mistakeOf(error: GatewayError, options: Readonly<Record<string, string>>): CommandMistake {
  const { message, param = '' } = error;
  const [member = ''] = param.split('[');
  const option = options[member];
  if (option === undefined) return new CommandMistake(message);
  return new CommandMistake(message.startsWith(param) ? option + message.slice(param.length) : `${option}: ${message}`);
}

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
export async function withProgress<Result>(work: (lengthy: Lengthy) => Promise<Result>): Promise<Result> {
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

export interface Spinner {
  update(text: string): void;
  stop(): void;
}

/**
 * Shows on standard error that something is under way; undefined where nobody looks on. A terminal of no width, which a
 * container may have, counts as nobody: the package divides by it and never comes back.
 */
export function startSpinner(text: string): Spinner | undefined {
  const stream = process.stderr;
  if (!stream.isTTY || !stream.columns) return undefined;
  const spinner = createSpinner(text, { stream }).start();
  return { update: (next) => void spinner.update({ text: next }), stop: () => void spinner.stop() };
}
