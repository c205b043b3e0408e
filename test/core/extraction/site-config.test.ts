/** The site configuration of a platform, and an operator's override. */

import { expect } from 'chai';
import { loadSiteConfig } from '../../../core/extraction/extractor-from.js';

const shipped = {
  userAgent: 'Firefox',
  urls: { page: 'https://a.example/{id}' },
  words: ['gone'],
  empty: [] as string[],
};

describe('the site configuration of a platform', () => {
  it('is the default without an override', () => {
    expect(loadSiteConfig(shipped)).to.deep.equal(shipped);
    expect(loadSiteConfig(shipped, {})).to.deep.equal(shipped);
  });

  it('replaces single fields, and lists as a whole', () => {
    const config = loadSiteConfig(shipped, { urls: { page: 'https://b.example/{id}' }, words: ['lost', 'away'] });
    expect(config).to.deep.equal({ ...shipped, urls: { page: 'https://b.example/{id}' }, words: ['lost', 'away'] });
    expect(shipped.urls.page).to.equal('https://a.example/{id}');
  });

  for (const [title, override, message] of [
    ['an unknown member', { urls: { pages: 'hunter2' } }, 'siteConfig.urls has no member "pages"'],
    ['another type', { userAgent: 7 }, 'siteConfig.userAgent must be a string'],
    ['a list of other things', { words: [7] }, 'siteConfig.words must be a list of strings'],
    ['a value in place of a group', { urls: 'hunter2' }, 'siteConfig.urls must be an object'],
    ['an inherited name', { toString: 'hunter2' }, 'siteConfig has no member "toString"'],
  ] as const) {
    it(`refuses ${title}, and does not repeat its value`, () => {
      expect(() => loadSiteConfig(shipped, override))
        .to.throw(TypeError, message)
        .with.property('message', message);
    });
  }
});
