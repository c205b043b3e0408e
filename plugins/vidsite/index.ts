import {
  type AudioSource,
  at,
  createFallbackChain,
  definePlugin,
  type ExtractCall,
  type Extraction,
  type Extractor,
  GatewayError,
  type Method,
  mergePosts,
  type Part,
  type PluginContext,
  type PostPart,
  type SiteConfigOverride,
  Type,
} from 'mediagate';
import { alignHidden, alignOwner, alignThumbnail, alignViewers, limitationsOf, orderPictures } from './assemble.js';
import { createRequests, type Requests, siteConfigOf } from './fetch.js';
import { LINK_FORMS, matchVideo } from './links.js';
import probeLinks from './probe-links.json' with { type: 'json' };
import { chooseAudio } from './read/formats.js';
import {
  type Found,
  isReadable,
  outcomeOfNext,
  outcomeOfPlayer,
  type ReadOptions,
  type VideoOutcome,
} from './read/outcomes.js';
import { itemOf, parseOembed, parseVideo } from './read/public-apis.js';
import { channelId } from './read/text.js';
import { readWatchPage } from './read/watch-page.js';

const options = Type.Object(
  {
    /** Key of the official Data API: then it is asked first. Empty or absent: it is not used. */
    apiKey: Type.Optional(Type.String()),
    /** BCP 47 tag of the interface language that the site is asked in. */
    language: Type.String({ default: 'en', pattern: '^[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8})*$' }),
    /** ISO 3166-1 alpha-2 code of the market that the site is asked for. */
    region: Type.String({ default: 'US', pattern: '^[A-Z]{2}$' }),
    /** Members of site-config.json that an entry sets otherwise, in the same shape. */
    siteConfig: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
  },
  { additionalProperties: false },
);

/** Public videos of YouTube. */
export default definePlugin<typeof options>({
  name: 'vidsite',
  apiVersion: 1,
  summary: 'Public videos of YouTube: metadata, counters, channel, formats, subtitles and file.',
  provides: ['extractor'],
  options,
  setup: (context) => ({ extractors: [createVidsiteExtractor(context)] }),
});

const PLATFORM = 'vidsite';

export interface VidsiteOptions {
  apiKey?: string;
  language: string;
  region: string;
  siteConfig?: SiteConfigOverride;
}

/** @throws TypeError where `options.siteConfig` does not fit the shipped one. */
export function createVidsiteExtractor(context: PluginContext<VidsiteOptions>): Extractor {
  const { http, clock, logger, options } = context;
  const { apiKey, language, region } = options;
  const siteConfig = siteConfigOf(options.siteConfig);
  const readOptions = { siteConfig, region };
  const requests = createRequests({ http, siteConfig, language, region, apiKey });
  const chain = createFallbackChain<Found, VideoCall>({
    platform: PLATFORM,
    clock,
    logger,
    methods: createMethods({ ...readOptions, requests, hasApiKey: Boolean(apiKey) }),
    isEnough: (parts, call) => isComplete(parts, call),
    isWorthwhile: (parts) => isReadable(parts.flatMap(({ found }) => found)),
  });

  return {
    platform: PLATFORM,
    displayName: 'YouTube',
    linkForms: LINK_FORMS,
    audio: true,
    mediaHosts: ['.googlevideo.com'],
    match: matchVideo,
    methods: chain.methods,
    probeLinks,

    async extract({ link, signal, only }: ExtractCall): Promise<Extraction> {
      const call: VideoCall = { id: link.id, outcomes: new Map() };
      const run = await chain.run(call, signal, only);
      refusePrivate(call, run.attempts);
      const parts = alignHidden(alignViewers(alignThumbnail(alignOwner(flatten(run.parts), PAGE_METHODS))));
      const data = orderPictures(mergePosts(withDefaults(parts, link.id)));
      const live = data.common.live_status;
      return {
        method: [...new Set(parts.map(({ method }) => method))].join('+'),
        data,
        limitations: limitationsOf(data, run, call.outcomes),
        audio: live !== 'live' && live !== 'upcoming' && parts.some(({ found }) => found.audio),
        partial: run.partial,
      };
    },

    async resolveAudio({ link, signal }: ExtractCall): Promise<AudioSource> {
      const player = await requests.innertube('player', siteConfig.clients.player, link.id, signal);
      const outcome = outcomeOfPlayer(player, link.id, readOptions);
      if (outcome.kind !== 'found') {
        throw new GatewayError(outcome.code, 'The platform does not give the sound of the video.', {
          platform: PLATFORM,
          reason: outcome.reason,
        });
      }
      // An item that is withheld, or not begun, or running, keeps no files in what was found.
      const listed = new Set(outcome.found.flatMap((post) => post.media?.entries?.map((entry) => entry.url) ?? []));
      const file = chooseAudio(at(player, 'streamingData'), siteConfig.audioItags);
      if (!file || !listed.has(file.url)) {
        throw new GatewayError('audio_unavailable', 'The platform gives no file with the sound of the video.', {
          platform: PLATFORM,
        });
      }
      return {
        url: file.url,
        headers: { 'user-agent': siteConfig.clients.player.userAgent },
        ...(file.mime && { mime: file.mime }),
        ...(file.duration_seconds && { durationSeconds: file.duration_seconds }),
      };
    },
  };
}

/** Further requests are worth their while as long as the files, the numbers of the page, or the date were not had. */
function isComplete(parts: readonly Part<Found>[], { outcomes }: VideoCall): boolean {
  const posts = parts.flatMap(({ found }) => found);
  const answered = (...methods: string[]) =>
    methods.some((method) => {
      const outcome = outcomes.get(method);
      return outcome?.kind === 'definitive' || (outcome?.kind === 'found' && outcome.found.length > 0);
    });
  return (
    isReadable(posts) &&
    posts.some((post) => post.common?.published_at) &&
    answered('innertube_player', 'watch_page') &&
    answered('innertube_next', 'watch_page', 'data_api')
  );
}

/** Private stays private, even where another reply let something of the item slip. */
function refusePrivate({ outcomes }: VideoCall, attempts: GatewayError['attempts']): void {
  for (const [method, outcome] of outcomes) {
    if (method === 'oembed' || outcome.kind !== 'definitive' || outcome.code !== 'private') continue;
    const { code, reason } = outcome;
    throw new GatewayError(code, 'The item is private.', { platform: PLATFORM, reason, attempts });
  }
}

function flatten(parts: readonly Part<Found>[]): PostPart[] {
  return parts.flatMap(({ method, found }) => found.map((post) => ({ method, found: post })));
}

/** What the ids alone tell, where no reply says it: the channel's address, and the picture that every video has. */
function withDefaults(parts: readonly PostPart[], id: string): PostPart[] {
  const known = parts.find(({ found }) => found.common?.author?.id);
  const owner = known?.found.common?.author?.id;
  const author = owner && { id: owner, url: `https://www.youtube.com/channel/${owner}` };
  const pictured = parts.some(({ found }) => found.common?.thumbnail !== undefined);
  const thumbnail = `https://i.ytimg.com/vi/${id}/hqdefault.jpg`;
  return [
    ...parts,
    ...(known && author ? [{ method: known.method, found: { common: { author } } }] : []),
    ...(parts[0] && !pictured
      ? [{ method: parts[0].method, found: { common: { thumbnail }, media: { image_urls: [thumbnail] } } }]
      : []),
  ];
}

/** Methods that show what the page shows, its owner among it. */
export const PAGE_METHODS = ['innertube_next', 'watch_page'];

/** One video to be had, and what is known of it so far. */
export interface VideoCall {
  id: string;
  /** What each method that was tried came back with. */
  outcomes: Map<string, VideoOutcome>;
}

export interface MethodSettings extends ReadOptions {
  requests: Requests;
  hasApiKey: boolean;
}

/**
 * The ways to a video, best first. The player's reply has the files and the item's own data, the microformat its exact
 * times and flags, the `next` reply what the page shows around it; the three are asked at the same time. The page itself
 * is fetched for what is still missing, and where the API trusts us less than it.
 */
export function createMethods({ requests, hasApiKey, ...readOptions }: MethodSettings): Method<Found, VideoCall>[] {
  const { siteConfig } = readOptions;
  const { player, web } = siteConfig.clients;

  const method = (
    name: string,
    options: Pick<Method<Found, VideoCall>, 'cost' | 'definitive' | 'group' | 'available' | 'usable'>,
    run: (id: string, signal: AbortSignal) => Promise<VideoOutcome>,
  ): Method<Found, VideoCall> => ({
    name,
    ...options,
    async run({ id, outcomes }, signal) {
      const outcome = await run(id, signal);
      outcomes.set(name, outcome);
      return outcome;
    },
  });

  return [
    method('data_api', { cost: 2, definitive: false, available: () => hasApiKey }, async (id, signal) => {
      const video = itemOf(await requests.dataApi('videos', id, signal), id);
      if (!video) return { kind: 'definitive', code: 'removed', reason: 'the official API does not list the video' };
      return { kind: 'found', found: [parseVideo(video, await channelOf(video, requests, signal), id)] };
    }),
    method('innertube_player', { cost: 1, definitive: false, group: 'innertube' }, async (id, signal) =>
      outcomeOfPlayer(await requests.innertube('player', player, id, signal), id, readOptions),
    ),
    method(
      'innertube_microformat',
      { cost: 1, definitive: false, group: 'innertube', usable: ({ outcomes }) => !hasData(outcomes, 'data_api') },
      async (id, signal) => outcomeOfPlayer(await requests.innertube('microformat', web, id, signal), id, readOptions),
    ),
    method('innertube_next', { cost: 1, definitive: false, group: 'innertube' }, async (id, signal) =>
      outcomeOfNext(await requests.innertube('next', web, id, signal), id, readOptions),
    ),
    method(
      'watch_page',
      { cost: 3, definitive: true, usable: ({ outcomes }) => !isSettled(outcomes) },
      async (id, signal) => readWatchPage(await requests.watchPage(id, signal), id, readOptions),
    ),
    method(
      'oembed',
      { cost: 1, definitive: false, usable: ({ outcomes }) => !isSettled(outcomes) && !isReadable(dataIn(outcomes)) },
      async (id, signal) => {
        const { status, reply } = await requests.oembed(id, signal);
        if (reply === undefined) return { kind: 'definitive', code: 'removed', reason: `oEmbed: HTTP ${status}` };
        const post = parseOembed(reply, id);
        if (!post) throw new GatewayError('upstream_refused', 'The oEmbed answer was not about the requested video.');
        return { kind: 'found', found: [post], limitations: ['fallback_source: oembed'] };
      },
    ),
  ];
}

async function channelOf(video: unknown, requests: Requests, signal: AbortSignal): Promise<unknown> {
  const owner = channelId(at(video, 'snippet', 'channelId'));
  if (!owner) return undefined;
  try {
    return itemOf(await requests.dataApi('channels', owner, signal), owner);
  } catch {
    signal.throwIfAborted();
    // The video's own data is worth having without its channel's.
    return undefined;
  }
}

/** What the methods found so far. */
function dataIn(outcomes: ReadonlyMap<string, VideoOutcome>): Found {
  return [...outcomes.values()].flatMap((outcome) => (outcome.kind === 'transient' ? [] : (outcome.found ?? [])));
}

function hasData(outcomes: ReadonlyMap<string, VideoOutcome>, name: string): boolean {
  return outcomes.get(name)?.kind === 'found';
}

/** Two of the site's own answers that agree on the item being gone or private need no third. */
function isSettled(outcomes: ReadonlyMap<string, VideoOutcome>): boolean {
  const codes = [...outcomes.values()].flatMap((outcome) => (outcome.kind === 'definitive' ? [outcome.code] : []));
  return (['removed', 'private'] as const).some((code) => codes.filter((one) => one === code).length > 1);
}
