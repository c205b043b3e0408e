/** An invented extractor and its plugin. */

import {
  type Contributions,
  definePlugin,
  type ExtractCall,
  type Extraction,
  type Extractor,
  type LinkRef,
  type Plugin,
} from 'mediagate';

/** An extraction of an invented item; every member carries the id. */
export function inventedExtraction(id: string, more: Partial<Extraction> = {}): Extraction {
  return {
    method: 'invented',
    data: {
      common: { title: `Item ${id}`, author: { name: 'Somebody' } },
      ids: { video_id: id, canonical_url: `https://invented.example/item/${id}` },
      metrics: { views: Number(id) },
      media: { image_urls: [], video_urls: [] },
      raw_stats: {},
    },
    ...more,
  };
}

/** An extractor for links `https://invented.example/item/<digits>` and short links `https://inv.example/<code>`. */
export function inventedExtractor(more: Partial<Extractor> = {}): Extractor {
  return {
    platform: 'invented',
    displayName: 'Invented',
    linkForms: ['https://invented.example/item/<digits>'],
    match(url) {
      const id = /^\/item\/(\d+)$/.exec(url.pathname)?.[1];
      if (url.hostname === 'invented.example' && id)
        return { kind: 'video', id, url: `https://invented.example/item/${id}` };
      const code = /^\/(\w+)$/.exec(url.pathname)?.[1];
      if (url.hostname === 'inv.example' && code)
        return { kind: 'short_link', id: code, url: `https://inv.example/${code}` };
      return undefined;
    },
    extract: async ({ link }: ExtractCall) => inventedExtraction(link.id),
    ...(more.audio && { resolveAudio: async () => ({ url: 'https://invented.example/sound.m4a' }) }),
    ...more,
  };
}

/**
 * Items whose link may carry a hash that grants access: `https://invented.example/item/<digits>[/<hash>]`, and short links
 * `https://inv.example/<path>/<code>` and `https://inv.example/<code>`, whose code alone does not say where they lead.
 */
export function matchWithAccess(url: URL): LinkRef | undefined {
  const [, id, hash] = /^\/item\/(\d+)(?:\/([\w-]+))?$/.exec(url.pathname) ?? [];
  if (url.hostname === 'invented.example' && id) {
    return { kind: 'video', id, url: `https://invented.example/item/${id}${hash ? `/${hash}` : ''}` };
  }
  const [, path, code] = /^\/((?:\w\/)?(\w+))$/.exec(url.pathname) ?? [];
  if (url.hostname === 'inv.example' && code)
    return { kind: 'short_link', id: code, url: `https://inv.example/${path}` };
  return undefined;
}

/** As {@link matchWithAccess}, with the hash beside the canonical URL, which has none. */
export function matchWithToken(url: URL): LinkRef | undefined {
  const link = matchWithAccess(url);
  const access = link && link.kind !== 'short_link' ? accessIn(link) : undefined;
  return link && access ? { ...link, url: `https://invented.example/item/${link.id}`, access } : link;
}

/** The hash in a link of {@link matchWithAccess} or {@link matchWithToken}. */
export function accessIn({ url, access }: LinkRef): string | undefined {
  return access ?? new URL(url).pathname.split('/')[3];
}

export function invented(more: Partial<Extractor> = {}): Plugin {
  return definePlugin({
    name: 'invented',
    apiVersion: 1,
    summary: 'An invented platform.',
    provides: ['extractor'],
    setup: (): Contributions => ({ extractors: [inventedExtractor(more)] }),
  });
}
