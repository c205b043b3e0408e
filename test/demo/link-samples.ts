/** Recorded samples of the five platforms, for the demo. */

import path from 'node:path';
import type { ReplayFolder } from 'mediagate/testing/server';
import { answersFromFixtures } from '../support/links/fixture-answers.js';
import type { AnswerRequest } from '../support/links/replaying-proxy.js';
import { packageRoot } from '../support/package-root.js';

export interface LinkSample {
  /** The fixture folder's name. */
  name: string;
  platform: string;
  /** As a user would paste it. */
  url: string;
  /** What tells this item's requests from another's. */
  id: string;
  /** What it is, for people who choose one. */
  about?: string;
  /** Milliseconds that its platform takes for an answer. Default 0. */
  delayMs?: number;
}

/** A product whose page takes its time, as they do. */
export const jobSample: LinkSample = {
  name: 'flat-2025',
  platform: 'clip_shop',
  url: 'https://www.tiktok.com/shop/pdp/stoneware-teapot/1729400000000011111?source=mall',
  id: '1729400000000011111',
  delayMs: 2_500,
};

/** A product that nobody has asked for yet. */
export const batchSample: LinkSample = {
  name: 'wrapped',
  platform: 'clip_shop',
  url: 'https://m.tiktok.com/view/product/1732400000000044444?region=us&utm_medium=ios',
  id: '1732400000000044444',
};

/** The plugins' own samples that the demo shows, in the order it shows them. */
export const linkSamples: readonly LinkSample[] = [
  ...of('vidsite', [
    [
      'innertube-2026',
      'Tugs0fOst3n',
      'https://youtu.be/Tugs0fOst3n?si=shared',
      'a video in separate tracks, with chapters, subtitles and a transcript',
    ],
    ['shorts-unlisted', 'Sh0rt_dog17', 'https://youtube.com/shorts/Sh0rt_dog17?feature=share', 'a short video'],
    ['live-2026', 'L1veNest_26', 'https://www.youtube.com/live/L1veNest_26', 'a live stream, which has no file yet'],
    [
      'watch-german',
      'De_Alpen_18',
      'https://m.youtube.com/watch?v=De_Alpen_18&list=PLwalks',
      'a video without files: the platform plays it',
    ],
    ['age-gate', 'AgeG4te_022', 'https://www.youtube.com/watch?v=AgeG4te_022', 'a video for adults'],
  ]),
  ...of('clip_video', [
    [
      'desktop-2026',
      '7670000000000000001',
      'https://www.tiktok.com/@harbour.notes/video/7670000000000000001',
      'a clip with automatic subtitles',
    ],
  ]),
  ...of('social', [
    [
      'post-2025',
      '4410000000000731',
      'https://m.facebook.com/story.php?story_fbid=4410000000000731&id=rosalind.okafor.1',
      'a carousel, as one ZIP',
    ],
  ]),
  ...of('photo', [
    ['relay-2026', 'DX6B-kzkPRH', 'https://www.instagram.com/weir.diary/reel/DX6B-kzkPRH/?igsh=shared', 'a reel'],
  ]),
  ...of('clip_shop', [
    [
      'model-2026',
      '1732400000000033333',
      'https://shop.tiktok.com/gb/pdp/quilt-of-washed-linen/1732400000000033333?u_code=shared',
      'a product with reviews',
    ],
  ]),
  ...of('vidsite', [['private', 'Pr1vate_007', 'https://www.youtube.com/watch?v=Pr1vate_007', 'private: refused']]),
];

function sample(name: string): LinkSample {
  const found = linkSamples.find((one) => one.name === name);
  if (!found) throw new Error(`there is no sample ${name}`);
  return found;
}

/** A video whose picture and sound are separate files. */
export const videoSample = sample('innertube-2026');
/** A post with several pictures. */
export const carouselSample = sample('post-2025');

type SampleRow = readonly [name: string, id: string, url: string, about: string];

function of(platform: string, samples: readonly SampleRow[]): LinkSample[] {
  return samples.map(([name, id, url, about]) => ({ platform, name, id, url, about }));
}

/** Answers each request from the sample whose id it names: the platforms' addresses are the same for every item. */
export function answersFromSamples(samples: readonly LinkSample[]): AnswerRequest {
  const answers = samples.map(({ id, platform, name, delayMs }) => ({
    id,
    delayMs,
    answer: answersFromFixtures([folderOf(platform, name)]),
  }));
  return async (request) => {
    const sample = answers.find(({ id }) => request.url.href.includes(id) || request.body.includes(id));
    return sample ? { ...(await sample.answer(request)), delayMs: sample.delayMs } : { status: 404 };
  };
}

/** The recorded replies of the samples, for the replay server. */
export function fixturesOf(samples: readonly LinkSample[]): ReplayFolder[] {
  return samples.map(({ platform, name, id, delayMs }) => ({
    folder: folderOf(platform, name),
    includes: id,
    delayMs,
  }));
}

function folderOf(platform: string, name: string): string {
  return path.join(packageRoot, 'plugins', platform, 'fixtures', name);
}
