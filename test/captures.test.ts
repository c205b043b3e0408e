/** Recorded pages of the platforms, read field by field; the pages are outside the project. */

import { existsSync } from 'node:fs';
import path from 'node:path';
import { expect } from 'chai';
import { runRecordedCases } from './support/links/recorded-cases.js';
import { packageRoot } from './support/package-root.js';
import { type GatewayHere, startGatewayHere } from './support/processes/gateway-here.js';

/** Recorded pages with the values a careful reader finds in them; too large, and not ours, to lie in the repository. */
const folder = path.resolve(packageRoot, process.env.CAPTURES_DIR ?? '../shared/captures');
const PLATFORMS = ['clip_shop', 'clip_video', 'vidsite', 'social', 'photo'];
const PLATFORM_MS = 300_000;

describe('recorded pages', () => {
  if (!existsSync(path.join(folder, 'cases.json'))) {
    it(`are read field by field (pending: there is no cases.json in ${folder}; CAPTURES_DIR names another folder)`);
    return;
  }

  for (const platform of PLATFORMS) {
    it(`of ${platform} are read correctly in every field`, async function () {
      this.timeout(PLATFORM_MS);
      let gateway: GatewayHere | undefined;
      try {
        const { met, total, lines } = await runRecordedCases({
          folder,
          platform,
          // Each lane leaves other ways to the platform shut; a new gateway has none of them resting.
          fresh: async (proxy) => {
            await gateway?.stop();
            gateway = await startGatewayHere({ proxy });
            const { key } = await gateway.makeKey();
            return { base: gateway.url, key };
          },
        });
        console.log(lines.slice(-3).join('\n'));
        expect(total.cases).to.be.greaterThan(0);
        expect(met, `\n${lines.filter((line) => !line.startsWith('pass')).join('\n')}\n`).to.equal(true);
      } finally {
        await gateway?.stop();
      }
    });
  }
});
