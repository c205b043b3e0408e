/** An invented extractor and its plugin. */

import {
  type Contributions,
  definePlugin,
  type ExtractCall,
  type Extraction,
  type Extractor,
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

export function invented(more: Partial<Extractor> = {}): Plugin {
  return definePlugin({
    name: 'invented',
    apiVersion: 1,
    summary: 'An invented platform.',
    provides: ['extractor'],
    setup: (): Contributions => ({ extractors: [inventedExtractor(more)] }),
  });
}
