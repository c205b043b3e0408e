import { findJsonAfter, parseJson, splitScripts } from 'mediagate';
import type { Facts } from '../facts.js';
import type { PostIdentity } from '../shortcode.js';
import { parseEmbedMarkup } from './embed-markup.js';
import { findMedia } from './find-media.js';
import { OTHER_POST, type PostOutcome } from './outcomes.js';
import { readPageBlobs } from './page-data.js';
import { readMedia } from './reply.js';

/** What an embed of a post amounts to: its data, and what its markup shows besides. */
export function readEmbedPage(html: string, identity: PostIdentity, facts: Facts): PostOutcome {
  const { embedData, gate, brokenEmbed, loginPage } = facts.markers;
  const blobs = [contextOf(html, embedData), ...readPageBlobs(splitScripts(html), identity, facts)];
  const searches = blobs.flatMap((blob) => (blob === undefined ? [] : [findMedia(blob, identity, gate)]));
  const data = readMedia(
    searches.flatMap((search) => search.media),
    identity,
    'embed_data',
  );
  const shown = parseEmbedMarkup(html, identity);
  const found = [...data, ...(shown ? [shown] : [])];
  if (found.length > 0) return { kind: 'found', found };
  const holds = (marks: readonly string[]) => marks.some((mark) => html.includes(mark));
  if (holds(brokenEmbed)) {
    // The same words stand for a removed post and for one that is not for everybody.
    return { kind: 'definitive', code: 'removed', reason: messageOf(html) };
  }
  if (holds(loginPage))
    return { kind: 'transient', code: 'upstream_refused', reason: 'a login page in place of the embed' };
  if (searches.some((search) => search.othersOnly) || html.includes('class="Embed')) return OTHER_POST;
  return { kind: 'transient', code: 'upstream_refused', reason: 'another page in place of the embed' };
}

/** The post's data is a text within the data of the embed. */
function contextOf(html: string, name: string): unknown {
  const start = html.indexOf(`"${name}":"`) + name.length + 3;
  if (start < name.length + 3) return findJsonAfter(html, `"${name}"`)?.value;
  try {
    return parseJson(JSON.parse(html.slice(start, literalEnd(html, start))));
  } catch {
    // Cut off or not JSON: the markup has to do.
    return undefined;
  }
}

/** Index after the quote that closes the text which opens at `start`. */
function literalEnd(html: string, start: number): number {
  for (let close = html.indexOf('"', start + 1); close >= 0; close = html.indexOf('"', close + 1)) {
    let before = close - 1;
    while (html[before] === '\\') before -= 1;
    if ((close - before) % 2 === 1) return close + 1;
  }
  return html.length;
}

function messageOf(html: string): string | undefined {
  return /<div class="ebmMessage">([^<]{1,300})</.exec(html)?.[1]?.trim();
}
