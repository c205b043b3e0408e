import {
  type AudioSource,
  createFallbackChain,
  type ExtractCall,
  type Extraction,
  type Extractor,
  type FactsOverride,
  GatewayError,
  type MediaEntry,
  mergePosts,
  type PluginContext,
} from 'mediagate';
import { limitationsOf, partsOf, rankReadings } from './assemble.js';
import { resolveFacts } from './facts.js';
import { createRequests } from './fetch.js';
import { LINK_FORMS, matchPost } from './links.js';
import { createMethods, type PostCall } from './methods.js';
import probeLinks from './probe-links.json' with { type: 'json' };
import { type Found, isReadable, isWhole, isWorthwhile } from './read/outcomes.js';
import { resolveShareLink } from './share-link.js';
import { identityOf } from './shortcode.js';

const PLATFORM = 'photo';
const MEDIA_HOSTS = ['.cdninstagram.com', '.fbcdn.net'];

export interface PhotoOptions {
  facts?: FactsOverride;
}

/** @throws TypeError where `options.facts` does not fit the shipped facts. */
export function createPhotoExtractor(context: PluginContext<PhotoOptions>): Extractor {
  const { http, clock, logger, options } = context;
  const facts = resolveFacts(options.facts);
  const chain = createFallbackChain<Found, PostCall>({
    platform: PLATFORM,
    clock,
    logger,
    methods: createMethods({ requests: createRequests({ http, facts }), facts }),
    isEnough: (parts) => {
      const readings = parts.flatMap(({ found }) => found);
      return isReadable(readings) && isWhole(readings);
    },
    isWorthwhile: (parts) => isWorthwhile(parts.flatMap(({ found }) => found)),
  });

  async function read({ link, signal, only }: ExtractCall) {
    const identity = identityOf(link.id);
    const climb = await chain.run({ identity, outcomes: new Map() }, signal, only);
    const readings = rankReadings(climb.parts);
    return { climb, readings, data: mergePosts(partsOf(readings, identity)) };
  }

  return {
    platform: PLATFORM,
    displayName: 'Instagram',
    linkForms: LINK_FORMS,
    audio: true,
    mediaHosts: MEDIA_HOSTS,
    match: matchPost,
    methods: chain.methods,
    probeLinks,

    resolve({ link, signal }) {
      return resolveShareLink({ http, facts, link, signal });
    },

    async extract(call): Promise<Extraction> {
      const { climb, readings, data } = await read(call);
      return {
        method: climb.parts.map(({ method }) => method).join('+'),
        data,
        limitations: limitationsOf(data, readings, climb),
        audio: chooseSound(data.media.entries ?? []) !== undefined,
        partial: climb.partial,
      };
    },

    async resolveAudio(call): Promise<AudioSource> {
      const { data } = await read(call);
      const sound = chooseSound(data.media.entries ?? []);
      if (!sound) {
        throw new GatewayError('audio_unavailable', 'The platform gives no file with the sound of the post.', {
          platform: PLATFORM,
        });
      }
      const length = sound.duration_seconds ?? data.common.duration_seconds;
      return {
        url: sound.url,
        headers: { 'user-agent': facts.userAgent, referer: `${facts.origin}/` },
        ...(sound.mime && { mime: sound.mime }),
        ...(length && { durationSeconds: length }),
      };
    },
  };
}

/** The first sound track (the lists begin with the smallest) before the smallest video with sound. */
function chooseSound(entries: readonly MediaEntry[]): MediaEntry | undefined {
  const videos = entries.filter(({ kind, has_audio }) => kind === 'video' && has_audio !== false);
  const area = ({ width = 0, height = 0 }: MediaEntry) => width * height || Number.MAX_SAFE_INTEGER;
  return entries.find(({ kind }) => kind === 'audio') ?? videos.sort((one, other) => area(one) - area(other))[0];
}
