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
    ['innertube-2026', 'Tugs0fOst3n', 'https://youtu.be/Tugs0fOst3n?si=shared'],
    ['shorts-unlisted', 'Sh0rt_dog17', 'https://youtube.com/shorts/Sh0rt_dog17?feature=share'],
    ['live-2026', 'L1veNest_26', 'https://www.youtube.com/live/L1veNest_26'],
    ['watch-german', 'De_Alpen_18', 'https://m.youtube.com/watch?v=De_Alpen_18&list=PLwalks'],
    ['age-gate', 'AgeG4te_022', 'https://www.youtube.com/watch?v=AgeG4te_022'],
  ]),
  ...of('clip_video', [
    ['desktop-2026', '7670000000000000001', 'https://www.tiktok.com/@harbour.notes/video/7670000000000000001'],
  ]),
  ...of('social', [
    [
      'post-2025',
      '4410000000000731',
      'https://m.facebook.com/story.php?story_fbid=4410000000000731&id=rosalind.okafor.1',
    ],
  ]),
  ...of('photo', [['relay-2026', 'DX6B-kzkPRH', 'https://www.instagram.com/weir.diary/reel/DX6B-kzkPRH/?igsh=shared']]),
  ...of('clip_shop', [
    [
      'model-2026',
      '1732400000000033333',
      'https://shop.tiktok.com/gb/pdp/quilt-of-washed-linen/1732400000000033333?u_code=shared',
    ],
  ]),
  ...of('vidsite', [['private', 'Pr1vate_007', 'https://www.youtube.com/watch?v=Pr1vate_007']]),
];

function of(platform: string, samples: readonly (readonly [name: string, id: string, url: string])[]): LinkSample[] {
  return samples.map(([name, id, url]) => ({ platform, name, id, url }));
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
