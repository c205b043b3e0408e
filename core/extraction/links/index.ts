export { type MatchLink, matchPasted } from './link-match.js';
export { parseLinkText } from './link-text.js';
