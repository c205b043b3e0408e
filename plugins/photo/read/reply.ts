import { asArray, asRecord, asString, at, GatewayError, tryParseJson } from 'mediagate';
import type { Facts } from '../facts.js';
import type { PostIdentity } from '../shortcode.js';
import { type FoundMedia, findMedia } from './find-media.js';
import { parseGraphql } from './graphql.js';
import { GATED, OTHER_POST, type PostOutcome } from './outcomes.js';
import type { PostReading, Source } from './reading.js';
import { parseRest } from './rest.js';
import { codeOfWords } from './states.js';

/** Members that hold the answer of a query; null where there is no such post. */
const ROOTS = [
  'xig_polaris_media',
  'xdt_shortcode_media',
  'shortcode_media',
  'xdt_api__v1__media__shortcode__web_info',
] as const;
const GUARD = /^\s*for\s*\(;;\);/;

/**
 * A body that should be JSON.
 * @throws GatewayError `upstream_refused` where it is something else, which is what a refusal looks like.
 */
export function readBody(text: string): unknown {
  const value = tryParseJson(text.replace(GUARD, ''));
  if (value !== undefined) return value;
  throw new GatewayError('upstream_refused', 'The platform answered with something else than JSON.', {
    reason: text.trim() === '' ? 'empty answer' : 'a page in place of data',
  });
}

/** What a reply of the API amounts to. */
export function outcomeOfReply(reply: unknown, identity: PostIdentity, facts: Facts): PostOutcome {
  const search = findMedia(reply, identity, facts.markers.gate);
  if (search.media.length > 0) return { kind: 'found', found: readMedia(search.media, identity) };
  if (search.gated) return GATED;
  if (search.othersOnly) return OTHER_POST;
  const words = asString(at(reply, 'message')) ?? asString(at(reply, 'errors', 0, 'message'));
  if (words !== undefined)
    return { kind: 'transient', code: codeOfWords(words, facts) ?? 'upstream_refused', reason: words };
  const data = asRecord(at(reply, 'data'));
  if (isEmptyRoot(reply) || (data && ROOTS.some((name) => isEmptyRoot(data[name])))) {
    return { kind: 'definitive', code: 'removed', reason: 'the platform knows no such post' };
  }
  return { kind: 'transient', code: 'upstream_refused', reason: 'an answer without the post' };
}

function isEmptyRoot(root: unknown): boolean {
  return root === null || asArray(at(root, 'items'))?.length === 0;
}

export function readMedia(
  media: readonly FoundMedia[],
  identity: PostIdentity,
  source: Source = 'data',
): PostReading[] {
  return media.map(({ form, node }) => (form === 'rest' ? parseRest : parseGraphql)(node, identity, source));
}
