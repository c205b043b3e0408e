import {
  asArray,
  asNumber,
  asRecord,
  asString,
  at,
  type DefinitiveCode,
  findAll,
  findPhrase,
  type TransientCode,
} from 'mediagate/plugin';
import type { SiteConfig } from '../fetch.js';
import { textOf } from './values.js';

/** Whether a video can be played, according to a player reply. */
export type PlayState =
  /** Playable, or no status given. */
  | { kind: 'playable' }
  /** Announced and not started, or a live channel that is off the air. */
  | { kind: 'offline'; upcoming: boolean; reason?: string }
  /** The video is restricted or gone. */
  | { kind: 'restricted'; code: DefinitiveCode; reason?: string }
  /** The site refuses the request; nothing is known about the video. */
  | { kind: 'refused'; code: TransientCode; reason?: string };

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
const STATUSES: Readonly<Record<string, DefinitiveCode>> = {
  ERROR: 'removed',
  LOGIN_REQUIRED: 'login_required',
  AGE_CHECK_REQUIRED: 'age_restricted',
  AGE_VERIFICATION_REQUIRED: 'age_restricted',
  CONTENT_CHECK_REQUIRED: 'age_restricted',
};

/**
 * Reads `playabilityStatus`: first the status and structural markers, then the phrases of the reason, which is in the
 * interface language.
 */
export function readPlayState(player: unknown, siteConfig: SiteConfig, region: string): PlayState {
  const playability = at(player, 'playabilityStatus');
  const status = asString(at(playability, 'status')) ?? 'OK';
  const isPrivate = at(player, 'videoDetails', 'isPrivate') === true;
  if (status === 'OK') return isPrivate ? { kind: 'restricted', code: 'private' } : { kind: 'playable' };
  const reason = reasonOf(playability);
  if (status === 'LIVE_STREAM_OFFLINE') return { kind: 'offline', upcoming: isUpcoming(player, playability), reason };
  const words = reason?.toLowerCase().replaceAll('’', "'");
  const worded = TOPICS.find(([topic]) => findPhrase(words, siteConfig.phrases[topic]))?.[1];
  // An offer may also be of a membership: then the words say so.
  const screen = codeOfScreen(playability, siteConfig, isPrivate);
  const code = (screen === 'paid' ? worded : screen) ?? screen ?? worded ?? codeOfStatus(player, status, region);
  return code === 'bot_check' || code === 'upstream_rate_limited'
    ? { kind: 'refused', code, reason }
    : { kind: 'restricted', code, reason };
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
  const known = Object.hasOwn(STATUSES, status) ? STATUSES[status] : undefined;
  if (known) return known;
  const countries = asArray(at(player, 'microformat', 'playerMicroformatRenderer', 'availableCountries')) ?? [];
  return countries.length > 0 && !countries.includes(region) ? 'geo_blocked' : 'unavailable';
}

function isUpcoming(player: unknown, playability: unknown): boolean {
  if (at(player, 'videoDetails', 'isUpcoming') === true) return true;
  const slate = at(playability, 'liveStreamability', 'liveStreamabilityRenderer', 'offlineSlate');
  return at(slate, 'liveStreamOfflineSlateRenderer', 'scheduledStartTime') !== undefined;
}
