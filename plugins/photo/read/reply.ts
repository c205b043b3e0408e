import { asArray, asRecord, asString, at, findAll, type JsonRecord } from 'mediagate';
import { codeOfMessage, type SiteConfig } from '../fetch.js';
import { bareShortcode, type PostIdentity } from '../links.js';
import { parseGraphql, parseRest } from './node.js';
import { GATED, OTHER_POST, type PostOutcome, type PostReading, type Source } from './reading.js';
import { digits } from './values.js';

/** Members that hold the answer of a query; null where there is no such post. */
const ROOTS = [
  'xig_polaris_media',
  'xdt_shortcode_media',
  'shortcode_media',
  'xdt_api__v1__media__shortcode__web_info',
] as const;

/** What a reply of the API holds. */
export function readReply(reply: unknown, identity: PostIdentity, siteConfig: SiteConfig): PostOutcome {
  const search = findMedia(reply, identity, siteConfig.markers.gate);
  if (search.media.length > 0) return { kind: 'found', found: readMedia(search.media, identity) };
  if (search.gated) return GATED;
  if (search.otherPostOnly) return OTHER_POST;
  const words = asString(at(reply, 'message')) ?? asString(at(reply, 'errors', 0, 'message'));
  if (words !== undefined)
    return { kind: 'transient', code: codeOfMessage(words, siteConfig) ?? 'upstream_refused', reason: words };
  const data = asRecord(at(reply, 'data'));
  if (isEmptyRoot(reply) || (data && ROOTS.some((name) => isEmptyRoot(data[name])))) {
    return { kind: 'definitive', code: 'removed', reason: 'the platform knows no such post' };
  }
  return { kind: 'transient', code: 'upstream_refused', reason: 'an answer without the post' };
}

function isEmptyRoot(root: unknown): boolean {
  return root === null || asArray(at(root, 'items'))?.length === 0;
}

export function readMedia(media: readonly MediaNode[], identity: PostIdentity, source: Source = 'data'): PostReading[] {
  return media.map(({ form, node }) => (form === 'rest' ? parseRest : parseGraphql)(node, identity, source));
}

/** A post's node, in one of the two forms that replies have. */
export interface MediaNode {
  form: 'rest' | 'graphql';
  node: JsonRecord;
}

interface MediaSearch {
  /** Of the requested post, the richest first. */
  media: MediaNode[];
  /** The reply knows the post and keeps it from those who are not signed in. */
  gated: boolean;
  /** There are posts, and none of them is the requested one. */
  otherPostOnly: boolean;
}

const LIMITS = { maxNodes: 300_000, maxResults: 200 } as const;
const MAX_MEDIA = 4;

/** Members that only a post's node has, in the form of the app's API. */
const REST: ReadonlySet<string> = new Set([
  'media_type',
  'image_versions2',
  'video_versions',
  'carousel_media',
  'taken_at',
  'like_count',
  'comment_count',
  'caption',
  'user',
  'product_type',
]);
/** The same in the older form. */
const GRAPHQL: ReadonlySet<string> = new Set([
  'display_url',
  'display_resources',
  'edge_media_to_caption',
  'edge_media_preview_like',
  'edge_liked_by',
  'edge_media_to_comment',
  'edge_media_to_parent_comment',
  'taken_at_timestamp',
  'owner',
  'is_video',
]);
/** The same in pages until 2017. */
const EARLY: ReadonlySet<string> = new Set([
  'display_src',
  'is_video',
  'owner',
  'likes',
  'comments',
  'date',
  'video_views',
]);
const MIN_FIELDS = 3;
/** Stands in the place of the gate where the post is behind it. */
export const CLOSED_GATE = 'if_gated_logged_out';

/** Looks for the post's nodes anywhere in a reply, whatever the names on the way to them. */
export function findMedia(reply: unknown, identity: PostIdentity, gate: string): MediaSearch {
  const found: (MediaNode & { fields: number })[] = [];
  const inner = new Set<unknown>();
  let gated = false;
  let others = false;
  const isGate = (one: JsonRecord) => Object.hasOwn(one, gate) || Object.hasOwn(one, CLOSED_GATE);
  for (const record of findAll(reply, (one) => isGate(one) || fieldCount(one).fields >= MIN_FIELDS, LIMITS)) {
    if (isGate(record)) {
      const behind = asRecord(record[gate]);
      const own = isRequested(record, identity);
      // A closed gate is all that its reply holds, and need not say before what it stands.
      if (!behind && own !== false) {
        gated = true;
        continue;
      }
      if (!behind || own !== true) {
        others = true;
        continue;
      }
      // What stands behind the gate need not repeat whose it is.
      if (isRequested(behind, identity) === false) continue;
      inner.add(behind);
      const { [gate]: _behind, ...outer } = record;
      const node = { ...outer, ...behind };
      found.push({ node, ...fieldCount(node) });
    } else if (!inner.has(record)) {
      const own = isRequested(record, identity);
      if (own === true) found.push({ node: record, ...fieldCount(record) });
      else if (own === false && at(record, 'carousel_parent_id') === undefined) others = true;
    }
  }
  const media = found.sort((one, other) => other.fields - one.fields).slice(0, MAX_MEDIA);
  return { media, gated: gated && media.length === 0, otherPostOnly: others && media.length === 0 && !gated };
}

function fieldCount(record: JsonRecord): { form: MediaNode['form']; fields: number } {
  let rest = 0;
  let later = 0;
  let early = 0;
  // Most records have few members, and none of these.
  for (const name in record) {
    if (!isPresent(record[name])) continue;
    if (REST.has(name)) rest += 1;
    if (GRAPHQL.has(name)) later += 1;
    if (EARLY.has(name)) early += 1;
  }
  const graphql = Math.max(later, isPresent(record.display_src) ? early : 0);
  return rest >= graphql ? { form: 'rest', fields: rest } : { form: 'graphql', fields: graphql };
}

function isPresent(value: unknown): boolean {
  return value !== undefined && value !== null;
}

/** True where what a node says of its identity is the requested one's; undefined where it says nothing. */
function isRequested(record: JsonRecord, { shortcode, mediaId }: PostIdentity): boolean | undefined {
  const ids = [digits(record.pk), digits(record.id)].filter((id) => id !== undefined);
  const code = asString(record.code) ?? asString(record.shortcode);
  if (code === undefined) return ids.length === 0 ? undefined : ids.every((id) => id === mediaId);
  // With the shortcode beside it, an id that somebody on the way wrote as a rounded number is still the id.
  const near = (id: string) => id === mediaId || Number(id) === Number(mediaId);
  return bareShortcode(code) === bareShortcode(shortcode) && ids.every(near);
}
