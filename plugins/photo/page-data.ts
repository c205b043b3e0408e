import { findJsonAfter, parseJson } from 'mediagate';
import type { Facts } from './facts.js';
import type { PostIdentity } from './shortcode.js';

const MAX_BLOBS = 8;
/** Scripts that name the post and do not hold it, as its route; a page with more of them is an attack on our time. */
const MAX_SCRIPTS = 40;
/** Members of which a post's node has one or another, as they stand in the text of a script. */
const SIGNS = ['taken_at', 'like_count', 'image_versions2', 'display_url', 'edge_media_to_caption'];
/** What stands between a name and the object that is assigned to it, or is its second argument. */
const OPENING = /\s*=\s*(?=\{)|\(\s*(['"])[^'"]*\1\s*,\s*(?=\{)/y;

/**
 * The values of the page's scripts that may hold the post: JSON scripts that name it, and what older pages assign or
 * call with. The rest of the page is not looked at twice, and not parsed.
 */
export function readPageBlobs(html: string, { mediaId, shortcode }: PostIdentity, facts: Facts): unknown[] {
  const { gate, scripts } = facts.markers;
  // Each look costs a pass over a megabyte, so the next one is taken only where the one before was in vain.
  const seen = new Set<number>();
  for (const name of [mediaId, `"${shortcode}"`]) {
    const named = scriptsNaming(html, name).filter(({ start }) => !seen.has(start));
    const telling = named.filter(({ text }) => [gate, ...SIGNS].some((sign) => text.includes(sign)));
    const blobs = telling.slice(0, MAX_BLOBS).map(({ text }) => parsed(text));
    for (const { start } of named) seen.add(start);
    if (blobs.some((value) => value !== undefined)) return blobs;
  }
  return scripts.flatMap((marker) => assignedIn(html, marker));
}

/** JSON scripts in which a name stands. */
function scriptsNaming(html: string, name: string): { start: number; text: string }[] {
  const found: { start: number; text: string }[] = [];
  let tried = 0;
  for (let at = html.indexOf(name); at >= 0 && tried < MAX_SCRIPTS; tried += 1) {
    const open = html.lastIndexOf('<script', at);
    const start = html.indexOf('>', open) + 1;
    const end = html.indexOf('</script', at);
    if (end < 0) break;
    const script = html.slice(start, end);
    if (
      open >= 0 &&
      start <= at &&
      !script.includes('</script') &&
      html.slice(open, start).includes('application/json')
    ) {
      found.push({ start, text: script });
    }
    // What stands outside of scripts, as a link, is followed by the next script's end as well.
    at = html.indexOf(name, script.includes('</script') || start > at ? at + name.length : end);
  }
  return found;
}

/** The objects of `name = {…}` and `name('…', {…})`. */
function assignedIn(html: string, marker: string): unknown[] {
  const values: unknown[] = [];
  for (let at = html.indexOf(marker); at >= 0 && values.length < MAX_BLOBS; at = html.indexOf(marker, at)) {
    at += marker.length;
    OPENING.lastIndex = at;
    const opening = OPENING.exec(html);
    if (!opening) continue;
    const found = findJsonAfter(html, opening[0], at);
    if (!found) continue;
    values.push(found.value);
    at = found.end;
  }
  return values;
}

function parsed(text: string): unknown {
  try {
    return parseJson(text);
  } catch {
    // Cut off or not JSON: the page has other places to look at.
    return undefined;
  }
}
