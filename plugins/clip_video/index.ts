import {
  type AudioSource,
  createFallbackChain,
  definePlugin,
  type ExtractCall,
  type Extraction,
  type Extractor,
  type FactsOverride,
  GatewayError,
  isGatewayError,
  type MediaEntry,
  type Method,
  mergePosts,
  type Outcome,
  type Part,
  type PartialPost,
  type PluginContext,
  Type,
} from 'mediagate';
import { alignMedia, dateById, isComplete, isReadable, limitationsOf, orderVideos } from './assemble.js';
import { createRequests, type Facts, type Requests, resolveFacts, resolveShortLink, type Wall } from './fetch.js';
import { LINK_FORMS, matchClip } from './links.js';
import probeLinks from './probe-links.json' with { type: 'json' };
import { chooseSound } from './read/files.js';
import { type ClipOutcome, outcomeOfEmbed, outcomeOfPage, outcomeOfPlayer } from './read/outcomes.js';
import { parseOembed } from './read/player.js';

const PLATFORM = 'clip_video';

export interface ClipVideoOptions {
  language: string;
  facts?: FactsOverride;
}

/** @throws TypeError where `options.facts` does not fit the shipped facts. */
export function createClipVideoExtractor(context: PluginContext<ClipVideoOptions>): Extractor {
  const { http, clock, logger, options } = context;
  const facts = resolveFacts(options.facts);
  const requests = createRequests({ http, facts, language: options.language });
  const findSound = createSoundSearch({ requests, facts });
  const chain = createFallbackChain<PartialPost, ClipCall>({
    platform: PLATFORM,
    clock,
    logger,
    methods: createMethods({ requests, facts }),
    isEnough,
    isWorthwhile: (parts) => parts.some(({ found }) => isReadable(found)),
  });

  return {
    platform: PLATFORM,
    displayName: 'TikTok',
    linkForms: LINK_FORMS,
    audio: true,
    mediaHosts: facts.mediaHosts,
    match: matchClip,
    methods: chain.methods,
    probeLinks,
    resolve: (call) => resolveShortLink({ http, facts }, call),

    async extract({ link, signal, only }: ExtractCall): Promise<Extraction> {
      const call: ClipCall = { id: link.id, outcomes: new Map() };
      const climb = await chain.run(call, signal, only).catch((error: unknown) => {
        throw nameWall(error, call);
      });
      const parts = alignMedia(climb.parts);
      const data = orderVideos(mergePosts(dateById(parts, link.id)));
      return {
        method: parts.map(({ method }) => method).join('+'),
        data,
        limitations: limitationsOf(data, climb),
        audio: parts.some(({ found }) => found.audio),
        // What a complete part lacks at most is the last digits of its counters.
        partial: climb.partial && !parts.some(({ found }) => isComplete(found)),
      };
    },

    resolveAudio: ({ link, signal }: ExtractCall): Promise<AudioSource> => findSound(link.id, signal),
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

/** Where nothing could be had otherwise, the wall that the page led to is the reason. */
function nameWall(error: unknown, { wall }: ClipCall): unknown {
  if (!wall || !isGatewayError(error) || !/^(?:upstream_|bot_check)/.test(error.code)) return error;
  return new GatewayError(wall.wall, 'The platform does not show the item here.', {
    platform: PLATFORM,
    reason: wall.reason,
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
  wall?: Wall;
}

export interface MethodSettings {
  requests: Requests;
  facts: Facts;
}

/**
 * The ways to an item, best first. The page has everything, but its counters may be rounded and its files bound to the
 * visit's cookies; the embedded player's page has exact counters and free files. Its interface and oEmbed are for when
 * neither can be had.
 */
export function createMethods({ requests, facts }: MethodSettings): Method<PartialPost, ClipCall>[] {
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
      const outcome = 'wall' in reply ? reply : outcomeOfPage(reply.html, call.id, facts);
      if (!('wall' in outcome)) return outcome;
      call.wall = outcome;
      return { kind: 'transient', code: 'upstream_refused', reason: outcome.reason };
    }),
    method('embed', { cost: 1, definitive: false }, async ({ id }, signal) => {
      const { html } = await requests.embed(id, signal);
      return outcomeOfEmbed(html, id, facts);
    }),
    method(
      'player',
      { cost: 1, definitive: false, usable: ({ outcomes }) => !foundIn(outcomes).some(isComplete) },
      async ({ id }, signal) => outcomeOfPlayer(await requests.player(id, signal), id, facts),
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

export interface SoundSettings {
  requests: Requests;
  facts: Facts;
}

type Way = (id: string, signal: AbortSignal) => Promise<{ outcome: Outcome<PartialPost>; cookie?: string }>;

/**
 * Finds where an item's sound can be fetched now: in the page, whose cookies the files want, else by the ways that need
 * none.
 * @throws GatewayError with what the platform said of the item, or `audio_unavailable`.
 */
export function createSoundSearch({ requests, facts }: SoundSettings) {
  const ways: readonly Way[] = [
    async (id, signal) => {
      const reply = await requests.page(id, signal);
      const outcome = 'wall' in reply ? reply : outcomeOfPage(reply.html, id, facts);
      if ('wall' in outcome)
        return { outcome: { kind: 'transient', code: 'upstream_refused', reason: outcome.reason } };
      return { outcome, ...('cookie' in reply && { cookie: reply.cookie }) };
    },
    async (id, signal) => ({ outcome: outcomeOfEmbed((await requests.embed(id, signal)).html, id, facts) }),
    async (id, signal) => ({ outcome: outcomeOfPlayer(await requests.player(id, signal), id, facts) }),
  ];

  return async (id: string, signal: AbortSignal): Promise<AudioSource> => {
    let failure: unknown;
    for (const [index, way] of ways.entries()) {
      try {
        const { outcome, cookie } = await way(id, signal);
        if (outcome.kind === 'found') {
          const post = outcome.found;
          const isUsable = (entry: MediaEntry) => cookie !== undefined || !entry.bound_to?.includes('cookie');
          const sound = post.audio ? chooseSound(post.media?.entries ?? [], isUsable) : undefined;
          if (sound) return sourceOf(sound, post, cookie, facts);
          failure ??= silent();
          continue;
        }
        failure ??= new GatewayError(outcome.code, 'The platform does not give the sound of the item.', {
          reason: outcome.reason,
        });
        // What the page says of its item is final.
        if (outcome.kind === 'definitive' && index === 0) break;
      } catch (error) {
        signal.throwIfAborted();
        failure ??= error;
      }
    }
    throw failure ?? silent();
  };
}

function silent(): GatewayError {
  return new GatewayError('audio_unavailable', 'The platform gives no file with the sound of the item.');
}

function sourceOf(sound: MediaEntry, post: PartialPost, cookie: string | undefined, facts: Facts): AudioSource {
  const seconds = sound.kind === 'video' ? post.common?.duration_seconds : sound.duration_seconds;
  return {
    url: sound.url,
    headers: {
      'user-agent': facts.userAgent,
      referer: `${facts.origin}/`,
      ...(cookie && sound.bound_to?.includes('cookie') && { cookie }),
    },
    ...(sound.mime && { mime: sound.mime }),
    ...(seconds !== undefined && { durationSeconds: seconds }),
  };
}

const options = Type.Object(
  {
    /** BCP 47 tag of the interface language that the site is asked in. */
    language: Type.String({ default: 'en', pattern: '^[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8})*$' }),
    /** Members of facts.json that an entry sets otherwise, in the same shape. */
    facts: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
  },
  { additionalProperties: false },
);

/** Public videos and slideshows of TikTok. */
export default definePlugin<typeof options>({
  name: 'clip_video',
  apiVersion: 1,
  summary: 'Public videos and slideshows of TikTok: caption, counters, author, music, files, subtitles and sound.',
  provides: ['extractor'],
  options,
  setup: (context) => ({ extractors: [createClipVideoExtractor(context)] }),
});
