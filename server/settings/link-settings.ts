/*
 * Settings of link data: the cache, background jobs and batches, media, and MP3 files.
 */

import { oneOf, type Setting, wholeNumber } from './setting-values.js';

export const LINK_SETTINGS = [
  {
    name: 'EXTRACT_CACHE_SECONDS',
    default: '600',
    description: 'How long a cached extraction is used.',
    read: (text) => ({ extractCacheSeconds: wholeNumber(text, 0, 86_400) }),
  },
  {
    name: 'EXTRACT_WORKERS',
    default: '4',
    description:
      'Background extractions, and as many transcripts of links, that run at the same time in this process. `0`: only other nodes run them.',
    read: (text) => ({ extractWorkers: wholeNumber(text, 0, 256) }),
  },
  {
    name: 'EXTRACT_MAX_ACTIVE',
    default: '1000',
    description: 'Maximum background extractions, queued and running, over all nodes. More are refused (503).',
    read: (text) => ({ extractMaxActive: wholeNumber(text, 1, 1_000_000) }),
  },
  {
    name: 'EXTRACT_MAX_BATCHES',
    default: '100',
    description: 'Maximum background batches of links, queued and running, over all nodes. More are refused (503).',
    read: (text) => ({ extractMaxBatches: wholeNumber(text, 1, 100_000) }),
  },
  {
    name: 'EXTRACT_BATCH_LINKS',
    default: '16',
    description:
      'Links of background batches that are read at the same time in this process, if it has `EXTRACT_WORKERS`.',
    read: (text) => ({ extractBatchLinks: wholeNumber(text, 1, 1_000) }),
  },
  {
    name: 'MEDIA_PROXY',
    default: 'site',
    description:
      'Which requests get media links: none (`off`), those of the playground (`site`), or also those of API keys that ask for them (`on`). The files pass through this gateway and use its bandwidth.',
    read: (text) => ({ mediaProxy: oneOf(text, ['off', 'site', 'on'] as const) }),
  },
  {
    name: 'MEDIA_KEY_MBITS',
    default: '200',
    description:
      'Maximum megabits a second of media files to all clients of one key, and of what is fetched for its merged videos, per process. `0`: no limit.',
    read: (text) => ({ mediaKeyMbits: wholeNumber(text, 0, 100_000) }),
  },
  {
    name: 'MEDIA_MBITS',
    default: '0',
    description:
      'Maximum megabits a second of media files to all clients, and of what is fetched for merged videos, per process. `0`: no limit.',
    read: (text) => ({ mediaMbits: wholeNumber(text, 0, 1_000_000) }),
  },
  {
    name: 'VIDEO_SPOOL_MB',
    default: '1024',
    description:
      'Maximum megabytes on disk of merged videos, per process. Viewers of one share its file and can jump in it; it is deleted when its links expire. `0`: none is kept.',
    read: (text) => ({ videoSpoolMb: wholeNumber(text, 0, 1_000_000) }),
  },
  {
    name: 'EXACT_CUT_SECONDS',
    default: '0',
    description:
      'Longest exact cut of a video in seconds. It is encoded anew, about a second of a core for each second of a large picture, two at a time. `0`: cuts are at key frames alone.',
    read: (text) => ({ exactCutSeconds: wholeNumber(text, 0, 3_600) }),
  },
  {
    name: 'AUDIO_LINK_HOURS',
    default: '24',
    description: 'How long an MP3 link is valid.',
    read: (text) => ({ audioLinkHours: wholeNumber(text, 1, 720) }),
  },
] as const satisfies readonly Setting[];
