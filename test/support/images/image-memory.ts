/**
 * A process of its own, to be run with `--expose-gc`: takes every file of a folder as an input image, and prints what became
 * of it and of the memory.
 */

import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { References } from '../../../core/images/references.js';
import { ImageFiles } from '../../../core/media/image-file.js';
import { stripes } from './images.js';

export interface ImageOutcome {
  /** Content type as a model gets it, or the code of the refusal. */
  verdict: string;
  /** Most memory of the process beyond what it had before the first file, in bytes. */
  extraBytes: number;
}

const [folder = '.'] = process.argv.slice(2);
const { signal } = new AbortController();
const images = new ImageFiles();
const references = new References({
  images,
  http: {
    request: () => Promise.reject(new Error('fetched something')),
    stream: () => Promise.reject(new Error('fetched something')),
  },
});

// Whatever is loaded at the first use is there before anything is measured.
for (const kind of ['png', 'jpeg', 'webp', 'gif'] as const) {
  await images.normalize(await stripes(64, 64).toFormat(kind).toBuffer(), signal);
}

const uris = new Map<string, string>();
for (const name of await readdir(folder)) {
  uris.set(name, `data:image/png;base64,${await readFile(path.join(folder, name), 'base64')}`);
}
const before = process.resourceUsage().maxRSS;
const outcomes: Record<string, ImageOutcome> = {};
for (const [name, value] of uris) {
  // What the last one left behind is not this one's.
  gc?.();
  const verdict = await references
    .check([{ value, param: 'image' }])
    .then((checked) => references.load(checked, signal))
    .then(
      ([media]) => media?.contentType ?? 'nothing',
      (error) => error.code ?? String(error),
    );
  outcomes[name] = { verdict, extraBytes: (process.resourceUsage().maxRSS - before) * 1024 };
}
console.log(JSON.stringify(outcomes));
