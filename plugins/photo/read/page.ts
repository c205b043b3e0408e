import { asString, at, findJsonAfter, type ScriptedPage, splitScripts, tryParseJson } from 'mediagate';
import type { SiteConfig } from '../fetch.js';
import type { PostIdentity } from '../links.js';
import { parseLinkedData } from './older/linked-data.js';
import {
  GATED,
  hasAllFiles,
  hasAuthorAndContent,
  OTHER_POST,
  type PostOutcome,
  type PostReading,
  type Readings,
  readRuling,
} from './reading.js';
import { CLOSED_GATE, findMedia, type MediaNode, readMedia } from './reply.js';
import { parseTags } from './tags.js';
import { digits } from './values.js';

/** What the page of a post amounts to: its data first, then its tags, then why it has neither. */
export function readPermalinkPage(html: string, identity: PostIdentity, siteConfig: SiteConfig): PostOutcome {
  const page = splitScripts(html);
  const searches = readPageBlobs(page, identity, siteConfig).map((blob) =>
    findMedia(blob, identity, siteConfig.markers.gate),
  );
  const media = searches.flatMap((search): MediaNode[] => search.media);
  const gated = media.length === 0 && searches.some((search) => search.gated);
  const limitations = gated ? ['media_login_only'] : [];
  const data: Readings = [...readMedia(media, identity), ...(media.length > 0 ? [] : parseLinkedData(page, identity))];
  // With all of the post at hand, the tags would add nothing.
  if (hasAuthorAndContent(data) && hasAllFiles(data)) return { kind: 'found', found: data };
  const tags = parseTags(html, identity, siteConfig);
  const found = [...data, ...(tags.reading ? [addOwnerId(tags.reading, page, identity)] : [])];
  if (found.length > 0) return { kind: 'found', found, limitations };
  const ruling = rulingIn(html, siteConfig);
  if (ruling) return ruling;
  if (gated || html.includes(`"${CLOSED_GATE}":{`)) return GATED;
  const why = restrictionOf(html, tags.title ?? '', siteConfig);
  if (why) return why;
  if (tags.other || searches.some((search) => search.otherPostOnly)) return OTHER_POST;
  return { kind: 'transient', code: 'upstream_refused', reason: 'a page without the post’s data' };
}

/** The page's route names the owner even where no data came along. */
function addOwnerId(reading: PostReading, { scripts, markup }: ScriptedPage, { mediaId }: PostIdentity): PostReading {
  const { post } = reading;
  if (post.ids?.author_id) return reading;
  const texts = [...scripts.map(({ text }) => text), ...markup];
  const around = texts.map((text) => recordAround(text, '"media_id"', mediaId)).find((text) => text !== '');
  const id = digits(/"(?:media_)?owner_id"\s*:\s*"(\d+)"/.exec(around ?? '')?.[1]);
  if (!id) return reading;
  return {
    ...reading,
    post: {
      ...post,
      ids: { ...post.ids, author_id: id },
      common: { ...post.common, author: { ...post.common?.author, id } },
    },
  };
}

/** The text around the first place where a member has the post's id, as far as it is of the same record. */
function recordAround(text: string, member: string, mediaId: string): string {
  const value = `"${mediaId}"`;
  for (let at = text.indexOf(value); at >= 0; at = text.indexOf(value, at + value.length)) {
    if (!text.slice(Math.max(0, at - member.length - 20), at).includes(member)) continue;
    const before = text.slice(Math.max(0, at - 100), at);
    return before.slice(before.search(/[^{}]*$/)) + /^[^{}]*/.exec(text.slice(at, at + 160))?.[0];
  }
  return '';
}

function rulingIn(html: string, { markers, phrases }: SiteConfig): PostOutcome | undefined {
  if (!html.includes(markers.ruling)) return undefined;
  const ruling = findJsonAfter(html, new RegExp(`"\\w{0,80}${markers.ruling}\\w{0,80}"`))?.value;
  const words = [asString(at(ruling, 'title')), asString(at(ruling, 'description'))].filter(Boolean).join(': ');
  return words ? readRuling(words, phrases) : undefined;
}

function restrictionOf(html: string, title: string, { markers, phrases }: SiteConfig): PostOutcome | undefined {
  const holds = (marks: readonly string[]) => marks.some((mark) => html.includes(mark));
  const titled = (words: readonly string[]) => words.some((word) => title.toLowerCase().includes(word));
  const error = errorPageOf(html, markers.errorPage);
  if (error?.age) return { kind: 'definitive', code: 'age_restricted', reason: error.reason };
  if (error?.reason) {
    const geo = /geo|country|region|legal/i.test(error.reason);
    return { kind: 'definitive', code: geo ? 'geo_blocked' : 'unavailable', reason: error.reason };
  }
  const route = /"tracePolicy"\s*:\s*"(polaris\.[\w.]+)"/.exec(html)?.[1] ?? '';
  if (markers.privatePage.includes(route)) {
    return { kind: 'definitive', code: 'private', reason: 'the account is private' };
  }
  if (markers.challengeRoutes.includes(route) || holds(markers.challengePage))
    return { kind: 'transient', code: 'bot_check', reason: 'a challenge in place of the page' };
  if (error || holds(markers.missingPage) || titled(phrases.missing)) {
    return {
      kind: 'definitive',
      code: 'removed',
      reason: title && title !== 'Instagram' ? title : 'the page is not there',
    };
  }
  if (markers.loginRoutes.includes(route) || holds(markers.loginPage) || titled(phrases.loginTitle)) {
    return { kind: 'transient', code: 'upstream_refused', reason: 'a login page in place of the post' };
  }
  return undefined;
}

/** The page that the site shows in the place of a post, with its reason where it gives one. */
function errorPageOf(html: string, marker: string): { age: boolean; reason?: string } | undefined {
  const index = html.indexOf(`"${marker}"`);
  if (index < 0) return undefined;
  const around = html.slice(Math.max(0, index - 300), index + 600);
  const age = /"restricted_age"\s*:\s*"?(\d+)/.exec(around)?.[1];
  const failure = /"failure_reason"\s*:\s*"([^"]+)"/.exec(around)?.[1];
  const reason = [failure && `failure_reason ${failure}`, age && `restricted_age ${age}`].filter(Boolean).join(', ');
  return { age: age !== undefined, ...(reason && { reason }) };
}

const MAX_BLOBS = 8;
/** Scripts that name the post and do not hold it, as its route; a page with more of them is an attack on our time. */
const MAX_SCRIPTS = 40;
/** Members of which a post's node has one or another, as they stand in the text of a script. */
const POST_FIELDS = ['taken_at', 'like_count', 'image_versions2', 'display_url', 'edge_media_to_caption'];
/** How far from the post's name one of them stands, in characters. */
const MAX_DISTANCE = 50_000;
/** What stands between a name and the object that is assigned to it, or is its second argument. */
const OPENING = /\s*=\s*(?=\{)|\(\s*(['"])[^'"]*\1\s*,\s*(?=\{)/y;

/**
 * The values of the page's scripts that may hold the post: JSON scripts that name it, and what older pages assign or
 * call with. The rest of the page is not parsed.
 */
export function readPageBlobs(
  { scripts, markup }: ScriptedPage,
  { mediaId, shortcode }: PostIdentity,
  siteConfig: SiteConfig,
): unknown[] {
  const { gate, scripts: assigned } = siteConfig.markers;
  const data = scripts.filter(({ tag }) => tag.includes('application/json')).map(({ text }) => text);
  // Each look costs a pass over a megabyte, so the next one is taken only where the one before was in vain.
  const seen = new Set<string>();
  for (const name of [mediaId, `"${shortcode}"`]) {
    const named = data.filter((text) => !seen.has(text) && text.includes(name)).slice(0, MAX_SCRIPTS);
    const likely = named.filter((text) => hasNear(text, name, [gate, ...POST_FIELDS]));
    const blobs = likely.slice(0, MAX_BLOBS).map(tryParseJson);
    for (const text of named) seen.add(text);
    if (blobs.some((value) => value !== undefined)) return blobs;
  }
  const code = [...scripts.filter(({ tag }) => !tag.includes('json')).map(({ text }) => text), ...markup];
  return assigned.flatMap((marker) => code.flatMap((text) => assignedIn(text, marker))).slice(0, MAX_BLOBS);
}

/** Whether one of the signs stands in the neighbourhood of a name: scripts that only name the post are long. */
function hasNear(text: string, name: string, signs: readonly string[]): boolean {
  for (let at = text.indexOf(name); at >= 0; at = text.indexOf(name, at + MAX_DISTANCE)) {
    const around = text.slice(Math.max(0, at - MAX_DISTANCE), at + MAX_DISTANCE);
    if (signs.some((sign) => around.includes(sign))) return true;
  }
  return false;
}

/** The objects of `name = {…}` and `name('…', {…})`. */
function assignedIn(text: string, marker: string): unknown[] {
  const values: unknown[] = [];
  for (let at = text.indexOf(marker); at >= 0 && values.length < MAX_BLOBS; at = text.indexOf(marker, at)) {
    at += marker.length;
    OPENING.lastIndex = at;
    const opening = OPENING.exec(text);
    if (!opening) continue;
    const found = findJsonAfter(text, opening[0], at);
    // Where none of those that follow can be read, looking on from each would take as long again.
    if (!found) break;
    values.push(found.value);
    at = found.end;
  }
  return values;
}
