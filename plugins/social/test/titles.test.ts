/** Titles and descriptions of the social network in many languages. */

import { expect } from 'chai';
import { readPageTags } from '../read/parts.js';
import { parseTags } from '../read/tags.js';
import siteConfig from '../site-config.json' with { type: 'json' };

describe('social titles', () => {
  const context = { siteConfig, inGroup: false, isVideo: true };
  const reading = (heading: string, description?: string, title?: string) =>
    parseTags({ heading, description, title }, context);

  it('are split into counters, text and author, in many languages', () => {
    for (const [heading, views, likes] of [
      ['1.2M views · 34K reactions | A text | The Author', 1_200_000, 34_000],
      ['1,2 Mio. Aufrufe · 345 Reaktionen | A text | The Author', 1_200_000, 345],
      ['12 mil visualizaciones · 1,5 mil reacciones | A text | The Author', 12_000, 1_500],
      ['1,2 M de vues · 3 k réactions | A text | The Author', 1_200_000, 3_000],
      ['12 тыс. просмотров · 340 реакций | A text | The Author', 12_000, 340],
    ] as const) {
      const { common, metrics } = reading(heading, 'A text');
      expect([heading, metrics?.views, metrics?.likes]).to.deep.equal([heading, views, likes]);
      expect([common?.author?.name, common?.caption]).to.deep.equal(['The Author', 'A text']);
    }
  });

  it('are no authors if they are the title of a video', () => {
    expect(reading('How to tie a bowline', 'Part three of the series.').common?.author).to.equal(undefined);
  });

  it('contain the author before or after the text, or on the site', () => {
    expect(reading('Kite Works - New sails are...', 'New sails are in.').common?.author?.name).to.equal('Kite Works');
    expect(reading('Kite Works', 'New.', 'New. - Kite Works | Facebook').common?.author?.name).to.equal('Kite Works');
    expect(reading('Kite Works en Facebook Watch').common?.author?.name).to.equal('Kite Works');
  });

  it('name the author first if the description continues with the rest', () => {
    expect(reading('Bell Weekly | The tenor', 'The tenor is cast.').common?.author?.name).to.equal('Bell Weekly');
    expect(reading('The tenor | By Bell Weekly | Facebook').common?.author?.name).to.equal('Bell Weekly');
  });

  it('bear a longer form of a text that is cut elsewhere', () => {
    const text = 'The planks are down and the rails go up on Monday';
    const tags = { heading: 'Pier', description: 'The planks are down and...', title: `Pier - ${text}` };
    expect(parseTags(tags, context).common?.caption).to.equal(text);
  });

  it('have counters in every language, also with the number after the word', () => {
    for (const [heading, views, likes] of [
      ['2,2 mil. zhlédnutí · 21 tis. reakcí | A text | The Author', 2_200_000, 21_000],
      ['1,2 E megtekintés · 345 hangulatjel | A text | The Author', 1_200, 345],
      ['12 K vizualizări · 34 de reacții | A text | The Author', 12_000, 34],
      ['1.2万回視聴 · リアクション34件 | A text | The Author', 12_000, 34],
      ['조회 1.2만회 · 공감 34개 | A text | The Author', 12_000, 34],
      ['‏١٫٢ ألف‏ مشاهدة · ‏٣٤‏ تفاعلًا | A text | The Author', 1_200, 34],
      ['১.২ হাজার ভিউ · ৩৪টি প্রতিক্রিয়া | A text | The Author', 1_200, 34],
      ['12 tys. wyświetleń · 34 zyx | A text | The Author', 12_000, undefined],
      ['12 xyz · 34 zyx | A text | The Author', undefined, undefined],
    ] as const) {
      const { common, metrics } = reading(heading, 'A text');
      expect([heading, metrics?.views, metrics?.likes]).to.deep.equal([heading, views, likes]);
      expect([common?.author?.name, common?.caption]).to.deep.equal(['The Author', 'A text']);
    }
  });

  it('have no counters if the title of a video contains a count itself', () => {
    for (const heading of [
      '10 great plays | Kite Works',
      '5 views you must see | Kite Works',
      'Top 10 plays | Kite Works',
    ]) {
      expect(reading(heading, 'Enjoy them.').metrics, heading).to.deep.equal({});
    }
    expect(reading('24 views · 5 likes | Kite Works', '24 views · 5 likes').metrics).to.deep.equal({});
  });

  it('are the title of a video if they are nothing else', () => {
    expect(reading('How to tie a bowline', 'Part three of the series.').common?.title).to.equal('How to tie a bowline');
    expect(reading('Kite Works was live.').common?.title).to.equal('Kite Works was live.');
    expect(reading('Kite Works on Facebook Watch', 'A text').common?.title).to.equal(undefined);
    expect(reading('Watch').common?.title).to.equal(undefined);
  });
});

describe('social descriptions', () => {
  const described = (description: string) =>
    readPageTags(`<html><head><meta name="description" content="${description}" /></head></html>`);

  it('may begin with counters, of which the likes are not all reactions', () => {
    const tags = described(
      '14K views, 233 likes, 18 loves, 53 comments, 6 shares, Facebook Watch Videos from Kite Works: A text',
    );
    expect(tags).to.include({ description: 'A text', from: 'Kite Works' });
    const { common, metrics, precision } = parseTags(tags, { siteConfig, inGroup: false, isVideo: true });
    expect(metrics).to.deep.equal({ views: 14_000, comments: 53, shares: 6 });
    expect(precision).to.include({ views: 'rounded', shares: 'exact' });
    expect(common?.author?.name).to.equal('Kite Works');
  });

  it("are no captions if they are the owner's", () => {
    const context = { siteConfig, inGroup: false, isVideo: false, isPhoto: true };
    const read = (title: string, tags: Record<string, string>) => {
      const metas = Object.entries({ 'og:title': 'Lamp Archive', ...tags });
      const head = metas.map(([name, text]) => `<meta property="${name}" content="${text}" />`).join('');
      return parseTags(readPageTags(`<html><head><title>${title}</title>${head}</head></html>`), context).common;
    };
    const about = 'Lamps from mines, ships and railways.';
    const own = 'Lamp Archive - A lamp of 1908 | Facebook';
    for (const counted of [
      '12,345 likes · 67 talking about this · 89 were here',
      '1.234 Seguidores · 5 hablan',
      '9 likes',
    ]) {
      for (const name of ['Lamp Archive', 'Lamp Archive, Oslo']) {
        const description = `${name}. ${counted}. ${about}`;
        expect(read('Lamp Archive | Facebook', { description }), description).to.include({ caption: undefined });
        expect(read(own, { description, 'og:description': 'A lamp of 1908' })?.caption).to.equal('A lamp of 1908');
      }
    }
    for (const title of ['Lamp Archive | Facebook', 'Lamp Archive - Photos | Facebook', 'Lamp Archive']) {
      const common = read(title, { 'og:description': about });
      expect(common, title).to.include({ caption: undefined, description: undefined });
      expect(common?.author?.name).to.equal('Lamp Archive');
    }
    expect(read(own, { 'og:description': 'A lamp of 1908' })?.caption).to.equal('A lamp of 1908');
    expect(read('Facebook', { 'og:description': 'A lamp of 1908' })?.caption).to.equal('A lamp of 1908');
  });

  it('may begin with the name of the site for reasons of their own', () => {
    expect(described('Facebook is a village: an essay').description).to.equal('Facebook is a village: an essay');
    expect(described('Facebook Reels from Kite Works')).to.include({ description: undefined, from: 'Kite Works' });
  });
});
