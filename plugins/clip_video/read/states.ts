import type { DefinitiveCode, TransientCode } from 'mediagate';
import type { Facts } from '../facts.js';
import type { PageState } from './page-nodes.js';

const DEFINITIVE = ['under_review', 'private', 'geo_blocked', 'age_restricted', 'removed', 'unavailable'] as const;
const BY_NUMBER = ['private', 'geo_blocked', 'age_restricted', 'under_review', 'removed', 'unavailable'] as const;
const TRANSIENT = ['bot_check', 'upstream_refused', 'upstream_rate_limited'] as const;

export type ItemState =
  | { kind: 'definitive'; code: DefinitiveCode; reason: string }
  /** Only another way to the item can tell more; where none does, this is what there is to say. */
  | { kind: 'wall'; code: 'login_required' | 'upstream_error'; reason: string }
  | { kind: 'transient'; code: TransientCode; reason: string };

/**
 * What a status code and its message mean. One number stands for several things ("does not exist" is also what a private
 * item's page may say), so the words, where there are any, come first.
 */
export function readState({ code, message }: PageState, facts: Facts): ItemState {
  const reason = message ? `${message} (${code})` : `status ${code}`;
  const has = (name: keyof Facts['states']) => facts.states[name].includes(code);
  if (has('login_required')) return { kind: 'wall', code: 'login_required', reason };
  const refused = TRANSIENT.find(has);
  if (refused) return { kind: 'transient', code: refused, reason };
  const named = stateInWords(message, facts);
  const numbered = BY_NUMBER.find(has);
  // The number alone is plain where it says more than "not there".
  const state = numbered && numbered !== 'removed' && numbered !== 'unavailable' ? numbered : (named ?? numbered);
  if (state) return { kind: 'definitive', code: state, reason };
  return { kind: 'wall', code: 'upstream_error', reason };
}

/** The state that a message of the site names in its own terms. */
export function stateInWords(message: string | undefined, { words }: Facts): (typeof DEFINITIVE)[number] | undefined {
  const spaced = (text: string) => text.replaceAll('_', ' ');
  const text = spaced(message?.toLowerCase() ?? '');
  return text ? DEFINITIVE.find((state) => words[state].some((word) => text.includes(spaced(word)))) : undefined;
}
