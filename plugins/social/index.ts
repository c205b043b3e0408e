import {
  type AudioSource,
  createFallbackChain,
  definePlugin,
  type ExtractCall,
  type Extraction,
  type Extractor,
  GatewayError,
  type LinkRef,
  loadSiteConfig,
  type MediaEntry,
  type Method,
  mergePosts,
  type Part,
  type PluginContext,
  type PostPart,
  type SiteConfigOverride,
  Type,
} from 'mediagate';
import { limitationsOf } from './assemble.js';
import { createRequests, type PageAnswer, type Requests, resolveShortLink } from './fetch.js';
import { isAlias, LINK_FORMS, matchItem } from './links.js';
import type { Found, PostOutcome } from './outcomes.js';
import probeLinks from './probe-links.json' with { type: 'json' };
import { parsePlugin } from './read/embed.js';
import { isReadable, readPage } from './read/page.js';
import { takeApart } from './read/parts.js';
import { readPageState, type SiteConfig } from './read/state.js';
import shipped from './site-config.json' with { type: 'json' };

const options = Type.Object(
  {
    /** BCP 47 tag of the interface language that the site is asked in. */
    language: Type.String({ default: 'en-US', pattern: '^[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8})*$' }),
    /** Values in place of those of site-config.json, in the same shape. */
    siteConfig: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
  },
  { additionalProperties: false },
);

/** Public posts, photos, videos and reels of Facebook. */
export default definePlugin<typeof options>({
  name: 'social',
  apiVersion: 1,
  summary: 'Public posts, photos, videos and reels of Facebook: text, author, counters, pictures, files and sound.',
  provides: ['extractor'],
  options,
  setup: (context) => ({ extractors: [createSocialExtractor(context)] }),
});

const PLATFORM = 'social';
const MEDIA_HOSTS = ['.fbcdn.net', '.cdninstagram.com'];

export interface SocialOptions {
  language: string;
  siteConfig?: SiteConfigOverride;
}

/** @throws TypeError if `options.siteConfig` does not fit the shipped one. */
export function createSocialExtractor(context: PluginContext<SocialOptions>): Extractor {
  const { http, clock, logger, options } = context;
  const siteConfig = loadSiteConfig(shipped, options.siteConfig);
  const requests = createRequests({ http, siteConfig, language: options.language });
  const chain = createFallbackChain<Found, ItemCall>({
    platform: PLATFORM,
    clock,
    logger,
    methods: createMethods({ requests, siteConfig }),
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

    resolve: ({ link, signal }) => resolveShortLink(link, { http, requests, siteConfig }, signal),

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
        headers: { 'user-agent': siteConfig.userAgent },
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

/** One item to be had, and what came of the ways tried so far. */
export interface ItemCall {
  link: LinkRef;
  outcomes: Map<string, PostOutcome>;
}

export interface MethodSettings {
  requests: Requests;
  siteConfig: SiteConfig;
}

/**
 * The ways to an item, best first: its own page, for a video the page that shows it in the other form (reel and watch
 * pages hold different counters, and one may be open where the other asks to log in), and what other sites embed.
 */
export function createMethods({ requests, siteConfig }: MethodSettings): Method<Found, ItemCall>[] {
  const method = (
    name: string,
    options: Pick<Method<Found, ItemCall>, 'cost' | 'usable'>,
    run: (link: LinkRef, signal: AbortSignal) => Promise<PostOutcome>,
  ): Method<Found, ItemCall> => ({
    name,
    definitive: false,
    ...options,
    async run({ link, outcomes }, signal) {
      const outcome = await run(link, signal);
      outcomes.set(name, outcome);
      return outcome;
    },
  });

  return [
    method('page', { cost: 3 }, async (link, signal) =>
      readPage(await requests.page(link.url, signal), link, siteConfig),
    ),
    method(
      'sibling_page',
      { cost: 3, usable: ({ link, outcomes }) => link.kind !== 'post' && !isWithheld(outcomes) },
      async (link, signal) => {
        const template = link.kind === 'reel' ? siteConfig.urls.video : siteConfig.urls.reel;
        return readPage(await requests.page(template.replace('{id}', link.id), signal), link, siteConfig);
      },
    ),
    method('plugin', { cost: 1, usable: ({ outcomes }) => !isWithheld(outcomes) }, async (link, signal) =>
      readPlugin(await requests.plugin(link, signal), link, siteConfig),
    ),
  ];
}

/** An item for adults is for adults everywhere. */
function isWithheld(outcomes: ReadonlyMap<string, PostOutcome>): boolean {
  return [...outcomes.values()].some((outcome) => outcome.kind === 'definitive' && outcome.code === 'age_restricted');
}

function readPlugin(answer: PageAnswer, { id }: LinkRef, siteConfig: SiteConfig): PostOutcome {
  const state = readPageState(answer, takeApart(answer.html), siteConfig);
  // Not everything may be embedded: a "no" from here says nothing of the item itself.
  if (state.kind === 'definitive') throw refused(state.reason);
  if (state.kind === 'transient') return state;
  const post = parsePlugin(answer.html, id);
  if (!post) throw refused('the page for embedding does not show the item');
  return { kind: 'found', found: [post] };
}

function refused(reason: string): GatewayError {
  return new GatewayError('upstream_refused', 'The platform does not let the item be embedded.', { reason });
}
