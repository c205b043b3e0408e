/** Finds the JSON in the scripts of a page that names an item. */

import { findJsonAfter } from 'mediagate/plugin';

const SCRIPT = /<script[^>]*>(?:\s*(?:var|window\.)?\s*\w+\s*=)?\s*(?=[{[])/g;

/**
 * The JSON in a page's scripts that names the item. Only parsing shows which of it describes the item, and which only
 * repeats its id.
 */
export function blobsNaming(html: string, id: string): string[] {
  const blobs: string[] = [];
  for (const match of html.matchAll(SCRIPT)) {
    const start = match.index + match[0].length;
    const close = html.indexOf('</script', start);
    if (!html.slice(start, close < 0 ? html.length : close).includes(id)) continue;
    const found = findJsonAfter(html, match[0], match.index);
    if (found) blobs.push(html.slice(start, found.end));
  }
  return blobs;
}

/**
 * Those of the blobs without which the reading is another one: the last is taken away first, as a page may repeat what it
 * has said.
 */
export function blobsNeeded(html: string, blobs: readonly string[], read: (html: string) => unknown): string[] {
  const whole = JSON.stringify(read(html));
  let page = html;
  return blobs.toReversed().filter((blob) => {
    const without = page.replace(blob, () => '');
    if (JSON.stringify(read(without)) !== whole) return true;
    page = without;
    return false;
  });
}
