import {
  type AudioSource,
  createFallbackChain,
  type ExtractCall,
  type Extraction,
  type Extractor,
  type FactsOverride,
  GatewayError,
  isGatewayError,
  type MediaEntry,
  mergePosts,
  type Part,
  type PartialPost,
  type PluginContext,
} from 'mediagate';
import { alignMedia, dateById, limitationsOf, orderVideos } from './assemble.js';
import { isComplete, isReadable } from './completeness.js';
import { resolveFacts } from './facts.js';
import { createRequests } from './fetch.js';
import { LINK_FORMS, matchClip } from './links.js';
import { type ClipCall, createMethods } from './methods.js';
import probeLinks from './probe-links.json' with { type: 'json' };
import { resolveShortLink } from './short-links.js';
import { createSoundSearch } from './sound.js';

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
