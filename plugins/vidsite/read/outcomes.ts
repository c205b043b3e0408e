import type { DefinitiveCode, Outcome, PartialPost, TransientCode } from 'mediagate/plugin';
import type { SiteConfig } from '../fetch.js';
import { parseNext } from './next.js';
import { type PlayState, readPlayState } from './playability.js';
import { parsePlayer } from './player.js';

/** Parts of the document, best first. */
export type Found = readonly PartialPost[];
export type VideoOutcome = Outcome<Found>;

/** The settings that replies are read with. */
export interface ReadOptions {
  siteConfig: SiteConfig;
  /** ISO 3166-1 alpha-2 code of the requested market. */
  region: string;
}

const OTHER_VIDEO: VideoOutcome = {
  kind: 'transient',
  code: 'upstream_refused',
  reason: 'the answer was about another video',
};

/** Whether the parts have the minimum for an answer: title and author. */
export function isReadable(posts: Found): boolean {
  return posts.some((post) => post.common?.title) && posts.some((post) => post.common?.author?.name);
}

/** The outcome of a player reply. */
export function outcomeOfPlayer(player: unknown, id: string, readOptions: ReadOptions): VideoOutcome {
  const { subject, post, limitations } = parsePlayer(player, id);
  if (subject === 'other') return OTHER_VIDEO;
  const state = readPlayState(player, readOptions.siteConfig, readOptions.region);
  if (subject === 'requested') return outcomeOf(state, [post], limitations);
  if (state.kind !== 'playable') return outcomeOf(state);
  return { kind: 'transient', code: 'upstream_changed', reason: 'the answer names no video and no reason' };
}

/** The outcome of a `next` reply. */
export function outcomeOfNext(next: unknown, id: string, readOptions: ReadOptions): VideoOutcome {
  const { subject, post, refusal } = parseNext(next, id);
  if (subject === 'other') return OTHER_VIDEO;
  if (subject === 'requested') return { kind: 'found', found: [post] };
  return refusal ? outcomeOfRefusal(refusal, readOptions) : { kind: 'found', found: [] };
}

/** The outcome of the player and the `next` data of one watch page. */
export function outcomeOfPage(player: unknown, next: unknown, id: string, readOptions: ReadOptions): VideoOutcome {
  const ofPlayer = parsePlayer(player, id);
  const ofNext = parseNext(next, id, ofPlayer.post.common);
  if (ofPlayer.subject === 'other' || ofNext.subject === 'other') return OTHER_VIDEO;
  const posts = [ofPlayer, ofNext].flatMap(({ subject, post }) => (subject === 'requested' ? [post] : []));
  const state = readPlayState(player, readOptions.siteConfig, readOptions.region);
  if (state.kind === 'playable' && posts.length === 0 && ofNext.refusal) {
    return outcomeOfRefusal(ofNext.refusal, readOptions);
  }
  return outcomeOf(state, posts, ofPlayer.limitations);
}

/** The outcome of a reason that the page shows instead of a video, in the words of a player reply. */
function outcomeOfRefusal(reason: string, { siteConfig, region }: ReadOptions): VideoOutcome {
  return outcomeOf(readPlayState({ playabilityStatus: { status: 'ERROR', reason } }, siteConfig, region));
}

function outcomeOf(state: PlayState, posts: Found = [], limitations: readonly string[] = []): VideoOutcome {
  if (state.kind === 'playable') return { kind: 'found', found: posts, limitations };
  const found = posts.map(withoutFiles);
  if (state.kind === 'offline') {
    const note = state.upcoming ? 'live_upcoming' : 'live_offline';
    return {
      kind: 'found',
      found: state.upcoming ? found.map(asUpcoming) : found,
      limitations: [...limitations, note],
    };
  }
  const { code, reason } = state;
  // Nothing of a private video is shown, even if the reply has some of it.
  if (code === 'private') return { kind: 'definitive', code, reason };
  if (isReadable(posts)) {
    const shown = code === 'age_restricted' ? found.map(withAgeLimit) : found;
    return { kind: 'found', found: shown, limitations: [...limitations, limitationFor(code)] };
  }
  if (state.kind === 'refused') return { kind: 'transient', code: state.code, reason };
  return { kind: 'definitive', code: state.code, reason, ...(found.length > 0 && { found }) };
}

/** Codes whose name would be unclear as a limitation. */
const NOTES: Partial<Readonly<Record<DefinitiveCode | TransientCode, string>>> = {
  removed: 'unplayable',
  unavailable: 'unplayable',
  bot_check: 'media_refused',
  upstream_rate_limited: 'media_refused',
  under_review: 'processing',
};

/** The limitation for a code, if the video's data is returned nevertheless. */
export function limitationFor(code: DefinitiveCode | TransientCode): string {
  return NOTES[code] ?? code;
}

function asUpcoming(post: PartialPost): PartialPost {
  return { ...post, common: { ...post.common, is_live: false, live_status: 'upcoming' } };
}

function withAgeLimit(post: PartialPost): PartialPost {
  return { ...post, common: { ...post.common, age_limit: 18 } };
}

/** Without audio and files: a restricted video has none that can be fetched. */
function withoutFiles({ audio: _audio, media, ...post }: PartialPost): PartialPost {
  const { image_urls, entries } = media ?? {};
  return {
    ...post,
    ...(media && {
      media: { image_urls, entries: entries?.filter(({ kind }) => kind === 'image' || kind === 'subtitle') },
    }),
  };
}
