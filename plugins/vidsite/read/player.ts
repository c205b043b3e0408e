import {
  asArray,
  asBoolean,
  asCount,
  asPositive,
  asString,
  at,
  type MediaEntry,
  type PartialPost,
  toIsoTime,
} from 'mediagate';
import { canonicalUrl } from '../links.js';
import { parseFormats } from './formats.js';
import { absoluteUrl, channelId, parseImages, shownText, usernameIn, videoIdIn } from './text.js';

/** Countries and territories of ISO 3166-1: a list of all of them restricts nothing. */
const ALL_COUNTRIES = 249;

/** Whose reply it is: `unsaid` where no id stands in it, as in most refusals. */
export type Belonging = 'requested' | 'other' | 'unsaid';

/** What a player reply tells of an item. */
export interface PlayerReading {
  belongs: Belonging;
  /** Empty unless the reply is the requested item's. */
  post: PartialPost;
  limitations: string[];
}

/** Reads a player reply (`ytInitialPlayerResponse`, `/youtubei/v1/player`), whole or its microformat alone. */
export function parsePlayer(player: unknown, id: string): PlayerReading {
  const belongs = belongingOf(player, id);
  if (belongs !== 'requested') return { belongs, post: {}, limitations: [] };
  const details = at(player, 'videoDetails');
  const microformat = at(player, 'microformat', 'playerMicroformatRenderer');
  const captions = parseCaptions(at(player, 'captions'));
  const formats = parseFormats(at(player, 'streamingData'));
  const images = parseImages(at(details, 'thumbnail', 'thumbnails'), at(microformat, 'thumbnail', 'thumbnails'));
  const description = asString(at(details, 'shortDescription')) ?? shownText(at(microformat, 'description'));
  const duration = asPositive(at(details, 'lengthSeconds')) ?? asPositive(at(microformat, 'lengthSeconds'));
  const channel = channelId(at(details, 'channelId')) ?? channelId(at(microformat, 'externalChannelId'));
  const language = formats.language ?? captions.spoken;
  const familySafe = at(microformat, 'isFamilySafe');
  const likesHidden = at(details, 'allowRatings') === false;
  const post: PartialPost = {
    common: {
      title: asString(at(details, 'title')) ?? shownText(at(microformat, 'title')),
      description,
      caption: description,
      author: authorOf(details, microformat, channel),
      thumbnail: images[0]?.url,
      published_at: toIsoTime(at(microformat, 'publishDate')) ?? toIsoTime(at(microformat, 'uploadDate')),
      duration_seconds: duration,
      language,
      tags: tagsOf(details, description),
      category: asString(at(microformat, 'category')),
      is_unlisted: asBoolean(at(microformat, 'isUnlisted')),
      is_family_safe: asBoolean(familySafe),
      age_limit: familySafe === false ? 18 : undefined,
      available_countries: restrictedTo(at(microformat, 'availableCountries')),
      ...liveOf(player, details, microformat),
    },
    ids: { video_id: id, canonical_url: canonicalUrl(id), channel_id: channel, author_id: channel },
    metrics: {
      views: asCount(at(details, 'viewCount')) ?? asCount(at(microformat, 'viewCount')),
      likes: likesHidden ? undefined : asCount(at(microformat, 'likeCount')),
      duration_seconds: duration,
      channel_id: channel,
    },
    media: {
      image_urls: images.map((image) => image.url),
      video_urls: formats.media.video_urls,
      entries: [...(formats.media.entries ?? []), ...captions.entries, ...images],
    },
    raw_stats: rawStats({
      viewCount: at(details, 'viewCount') ?? at(microformat, 'viewCount'),
      likeCount: at(microformat, 'likeCount'),
      lengthSeconds: at(details, 'lengthSeconds') ?? at(microformat, 'lengthSeconds'),
      publishDate: at(microformat, 'publishDate'),
      averageRating: at(details, 'averageRating'),
      allowRatings: at(details, 'allowRatings'),
    }),
    ...(likesHidden && { precision: { likes: 'hidden' } }),
    ...(formats.hasSound && { audio: true }),
  };
  return { belongs, post, limitations: [...formats.limitations, ...captions.limitations] };
}

/** Every id that the reply states of its own item must be the requested one. */
function belongingOf(player: unknown, id: string): Belonging {
  const microformat = at(player, 'microformat', 'playerMicroformatRenderer');
  const stated = [
    asString(at(player, 'videoDetails', 'videoId')),
    asString(at(microformat, 'externalVideoId')),
    videoIdIn(at(microformat, 'embed', 'iframeUrl')),
    videoIdIn(at(microformat, 'thumbnail', 'thumbnails', 0, 'url')),
  ].filter((value) => value !== undefined);
  if (stated.length === 0) return 'unsaid';
  return stated.every((value) => value === id) ? 'requested' : 'other';
}

function authorOf(details: unknown, microformat: unknown, channel: string | undefined) {
  const address = asString(at(microformat, 'ownerProfileUrl'));
  return {
    id: channel,
    name: asString(at(details, 'author')) ?? asString(at(microformat, 'ownerChannelName')),
    username: usernameIn(address),
    url: absoluteUrl(address),
  };
}

function liveOf(player: unknown, details: unknown, microformat: unknown): NonNullable<PartialPost['common']> {
  const broadcast = at(microformat, 'liveBroadcastDetails');
  const streamability = at(player, 'playabilityStatus', 'liveStreamability', 'liveStreamabilityRenderer');
  const announced = at(streamability, 'offlineSlate', 'liveStreamOfflineSlateRenderer', 'scheduledStartTime');
  const live = at(details, 'isLive') === true || at(broadcast, 'isLiveNow') === true;
  const upcoming = !live && (at(details, 'isUpcoming') === true || announced !== undefined);
  const everLive = at(details, 'isLiveContent') === true || broadcast !== undefined;
  // A reply without details and without a broadcast says nothing of it.
  if (!live && !upcoming && !everLive && typeof at(details, 'isLiveContent') !== 'boolean') return {};
  return {
    is_live: live,
    live_status: live ? 'live' : upcoming ? 'upcoming' : everLive ? 'ended' : 'none',
    live_start_at: toIsoTime(at(broadcast, 'startTimestamp')) ?? toIsoTime(announced),
    live_end_at: toIsoTime(at(broadcast, 'endTimestamp')),
  };
}

/** The owner's keywords, or else the hashtags of the description. */
function tagsOf(details: unknown, description: string | undefined): string[] | undefined {
  const keywords = (asArray(at(details, 'keywords')) ?? []).flatMap((keyword) => asString(keyword)?.trim() || []);
  const written = keywords.length > 0 ? keywords : hashtagsIn(description ?? '');
  const tags = [...new Set(written.map((tag) => tag.replace(/^#/, '')).filter(Boolean))];
  return tags.length > 0 ? tags : undefined;
}

function hashtagsIn(text: string): string[] {
  return Array.from(text.matchAll(/(?<!\S)#([\p{L}\p{N}_]{1,100})/gu), ([, tag]) => tag ?? '');
}

function restrictedTo(value: unknown): string[] | undefined {
  const list = asArray(value) ?? [];
  if (list.length >= ALL_COUNTRIES) return undefined;
  const countries = list.flatMap((code) => (typeof code === 'string' && /^[A-Z]{2}$/.test(code) ? [code] : []));
  return countries.length > 0 ? countries : undefined;
}

/** Members as they stood in the source; what is neither text, number nor truth value is left out. */
export function rawStats(members: Readonly<Record<string, unknown>>): NonNullable<PartialPost['raw_stats']> {
  return Object.fromEntries(
    Object.entries(members).flatMap(([name, value]) =>
      typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean' ? [[name, value]] : [],
    ),
  );
}

/** Experiments under which the subtitle service answers only with a token of the player's. */
const TOKEN_MARKS: ReadonlySet<string> = new Set(['xpe', 'xpv']);

export interface CaptionsReading {
  entries: MediaEntry[];
  /** The language that was heard by a machine, which is the language spoken. */
  spoken?: string;
  limitations: string[];
}

/** Reads `captions`: one WebVTT address for each track. */
export function parseCaptions(captions: unknown): CaptionsReading {
  const tracks = asArray(at(captions, 'playerCaptionsTracklistRenderer', 'captionTracks')) ?? [];
  const entries: MediaEntry[] = [];
  let spoken: string | undefined;
  let withheld = false;
  for (const track of tracks) {
    const address = absoluteUrl(at(track, 'baseUrl'));
    const language = asString(at(track, 'languageCode'));
    const auto_generated = at(track, 'kind') === 'asr';
    if (auto_generated) spoken ??= language;
    if (!address) continue;
    const marks = /[?&]exp=([^&]*)/.exec(address)?.[1] ?? '';
    if (marks.split(/,|%2C/i).some((mark) => TOKEN_MARKS.has(mark))) {
      withheld = true;
      continue;
    }
    const expires_at = toIsoTime(/[?&]expire=(\d{10})(?!\d)/.exec(address)?.[1]);
    const label = shownText(at(track, 'name'));
    entries.push({
      url: asWebVtt(address),
      kind: 'subtitle',
      mime: 'text/vtt',
      auto_generated,
      ...(language && { language }),
      ...(label && { label }),
      ...(expires_at && { expires_at }),
    });
  }
  return { entries, ...(spoken && { spoken }), limitations: withheld ? ['subtitles_withheld'] : [] };
}

/** The format is not among the signed parameters; the others keep their spelling. */
function asWebVtt(address: string): string {
  const plain = address.replace(/([?&])fmt=[^&]*&?/, '$1').replace(/[?&]$/, '');
  return `${plain}${plain.includes('?') ? '&' : '?'}fmt=vtt`;
}
