import path from 'node:path';
import { answersFromFixtures } from '../support/fixture-answers.js';
import { packageRoot } from '../support/package-root.js';
import type { AnswerRequest } from '../support/replaying-proxy.js';

export interface LinkSample {
  /** The fixture folder's name. */
  name: string;
  platform: string;
  /** As a user would paste it. */
  url: string;
  /** What tells this item's requests from another's. */
  id: string;
}

/** The plugins' own samples that the demo shows, in the order it shows them. */
export const linkSamples: readonly LinkSample[] = [
  { name: 'innertube-2026', id: 'Tugs0fOst3n', url: 'https://youtu.be/Tugs0fOst3n?si=shared' },
  { name: 'shorts-unlisted', id: 'Sh0rt_dog17', url: 'https://youtube.com/shorts/Sh0rt_dog17?feature=share' },
  { name: 'live-2026', id: 'L1veNest_26', url: 'https://www.youtube.com/live/L1veNest_26' },
  { name: 'watch-german', id: 'De_Alpen_18', url: 'https://m.youtube.com/watch?v=De_Alpen_18&list=PLwalks' },
  { name: 'age-gate', id: 'AgeG4te_022', url: 'https://www.youtube.com/watch?v=AgeG4te_022' },
  { name: 'private', id: 'Pr1vate_007', url: 'https://www.youtube.com/watch?v=Pr1vate_007' },
].map((sample) => ({ ...sample, platform: 'vidsite' }));

/** Answers each request from the sample whose id it names: the platforms' addresses are the same for every item. */
export function answersFromSamples(samples: readonly LinkSample[]): AnswerRequest {
  const answers = samples.map(({ id, platform, name }) => ({
    id,
    answer: answersFromFixtures([path.join(packageRoot, 'plugins', platform, 'fixtures', name)]),
  }));
  return (request) => {
    const sample = answers.find(({ id }) => request.url.href.includes(id) || request.body.includes(id));
    return sample ? sample.answer(request) : { status: 404 };
  };
}
