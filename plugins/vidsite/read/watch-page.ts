import { isReadable, outcomeOfPage, type Reading, type VideoOutcome } from './outcomes.js';
import { classifyPage, parseTags, readBlobs } from './page.js';

/** What a watch page amounts to: its data first, what its tags say where the data cannot be had. */
export function readWatchPage(html: string, id: string, reading: Reading): VideoOutcome {
  const { markers } = reading.facts;
  const { player, next } = readBlobs(html, markers);
  const outcome = outcomeOfPage(player, next, id, reading);
  if (outcome.kind !== 'found' || outcome.found.some((post) => post.common?.thumbnail)) return outcome;
  // Without the player's data, the tags have what stands nowhere else: the exact date, the length, the picture.
  const tags = parseTags(html, id);
  if (tags) {
    const note = isReadable(outcome.found) ? [] : ['fallback_source: page_tags'];
    return { ...outcome, found: [tags, ...outcome.found], limitations: [...(outcome.limitations ?? []), ...note] };
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
