import {
  type AudioSource,
  at,
  createFallbackChain,
  type ExtractCall,
  type Extraction,
  type Extractor,
  type FactsOverride,
  GatewayError,
  mergePosts,
  type Part,
  type PluginContext,
  type PostPart,
} from 'mediagate';
import { alignHidden, alignThumbnail, alignViewers, limitationsOf, orderPictures } from './assemble.js';
import { resolveFacts } from './facts.js';
import { createRequests } from './fetch.js';
import { LINK_FORMS, matchVideo } from './links.js';
import { createMethods, SHOWN_BY, type VideoCall } from './methods.js';
import { alignOwner } from './owner-alignment.js';
import probeLinks from './probe-links.json' with { type: 'json' };
import { chooseSound } from './read/formats.js';
import { type Found, isReadable, outcomeOfPlayer } from './read/outcomes.js';

const PLATFORM = 'vidsite';

export interface VidsiteOptions {
  apiKey?: string;
  language: string;
  region: string;
  facts?: FactsOverride;
}

/** @throws TypeError where `options.facts` does not fit the shipped facts. */
export function createVidsiteExtractor(context: PluginContext<VidsiteOptions>): Extractor {
  const { http, clock, logger, options } = context;
  const { apiKey, language, region } = options;
  const facts = resolveFacts(options.facts);
  const reading = { facts, region };
  const requests = createRequests({ http, facts, language, region, apiKey });
  const chain = createFallbackChain<Found, VideoCall>({
    platform: PLATFORM,
    clock,
    logger,
    methods: createMethods({ ...reading, requests, hasApiKey: Boolean(apiKey) }),
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
      const climb = await chain.run(call, signal, only);
      refusePrivate(call, climb.attempts);
      const parts = alignHidden(alignViewers(alignThumbnail(alignOwner(flatten(climb.parts), SHOWN_BY))));
      const data = orderPictures(mergePosts(withDefaults(parts, link.id)));
      const live = data.common.live_status;
      return {
        method: [...new Set(parts.map(({ method }) => method))].join('+'),
        data,
        limitations: limitationsOf(data, climb, call.outcomes),
        audio: live !== 'live' && live !== 'upcoming' && parts.some(({ found }) => found.audio),
        partial: climb.partial,
      };
    },

    async resolveAudio({ link, signal }: ExtractCall): Promise<AudioSource> {
      const player = await requests.innertube('player', facts.clients.player, link.id, signal);
      const outcome = outcomeOfPlayer(player, link.id, reading);
      if (outcome.kind !== 'found') {
        throw new GatewayError(outcome.code, 'The platform does not give the sound of the video.', {
          platform: PLATFORM,
          reason: outcome.reason,
        });
      }
      // An item that is withheld, or not begun, or running, keeps no files in what was found.
      const listed = new Set(outcome.found.flatMap((post) => post.media?.entries?.map((entry) => entry.url) ?? []));
      const sound = chooseSound(at(player, 'streamingData'), facts.audioItags);
      if (!sound || !listed.has(sound.url)) {
        throw new GatewayError('audio_unavailable', 'The platform gives no file with the sound of the video.', {
          platform: PLATFORM,
        });
      }
      return {
        url: sound.url,
        headers: { 'user-agent': facts.clients.player.userAgent },
        ...(sound.mime && { mime: sound.mime }),
        ...(sound.duration_seconds && { durationSeconds: sound.duration_seconds }),
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
