/*
 * What the rest of extraction uses for pasted links: parsing their text, matching, and the list of wrapping addresses.
 */

export { matchPasted } from './link-match.js';
export { parseLinkText } from './link-text.js';
export { WRAPPERS } from './link-wrappers.js';
