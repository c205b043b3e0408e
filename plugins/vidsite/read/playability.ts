import { asArray, asNumber, asRecord, asString, at, type DefinitiveCode, findAll, type TransientCode } from 'mediagate';
import type { Facts } from '../fetch.js';
import { shownText } from './text.js';

/** What a player reply says of watching the item, whatever else it holds. */
export type PlayState =
  /** Playable, or nothing was said. */
  | { kind: 'open' }
  /** Announced and not begun, or a live channel that is off the air. */
  | { kind: 'offline'; upcoming: boolean; reason?: string }
  /** The item is withheld. */
  | { kind: 'closed'; code: DefinitiveCode; reason?: string }
  /** The site does not trust or serve us just now; nothing is said of the item. */
  | { kind: 'refused'; code: TransientCode; reason?: string };

type Topic = keyof Facts['phrases'];

/** Which code a topic stands for. Order matters: the first topic whose words occur decides. */
const TOPICS: readonly (readonly [Topic, (reason: string) => PlayState])[] = [
  ['botCheck', (reason) => ({ kind: 'refused', code: 'bot_check', reason })],
  ['private', (reason) => ({ kind: 'closed', code: 'private', reason })],
  ['age', (reason) => ({ kind: 'closed', code: 'age_restricted', reason })],
  ['members', (reason) => ({ kind: 'closed', code: 'members_only', reason })],
  ['paid', (reason) => ({ kind: 'closed', code: 'paid', reason })],
  ['geo', (reason) => ({ kind: 'closed', code: 'geo_blocked', reason })],
  ['processing', (reason) => ({ kind: 'closed', code: 'under_review', reason })],
  ['removed', (reason) => ({ kind: 'closed', code: 'removed', reason })],
  ['rateLimited', (reason) => ({ kind: 'refused', code: 'upstream_rate_limited', reason })],
];

/** What each status means where neither markers nor words say more. */
const STATUSES: Readonly<Record<string, DefinitiveCode>> = {
  ERROR: 'removed',
  LOGIN_REQUIRED: 'login_required',
  AGE_CHECK_REQUIRED: 'age_restricted',
  AGE_VERIFICATION_REQUIRED: 'age_restricted',
  CONTENT_CHECK_REQUIRED: 'age_restricted',
};

/**
 * Reads `playabilityStatus`: the status and structural markers first, the words of the reason (in the interface's
 * language) after them.
 */
export function readPlayState(player: unknown, facts: Facts, region: string): PlayState {
  const playability = asRecord(at(player, 'playabilityStatus'));
  const status = asString(at(playability, 'status'));
  if (!playability || !status || status === 'OK') {
    return at(player, 'videoDetails', 'isPrivate') === true ? { kind: 'closed', code: 'private' } : { kind: 'open' };
  }
  const reason = reasonOf(playability);
  if (status === 'LIVE_STREAM_OFFLINE') return { kind: 'offline', upcoming: isUpcoming(player, playability), reason };
  return (
    marked(player, playability, facts, reason) ?? worded(reason, facts) ?? byStatus(player, status, region, reason)
  );
}

/** The platform's words: the headline, and the explanation under it where there is one. */
function reasonOf(playability: unknown): string | undefined {
  const screen = Object.values(asRecord(at(playability, 'errorScreen')) ?? {})[0];
  const headline = asString(at(playability, 'reason')) ?? shownText(at(screen, 'reason'));
  const explanation = shownText(at(screen, 'subreason')) ?? shownText(asArray(at(playability, 'messages'))?.[0]);
  const words = [headline, explanation].flatMap((text) => text?.trim() || []);
  return words.length > 0 ? [...new Set(words)].join(' – ') : undefined;
}

function marked(player: unknown, playability: unknown, facts: Facts, reason?: string): PlayState | undefined {
  const screen = asRecord(at(playability, 'errorScreen')) ?? {};
  const links = helpLinks(screen);
  const leadsTo = (pages: readonly string[]) => pages.some((page) => links.some((link) => link.includes(page)));
  if (screen.playerCaptchaViewModel || leadsTo(facts.helpPages.botCheck)) {
    return { kind: 'refused', code: 'bot_check', reason };
  }
  if (at(player, 'videoDetails', 'isPrivate') === true) return { kind: 'closed', code: 'private', reason };
  if (asNumber(at(playability, 'desktopLegacyAgeGateReason')) || leadsTo(facts.helpPages.age)) {
    return { kind: 'closed', code: 'age_restricted', reason };
  }
  const offer = screen.playerLegacyDesktopYpcOfferRenderer;
  if (asString(at(offer, 'offerId'))?.startsWith('sponsors_only')) {
    return { kind: 'closed', code: 'members_only', reason };
  }
  if (screen.playerLegacyDesktopYpcTrailerRenderer || screen.ypcTrailerRenderer || offer) {
    return worded(reason, facts) ?? { kind: 'closed', code: 'paid', reason };
  }
  return undefined;
}

function helpLinks(screen: unknown): string[] {
  return findAll(screen, (node) => typeof node.url === 'string', { maxNodes: 1_000, maxResults: 10 }).flatMap(
    (node) => asString(node.url) ?? [],
  );
}

function worded(reason: string | undefined, facts: Facts): PlayState | undefined {
  if (!reason) return undefined;
  const text = reason.toLowerCase().replaceAll('’', "'");
  const found = TOPICS.find(([topic]) => facts.phrases[topic].some((phrase) => text.includes(phrase)));
  return found?.[1](reason);
}

function byStatus(player: unknown, status: string, region: string, reason?: string): PlayState {
  const known = Object.hasOwn(STATUSES, status) ? STATUSES[status] : undefined;
  if (known) return { kind: 'closed', code: known, reason };
  const countries = asArray(at(player, 'microformat', 'playerMicroformatRenderer', 'availableCountries'));
  if (countries && countries.length > 0 && !countries.includes(region)) {
    return { kind: 'closed', code: 'geo_blocked', reason };
  }
  return { kind: 'closed', code: 'unavailable', reason };
}

function isUpcoming(player: unknown, playability: unknown): boolean {
  if (at(player, 'videoDetails', 'isUpcoming') === true) return true;
  const slate = at(playability, 'liveStreamability', 'liveStreamabilityRenderer', 'offlineSlate');
  return at(slate, 'liveStreamOfflineSlateRenderer', 'scheduledStartTime') !== undefined;
}
