/** Pure readers for extractors: they never throw on any page content. */
export { type Count, parseCount } from './counts.js';
export { parseDuration, toIsoTime } from './dates.js';
export {
  asArray,
  asBoolean,
  asCount,
  asNumber,
  asPositive,
  asRecord,
  asString,
  at,
  type FindLimits,
  findAll,
  firstLine,
  type JsonRecord,
  literalEnd,
  parseJson,
  tryParseJson,
} from './json.js';
export { decodeEntities, metaTags } from './meta-tags.js';
export { type ExtractedJson, findJsonAfter, type PageScript, type ScriptedPage, splitScripts } from './page-json.js';
