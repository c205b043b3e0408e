import type { Part } from './content.js';
import type { Turn } from './conversation.js';

/** The formats of the models want a name for the schema of an answer. */
export const SCHEMA_NAME = 'answer';

/** They have no member that says a tool failed: the model is told in words. */
export function toldFailure({ parts, failed }: Turn & { type: 'result' }): readonly Part[] {
  return failed ? [{ type: 'text', text: 'The tool failed:' }, ...parts] : parts;
}
