import type { GatewayError } from 'mediagate';
import { CommandMistake } from './output.js';

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
