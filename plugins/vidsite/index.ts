import {
  at,
  audioSource,
  definePlugin,
  extractorFrom,
  GatewayError,
  type ItemCall,
  type ItemMethod,
  type PartialPost,
  readStatus,
  Type,
  UpstreamKeySchema,
} from 'mediagate/plugin';
import { assemble } from './assemble.js';
import { type Client, createRequests, type Requests, siteConfigOf } from './fetch.js';
import { LINK_FORMS, matchVideo } from './links.js';
import probeLinks from './probe-links.json' with { type: 'json' };
import { chooseAudio } from './read/formats.js';
import { isReadable, outcomeOfPage, outcomeOfPlayer, type ReadOptions } from './read/outcomes.js';
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
    siteConfig: Type.Optional(
      Type.Record(Type.String(), Type.Unknown(), {
        description: 'Fields of site-config.json with other values, in the same shape.',
      }),
    ),
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
    const requests = createRequests(context.http, siteConfig, context.options);
    const readOptions = { siteConfig, region };
    const { player } = siteConfig.clients;

    const extractor = extractorFrom<PartialPost>(context, {
      platform: 'vidsite',
      displayName: 'YouTube',
      linkForms: LINK_FORMS,
      mediaHosts: ['.googlevideo.com'],
      match: matchVideo,
      resolve: (call) => resolveVideoLink({ http: context.http, siteConfig, language }, call),
      embed: ({ id }) => ({ url: `https://www.youtube.com/embed/${id}`, width: 560, height: 315 }),
      probeLinks,
      methods: createMethods(requests, readOptions, Boolean(apiKey)),
      isEnough: isComplete,
      isWorthwhile: isReadable,
      assemble,

      async resolveAudio({ link, signal }) {
        const reply = await requests.innertube('player', player, link.id, signal);
        const outcome = outcomeOfPlayer(reply, link.id, readOptions);
        if (outcome.kind !== 'found') {
          const { code, reason } = outcome;
          throw new GatewayError(code, 'The platform does not give the audio of the video.', { reason });
        }
        // The reply may have files that the outcome omits, since the video is restricted or live.
        const listed = new Set(outcome.found.flatMap((post) => post.media?.entries?.map(({ url }) => url) ?? []));
        const file = chooseAudio(at(reply, 'streamingData'), siteConfig.audioItags);
        return audioSource(file && listed.has(file.url) ? file : undefined, {
          headers: { 'user-agent': player.userAgent },
        });
      },
    });
    return { extractors: [extractor] };
  },
});

/**
 * The methods, best first. The player reply has the files and the video's own data, the microformat its exact times and
 * flags, the `next` reply the page around it; the three run at the same time. The page is fetched for missing data, and
 * if the API refuses a request that the page may serve.
 */
function createMethods(requests: Requests, readOptions: ReadOptions, hasApiKey: boolean): ItemMethod<PartialPost>[] {
  const { player, web } = readOptions.siteConfig.clients;
  const innertube = (
    name: 'player' | 'microformat' | 'next',
    client: Client,
    read: typeof outcomeOfPlayer,
  ): ItemMethod<PartialPost> => ({
    name: `innertube_${name}`,
    cost: 1,
    definitive: false,
    group: 'innertube',
    async run({ link: { id } }, signal) {
      return read(await requests.innertube(name, client, id, signal), id, readOptions);
    },
  });

  return [
    {
      name: 'data_api',
      cost: 2,
      definitive: false,
      available: () => hasApiKey,
      async run({ link: { id } }, signal) {
        const video = itemOf(await requests.dataApi('videos', id, signal), id);
        if (!video) return { kind: 'definitive', code: 'removed', reason: 'the official API does not list the video' };
        return { kind: 'found', found: parseVideo(video, await channelOf(video, requests, signal), id) };
      },
    },
    innertube('player', player, outcomeOfPlayer),
    {
      ...innertube('microformat', web, outcomeOfPlayer),
      usable: ({ outcomes }) => outcomes.get('data_api')?.kind !== 'found',
    },
    innertube('next', web, (next, id) => outcomeOfPage(undefined, next, id, readOptions)),
    {
      name: 'watch_page',
      cost: 3,
      definitive: true,
      usable: (call) => !isSettled(call),
      async run({ link: { id } }, signal) {
        return readWatchPage(await requests.watchPage(id, signal), id, readOptions);
      },
    },
    {
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
    },
  ];
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

/** Further methods are worthwhile until the files, the counters of the page and the date are known. */
function isComplete(posts: readonly PartialPost[], { outcomes }: ItemCall<PartialPost>): boolean {
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

/** Two methods that agree that a video is gone or private make further ones unnecessary. */
function isSettled({ outcomes }: ItemCall<PartialPost>): boolean {
  const refusals = [...outcomes.values()].filter((outcome) => outcome.kind === 'definitive');
  return ['removed', 'private'].some((code) => refusals.filter((refusal) => refusal.code === code).length > 1);
}
