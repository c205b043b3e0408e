/*
 * The few page readers that the rest of core imports; plugins get all of them through `scraping.ts`.
 */

export { isPlainUrl, pathSegments } from './addresses.js';
export { parseCount } from './counts.js';
export { parseDuration } from './dates.js';
export { fitSchema } from './fit-schema.js';
