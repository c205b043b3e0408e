import type { ChainResult, DefinitiveCode, Outcome, PartialPost, TransientCode } from 'mediagate';
import type { Facts } from '../fetch.js';
import { parseNext } from './next.js';
import { type PlayState, readPlayState } from './playability.js';
import { parsePlayer } from './player.js';

/** What a method finds: parts of the post, best first. */
export type Found = readonly PartialPost[];
export type VideoOutcome = Outcome<Found>;
export type VideoClimb = ChainResult<Found>;

/** What there is to read replies by. */
export interface Reading {
  facts: Facts;
  /** ISO 3166-1 alpha-2 code of the market that was asked. */
  region: string;
}

const OTHER_ITEM: VideoOutcome = {
  kind: 'transient',
  code: 'upstream_refused',
  reason: 'the answer was about another video',
};

/** Whether the parts have what an answer needs: a title and whose it is. */
export function isReadable(posts: Found): boolean {
  return posts.some((post) => post.common?.title) && posts.some((post) => post.common?.author?.name);
}

/** What a player reply amounts to. */
export function outcomeOfPlayer(player: unknown, id: string, reading: Reading): VideoOutcome {
  const { belongs, post, limitations } = parsePlayer(player, id);
  if (belongs === 'other') return OTHER_ITEM;
  const state = readPlayState(player, reading.facts, reading.region);
  if (belongs === 'requested') return conclude(state, [post], limitations);
  if (state.kind !== 'open') return conclude(state, [], limitations);
  return { kind: 'transient', code: 'upstream_changed', reason: 'the answer names no video and no reason' };
}

/** What the reply about the page around the player amounts to. */
export function outcomeOfNext(next: unknown, id: string, { facts, region }: Reading): VideoOutcome {
  const { belongs, post, refusal } = parseNext(next, id);
  if (belongs === 'other') return OTHER_ITEM;
  if (belongs === 'requested') return { kind: 'found', found: [post] };
  // In the place of the item the page says why there is none, in the words that the player uses.
  return refusal ? conclude(readRefusal(refusal, facts, region), [], []) : { kind: 'found', found: [] };
}

/** What the two blobs of a watch page amount to together. */
export function outcomeOfPage(player: unknown, next: unknown, id: string, reading: Reading): VideoOutcome {
  const ofPlayer = parsePlayer(player, id);
  const ofNext = parseNext(next, id, ofPlayer.post.common);
  if (ofPlayer.belongs === 'other' || ofNext.belongs === 'other') return OTHER_ITEM;
  const posts = [
    ...(ofPlayer.belongs === 'requested' ? [ofPlayer.post] : []),
    ...(ofNext.belongs === 'requested' ? [ofNext.post] : []),
  ];
  const state = readPlayState(player, reading.facts, reading.region);
  if (state.kind === 'open' && posts.length === 0 && ofNext.refusal) {
    return conclude(readRefusal(ofNext.refusal, reading.facts, reading.region), [], []);
  }
  return conclude(state, posts, ofPlayer.limitations);
}

function readRefusal(reason: string, facts: Facts, region: string): PlayState {
  return readPlayState({ playabilityStatus: { status: 'ERROR', reason } }, facts, region);
}

function conclude(state: PlayState, posts: Found, limitations: readonly string[]): VideoOutcome {
  const readable = isReadable(posts);
  switch (state.kind) {
    case 'open':
      return { kind: 'found', found: posts, limitations };
    case 'offline':
      return {
        kind: 'found',
        found: posts.map(state.upcoming ? asUpcoming : asWithheld),
        limitations: [...limitations, state.upcoming ? 'live_upcoming' : 'live_offline'],
      };
    case 'refused':
      return readable
        ? { kind: 'found', found: posts.map(asWithheld), limitations: [...limitations, noteOf(state.code)] }
        : { kind: 'transient', code: state.code, reason: state.reason };
    case 'closed': {
      const { code, reason } = state;
      // A private item is nobody's business, whatever a reply lets slip.
      if (code === 'private') return { kind: 'definitive', code, reason };
      if (!readable)
        return { kind: 'definitive', code, reason, ...(posts.length > 0 && { found: posts.map(asWithheld) }) };
      const found = posts.map((post) => (code === 'age_restricted' ? asAdult(asWithheld(post)) : asWithheld(post)));
      return { kind: 'found', found, limitations: [...limitations, noteOf(code)] };
    }
  }
}

/** Codes that say nothing of their own as a note. */
const NOTES: Partial<Readonly<Record<DefinitiveCode | TransientCode, string>>> = {
  removed: 'unplayable',
  unavailable: 'unplayable',
  bot_check: 'media_refused',
  upstream_rate_limited: 'media_refused',
  under_review: 'processing',
};

/** How a result's `limitations` name what a code says of an item that is shown all the same. */
export function noteOf(code: DefinitiveCode | TransientCode): string {
  return NOTES[code] ?? code;
}

function asUpcoming(post: PartialPost): PartialPost {
  return asWithheld({ ...post, common: { ...post.common, is_live: false, live_status: 'upcoming' } });
}

function asAdult(post: PartialPost): PartialPost {
  return { ...post, common: { ...post.common, age_limit: 18 } };
}

/** What is not shown has no sound to be had and no files worth listing. */
function asWithheld({ audio: _audio, media, ...post }: PartialPost): PartialPost {
  const { image_urls, entries } = media ?? {};
  return {
    ...post,
    ...(media && {
      media: { image_urls, entries: entries?.filter(({ kind }) => kind === 'image' || kind === 'subtitle') },
    }),
  };
}
