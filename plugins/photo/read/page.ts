/*
 * Reads the page of a post: its data, then the linked data of older pages, then the tags for link previews. Only
 * scripts that contain an identifier of the post near typical fields are parsed, because a page has megabytes of other
 * data. If there is no post, the page's own words decide: a stated reason, a closed gate, an error page, a challenge,
 * or a login page. A login page is transient, since the site also shows it for public posts. Tags without the author's
 * id get it from the page's route.
 */

import { asId, findJsonAfter, findPhrase, type ScriptedPage, splitScripts, tryParseJson } from 'mediagate/plugin';
import type { SiteConfig } from '../fetch.js';
import type { PostIdentity } from '../links.js';
import { readLinkedData } from './older/linked-data.js';
import {
  GATED,
  hasAllFiles,
  hasAuthorAndContent,
  OTHER_POST,
  type PostOutcome,
  type PostReading,
  readRuling,
  refused,
  restricted,
} from './post.js';
import { findReadings } from './reply.js';
import { parseTags } from './tags.js';

/** Reads the page of a post: its data, its tags for link previews, or why it has neither. */
export function readPermalinkPage(html: string, identity: PostIdentity, siteConfig: SiteConfig): PostOutcome {
  const page = splitScripts(html);
  const { markers } = siteConfig;
  const searches = readPageBlobs(page, identity, siteConfig).map((blob) => findReadings(blob, identity, markers));
  const listed = searches.flatMap(({ readings }) => readings);
  const gated = listed.length === 0 && searches.some((search) => search.gated);
  const data = listed.length > 0 ? listed : readLinkedData(page, identity);
  // The tags would add nothing.
  if (hasAuthorAndContent(data) && hasAllFiles(data)) return { kind: 'found', found: data };
  const tags = parseTags(html, identity, siteConfig);
  const found = [...data, ...(tags.reading ? [addOwnerId(tags.reading, page, identity)] : [])];
  if (found.length > 0) return { kind: 'found', found, limitations: gated ? ['media_login_only'] : [] };
  if (html.includes(markers.ruling)) {
    const reply = findJsonAfter(html, new RegExp(`"\\w{0,80}${markers.ruling}\\w{0,80}"`))?.value;
    const ruling = readRuling(reply, siteConfig.phrases);
    if (ruling) return ruling;
  }
  if (gated || html.includes(`"${markers.closedGate}":{`)) return GATED;
  const restriction = restrictionOf(html, tags.title ?? '', siteConfig);
  if (restriction) return restriction;
  if (tags.other || searches.some((search) => search.otherPostOnly)) return OTHER_POST;
  return refused('a page without the post’s data');
}

/** The route in a page has the id of the owner, also if the page has no data. */
function addOwnerId(reading: PostReading, { scripts, markup }: ScriptedPage, { mediaId }: PostIdentity): PostReading {
  const { post } = reading;
  if (post.ids?.author_id) return reading;
  const texts = [...scripts.map(({ text }) => text), ...markup];
  const around = texts.map((text) => recordAround(text, mediaId)).find((text) => text !== '');
  const id = asId(/"(?:media_)?owner_id"\s*:\s*"(\d+)"/.exec(around ?? '')?.[1]);
  if (!id) return reading;
  const common = { ...post.common, author: { ...post.common?.author, id } };
  return { ...reading, post: { ...post, ids: { ...post.ids, author_id: id }, common } };
}

/** The part of a record around the first `media_id` that is the post's. */
function recordAround(text: string, mediaId: string): string {
  const field = '"media_id"';
  const value = `"${mediaId}"`;
  for (let at = text.indexOf(value); at >= 0; at = text.indexOf(value, at + value.length)) {
    if (!text.slice(Math.max(0, at - field.length - 20), at).includes(field)) continue;
    const before = text.slice(Math.max(0, at - 100), at);
    return before.slice(before.search(/[^{}]*$/)) + /^[^{}]*/.exec(text.slice(at, at + 160))?.[0];
  }
  return '';
}

/** What a page is that has no post; undefined if it does not say. */
function restrictionOf(html: string, title: string, { markers, phrases }: SiteConfig): PostOutcome | undefined {
  const contains = (list: readonly string[]) => list.some((marker) => html.includes(marker));
  const isTitled = (list: readonly string[]) => findPhrase(title, list) !== undefined;
  const error = errorPageOf(html, markers.errorPage);
  if (error?.age) return restricted('age_restricted', error.reason);
  if (error?.reason) {
    return restricted(/geo|country|region|legal/i.test(error.reason) ? 'geo_blocked' : 'unavailable', error.reason);
  }
  const route = /"tracePolicy"\s*:\s*"(polaris\.[\w.]+)"/.exec(html)?.[1] ?? '';
  if (markers.privatePage.includes(route)) return restricted('private', 'the account is private');
  if (markers.challengeRoutes.includes(route) || contains(markers.challengePage)) {
    return { kind: 'transient', code: 'bot_check', reason: 'a challenge in place of the page' };
  }
  if (error || contains(markers.missingPage) || isTitled(phrases.missing)) {
    return restricted('removed', title && title !== 'Instagram' ? title : 'the page is not there');
  }
  const isLogin = markers.loginRoutes.includes(route) || contains(markers.loginPage) || isTitled(phrases.loginTitle);
  return isLogin ? refused('a login page in place of the post') : undefined;
}

/** The error page that the site shows in place of a post, and the reason that it gives. */
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
/** Maximum scripts that contain an identifier of the post; real pages have a few. */
const MAX_SCRIPTS = 40;
/** Fields of which a post's node has at least one. */
const POST_FIELDS = ['taken_at', 'like_count', 'image_versions2', 'display_url', 'edge_media_to_caption'];
/** Maximum characters between an identifier of the post and one of these fields. */
const MAX_DISTANCE = 50_000;
/** The text between a name and the object that is assigned to it, or that is its second argument. */
const OPENING = /\s*=\s*(?=\{)|\(\s*(['"])[^'"]*\1\s*,\s*(?=\{)/y;

/**
 * The values in a page's scripts that may contain the post: JSON scripts with an identifier of it, and objects that older
 * pages assign or pass to a function. The rest of the page is not parsed.
 */
export function readPageBlobs(
  { scripts, markup }: ScriptedPage,
  { mediaId, shortcode }: PostIdentity,
  siteConfig: SiteConfig,
): unknown[] {
  const { gate, scripts: assigned } = siteConfig.markers;
  const data = scripts.filter(({ tag }) => tag.includes('application/json')).map(({ text }) => text);
  // Each search reads a megabyte, so the second one runs only if the first one was in vain.
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

/** Whether a field is near an identifier: the scripts that only mention the post are long. */
function hasNear(text: string, name: string, fields: readonly string[]): boolean {
  for (let at = text.indexOf(name); at >= 0; at = text.indexOf(name, at + MAX_DISTANCE)) {
    const around = text.slice(Math.max(0, at - MAX_DISTANCE), at + MAX_DISTANCE);
    if (fields.some((field) => around.includes(field))) return true;
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
    // None of the following can be read; trying each of them would take as long again.
    if (!found) break;
    values.push(found.value);
    at = found.end;
  }
  return values;
}
