import { readSettings, type Settings } from '../settings/index.js';

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
  const { describeStartFailure } = await import('./start-failure.js');
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
