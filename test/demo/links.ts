/** The part of the demo with single links. */

import { documentBox, refusalBox } from './answer-box.js';
import { linkSamples } from './link-samples.js';
import type { DemoPart } from './stage.js';

const UNSUPPORTED = 'https://www.youtube.com.evil.example/watch?v=abcdefghijk';

/** Links in, structured data out. */
export const linksPart: DemoPart = {
  title: 'Links into structured data    POST /v1/extract',
  async play({ gateway, key, terminal, keep }) {
    const links = [
      ...linkSamples.map(({ name, url }) => ({ name, url })),
      { name: 'not-a-platform', url: UNSUPPORTED },
    ];
    for (const { name, url } of links) {
      const began = performance.now();
      const answer = await gateway.extract(key, { url });
      const ms = Math.round(performance.now() - began);
      await keep(`${name}.json`, JSON.stringify(answer.json, null, 2));
      terminal.box(answer.status === 200 ? documentBox(url, answer, ms) : refusalBox(url, answer, ms));
    }
  },
};
