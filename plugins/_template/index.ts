/*
 * Start here. This file declares the plugin: its options, and the methods that extraction runs in this order until
 * `isEnough` holds. Put the cheapest and best first. A `definitive` method is an official source: if it says "private" or
 * "removed", the run ends. Copy the folder, rename it, and replace the contents file by file.
 */

import { definePlugin, extractorFrom, type PartialPost, SiteConfigSchema, Type } from 'mediagate/plugin';
import { assemble, isEnough, isWorthwhile } from './assemble.js';
import { createRequests, siteConfigOf } from './fetch.js';
import { LINK_FORMS, matchLink } from './links.js';
import probeLinks from './probe-links.json' with { type: 'json' };
import { readApiReply, readPage } from './read.js';

const options = Type.Object(
  {
    apiKey: Type.Optional(
      Type.String({ minLength: 1, description: "Key of the platform's public API. Default: only the page is read." }),
    ),
    language: Type.String({
      default: 'en',
      pattern: '^[a-z]{2}$',
      description: 'Language of the requested pages (ISO 639-1).',
    }),
    siteConfig: SiteConfigSchema,
  },
  { additionalProperties: false },
);

export default definePlugin<typeof options>({
  name: '_template',
  apiVersion: 1,
  summary: 'Clips of Reelbox, an invented platform: the example to copy.',
  provides: ['extractor'],
  options,
  setup(context) {
    const { apiKey, language } = context.options;
    const siteConfig = siteConfigOf(context.options.siteConfig);
    const requests = createRequests({ http: context.http, siteConfig, apiKey, language });
    const extractor = extractorFrom<PartialPost>(context, {
      platform: '_template',
      displayName: 'Reelbox',
      linkForms: LINK_FORMS,
      match: matchLink,
      probeLinks,
      methods: [
        {
          name: 'api',
          cost: 1,
          definitive: true,
          available: () => apiKey !== undefined,
          run: async ({ link }, signal) => readApiReply(await requests.api(link.id, signal), link.id),
        },
        {
          name: 'page',
          cost: 2,
          definitive: false,
          run: async ({ link }, signal) => readPage(await requests.page(link.id, signal), link.id, siteConfig),
        },
      ],
      isEnough,
      isWorthwhile,
      assemble,
    });
    return { extractors: [extractor] };
  },
});
