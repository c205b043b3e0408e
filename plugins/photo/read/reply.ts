import { asArray, asId, asRecord, asString, at, findAll, type JsonRecord } from 'mediagate/plugin';
import { codeOfMessage, type SiteConfig } from '../fetch.js';
import { bareShortcode, type PostIdentity } from '../links.js';
import { readGraphqlNode, readRestNode } from './node.js';
import { GATED, OTHER_POST, type PostOutcome, type PostReading, refused, restricted, type Source } from './reading.js';

/** Fields that hold the result of a query; null if there is no such post. */
const ROOTS = [
  'xig_polaris_media',
  'xdt_shortcode_media',
  'shortcode_media',
  'xdt_api__v1__media__shortcode__web_info',
] as const;

/** Reads a reply of the API: the post, or why it is not there. */
export function readReply(reply: unknown, identity: PostIdentity, siteConfig: SiteConfig): PostOutcome {
  const { media, gated, otherPostOnly } = findMedia(reply, identity, siteConfig.markers.gate);
  if (media.length > 0) return { kind: 'found', found: readMedia(media, identity) };
  if (gated) return GATED;
  if (otherPostOnly) return OTHER_POST;
  const message = asString(at(reply, 'message')) ?? asString(at(reply, 'errors', 0, 'message'));
  if (message !== undefined) {
    return { kind: 'transient', code: codeOfMessage(message, siteConfig) ?? 'upstream_refused', reason: message };
  }
  const data = asRecord(at(reply, 'data'));
  const isRemoved = isEmptyRoot(reply) || (data && ROOTS.some((name) => isEmptyRoot(data[name])));
  return isRemoved ? restricted('removed', 'the platform knows no such post') : refused('an answer without the post');
}

function isEmptyRoot(root: unknown): boolean {
  return root === null || asArray(at(root, 'items'))?.length === 0;
}

export function readMedia(media: readonly MediaNode[], identity: PostIdentity, source: Source = 'data'): PostReading[] {
  return media.map(({ form, node }) => (form === 'rest' ? readRestNode : readGraphqlNode)(node, identity, source));
}

/** A post's node in one of the two forms that replies have. */
export interface MediaNode {
  form: 'rest' | 'graphql';
  node: JsonRecord;
}

interface MediaSearch {
  /** Nodes of the requested post, the most complete first. */
  media: MediaNode[];
  /** The reply has the post, but not for clients that are not signed in. */
  gated: boolean;
  /** The reply has posts, and none of them is the requested one. */
  otherPostOnly: boolean;
}

const LIMITS = { maxNodes: 300_000, maxResults: 200 } as const;
const MAX_MEDIA = 4;

/** Fields that only a post's node has, in the form of the app's API. */
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
/** The same in the GraphQL form. */
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
/** Replaces the gate if the post is not shown. */
export const CLOSED_GATE = 'if_gated_logged_out';

/** Finds the post's nodes anywhere in a reply. */
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
      // A closed gate is all that its reply contains, often without an identifier.
      if (!behind && own !== false) {
        gated = true;
        continue;
      }
      if (!behind || own !== true) {
        others = true;
        continue;
      }
      // The node behind a gate often has no identifier of its own.
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
  // Most records have few fields, and none of these.
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

/** Whether the identifiers of a node are those of the requested post; undefined if it has none. */
function isRequested(record: JsonRecord, { shortcode, mediaId }: PostIdentity): boolean | undefined {
  const ids = [mediaIdIn(record.pk), mediaIdIn(record.id)].filter((id) => id !== undefined);
  const code = asString(record.code) ?? asString(record.shortcode);
  if (code === undefined) return ids.length === 0 ? undefined : ids.every((id) => id === mediaId);
  // Beside the shortcode, an id may be a rounded number.
  const near = (id: string) => id === mediaId || Number(id) === Number(mediaId);
  return bareShortcode(code) === bareShortcode(shortcode) && ids.every(near);
}

/** Some replies append the owner's id after an underscore. */
function mediaIdIn(value: unknown): string | undefined {
  return asId(asString(value)?.replace(/_\d+$/, '') ?? value);
}
