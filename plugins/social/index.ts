/*
 * Declares the extractor of Facebook posts, photos, videos and reels. Each method fetches one page; an age restriction
 * ends the run, because it holds on all pages. Audio is chosen from the files that the methods found.
 */

import {
  audioSource,
  definePlugin,
  extractorFrom,
  mergePosts,
  type PartialPost,
  SiteConfigSchema,
  Type,
} from 'mediagate/plugin';
import { assemble, chooseAudio, isEnough, isReadable } from './assemble.js';
import { createFetch, siteConfigOf } from './fetch.js';
import { LINK_FORMS, matchItem } from './links.js';
import probeLinks from './probe-links.json' with { type: 'json' };
import { isAgeRestricted, readEmbedPage, readPage } from './read/page.js';

const options = Type.Object(
  {
    language: Type.String({
      default: 'en-US',
      pattern: '^[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8})*$',
      description: 'Language of the requested pages (BCP 47).',
    }),
    siteConfig: SiteConfigSchema,
  },
  { additionalProperties: false },
);

/**
 * Public posts, photos, videos and reels of Facebook. The methods, best first: the page of the item; for a video the page
 * that shows it in the other form (reel and watch pages have different counters, and one may be open where the other
 * requires a login); and the page that other sites embed.
 */
export default definePlugin<typeof options>({
  name: 'social',
  apiVersion: 1,
  summary: 'Public posts, photos, videos and reels of Facebook: text, author, counters, pictures, files and audio.',
  provides: ['extractor'],
  options,
  setup(context) {
    const siteConfig = siteConfigOf(context.options.siteConfig);
    const fetch = createFetch(context.http, siteConfig, context.options.language);
    const extractor = extractorFrom<PartialPost>(context, {
      platform: 'social',
      displayName: 'Facebook',
      linkForms: LINK_FORMS,
      mediaHosts: ['.fbcdn.net', '.cdninstagram.com'],
      mediaHeaders: { 'user-agent': siteConfig.userAgent },
      match: matchItem,
      embed: ({ url }) => ({
        url: `https://www.facebook.com/plugins/video.php?href=${encodeURIComponent(url)}&show_text=false`,
        width: 560,
        height: 315,
      }),
      probeLinks,
      resolve: ({ link, signal }) => fetch.shortLink(link, signal),
      methods: [
        {
          name: 'page',
          cost: 3,
          definitive: false,
          run: async ({ link }, signal) => readPage(await fetch.page(link.url, signal), link, siteConfig),
        },
        {
          name: 'sibling_page',
          cost: 3,
          definitive: false,
          usable: ({ link, outcomes }) => link.kind !== 'post' && !isAgeRestricted(outcomes),
          run: async ({ link }, signal) => readPage(await fetch.siblingPage(link, signal), link, siteConfig),
        },
        {
          name: 'plugin',
          cost: 1,
          definitive: false,
          usable: ({ outcomes }) => !isAgeRestricted(outcomes),
          run: async ({ link }, signal) => readEmbedPage(await fetch.embedPage(link, signal), link, siteConfig),
        },
      ],
      isEnough,
      isWorthwhile: isReadable,
      assemble,
      async resolveAudio(_call, run) {
        const { media, common } = mergePosts((await run()).parts);
        const headers = { 'user-agent': siteConfig.userAgent };
        return audioSource(chooseAudio(media.entries ?? []), { headers, durationSeconds: common.duration_seconds });
      },
    });
    return { extractors: [extractor] };
  },
});
