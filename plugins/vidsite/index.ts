/*
 * Declares the extractor of YouTube videos and the order of its methods. The official API comes first if there is a
 * key. Player, microformat and `next` of the internal API run at the same time: one has the files, one the exact times,
 * one the page around the video. The watch page is fetched for missing data, oEmbed for a minimum. The player of other
 * sites is asked only for a public video of which no reply has files, and never after a refusal, since that would be
 * another identity to pass a refusal. Two agreeing replies settle that a video is gone.
 */

import {
  at,
  audioSource,
  definePlugin,
  extractorFrom,
  GatewayError,
  type ItemCall,
  type ItemMethod,
  isGatewayError,
  type PartialPost,
  readStatus,
  SiteConfigSchema,
  Type,
  UpstreamKeySchema,
} from 'mediagate/plugin';
import { assemble } from './assemble.js';
import { type Client, Requests, type SiteConfig, siteConfigOf } from './fetch.js';
import { LINK_FORMS, matchVideo } from './links.js';
import probeLinks from './probe-links.json' with { type: 'json' };
import { chooseAudio } from './read/formats.js';
import { isReadable, outcomeOfPage, outcomeOfPlayer, type ReadOptions, type VideoOutcome } from './read/outcomes.js';
import { itemOf, parseOembed, parseVideo } from './read/public-apis.js';
import { channelId } from './read/values.js';
import { readWatchPage } from './read/watch-page.js';
import { resolveVideoLink } from './resolve.js';

const options = Type.Object(
  {
    apiKey: Type.Optional(
      Type.String({
        ...UpstreamKeySchema,
        description: 'Key of the official Data API, which is then the first method. Default: the API is not used.',
      }),
    ),
    language: Type.String({
      default: 'en',
      pattern: '^[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8})*$',
      description: 'Language of requests (BCP 47).',
    }),
    region: Type.String({
      default: 'US',
      pattern: '^[A-Z]{2}$',
      description: 'Country of requests (ISO 3166-1 alpha-2).',
    }),
    siteConfig: SiteConfigSchema,
  },
  { additionalProperties: false },
);

/** Public videos of YouTube. */
export default definePlugin<typeof options>({
  name: 'vidsite',
  apiVersion: 1,
  summary: 'Public videos of YouTube: metadata, counters, channel, formats, subtitles and audio.',
  provides: ['extractor'],
  options,
  /** @throws TypeError if `options.siteConfig` does not fit the shipped one. */
  setup(context) {
    const { apiKey, region, language } = context.options;
    const siteConfig = siteConfigOf(context.options.siteConfig);
    const requests = new Requests(context.http, siteConfig, { ...context.options, clock: context.clock });
    const readOptions = { siteConfig, region };
    const { player } = siteConfig.clients;

    const extractor = extractorFrom<PartialPost, VideoState>(context, {
      platform: 'vidsite',
      displayName: 'YouTube',
      linkForms: LINK_FORMS,
      // Videos, pictures, and subtitles, which are on the site itself.
      mediaHosts: ['.googlevideo.com', '.ytimg.com', '.ggpht.com', 'www.youtube.com'],
      mediaHeaders: { 'user-agent': player.userAgent },
      match: matchVideo,
      resolve: (call) => resolveVideoLink({ http: context.http, siteConfig, language }, call),
      embed: ({ id }) => ({ url: `https://www.youtube.com/embed/${id}`, width: 560, height: 315 }),
      probeLinks,
      begin: () => ({}),
      methods: createMethods(requests, readOptions, Boolean(apiKey)),
      isEnough: isComplete,
      isWorthwhile: isReadable,
      assemble,

      async resolveAudio({ link, signal }) {
        const reply = await requests.innertube('player', player, link.id, signal);
        const outcome = outcomeOfPlayer(reply, link.id, readOptions);
        const file = audioIn(reply, outcome, siteConfig);
        if (file) return audioSource(file, { headers: { 'user-agent': player.userAgent } });
        const state: VideoState = {};
        noteEmbeddable(state, reply);
        if (mayAskEmbedded(outcome.kind === 'transient' ? [] : (outcome.found ?? []), [outcome], state)) {
          // Whatever it answers instead of a file, the first reply is the reason.
          const embedded = await requests.embeddedPlayer(link.id, signal).catch(() => undefined);
          signal.throwIfAborted();
          const other = audioIn(embedded, outcomeOfPlayer(embedded, link.id, readOptions), siteConfig);
          if (other) return audioSource(other, { headers: { 'user-agent': siteConfig.clients.embedded.userAgent } });
        }
        if (outcome.kind === 'found') return audioSource(undefined);
        const { code, reason } = outcome;
        throw new GatewayError(code, 'The platform does not give the audio of the video.', { reason });
      },
    });
    return { extractors: [extractor] };
  },
});

/** What the methods of one call share. */
interface VideoState {
  /** Whether other sites may show the video, as far as a reply says. */
  embeddable?: boolean;
  /** The watch page, fetched once. */
  watchPage?: Promise<string>;
}

type VideoCall = ItemCall<PartialPost, VideoState>;

function noteEmbeddable(state: VideoState, reply: unknown): void {
  const stated = at(reply, 'playabilityStatus', 'playableInEmbed');
  if (typeof stated === 'boolean') state.embeddable = stated && state.embeddable !== false;
}

/** The audio file of a reply; only one that the outcome lists: it omits those of restricted and live videos. */
function audioIn(reply: unknown, outcome: VideoOutcome, { audioItags }: SiteConfig) {
  if (outcome.kind !== 'found') return undefined;
  const listed = new Set(outcome.found.flatMap((post) => post.media?.entries?.map(({ url }) => url) ?? []));
  const file = chooseAudio(at(reply, 'streamingData'), audioItags);
  return file && listed.has(file.url) ? file : undefined;
}

/** The methods, best first. */
function createMethods(
  requests: Requests,
  readOptions: ReadOptions,
  hasApiKey: boolean,
): ItemMethod<PartialPost, VideoState>[] {
  const { player, web } = readOptions.siteConfig.clients;
  const innertube = (
    name: 'player' | 'microformat' | 'next',
    client: Client,
    read: typeof outcomeOfPlayer,
  ): ItemMethod<PartialPost, VideoState> => ({
    name: `innertube_${name}`,
    cost: 1,
    definitive: false,
    group: 'innertube',
    async run({ link: { id }, state }, signal) {
      const reply = await requests.innertube(name, client, id, signal);
      noteEmbeddable(state, reply);
      return read(reply, id, readOptions);
    },
  });

  const watchPage = (state: VideoState, id: string, signal: AbortSignal): Promise<string> => {
    state.watchPage ??= requests.watchPage(id, signal);
    return state.watchPage;
  };

  /** The player reply. If the site refuses a visitor id that it gave earlier, or wants one, the page gives a new one. */
  async function runPlayer(call: VideoCall, signal: AbortSignal): Promise<VideoOutcome> {
    const { state, link } = call;
    const carried = requests.visitorId();
    const attempt = () => innertube('player', player, outcomeOfPlayer).run(call, signal) as Promise<VideoOutcome>;
    const outcome = await attempt();
    if (outcome.kind !== 'transient' || outcome.code !== 'bot_check') return outcome;
    requests.dropVisitor(carried);
    // The page's own failure is that of its method.
    if (requests.visitorId() === undefined) await watchPage(state, link.id, signal).catch(() => undefined);
    const renewed = requests.visitorId();
    return renewed === undefined || renewed === carried ? outcome : attempt();
  }

  return [
    dataApi(requests, hasApiKey),
    { ...innertube('player', player, outcomeOfPlayer), run: runPlayer },
    {
      ...innertube('microformat', web, outcomeOfPlayer),
      usable: ({ outcomes }) => outcomes.get('data_api')?.kind !== 'found',
    },
    innertube('next', web, (next, id) => outcomeOfPage(undefined, next, id, readOptions)),
    embeddedPlayer(requests, readOptions),
    {
      name: 'watch_page',
      cost: 3,
      definitive: true,
      usable: (call) => !isSettled(call),
      async run({ link: { id }, state }, signal) {
        const html = await watchPage(state, id, signal);
        state.embeddable ??= /"playableInEmbed"\s*:\s*true/.test(html) || undefined;
        return readWatchPage(html, id, readOptions);
      },
    },
    oembed(requests),
  ];
}

function dataApi(requests: Requests, hasApiKey: boolean): ItemMethod<PartialPost, VideoState> {
  return {
    name: 'data_api',
    cost: 2,
    definitive: false,
    available: () => hasApiKey,
    async run({ link: { id } }, signal) {
      const video = itemOf(await requests.dataApi('videos', id, signal), id);
      if (!video) return { kind: 'definitive', code: 'removed', reason: 'the official API does not list the video' };
      return { kind: 'found', found: parseVideo(video, await channelOf(video, requests, signal), id) };
    },
  };
}

function embeddedPlayer(requests: Requests, readOptions: ReadOptions): ItemMethod<PartialPost, VideoState> {
  return {
    name: 'innertube_embedded',
    cost: 2,
    definitive: false,
    supplements: true,
    usable: ({ found, outcomes, state }) => mayAskEmbedded(found(), [...outcomes.values()], state),
    async run({ link: { id } }, signal) {
      try {
        const outcome = outcomeOfPlayer(await requests.embeddedPlayer(id, signal), id, readOptions);
        if (outcome.kind === 'found' && hasFiles(outcome.found)) return outcome;
      } catch (error) {
        signal.throwIfAborted();
        if (!isGatewayError(error)) throw error;
      }
      return { kind: 'transient', code: 'upstream_refused', reason: 'the player of other sites has no files either' };
    },
  };
}

function oembed(requests: Requests): ItemMethod<PartialPost, VideoState> {
  return {
    name: 'oembed',
    cost: 1,
    definitive: false,
    usable: (call) => !isSettled(call) && !isReadable(call.found()),
    async run({ link: { id } }, signal) {
      const response = await requests.oembed(id, signal);
      const failure = readStatus(response, { 400: 'removed', 404: 'removed' });
      if (failure) return failure;
      const post = parseOembed(response.json(), id);
      if (!post) throw new GatewayError('upstream_refused', 'The oEmbed reply is not about the requested video.');
      return { kind: 'found', found: post, limitations: ['fallback_source: oembed'] };
    },
  };
}

async function channelOf(video: unknown, requests: Requests, signal: AbortSignal): Promise<unknown> {
  const owner = channelId(at(video, 'snippet', 'channelId'));
  if (!owner) return undefined;
  try {
    return itemOf(await requests.dataApi('channels', owner, signal), owner);
  } catch {
    signal.throwIfAborted();
    // The video's data is returned without the channel's.
    return undefined;
  }
}

/** Limitations and refusals after which no other client is asked: that would be another identity to pass a refusal. */
const REFUSALS: ReadonlySet<string> = new Set([
  'age_restricted',
  'bot_check',
  'drm',
  'geo_blocked',
  'live_offline',
  'live_upcoming',
  'login_required',
  'media_refused',
  'members_only',
  'paid',
  'private',
  'processing',
  'under_review',
  'upstream_rate_limited',
]);

/** Whether a public video that other sites may show has no file in any reply so far, and no reply refused it. */
function mayAskEmbedded(
  posts: readonly PartialPost[],
  outcomes: readonly VideoOutcome[],
  { embeddable }: VideoState,
): boolean {
  const notes = outcomes.flatMap((outcome) => [
    ...(outcome.kind === 'transient' ? [] : (outcome.limitations ?? [])),
    ...(outcome.kind === 'found' ? [] : [outcome.code]),
  ]);
  const isAnswered = outcomes.some(({ kind }) => kind !== 'transient');
  return isAnswered && embeddable === true && !hasFiles(posts) && !notes.some((note) => REFUSALS.has(note));
}

function hasFiles(posts: readonly PartialPost[]): boolean {
  return posts.some(({ media }) =>
    media?.entries?.some(({ kind }) => kind === 'video' || kind === 'audio' || kind === 'manifest'),
  );
}

/** Further methods are worthwhile until the files, the counters of the page and the date are known. */
function isComplete(posts: readonly PartialPost[], { outcomes, state }: VideoCall): boolean {
  const answered = (...methods: string[]) =>
    methods.some((method) => {
      const outcome = outcomes.get(method);
      return outcome?.kind === 'definitive' || (outcome?.kind === 'found' && outcome.found.length > 0);
    });
  return (
    isReadable(posts) &&
    posts.some((post) => post.common?.published_at) &&
    answered('innertube_player', 'watch_page') &&
    answered('innertube_next', 'watch_page', 'data_api') &&
    (outcomes.has('innertube_embedded') || !mayAskEmbedded(posts, [...outcomes.values()], state))
  );
}

/** Two methods that agree that a video is gone or private make further ones unnecessary. */
function isSettled({ outcomes }: VideoCall): boolean {
  const refusals = [...outcomes.values()].filter((outcome) => outcome.kind === 'definitive');
  return ['removed', 'private'].some((code) => refusals.filter((refusal) => refusal.code === code).length > 1);
}
