/**
 * Accessibility of every page in every state (empty, loading, full, after an answer, failed, without a connection), in both
 * schemes and both languages. `npm test` looks at one state of each kind of page.
 */

import { expect } from 'chai';
import { chromiumFor } from '../../support/browser/chromium.js';
import { findings, showIn, WIDE_AND_NARROW } from '../../support/browser/page-browser.js';
import { openUsedSite, type UsedSite } from '../../support/browser/used-site.js';

describe('every state of every page', () => {
  let site: UsedSite;

  before(async function () {
    this.timeout(120_000);
    await chromiumFor(this);
    site = await openUsedSite();
  });
  after(() => site?.close());

  it('breaks no rule of WCAG 2.2 A or AA and no best practice of axe-core', async function () {
    this.timeout(3_600_000);
    const broken: string[] = [];
    let looks = 0;
    await site.forEachPage(async ({ name, path, prepare }, context) => {
      const page = await context.newPage();
      for (const language of ['en', 'vi']) {
        await context.addCookies([{ name: 'language', value: language, url: site.url }]);
        await page.goto('about:blank');
        await page.goto(site.url + path, { waitUntil: 'load' });
        try {
          await prepare?.(page);
        } catch (error) {
          broken.push(`${name} in ${language} is not reached: ${error}`);
          continue;
        }
        for (const medium of WIDE_AND_NARROW) {
          await showIn(page, medium);
          looks += 1;
          const where = `${name} in ${language}, ${medium.colorScheme}`;
          for (const { id, nodes } of await findings(page)) broken.push(`${where}: ${id} ${nodes[0]?.slice(0, 200)}`);
        }
      }
      await page.close();
    });
    expect(broken).to.deep.equal([]);
    expect(looks).to.be.above(300);
  });
});
