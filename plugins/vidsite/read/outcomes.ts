/*
 * Says what a player reply or a page means. Status and structure of the error screen decide first, then phrases of the
 * reason, which is in the interface language, and the plain status last. A restricted video still returns its data if
 * title and author are known, with a limitation and without files. A private video returns nothing, even if the reply
 * has data. A check for robots and a rate limit are transient. An unavailable video counts as blocked in the region if
 * its list of countries omits the requested one.
 */

import {
  asArray,
  asNumber,
  asRecord,
  asString,
  at,
  type DefinitiveCode,
  type Failure,
  findAll,
  findPhrase,
  type Outcome,
  type PartialPost,
  type TransientCode,
} from 'mediagate/plugin';
import type { SiteConfig } from '../fetch.js';
import { parseNext } from './next.js';
import { announcedStart, parsePlayer } from './player.js';
import { textOf } from './values.js';

/** Holds parts of the document, best first. */
export type VideoOutcome = Outcome<readonly PartialPost[]>;

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
export function isReadable(posts: readonly PartialPost[]): boolean {
  return posts.some((post) => post.common?.title) && posts.some((post) => post.common?.author?.name);
}

/** The outcome of a player reply. */
export function outcomeOfPlayer(player: unknown, id: string, readOptions: ReadOptions): VideoOutcome {
  const { subject, post, limitations } = parsePlayer(player, id);
  if (subject === 'other') return OTHER_VIDEO;
  const state = readPlayState(player, readOptions);
  if (subject === 'requested') return outcomeOf(state, [post], limitations);
  if (state.kind !== 'playable') return outcomeOf(state);
  return { kind: 'transient', code: 'upstream_changed', reason: 'the answer names no video and no reason' };
}

/** The outcome of the player and the `next` data of one watch page, or of a `next` reply alone. */
export function outcomeOfPage(player: unknown, next: unknown, id: string, readOptions: ReadOptions): VideoOutcome {
  const ofPlayer = parsePlayer(player, id);
  const ofNext = parseNext(next, id, ofPlayer.post.common);
  if (ofPlayer.subject === 'other' || ofNext.subject === 'other') return OTHER_VIDEO;
  const posts = [ofPlayer, ofNext].flatMap(({ subject, post }) => (subject === 'requested' ? [post] : []));
  const state = readPlayState(player, readOptions);
  if (state.kind === 'playable' && posts.length === 0 && ofNext.refusal) {
    // The page shows a reason instead of a video, in the words of a player reply.
    const playabilityStatus = { status: 'ERROR', reason: ofNext.refusal };
    return outcomeOf(readPlayState({ playabilityStatus }, readOptions));
  }
  return outcomeOf(state, posts, ofPlayer.limitations);
}

function outcomeOf(
  state: PlayState,
  posts: readonly PartialPost[] = [],
  limitations: readonly string[] = [],
): VideoOutcome {
  if (state.kind === 'playable') return { kind: 'found', found: posts, limitations };
  const shown = (common?: PartialPost['common']) => posts.map((post) => withoutFiles(post, common));
  if (state.kind === 'offline') {
    const found = shown(state.upcoming ? { is_live: false, live_status: 'upcoming' } : {});
    return { kind: 'found', found, limitations: [...limitations, state.upcoming ? 'live_upcoming' : 'live_offline'] };
  }
  // Nothing of a private video is shown, even if the reply has some of it.
  if (state.code === 'private') return state;
  if (isReadable(posts)) {
    const found = shown(state.code === 'age_restricted' ? { age_limit: 18 } : {});
    return { kind: 'found', found, limitations: [...limitations, limitationFor(state.code)] };
  }
  if (state.kind === 'transient' || posts.length === 0) return state;
  return { ...state, found: shown() };
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

/** Without audio and files, since a restricted video has none that can be fetched, and with other values in `common`. */
function withoutFiles({ audio: _audio, media, ...post }: PartialPost, common: PartialPost['common']): PartialPost {
  const { image_urls, entries } = media ?? {};
  return {
    ...post,
    common: { ...post.common, ...common },
    ...(media && {
      media: { image_urls, entries: entries?.filter(({ kind }) => kind === 'image' || kind === 'subtitle') },
    }),
  };
}

/** Whether a video can be played, according to a player reply. */
export type PlayState =
  /** Playable, or no status given. */
  | { kind: 'playable' }
  /** Announced and not started, or a live channel that is off the air. */
  | { kind: 'offline'; upcoming: boolean }
  /** Restricted or gone; if transient, the site refuses the request and nothing is known about the video. */
  | Failure;

type Code = DefinitiveCode | 'bot_check' | 'upstream_rate_limited';

/** The code for each topic of phrases. The first topic whose phrases occur decides. */
const TOPICS: readonly (readonly [keyof SiteConfig['phrases'], Code])[] = [
  ['botCheck', 'bot_check'],
  ['private', 'private'],
  ['age', 'age_restricted'],
  ['members', 'members_only'],
  ['paid', 'paid'],
  ['geo', 'geo_blocked'],
  ['processing', 'under_review'],
  ['removed', 'removed'],
  ['rateLimited', 'upstream_rate_limited'],
];

/** The code for each status, if neither markers nor phrases are more precise. */
const STATUSES: ReadonlyMap<string, DefinitiveCode> = new Map([
  ['ERROR', 'removed'],
  ['LOGIN_REQUIRED', 'login_required'],
  ['AGE_CHECK_REQUIRED', 'age_restricted'],
  ['AGE_VERIFICATION_REQUIRED', 'age_restricted'],
  ['CONTENT_CHECK_REQUIRED', 'age_restricted'],
]);

/**
 * Reads `playabilityStatus`: first the status and structural markers, then the phrases of the reason, which is in the
 * interface language.
 */
export function readPlayState(player: unknown, { siteConfig, region }: ReadOptions): PlayState {
  const playability = at(player, 'playabilityStatus');
  const status = asString(at(playability, 'status')) ?? 'OK';
  const isPrivate = at(player, 'videoDetails', 'isPrivate') === true;
  if (status === 'OK') return isPrivate ? { kind: 'definitive', code: 'private' } : { kind: 'playable' };
  if (status === 'LIVE_STREAM_OFFLINE') {
    const upcoming = at(player, 'videoDetails', 'isUpcoming') === true || announcedStart(player) !== undefined;
    return { kind: 'offline', upcoming };
  }
  const reason = reasonOf(playability);
  const words = reason?.toLowerCase().replaceAll('’', "'");
  const worded = TOPICS.find(([topic]) => findPhrase(words, siteConfig.phrases[topic]))?.[1];
  // An offer may also be of a membership: then the words say so.
  const screen = codeOfScreen(playability, siteConfig, isPrivate);
  const code = (screen === 'paid' ? worded : screen) ?? screen ?? worded ?? codeOfStatus(player, status, region);
  return code === 'bot_check' || code === 'upstream_rate_limited'
    ? { kind: 'transient', code, reason }
    : { kind: 'definitive', code, reason };
}

/** The platform's reason: the headline, and the explanation below it if there is one. */
function reasonOf(playability: unknown): string | undefined {
  const screen = Object.values(asRecord(at(playability, 'errorScreen')) ?? {})[0];
  const headline = asString(at(playability, 'reason')) ?? textOf(at(screen, 'reason'));
  const explanation = textOf(at(screen, 'subreason')) ?? textOf(asArray(at(playability, 'messages'))?.[0]);
  const words = [headline, explanation].flatMap((text) => text?.trim() || []);
  return words.length > 0 ? [...new Set(words)].join(' – ') : undefined;
}

/** The code of the screen in place of the player, which is more precise than the reason. */
function codeOfScreen(playability: unknown, { helpPages }: SiteConfig, isPrivate: boolean): Code | undefined {
  const screen = asRecord(at(playability, 'errorScreen')) ?? {};
  const links = findAll(screen, (node) => typeof node.url === 'string', { maxNodes: 1_000, maxResults: 10 });
  const leadsTo = (pages: readonly string[]) =>
    links.some((link) => pages.some((page) => asString(link.url)?.includes(page)));
  if (screen.playerCaptchaViewModel || leadsTo(helpPages.botCheck)) return 'bot_check';
  if (isPrivate) return 'private';
  if (asNumber(at(playability, 'desktopLegacyAgeGateReason')) || leadsTo(helpPages.age)) return 'age_restricted';
  const offer = screen.playerLegacyDesktopYpcOfferRenderer;
  if (asString(at(offer, 'offerId'))?.startsWith('sponsors_only')) return 'members_only';
  return screen.playerLegacyDesktopYpcTrailerRenderer || screen.ypcTrailerRenderer || offer ? 'paid' : undefined;
}

function codeOfStatus(player: unknown, status: string, region: string): DefinitiveCode {
  const known = STATUSES.get(status);
  if (known) return known;
  const countries = asArray(at(player, 'microformat', 'playerMicroformatRenderer', 'availableCountries')) ?? [];
  return countries.length > 0 && !countries.includes(region) ? 'geo_blocked' : 'unavailable';
}
