import { findJsonAfter, type ScriptedPage, tryParseJson } from 'mediagate';
import type { Facts } from '../facts.js';
import type { PostIdentity } from '../shortcode.js';

const MAX_BLOBS = 8;
/** Scripts that name the post and do not hold it, as its route; a page with more of them is an attack on our time. */
const MAX_SCRIPTS = 40;
/** Members of which a post's node has one or another, as they stand in the text of a script. */
const SIGNS = ['taken_at', 'like_count', 'image_versions2', 'display_url', 'edge_media_to_caption'];
/** How far from the post's name one of them stands, in characters. */
const REACH = 50_000;
/** What stands between a name and the object that is assigned to it, or is its second argument. */
const OPENING = /\s*=\s*(?=\{)|\(\s*(['"])[^'"]*\1\s*,\s*(?=\{)/y;

/**
 * The values of the page's scripts that may hold the post: JSON scripts that name it, and what older pages assign or
 * call with. The rest of the page is not parsed.
 */
export function readPageBlobs(
  { scripts, markup }: ScriptedPage,
  { mediaId, shortcode }: PostIdentity,
  facts: Facts,
): unknown[] {
  const { gate, scripts: assigned } = facts.markers;
  const data = scripts.filter(({ tag }) => tag.includes('application/json')).map(({ text }) => text);
  // Each look costs a pass over a megabyte, so the next one is taken only where the one before was in vain.
  const seen = new Set<string>();
  for (const name of [mediaId, `"${shortcode}"`]) {
    const named = data.filter((text) => !seen.has(text) && text.includes(name)).slice(0, MAX_SCRIPTS);
    const telling = named.filter((text) => hasNear(text, name, [gate, ...SIGNS]));
    const blobs = telling.slice(0, MAX_BLOBS).map(tryParseJson);
    for (const text of named) seen.add(text);
    if (blobs.some((value) => value !== undefined)) return blobs;
  }
  const code = [...scripts.filter(({ tag }) => !tag.includes('json')).map(({ text }) => text), ...markup];
  return assigned.flatMap((marker) => code.flatMap((text) => assignedIn(text, marker))).slice(0, MAX_BLOBS);
}

/** Whether one of the signs stands in the neighbourhood of a name: scripts that only name the post are long. */
function hasNear(text: string, name: string, signs: readonly string[]): boolean {
  for (let at = text.indexOf(name); at >= 0; at = text.indexOf(name, at + REACH)) {
    const around = text.slice(Math.max(0, at - REACH), at + REACH);
    if (signs.some((sign) => around.includes(sign))) return true;
  }
  return false;
}

/** The objects of `name = {…}` and `name('…', {…})`. */
function assignedIn(text: string, marker: string): unknown[] {
  const values: unknown[] = [];
  for (let at = text.indexOf(marker); at >= 0 && values.length < MAX_BLOBS; at = text.indexOf(marker, at)) {
    at += marker.length;
    OPENING.lastIndex = at;
    const opening = OPENING.exec(text);
    if (!opening) continue;
    const found = findJsonAfter(text, opening[0], at);
    // Where none of those that follow can be read, looking on from each would take as long again.
    if (!found) break;
    values.push(found.value);
    at = found.end;
  }
  return values;
}
