/** The template of a plugin, checked by the testing kit like every plugin. */

import { describeExtractor, describePlugin, isoTime, matching } from 'mediagate/testing';
import plugin from '../index.js';

const options = { apiKey: 'reelbox-key-of-the-test' };

describePlugin({ plugin, folder: import.meta.url, options });

describeExtractor({
  plugin,
  folder: import.meta.url,
  options,
  secrets: [options.apiKey],
  links: {
    'https://reelbox.example/clip/aB3dE5gH7j': 'aB3dE5gH7j',
    'https://www.reelbox.example/clip/aB3dE5gH7j/?from=share': 'aB3dE5gH7j',
    'http://m.reelbox.example/c/aB3dE5gH7j': 'aB3dE5gH7j',
  },
  foreign: ['https://example.com/clip/aB3dE5gH7j', 'https://reelbox.example.com/clip/aB3dE5gH7j'],
  unsupported: [
    'https://reelbox.example/user/somebody',
    'https://reelbox.example/clip/short',
    'https://reelbox.example/',
  ],
  samples: [
    {
      name: 'clip',
      url: 'https://reelbox.example/clip/aB3dE5gH7j',
      id: 'aB3dE5gH7j',
      expect: {
        method: 'api',
        data: {
          common: {
            title: 'A lighthouse in the fog',
            author: { id: '88120', name: 'Harbour Notes' },
            published_at: isoTime('2026-03-01T06:30:00Z'),
            duration_seconds: 47,
            tags: ['fog', 'lighthouse'],
          },
          metrics: { views: 48213, likes: 1907, duration_seconds: 47 },
          media: { video_urls: [matching(/\.mp4$/)] },
          provenance: { sources: { 'metrics.views': 'api' }, precision: { views: 'exact' } },
        },
      },
    },
    {
      name: 'page_only',
      url: 'https://m.reelbox.example/c/aB3dE5gH7j',
      id: 'aB3dE5gH7j',
      expect: {
        method: 'page',
        limitations: ['metadata_only', 'stats_rounded: views'],
        partial: true,
        data: {
          common: { title: 'A lighthouse in the fog', thumbnail: 'https://img.reelbox.example/aB3dE5gH7j.jpg' },
          metrics: { views: 48000 },
          provenance: { precision: { views: 'rounded' } },
        },
      },
    },
    { name: 'removed', url: 'https://reelbox.example/clip/zz0zz0zz0z', error: 'removed' },
    { name: 'private', url: 'https://reelbox.example/clip/qq1qq1qq1q', error: 'private', reason: /only the owner/ },
  ],
});
