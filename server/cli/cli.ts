/*
 * The `mediagate` program: it runs the command of its arguments and sets the exit code. A usage error of a command is
 * printed with its help command.
 */

import { type Command, CommanderError } from 'commander';
import { CommandMistake } from './command.js';
import { createProgram } from './program.js';

/** @throws CommanderError for a help request, or a usage error. */
async function runProgram(program: Command): Promise<void> {
  let asked = program;
  program.hook('preAction', (_program, command) => {
    asked = command;
  });
  try {
    await program.parseAsync();
  } catch (error) {
    if (error instanceof CommandMistake) asked.error(`mediagate: ${error.message}`);
    throw error;
  }
}

try {
  await runProgram(createProgram());
} catch (error) {
  if (!(error instanceof CommanderError)) throw error;
  // The error was printed; a request for help or the version is no error.
  process.exitCode = error.exitCode === 0 ? 0 : 2;
}
