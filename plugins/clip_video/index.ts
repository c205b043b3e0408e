import {
  type AudioSource,
  createFallbackChain,
  definePlugin,
  type ExtractCall,
  type Extraction,
  type Extractor,
  GatewayError,
  isGatewayError,
  type MediaEntry,
  type Method,
  mergePosts,
  type Outcome,
  type Part,
  type PartialPost,
  type PluginContext,
  type SiteConfigOverride,
  Type,
} from 'mediagate';
import { alignMedia, dateById, isComplete, isReadable, limitationsOf, orderVideos } from './assemble.js';
import {
  createRequests,
  type Requests,
  type Restriction,
  resolveShortLink,
  type SiteConfig,
  siteConfigOf,
} from './fetch.js';
import { LINK_FORMS, matchClip } from './links.js';
import probeLinks from './probe-links.json' with { type: 'json' };
import { chooseAudio } from './read/files.js';
import { type ClipOutcome, outcomeOfEmbed, outcomeOfPage, outcomeOfPlayer } from './read/outcomes.js';
import { parseOembed } from './read/player.js';

const PLATFORM = 'clip_video';

export interface ClipVideoOptions {
  language: string;
  siteConfig?: SiteConfigOverride;
}

/** @throws TypeError where `options.siteConfig` does not fit the shipped siteConfig. */
export function createClipVideoExtractor(context: PluginContext<ClipVideoOptions>): Extractor {
  const { http, clock, logger, options } = context;
  const siteConfig = siteConfigOf(options.siteConfig);
  const requests = createRequests({ http, siteConfig, language: options.language });
  const findAudio = createAudioSearch({ requests, siteConfig });
  const chain = createFallbackChain<PartialPost, ClipCall>({
    platform: PLATFORM,
    clock,
    logger,
    methods: createMethods({ requests, siteConfig }),
    isEnough,
    isWorthwhile: (parts) => parts.some(({ found }) => isReadable(found)),
  });

  return {
    platform: PLATFORM,
    displayName: 'TikTok',
    linkForms: LINK_FORMS,
    audio: true,
    mediaHosts: siteConfig.mediaHosts,
    match: matchClip,
    methods: chain.methods,
    probeLinks,
    resolve: (call) => resolveShortLink({ http, siteConfig }, call),

    async extract({ link, signal, only }: ExtractCall): Promise<Extraction> {
      const call: ClipCall = { id: link.id, outcomes: new Map() };
      const run = await chain.run(call, signal, only).catch((error: unknown) => {
        throw explain(error, call);
      });
      const parts = alignMedia(run.parts);
      const data = orderVideos(mergePosts(dateById(parts, link.id)));
      return {
        method: parts.map(({ method }) => method).join('+'),
        data,
        limitations: limitationsOf(data, run),
        audio: parts.some(({ found }) => found.audio),
        // What a complete part lacks at most is the last digits of its counters.
        partial: run.partial && !parts.some(({ found }) => isComplete(found)),
      };
    },

    resolveAudio: ({ link, signal }: ExtractCall): Promise<AudioSource> => findAudio(link.id, signal),
  };
}

/**
 * One complete part is enough; where its counters are rounded or its files are bound to the visit's cookies, the
 * embedded player's page is asked as well, and once.
 */
function isEnough(parts: readonly Part<PartialPost>[], { outcomes }: ClipCall): boolean {
  const complete = parts.find(({ found }) => isComplete(found))?.found;
  if (!complete) return false;
  const rounded = Object.values(complete.precision ?? {}).includes('rounded');
  return outcomes.has('embed') || !(rounded || isBound(complete.media?.entries ?? []));
}

function isBound(entries: readonly MediaEntry[]): boolean {
  const videos = entries.filter(({ kind }) => kind === 'video');
  return videos.length > 0 && videos.every(({ bound_to }) => bound_to);
}

/** Where nothing could be had otherwise, the restriction that the page led to is the reason. */
function explain(error: unknown, { restriction }: ClipCall): unknown {
  if (!restriction || !isGatewayError(error) || !/^(?:upstream_|bot_check)/.test(error.code)) return error;
  return new GatewayError(restriction.restriction, 'The platform does not show the item here.', {
    platform: PLATFORM,
    reason: restriction.reason,
    attempts: error.attempts,
    cause: error,
  });
}

/** One item to be had, and what is known of it so far. */
export interface ClipCall {
  id: string;
  /** What each method that was tried came back with. */
  outcomes: Map<string, ClipOutcome>;
  /** What the page led to instead of the item. */
  restriction?: Restriction;
}

export interface MethodSettings {
  requests: Requests;
  siteConfig: SiteConfig;
}

/**
 * The methods, best first. The page has everything, but its counters may be rounded and its files bound to the
 * visit's cookies; the embedded player's page has exact counters and free files. Its interface and oEmbed are for when
 * neither can be had.
 */
export function createMethods({ requests, siteConfig }: MethodSettings): Method<PartialPost, ClipCall>[] {
  const method = (
    name: string,
    options: Pick<Method<PartialPost, ClipCall>, 'cost' | 'definitive' | 'usable'>,
    run: (call: ClipCall, signal: AbortSignal) => Promise<ClipOutcome>,
  ): Method<PartialPost, ClipCall> => ({
    name,
    ...options,
    async run(call, signal) {
      const outcome = await run(call, signal);
      call.outcomes.set(name, outcome);
      return outcome;
    },
  });

  return [
    method('page', { cost: 2, definitive: true }, async (call, signal) => {
      const reply = await requests.page(call.id, signal);
      const outcome = 'restriction' in reply ? reply : outcomeOfPage(reply.html, call.id, siteConfig);
      if (!('restriction' in outcome)) return outcome;
      call.restriction = outcome;
      return { kind: 'transient', code: 'upstream_refused', reason: outcome.reason };
    }),
    method('embed', { cost: 1, definitive: false }, async ({ id }, signal) => {
      const { html } = await requests.embed(id, signal);
      return outcomeOfEmbed(html, id, siteConfig);
    }),
    method(
      'player',
      { cost: 1, definitive: false, usable: ({ outcomes }) => !foundIn(outcomes).some(isComplete) },
      async ({ id }, signal) => outcomeOfPlayer(await requests.player(id, signal), id, siteConfig),
    ),
    method(
      'oembed',
      { cost: 1, definitive: false, usable: ({ outcomes }) => !foundIn(outcomes).some(isReadable) },
      async ({ id }, signal) => {
        const reply = await requests.oembed(id, signal);
        if (reply === undefined) return { kind: 'definitive', code: 'removed', reason: 'oEmbed: HTTP 404' };
        const post = parseOembed(reply, id);
        if (post) return { kind: 'found', found: post };
        return { kind: 'transient', code: 'upstream_refused', reason: 'the oEmbed answer was not about the item' };
      },
    ),
  ];
}

/** What the methods found so far. */
function foundIn(outcomes: ReadonlyMap<string, ClipOutcome>): PartialPost[] {
  return [...outcomes.values()].flatMap((outcome) =>
    outcome.kind === 'transient' || outcome.found === undefined ? [] : [outcome.found],
  );
}

export interface AudioSettings {
  requests: Requests;
  siteConfig: SiteConfig;
}

type AudioMethod = (id: string, signal: AbortSignal) => Promise<{ outcome: Outcome<PartialPost>; cookie?: string }>;

/**
 * Finds where an item's audio can be fetched now: in the page, whose cookies the files want, else by the methods that need
 * none.
 * @throws GatewayError with what the platform said of the item, or `audio_unavailable`.
 */
export function createAudioSearch({ requests, siteConfig }: AudioSettings) {
  const methods: readonly AudioMethod[] = [
    async (id, signal) => {
      const reply = await requests.page(id, signal);
      const outcome = 'restriction' in reply ? reply : outcomeOfPage(reply.html, id, siteConfig);
      if ('restriction' in outcome)
        return { outcome: { kind: 'transient', code: 'upstream_refused', reason: outcome.reason } };
      return { outcome, ...('cookie' in reply && { cookie: reply.cookie }) };
    },
    async (id, signal) => ({ outcome: outcomeOfEmbed((await requests.embed(id, signal)).html, id, siteConfig) }),
    async (id, signal) => ({ outcome: outcomeOfPlayer(await requests.player(id, signal), id, siteConfig) }),
  ];

  return async (id: string, signal: AbortSignal): Promise<AudioSource> => {
    let failure: unknown;
    for (const [index, method] of methods.entries()) {
      try {
        const { outcome, cookie } = await method(id, signal);
        if (outcome.kind === 'found') {
          const post = outcome.found;
          const isUsable = (entry: MediaEntry) => cookie !== undefined || !entry.bound_to?.includes('cookie');
          const audio = post.audio ? chooseAudio(post.media?.entries ?? [], isUsable) : undefined;
          if (audio) return sourceOf(audio, post, cookie, siteConfig);
          failure ??= noAudio();
          continue;
        }
        failure ??= new GatewayError(outcome.code, 'The platform does not give the audio of the item.', {
          reason: outcome.reason,
        });
        // What the page says of its item is final.
        if (outcome.kind === 'definitive' && index === 0) break;
      } catch (error) {
        signal.throwIfAborted();
        failure ??= error;
      }
    }
    throw failure ?? noAudio();
  };
}

function noAudio(): GatewayError {
  return new GatewayError('audio_unavailable', 'The platform gives no file with the audio of the item.');
}

function sourceOf(
  audio: MediaEntry,
  post: PartialPost,
  cookie: string | undefined,
  siteConfig: SiteConfig,
): AudioSource {
  const seconds = audio.kind === 'video' ? post.common?.duration_seconds : audio.duration_seconds;
  return {
    url: audio.url,
    headers: {
      'user-agent': siteConfig.userAgent,
      referer: `${siteConfig.origin}/`,
      ...(cookie && audio.bound_to?.includes('cookie') && { cookie }),
    },
    ...(audio.mime && { mime: audio.mime }),
    ...(seconds !== undefined && { durationSeconds: seconds }),
  };
}

const options = Type.Object(
  {
    /** BCP 47 tag of the interface language that the site is asked in. */
    language: Type.String({ default: 'en', pattern: '^[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8})*$' }),
    /** Members of site-config.json with other values, in the same shape. */
    siteConfig: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
  },
  { additionalProperties: false },
);

/** Public videos and slideshows of TikTok. */
export default definePlugin<typeof options>({
  name: 'clip_video',
  apiVersion: 1,
  summary: 'Public videos and slideshows of TikTok: caption, counters, author, music, files, subtitles and audio.',
  provides: ['extractor'],
  options,
  setup: (context) => ({ extractors: [createClipVideoExtractor(context)] }),
});
