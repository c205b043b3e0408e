/*
 * `mediagate/plugin` exports these page readers to extractors. They are pure functions that never throw on any page
 * content and take linear time.
 */

export {
  asArray,
  asBoolean,
  asCount,
  asId,
  asNumber,
  asPositive,
  asRecord,
  asRecords,
  asString,
  at,
  type FindLimits,
  findAll,
  firstLine,
  type JsonRecord,
  literalEnd,
  parseJson,
  rawStats,
  tryParseJson,
} from '../../runtime/index.js';
export {
  absoluteUrl,
  acceptLanguage,
  expiryOf,
  fillUrl,
  isPlainUrl,
  kindOfPage,
  navigationHeaders,
  pathSegments,
  queryValue,
} from './addresses.js';
export { type Count, parseCount, shownCounters } from './counts.js';
export { type DashManifest, readDashManifest } from './dash.js';
export { parseDuration, toIsoTime } from './dates.js';
export {
  type LinkedImage,
  type LinkedItem,
  type LinkedPerson,
  linkedDataNodes,
  readLinkedItem,
} from './linked-data.js';
export { decodeEntities, metaTags } from './meta-tags.js';
export { type ExtractedJson, findJsonAfter, type PageScript, type ScriptedPage, splitScripts } from './page-json.js';
export { findPhrase, type HashtagOptions, hashtagsIn, latinDigits } from './texts.js';
