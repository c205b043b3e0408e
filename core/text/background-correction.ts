import type { BackgroundCorrection } from '../contracts/index.js';
import type { TextOutcome } from './requests.js';

/** What the end of an exchange tells of a response in the background. */
export function correctionOf(
  response: Pick<BackgroundCorrection, 'responseId' | 'owner' | 'upstream'>,
  { usage, final = false }: Pick<TextOutcome, 'usage' | 'final'>,
): BackgroundCorrection {
  if (!usage) return { ...response, final };
  // What is reported of something that goes on is not all of it.
  return { ...response, usage: final ? usage : { ...usage, estimated: true }, final };
}
