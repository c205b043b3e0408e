/*
 * Errors about names that do not exist, with the closest one that does: of models, plans, groups, keys, commands. The API
 * and the commands use the same words.
 */

import { closestMatch, GatewayError } from '../../core/runtime/index.js';
import { sanitizeForTerminal } from '../format/index.js';

/** Names that are shown when one is unknown. */
const MAX_SHOWN = 12;
const MAX_NAME = 100;

/** What a mistyped name was meant to be, and what exists: ` Did you mean "m-5.5"? Known: m-5.5, m-6.` */
export function suggestName(name: string, known: readonly string[]): string {
  const match = closestMatch(name.slice(0, MAX_NAME), known);
  const more = known.length > MAX_SHOWN ? ', …' : '';
  const all = known.length === 0 ? '' : ` Known: ${known.slice(0, MAX_SHOWN).join(', ')}${more}.`;
  return `${match === undefined ? '' : ` Did you mean "${sanitizeForTerminal(match)}"?`}${sanitizeForTerminal(all)}`;
}

/** The error of a field that names something that does not exist. */
export function unknownName(param: string, name: string, known: readonly string[]): GatewayError {
  const shown = sanitizeForTerminal(name.slice(0, MAX_NAME));
  return new GatewayError('invalid_value', `${param} ${shown} is unknown.${suggestName(name, known)}`, { param });
}
