import {
  type AudioSource,
  createFallbackChain,
  type ExtractCall,
  type Extraction,
  type Extractor,
  type FactsOverride,
  GatewayError,
  type LinkRef,
  type MediaEntry,
  mergePosts,
  type Part,
  type PluginContext,
  type PostPart,
} from 'mediagate';
import { resolveFacts } from './facts.js';
import { limitationsOf } from './finish.js';
import { isAlias, LINK_FORMS, matchItem } from './links.js';
import { createMethods, type ItemCall } from './methods.js';
import type { Found } from './outcomes.js';
import { isReadable } from './page.js';
import probeLinks from './probe-links.json' with { type: 'json' };
import { createRequests } from './requests.js';
import { resolveShortLink } from './short-links.js';

const PLATFORM = 'social';
const MEDIA_HOSTS = ['.fbcdn.net', '.cdninstagram.com'];

export interface SocialOptions {
  language: string;
  facts?: FactsOverride;
}

/** @throws TypeError where `options.facts` does not fit the shipped facts. */
export function createSocialExtractor(context: PluginContext<SocialOptions>): Extractor {
  const { http, clock, logger, options } = context;
  const facts = resolveFacts(options.facts);
  const requests = createRequests({ http, facts, language: options.language });
  const chain = createFallbackChain<Found, ItemCall>({
    platform: PLATFORM,
    clock,
    logger,
    methods: createMethods({ requests, facts }),
    isEnough: (parts, { link }) => isComplete(parts, link.kind !== 'post'),
    isWorthwhile: (parts) => isReadable(parts.flatMap(({ found }) => found)),
  });
  const climb = ({ link, signal, only }: ExtractCall) => chain.run({ link, outcomes: new Map() }, signal, only);

  return {
    platform: PLATFORM,
    displayName: 'Facebook',
    linkForms: LINK_FORMS,
    audio: true,
    mediaHosts: MEDIA_HOSTS,
    match: matchItem,
    methods: chain.methods,
    probeLinks,

    resolve: ({ link, signal }) => resolveShortLink(link, { http, requests, facts }, signal),

    async extract(call): Promise<Extraction> {
      const { link } = call;
      const result = await climb(call);
      const parts = flatten(result.parts);
      const [best] = parts;
      const data = mergePosts([
        ...parts,
        ...(best ? [{ method: best.method, found: { ids: idsOf(link, parts) } }] : []),
      ]);
      return {
        method: [...new Set(parts.map(({ method }) => method))].join('+'),
        data,
        limitations: limitationsOf(data, result, link.kind !== 'post'),
        audio: data.common.live_status !== 'live' && parts.some(({ found }) => found.audio),
        partial: result.partial,
      };
    },

    async resolveAudio(call): Promise<AudioSource> {
      const result = await climb(call);
      const { media, common } = mergePosts(flatten(result.parts));
      const sound = chooseSound(media.entries ?? []);
      if (!sound) {
        throw new GatewayError('audio_unavailable', 'The platform gives no file with the sound of the item.', {
          platform: PLATFORM,
        });
      }
      const durationSeconds = sound.duration_seconds ?? common.duration_seconds;
      return {
        url: sound.url,
        headers: { 'user-agent': facts.userAgent },
        ...(sound.mime && { mime: sound.mime }),
        ...(durationSeconds && { durationSeconds }),
      };
    },
  };
}

/** Further requests are worth their while as long as the text, the author, the date, the numbers or the files were not had. */
function isComplete(parts: readonly Part<Found>[], isVideo: boolean): boolean {
  const posts = parts.flatMap(({ found }) => found);
  return (
    isReadable(posts) &&
    posts.some(({ common }) => common?.published_at) &&
    posts.some(({ metrics }) => metrics?.likes !== undefined || metrics?.views !== undefined) &&
    (!isVideo || posts.some(({ media }) => (media?.video_urls?.length ?? 0) > 0))
  );
}

function flatten(parts: readonly Part<Found>[]): PostPart[] {
  return parts.flatMap(({ method, found }) => found.map((post) => ({ method, found: post })));
}

/** What the link alone tells; an alias stands for the number where nothing names that. */
function idsOf({ kind, id, url }: LinkRef, parts: readonly PostPart[]) {
  const known = parts.some(({ found }) => found.ids?.post_id);
  const own = kind === 'post' ? (isAlias(id) && known ? {} : { post_id: id }) : { video_id: id };
  return { ...own, canonical_url: url };
}

/** Sound alone before sound with pictures, and the smallest of either. */
function chooseSound(entries: readonly MediaEntry[]): MediaEntry | undefined {
  const sounding = entries.filter(({ kind, has_audio }) => has_audio && (kind === 'audio' || kind === 'video'));
  const rank = ({ kind, bitrate, quality }: MediaEntry) =>
    (kind === 'audio' ? 0 : 1e12) + (bitrate ?? (quality === 'SD' ? 1e9 : 2e9));
  return [...sounding].sort((one, other) => rank(one) - rank(other))[0];
}
