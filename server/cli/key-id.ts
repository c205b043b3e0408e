import { namedKeyId } from '../keys/index.js';
import { CommandMistake } from './output.js';

/**
 * The public id of the key that is meant. People paste the key itself where its id is asked for: that will do, and nothing
 * of what was typed is ever repeated, since it may be a key with a mistake in it.
 * @throws CommandMistake
 */
export function readKeyId(named: string): string {
  const id = namedKeyId(named);
  if (id !== undefined) return id;
  throw new CommandMistake(
    'A key is named by its id, 8 letters and digits that "mediagate keys list" shows, or by itself.',
  );
}
