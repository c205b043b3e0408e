/*
 * oEmbed (https://oembed.com) of a link: what a page needs to show it. A video with a player of its platform, or a file
 * that any browser can play, is of the type `video`; a picture of known size is a `photo`; everything else is a `link`,
 * because oEmbed requires the sizes of videos, photos and thumbnails. Links are extracted, cached and counted as by
 * `POST /v1/extract`. Sizes are reduced to the limits of the request in the same proportion. An answer may be cached
 * for a day, or until the first of its files expires. Where the operator allows media links to all, files have links of
 * the gateway, so those that are bound, or that browsers refuse on other pages, can be shown as well; a video of separate
 * tracks or parts is the merged one.
 */

import type { Gateway } from 'mediagate';
import {
  type ExtractResult,
  field,
  type MediaEntry,
  optional,
  type PostData,
  Type,
  type VideoLink,
} from '../../core/contracts/index.js';
import { GatewayError } from '../../core/runtime/index.js';
import {
  Count,
  clientSignal,
  defineRoute,
  JSON_TYPE,
  OneOf,
  type RequestContext,
  type Route,
  Text,
} from '../http/index.js';
import { setCacheHeaders, withMediaLinks } from './answers.js';
import { matchLink } from './extract.js';
import { MAX_URL_LENGTH } from './extract-fields.js';
import { EXAMPLE_LINK, LINK_ROUTE, REFUSALS } from './link-route.js';
import { type LinkServices, LinkUsage } from './link-usage.js';
import { mediaIssuer } from './media.js';

const ROUTE = '/v1/oembed';
/** Most seconds that a consumer should keep an answer. */
const MAX_CACHE_SECONDS = 86_400;

const Oembed = Type.Object(
  {
    version: field(Type.Literal('1.0'), 'Version of oEmbed.'),
    type: field(OneOf('video', 'photo', 'link'), 'What can be shown.'),
    title: optional(Text, 'Title of the item.'),
    author_name: optional(Text, 'Name of the account that published the item.'),
    author_url: optional(Text, 'Address of the account.'),
    provider_name: field(Text, 'Name of the platform.'),
    provider_url: field(Text, 'Address of the platform.'),
    cache_age: field(Count, 'Seconds that the answer may be kept.', 3600),
    thumbnail_url: optional(Text, 'Address of a picture, if its size is known.'),
    thumbnail_width: optional(Count, 'Width of the picture in pixels.'),
    thumbnail_height: optional(Count, 'Height of the picture in pixels.'),
    url: optional(Text, 'Only for a photo: address of the picture.'),
    html: optional(Text, 'Only for a video: HTML that plays it.'),
    width: optional(Count, 'Only for a photo or video: width in pixels.'),
    height: optional(Count, 'Only for a photo or video: height in pixels.'),
  },
  { description: 'An oEmbed answer.' },
);

const Size = Type.Integer({ minimum: 1 });

export function oembedRoutes(server: LinkServices): Route[] {
  const { gateway, clock, mediaProxy } = server;
  const usage = new LinkUsage(server, ROUTE);
  const names = new Map(gateway.platforms().map(({ key, name }) => [key, name]));

  async function embed(context: RequestContext): Promise<void> {
    const { res: response, state } = context;
    const { url, ...limits } = readQuery(context.query);
    state.link = { inputUrl: url };
    const { platform } = matchLink(context, gateway, url);
    const settle = await usage.admit(context, { platforms: () => [platform] });
    const mediaLinksFor = mediaIssuer(context, mediaProxy, undefined, true);
    const work = gateway.extract({ url, includeAudioMp3: false, mediaLinksFor, signal: clientSignal(response) });
    const result = await usage.counted(context, platform, work, settle);
    const provider = names.get(result.platform) ?? result.platform;
    response.setHeader('Content-Type', JSON_TYPE);
    setCacheHeaders(response, result);
    const player = gateway.embed(result.platform, result.link);
    context.body = JSON.stringify(encodeOembed(result, { ...limits, provider, player, now: clock.now() }));
  }

  return [
    defineRoute({
      ...LINK_ROUTE,
      method: 'GET',
      path: ROUTE,
      endpoint: 'oembed',
      summary: 'Get oEmbed of a link',
      description: 'Returns what a page needs to show a public link, in the oEmbed format (JSON).',
      query: {
        url: {
          schema: Type.String({ examples: [EXAMPLE_LINK] }),
          description: 'The link, URL-encoded.',
          required: true,
        },
        maxwidth: { schema: Size, description: 'Greatest width in pixels. Default: no limit.' },
        maxheight: { schema: Size, description: 'Greatest height in pixels. Default: no limit.' },
        format: { schema: Type.Literal('json'), description: 'Only `json`; with `xml` the answer is 501.' },
      },
      answers: { 200: { description: 'The item.', name: 'Oembed', schema: Oembed } },
      errors: [...REFUSALS, 'insufficient_quota', 'format_not_supported'],
      handler: embed,
    }),
  ];
}

interface Limits {
  maxWidth: number;
  maxHeight: number;
}

/** @throws GatewayError `missing_required_parameter`, `invalid_value`, `format_not_supported` with `param`. */
function readQuery(query: RequestContext['query']): Limits & { url: string } {
  for (const [param, value] of Object.entries(query)) {
    if (Array.isArray(value)) throw new GatewayError('invalid_value', `${param} is given twice.`, { param });
  }
  const { url, format = 'json', maxwidth, maxheight } = query as Readonly<Record<string, string | undefined>>;
  if (url === undefined || url === '') {
    const message = 'url is missing: send the link, URL-encoded, as in ?url=https%3A%2F%2Fyoutu.be%2FTugs0fOst3n.';
    throw new GatewayError('missing_required_parameter', message, { param: 'url' });
  }
  if (url.length > MAX_URL_LENGTH) {
    throw new GatewayError('invalid_value', `url must have at most ${MAX_URL_LENGTH} characters.`, { param: 'url' });
  }
  if (format !== 'json') {
    const message = 'oEmbed answers are JSON only: send format=json, or no format.';
    throw new GatewayError('format_not_supported', message, { param: 'format' });
  }
  return { url, maxWidth: readSize('maxwidth', maxwidth), maxHeight: readSize('maxheight', maxheight) };
}

function readSize(param: string, text: string | undefined): number {
  if (text === undefined) return Number.POSITIVE_INFINITY;
  if (/^[1-9]\d{0,5}$/.test(text)) return Number(text);
  throw new GatewayError('invalid_value', `${param} must be a whole number of pixels from 1 to 999999.`, { param });
}

interface OembedOptions extends Limits {
  provider: string;
  /** The platform's own player of its videos. */
  player: ReturnType<Gateway['embed']>;
  /** In milliseconds since 1970. */
  now: number;
}

function encodeOembed(result: ExtractResult, { provider, player, now, ...limits }: OembedOptions) {
  const { link, limitations, mediaLinks, videoLink } = result;
  const data = mediaLinks ? withMediaLinks(result.data, mediaLinks) : result.data;
  const frame = { version: '1.0', provider_name: provider, provider_url: `${new URL(link.url).origin}/` };
  if (!('common' in data)) {
    const { name, shop = {} } = data.product;
    return { ...frame, type: 'link', title: name, author_name: shop.name, author_url: shop.url, ...cacheAge([], now) };
  }
  const { title, caption, author } = data.common;
  const about = { title: title ?? caption, author_name: author?.name ?? author?.username, author_url: author?.url };
  const thumbnail = bestPicture(data, limits);
  const isVideo = !isPicture(data) || limitations.some((note) => note.startsWith('metadata_only'));
  const video = (videoLink?.isMerged ? mergedVideo(data, videoLink) : undefined) ?? playableVideo(data);
  const pictures = thumbnail && {
    thumbnail_url: thumbnail.url,
    thumbnail_width: thumbnail.width,
    thumbnail_height: thumbnail.height,
  };
  if (player && isVideo) {
    const size = fit(sizeOf(data, player), limits);
    return {
      ...frame,
      type: 'video',
      ...about,
      ...pictures,
      html: playerHtml(player.url, size),
      ...size,
      ...cacheAge([thumbnail], now),
    };
  }
  if (video) {
    const size = fit(video, limits);
    const html = videoHtml(video.url, size, posterOf(data));
    return { ...frame, type: 'video', ...about, ...pictures, html, ...size, ...cacheAge([video, thumbnail], now) };
  }
  if (thumbnail && !isVideo) {
    const { url, width, height } = thumbnail;
    return { ...frame, type: 'photo', ...about, url, width, height, ...cacheAge([thumbnail], now) };
  }
  return { ...frame, type: 'link', ...about, ...pictures, ...cacheAge([thumbnail], now) };
}

interface Size {
  width: number;
  height: number;
}

type SizedEntry = MediaEntry & Size;

function hasSize(entry: MediaEntry): entry is SizedEntry {
  return Boolean(entry.width && entry.height);
}

/** A file as it is shown: at its media link, if it has one. */
interface ShownFile extends Size {
  url: string;
  expires_at?: string | undefined;
}

function shownFile({ url, width, height, expires_at, proxy_url, proxy_expires_at }: SizedEntry): ShownFile {
  const place = proxy_url === undefined ? { url, expires_at } : { url: proxy_url, expires_at: proxy_expires_at };
  return { ...place, width, height };
}

/** Any browser loads it, from any address. */
function isForAll({ url, bound_to: bound = [], proxy_url: link }: MediaEntry): boolean {
  return link !== undefined || (bound.length === 0 && /^https?:/.test(url));
}

/** A file that any browser plays. */
function playableVideo({ media }: PostData): ShownFile | undefined {
  const found = (media.entries ?? []).filter(hasSize).find((entry) => {
    const { kind, mime = 'video/mp4', has_audio: hasAudio } = entry;
    const isKnown = mime === 'video/mp4' || mime === 'video/webm';
    return kind === 'video' && isKnown && hasAudio !== false && isForAll(entry);
  });
  return found && shownFile(found);
}

/** The video that the gateway merges, in the size of its highest picture. */
function mergedVideo({ media }: PostData, { url, expiresAt }: VideoLink): ShownFile | undefined {
  const pictures = (media.entries ?? []).filter(hasSize).filter(({ kind }) => kind === 'video');
  const [best] = pictures.toSorted((one, other) => other.height - one.height);
  return best && { url, width: best.width, height: best.height, expires_at: expiresAt };
}

function posterOf({ common, media }: PostData): string | undefined {
  return media.entries?.find(({ url }) => url === common.thumbnail)?.proxy_url ?? common.thumbnail;
}

function isPicture({ common, media }: PostData): boolean {
  return media.video_urls.length === 0 && common.duration_seconds === undefined;
}

/** The largest picture within the limits; otherwise the smallest one, with the size to show it at. */
function bestPicture({ media }: PostData, limits: Limits): ShownFile | undefined {
  const sized = (media.entries ?? []).filter((one) => one.kind === 'image' && isForAll(one)).filter(hasSize);
  const byWidth = sized.toSorted((a, b) => b.width - a.width);
  const found = byWidth.find(({ width, height }) => width <= limits.maxWidth && height <= limits.maxHeight);
  const best = found ?? byWidth.at(-1);
  return best && { ...shownFile(best), ...fit(best, limits) };
}

/** The size within the limits, in the same proportion. */
function fit({ width, height }: Size, { maxWidth, maxHeight }: Limits): Size {
  const scale = Math.min(1, maxWidth / width, maxHeight / height);
  return { width: Math.max(1, Math.floor(width * scale)), height: Math.max(1, Math.floor(height * scale)) };
}

/** As wide as the player usually is, and in proportion to the video if its size is known. */
function sizeOf({ media }: PostData, player: Size): Size {
  const video = media.entries?.filter(hasSize).find(({ kind }) => kind === 'video');
  return video ? { width: player.width, height: Math.round((player.width * video.height) / video.width) } : player;
}

function playerHtml(url: string, { width, height }: Size): string {
  return `<iframe src="${escapeHtml(url)}" width="${width}" height="${height}" style="border:0" allow="fullscreen; encrypted-media; picture-in-picture" allowfullscreen></iframe>`;
}

function videoHtml(url: string, { width, height }: Size, poster: string | undefined): string {
  const picture = poster === undefined ? '' : ` poster="${escapeHtml(poster)}"`;
  return `<video src="${escapeHtml(url)}"${picture} width="${width}" height="${height}" controls playsinline preload="none"></video>`;
}

function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}

/** At most until the first of the files expires. */
function cacheAge(files: readonly (ShownFile | undefined)[], now: number): { cache_age: number } {
  const ends = files.flatMap((file) => (file?.expires_at ? [Date.parse(file.expires_at)] : []));
  const seconds = ends.map((end) => Math.max(0, Math.floor((end - now) / 1000)));
  return { cache_age: Math.min(MAX_CACHE_SECONDS, ...seconds) };
}
