export { parseCount } from './counts.js';
export { parseDuration } from './dates.js';
export { fitSchema } from './fit-schema.js';
export { literalEnd, parseJson } from './json-text.js';
export { at, firstLine, isRecord, type JsonRecord } from './json-walk.js';
export { parseLinkText } from './link-text.js';
