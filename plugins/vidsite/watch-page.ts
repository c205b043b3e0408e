import { isReadable, outcomeOfPage, type Reading, type VideoOutcome } from './outcomes.js';
import { classifyPage, parseTags, readBlobs } from './parse-page.js';

/** What a watch page amounts to: its data first, what its tags say where the data cannot be had. */
export function readWatchPage(html: string, id: string, reading: Reading): VideoOutcome {
  const { markers } = reading.facts;
  const { player, next } = readBlobs(html, markers);
  const outcome = outcomeOfPage(player, next, id, reading);
  if (outcome.kind !== 'found' || isReadable(outcome.found)) return outcome;
  const tags = parseTags(html, id);
  if (tags && isReadable([...outcome.found, tags])) {
    return { kind: 'found', found: [...outcome.found, tags], limitations: ['fallback_source: page_tags'] };
  }
  if (outcome.found.length > 0) return outcome;
  switch (classifyPage(html, markers)) {
    case 'captcha':
      return { kind: 'transient', code: 'bot_check', reason: 'a captcha in place of the page' };
    case 'consent':
      return { kind: 'transient', code: 'upstream_refused', reason: 'a consent form in place of the page' };
    case 'foreign':
      return { kind: 'transient', code: 'upstream_refused', reason: 'another page in place of the video’s' };
    case 'damaged':
      return { kind: 'transient', code: 'upstream_changed', reason: 'the page’s data could not be read' };
  }
}
