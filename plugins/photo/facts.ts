import { type FactsOverride, overrideFacts } from 'mediagate';
import shipped from './facts.json' with { type: 'json' };

/** What the platform changes from time to time, kept apart from the code that uses it. */
export type Facts = typeof shipped;

/** The shipped facts with an entry's own in place of theirs. @throws TypeError where they do not fit. */
export function resolveFacts(override?: FactsOverride): Facts {
  return overrideFacts(shipped, override);
}
