/*
 * The errors of commands, and suggestions for names that do not exist. They load little, since every mistyped command
 * needs them.
 */

import type { GatewayError } from '../../core/runtime/index.js';

/** A failed command, with a message for the person who typed it. */
export class CommandFailure extends Error {
  override readonly name = 'CommandFailure';
  readonly exitCode: number;

  constructor(message: string, exitCode = 1) {
    super(message);
    this.exitCode = exitCode;
  }
}

/** A usage error: the help command is printed below it. The option is named by its flag, `--clip-sort`. */
export class CommandMistake extends CommandFailure {
  constructor(message: string) {
    super(message, 2);
  }
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
