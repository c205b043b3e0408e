export { type MatchLink, matchPasted } from './link-match.js';
export { parseLinkText } from './link-text.js';
export { WRAPPERS, type Wrapper } from './link-wrappers.js';
