import { asArray, asId, asRecord, asString, at, findAll, type JsonRecord } from 'mediagate/plugin';
import { codeOfMessage, type SiteConfig } from '../fetch.js';
import { bareShortcode, type PostIdentity } from '../links.js';
import { readGraphqlNode, readRestNode } from './node.js';
import { GATED, OTHER_POST, type PostOutcome, type PostReading, refused, restricted, type Source } from './post.js';

/** Reads a reply of the API: the post, or why it is not there. */
export function readReply(reply: unknown, identity: PostIdentity, siteConfig: SiteConfig): PostOutcome {
  const { media, gated, otherPostOnly } = findMedia(reply, identity, siteConfig.markers);
  if (media.length > 0) return { kind: 'found', found: readMedia(media, identity) };
  if (gated) return GATED;
  if (otherPostOnly) return OTHER_POST;
  const message = asString(at(reply, 'message')) ?? asString(at(reply, 'errors', 0, 'message'));
  if (message !== undefined) {
    return { kind: 'transient', code: codeOfMessage(message, siteConfig) ?? 'upstream_refused', reason: message };
  }
  const data = asRecord(at(reply, 'data'));
  const isRemoved = isEmptyRoot(reply) || (data && siteConfig.markers.results.some((name) => isEmptyRoot(data[name])));
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

/** A record with fewer fields of a post's node is no such node. */
const MIN_FIELDS = 3;

/** Finds the post's nodes anywhere in a reply. */
export function findMedia(reply: unknown, identity: PostIdentity, markers: SiteConfig['markers']): MediaSearch {
  const { gate, closedGate } = markers;
  const fieldCount = createFieldCount(markers);
  const found: (MediaNode & { fields: number })[] = [];
  const inner = new Set<unknown>();
  let gated = false;
  let others = false;
  const isGate = (one: JsonRecord) => Object.hasOwn(one, gate) || Object.hasOwn(one, closedGate);
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

/** Counts the fields of a record that only a post's node has, in the form of which it has more. */
function createFieldCount({ restFields, graphqlFields, earlyGraphqlFields }: SiteConfig['markers']) {
  const restNames = new Set(restFields);
  const graphqlNames = new Set(graphqlFields);
  const earlyNames = new Set(earlyGraphqlFields);
  return (record: JsonRecord): { form: MediaNode['form']; fields: number } => {
    let rest = 0;
    let later = 0;
    let early = 0;
    // Most records have few fields, and none of these.
    for (const name in record) {
      if (!isPresent(record[name])) continue;
      if (restNames.has(name)) rest += 1;
      if (graphqlNames.has(name)) later += 1;
      if (earlyNames.has(name)) early += 1;
    }
    const graphql = Math.max(later, isPresent(record.display_src) ? early : 0);
    return rest >= graphql ? { form: 'rest', fields: rest } : { form: 'graphql', fields: graphql };
  };
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
