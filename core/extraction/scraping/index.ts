export { isPlainUrl, pathSegments } from './addresses.js';
export { parseCount } from './counts.js';
export { parseDuration } from './dates.js';
export { fitSchema } from './fit-schema.js';
