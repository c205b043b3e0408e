/*
 * Declares the extractor of TikTok videos and slideshows, and the order of its sources. The page has all fields, but
 * its counters may be rounded and its files bound to its cookies; then the page of the embedded player is requested
 * too, once. The player's API and oEmbed follow only if no part is complete or readable. A refusal by the item's own
 * page ends the run. If no source shows the item, the reason is the restriction that the page led to. Audio comes from
 * the files of page, embed or player, in that order.
 */

import {
  type AudioSource,
  definePlugin,
  type ExtractCall,
  extractorFrom,
  type GatewayError,
  type ItemCall,
  isGatewayError,
  type Outcome,
  outcomeError,
  type PartialPost,
  SiteConfigSchema,
  Type,
} from 'mediagate/plugin';
import { assemble, audioOf, type ClipState, hasBoundVideos, isComplete, isReadable } from './assemble.js';
import { createRequests, resolveClipLink, type SiteConfig, siteConfigOf } from './fetch.js';
import { LINK_FORMS, matchClip } from './links.js';
import probeLinks from './probe-links.json' with { type: 'json' };
import { outcomeOfEmbed, outcomeOfOembed, outcomeOfPage, outcomeOfPlayer } from './read/outcomes.js';

const options = Type.Object(
  {
    language: Type.String({
      default: 'en',
      pattern: '^[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8})*$',
      description: 'Language of the requested pages (BCP 47).',
    }),
    siteConfig: SiteConfigSchema,
  },
  { additionalProperties: false },
);

/** One request for an item. `cookie` is that of a page's visit, for files that are bound to it. */
type ClipMethod = (
  call: Pick<ExtractCall, 'link'>,
  signal: AbortSignal,
) => Promise<Outcome<PartialPost> & { cookie?: string | undefined }>;

/** Public videos and slideshows of TikTok. */
export default definePlugin<typeof options>({
  name: 'clip_video',
  apiVersion: 1,
  summary: 'Public videos and slideshows of TikTok: caption, counters, author, music, files, subtitles and audio.',
  provides: ['extractor'],
  options,
  setup(context) {
    const { http } = context;
    const siteConfig = siteConfigOf(context.options.siteConfig);
    const requests = createRequests({ http, siteConfig, language: context.options.language });

    const { page, embed, player, oembed } = createMethods(requests, siteConfig);

    const extractor = extractorFrom<PartialPost, ClipState>(context, {
      platform: 'clip_video',
      displayName: 'TikTok',
      linkForms: LINK_FORMS,
      mediaHosts: siteConfig.mediaHosts,
      mediaHeaders: { 'user-agent': siteConfig.userAgent, referer: `${siteConfig.origin}/` },
      match: matchClip,
      embed: ({ id }) => ({ url: `https://www.tiktok.com/player/v1/${id}`, width: 325, height: 580 }),
      probeLinks,
      begin: () => ({}),
      resolve: (call) => resolveClipLink({ http, siteConfig }, call),
      // The page has everything, but its counters may be rounded and its files bound to its cookies. The page of the
      // embedded player has exact counters and free files. Its API and oEmbed are for when neither can be read.
      methods: [
        {
          name: 'page',
          cost: 2,
          definitive: true,
          async run(call, signal) {
            const outcome = await page(call, signal);
            call.state.cookie = outcome.cookie;
            return outcome;
          },
        },
        { name: 'embed', cost: 1, definitive: false, run: embed },
        {
          name: 'player',
          cost: 1,
          definitive: false,
          usable: (call) => !call.found().some(isComplete),
          run: player,
        },
        {
          name: 'oembed',
          cost: 1,
          definitive: false,
          usable: (call) => !call.found().some(isReadable),
          run: oembed,
        },
      ],
      isEnough,
      isWorthwhile: (found) => found.some(isReadable),
      assemble,
      explain,
      resolveAudio: (call) => resolveAudio([page, embed, player], call, siteConfig),
    });
    return { extractors: [extractor] };
  },
});

function createMethods(requests: ReturnType<typeof createRequests>, siteConfig: SiteConfig) {
  const page: ClipMethod = async ({ link: { id } }, signal) => {
    const reply = await requests.page(id, signal);
    return 'html' in reply ? { ...outcomeOfPage(reply.html, id, siteConfig), cookie: reply.cookie } : reply;
  };
  const embed: ClipMethod = async ({ link: { id } }, signal) =>
    outcomeOfEmbed((await requests.embed(id, signal)).html, id, siteConfig);
  const player: ClipMethod = async ({ link: { id } }, signal) =>
    outcomeOfPlayer(await requests.player(id, signal), id, siteConfig);
  const oembed: ClipMethod = async ({ link: { id } }, signal) => outcomeOfOembed(await requests.oembed(id, signal), id);
  return { page, embed, player, oembed };
}

/**
 * The audio is in the page's files, some of which need its cookies, or else in those of the embedded player.
 * @param methods That of the page first: its refusal is final.
 * @throws GatewayError with what the platform answered about the item, or `audio_unavailable`.
 */
async function resolveAudio(
  methods: readonly ClipMethod[],
  call: ExtractCall,
  siteConfig: SiteConfig,
): Promise<AudioSource> {
  let failure: unknown;
  for (const [index, method] of methods.entries()) {
    try {
      const outcome = await method(call, call.signal);
      if (outcome.kind === 'found') return audioOf(outcome.found, outcome.cookie, siteConfig);
      failure ??= outcomeError(outcome);
      if (outcome.kind === 'definitive' && index === 0) break;
    } catch (error) {
      call.signal.throwIfAborted();
      failure ??= error;
    }
  }
  throw failure;
}

/**
 * One complete part is enough. If its counters are rounded or its files bound to cookies, the page of the embedded
 * player is requested too, once.
 */
function isEnough(found: readonly PartialPost[], { outcomes }: ItemCall<PartialPost, ClipState>): boolean {
  const complete = found.find(isComplete);
  if (!complete) return false;
  const isRounded = Object.values(complete.precision ?? {}).includes('rounded');
  return outcomes.has('embed') || !(isRounded || hasBoundVideos(complete.media?.entries ?? []));
}

/** If no method found the item, the restriction that the page led to is the reason. */
function explain(error: GatewayError, { outcomes }: ItemCall<PartialPost, ClipState>): GatewayError {
  const page = outcomes.get('page');
  const restriction = page?.kind === 'transient' ? page.cause : undefined;
  if (!isGatewayError(restriction) || !/^(?:upstream_|bot_check)/.test(error.code)) return error;
  return restriction.with({ platform: 'clip_video', attempts: error.attempts, cause: error });
}
