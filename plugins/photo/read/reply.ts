/*
 * Finds a post's nodes anywhere in a reply, by the number of typical fields and by the id; places change, fields rarely
 * do. A node behind a closed gate means that the post exists, but only for signed-in users. A reply with other posts
 * only is about another post.
 */

import { asArray, asId, asRecord, asString, at, findAll, type JsonRecord } from 'mediagate/plugin';
import { codeOfMessage, type SiteConfig } from '../fetch.js';
import { bareShortcode, type PostIdentity } from '../links.js';
import { readGraphqlNode, readRestNode } from './node.js';
import { GATED, OTHER_POST, type PostOutcome, refused, restricted, type Source } from './post.js';

/** Reads a reply of the API: the post, or why it is not there. */
export function readReply(reply: unknown, identity: PostIdentity, siteConfig: SiteConfig): PostOutcome {
  const { readings, gated, otherPostOnly } = findReadings(reply, identity, siteConfig.markers);
  if (readings.length > 0) return { kind: 'found', found: readings };
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

const LIMITS = { maxNodes: 300_000, maxResults: 200 } as const;
const MAX_NODES = 4;

/** A record with fewer fields of a post's node is no such node. */
const MIN_FIELDS = 3;

/**
 * Reads the post's nodes anywhere in a reply, the most complete first. `gated`: the reply has the post, but not for
 * clients that are not signed in. `otherPostOnly`: it has posts, and none of them is the requested one.
 */
export function findReadings(
  reply: unknown,
  identity: PostIdentity,
  markers: SiteConfig['markers'],
  source: Source = 'data',
) {
  const { gate, closedGate } = markers;
  const fieldCount = createFieldCount(markers);
  const nodes: JsonRecord[] = [];
  const inner = new Set<unknown>();
  let gated = false;
  let others = false;
  const isGate = (one: JsonRecord) => Object.hasOwn(one, gate) || Object.hasOwn(one, closedGate);
  for (const record of findAll(reply, (one) => isGate(one) || fieldCount(one).fields >= MIN_FIELDS, LIMITS)) {
    const own = isRequested(record, identity);
    if (isGate(record)) {
      const { [gate]: inside, ...outer } = record;
      const behind = asRecord(inside);
      if (!behind || own !== true) {
        // A closed gate is all that its reply contains, often without an identifier.
        if (!behind && own !== false) gated = true;
        else others = true;
      } else if (isRequested(behind, identity) !== false) {
        // The node behind a gate often has no identifier of its own.
        inner.add(behind);
        nodes.push({ ...outer, ...behind });
      }
    } else if (!inner.has(record)) {
      if (own === true) nodes.push(record);
      else if (own === false && at(record, 'carousel_parent_id') === undefined) others = true;
    }
  }
  const found = nodes.map((node) => ({ node, ...fieldCount(node) }));
  const best = found.sort((one, other) => other.fields - one.fields).slice(0, MAX_NODES);
  return {
    readings: best.map(({ node, read }) => read(node, { identity, source, statNames: markers.statFields })),
    gated: gated && best.length === 0,
    otherPostOnly: others && best.length === 0 && !gated,
  };
}

/** Counts the fields of a record that only a post's node has, in the form of which it has more, and names its reader. */
function createFieldCount({ restFields, graphqlFields, earlyGraphqlFields }: SiteConfig['markers']) {
  const restNames = new Set(restFields);
  const graphqlNames = new Set(graphqlFields);
  const earlyNames = new Set(earlyGraphqlFields);
  return (record: JsonRecord) => {
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
    return rest >= graphql ? { read: readRestNode, fields: rest } : { read: readGraphqlNode, fields: graphql };
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
