/*
 * What the rest of extraction uses for pasted links: parsing their text, matching, and the list of wrapping addresses.
 */

export { type MatchLink, matchPasted } from './link-match.js';
export { parseLinkText } from './link-text.js';
export { WRAPPERS, type Wrapper } from './link-wrappers.js';
