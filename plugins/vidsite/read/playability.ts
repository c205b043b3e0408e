import { asArray, asNumber, asRecord, asString, at, type DefinitiveCode, findAll, type TransientCode } from 'mediagate';
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

type Topic = keyof SiteConfig['phrases'];

/** The state for each topic. The first topic whose phrases occur decides. */
const TOPICS: readonly (readonly [Topic, (reason: string) => PlayState])[] = [
  ['botCheck', (reason) => ({ kind: 'refused', code: 'bot_check', reason })],
  ['private', (reason) => ({ kind: 'restricted', code: 'private', reason })],
  ['age', (reason) => ({ kind: 'restricted', code: 'age_restricted', reason })],
  ['members', (reason) => ({ kind: 'restricted', code: 'members_only', reason })],
  ['paid', (reason) => ({ kind: 'restricted', code: 'paid', reason })],
  ['geo', (reason) => ({ kind: 'restricted', code: 'geo_blocked', reason })],
  ['processing', (reason) => ({ kind: 'restricted', code: 'under_review', reason })],
  ['removed', (reason) => ({ kind: 'restricted', code: 'removed', reason })],
  ['rateLimited', (reason) => ({ kind: 'refused', code: 'upstream_rate_limited', reason })],
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
  const playability = asRecord(at(player, 'playabilityStatus'));
  const status = asString(at(playability, 'status'));
  if (!playability || !status || status === 'OK') {
    return at(player, 'videoDetails', 'isPrivate') === true
      ? { kind: 'restricted', code: 'private' }
      : { kind: 'playable' };
  }
  const reason = reasonOf(playability);
  if (status === 'LIVE_STREAM_OFFLINE') return { kind: 'offline', upcoming: isUpcoming(player, playability), reason };
  return (
    stateOfMarkers(player, playability, siteConfig, reason) ??
    stateOfWords(reason, siteConfig) ??
    stateOfStatus(player, status, region, reason)
  );
}

/** The platform's reason: the headline, and the explanation below it if there is one. */
function reasonOf(playability: unknown): string | undefined {
  const screen = Object.values(asRecord(at(playability, 'errorScreen')) ?? {})[0];
  const headline = asString(at(playability, 'reason')) ?? textOf(at(screen, 'reason'));
  const explanation = textOf(at(screen, 'subreason')) ?? textOf(asArray(at(playability, 'messages'))?.[0]);
  const words = [headline, explanation].flatMap((text) => text?.trim() || []);
  return words.length > 0 ? [...new Set(words)].join(' – ') : undefined;
}

function stateOfMarkers(
  player: unknown,
  playability: unknown,
  siteConfig: SiteConfig,
  reason?: string,
): PlayState | undefined {
  const screen = asRecord(at(playability, 'errorScreen')) ?? {};
  const links = helpLinks(screen);
  const leadsTo = (pages: readonly string[]) => pages.some((page) => links.some((link) => link.includes(page)));
  if (screen.playerCaptchaViewModel || leadsTo(siteConfig.helpPages.botCheck)) {
    return { kind: 'refused', code: 'bot_check', reason };
  }
  if (at(player, 'videoDetails', 'isPrivate') === true) return { kind: 'restricted', code: 'private', reason };
  if (asNumber(at(playability, 'desktopLegacyAgeGateReason')) || leadsTo(siteConfig.helpPages.age)) {
    return { kind: 'restricted', code: 'age_restricted', reason };
  }
  const offer = screen.playerLegacyDesktopYpcOfferRenderer;
  if (asString(at(offer, 'offerId'))?.startsWith('sponsors_only')) {
    return { kind: 'restricted', code: 'members_only', reason };
  }
  if (screen.playerLegacyDesktopYpcTrailerRenderer || screen.ypcTrailerRenderer || offer) {
    return stateOfWords(reason, siteConfig) ?? { kind: 'restricted', code: 'paid', reason };
  }
  return undefined;
}

function helpLinks(screen: unknown): string[] {
  return findAll(screen, (node) => typeof node.url === 'string', { maxNodes: 1_000, maxResults: 10 }).flatMap(
    (node) => asString(node.url) ?? [],
  );
}

function stateOfWords(reason: string | undefined, siteConfig: SiteConfig): PlayState | undefined {
  if (!reason) return undefined;
  const text = reason.toLowerCase().replaceAll('’', "'");
  const found = TOPICS.find(([topic]) => siteConfig.phrases[topic].some((phrase) => text.includes(phrase)));
  return found?.[1](reason);
}

function stateOfStatus(player: unknown, status: string, region: string, reason?: string): PlayState {
  const known = Object.hasOwn(STATUSES, status) ? STATUSES[status] : undefined;
  if (known) return { kind: 'restricted', code: known, reason };
  const countries = asArray(at(player, 'microformat', 'playerMicroformatRenderer', 'availableCountries'));
  if (countries && countries.length > 0 && !countries.includes(region)) {
    return { kind: 'restricted', code: 'geo_blocked', reason };
  }
  return { kind: 'restricted', code: 'unavailable', reason };
}

function isUpcoming(player: unknown, playability: unknown): boolean {
  if (at(player, 'videoDetails', 'isUpcoming') === true) return true;
  const slate = at(playability, 'liveStreamability', 'liveStreamabilityRenderer', 'offlineSlate');
  return at(slate, 'liveStreamOfflineSlateRenderer', 'scheduledStartTime') !== undefined;
}
