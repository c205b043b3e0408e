/** Counts as pages show them: exact, abbreviated, in every locale. */

import { expect } from 'chai';
import fc from 'fast-check';
import { parseCount, shownCounters } from '../../../../core/extraction/scraping/counts.js';

const NBSP = '\u00a0';
const NARROW = '\u202f';

const EXACT: Readonly<Record<string, number>> = {
  '0': 0,
  '7': 7,
  '31,009 likes': 31_009,
  '1,234,567 views': 1_234_567,
  '1.234.567 visualizaciones': 1_234_567,
  '1.234 Aufrufe': 1_234,
  [`1${NBSP}234${NBSP}567 vues`]: 1_234_567,
  [`12${NARROW}345 vues`]: 12_345,
  '1’234’567 Aufrufe': 1_234_567,
  '12,34,567 बार देखा गया': 1_234_567,
  '１２３４ 回': 1_234,
  '١٬٢٣٤ مشاهدة': 1_234,
  '۱۲۳۴ بازدید': 1_234,
  '१,२३४ टिप्पणियां': 1_234,
  '\u200e12,345\u200f': 12_345,
  '조회수 1,234회': 1_234,
  '1,234.00': 1_234,
  'No views': 0,
  'Keine Kommentare': 0,
  'like this video along with 31,009 other people': 31_009,
  'Hozzászólások: 12 E 3': 12,
  '34 Mi piace': 34,
  '12.345 Mi piace': 12_345,
};

const ROUNDED: Readonly<Record<string, number>> = {
  '1.23M subscribers': 1_230_000,
  '12K': 12_000,
  '1,2 mln Mi piace': 1_200_000,
  '1,2 E kedvelés': 1_200,
  '12 B ifade': 12_000,
  '2.1B views': 2_100_000_000,
  '10,000+ sold': 10_000,
  '1K+': 1_000,
  [`1,8${NBSP}M de suscriptores`]: 1_800_000,
  '12,3 mil suscriptores': 12_300,
  '1,2 mi de visualizações': 1_200_000,
  [`1,2${NBSP}Mio. Abonnenten`]: 1_200_000,
  '2 Mrd. Aufrufe': 2_000_000_000,
  [`1,2${NBSP}k abonnés`]: 1_200,
  [`1,1${NBSP}Md de vues`]: 1_100_000_000,
  '1,2 mil. odběratelů': 1_200_000,
  '12 tis. odběratelů': 12_000,
  '3,4 тыс. просмотров': 3_400,
  '5 млн подписчиков': 5_000_000,
  '1,5 млрд': 1_500_000_000,
  '12 tys. wyświetleń': 12_000,
  '1,2 mln iscritti': 1_200_000,
  '12万': 120_000,
  '1.2億回視聴': 120_000_000,
  '1億2345万回': 123_450_000,
  '3亿次观看': 300_000_000,
  '1,234万回': 12_340_000,
  '구독자 1.2만명': 12_000,
  '2.5 lakh views': 250_000,
  '1.1 crore views': 11_000_000,
  '12 लाख': 1_200_000,
  '١٫٥ مليون مشترك': 1_500_000,
  '1.2 ล้าน คน': 1_200_000,
  '1,2 N lượt xem': 1_200,
  '3,4 Tr người đăng ký': 3_400_000,
  '12 rb x ditonton': 12_000,
  '1,5 jt subscriber': 1_500_000,
  '1,2 B abone': 1_200,
  '5,1 Mn abone': 5_100_000,
  '12 E feliratkozó': 12_000,
  '12 t abonnenter': 12_000,
  '1,2 T lượt xem': 1_200_000_000,
  'elfu 12': 12_000,
  '1,2 εκ. εγγεγραμμένοι': 1_200_000,
};

const NOTHING = [
  '',
  'views',
  'N/A',
  '1.5',
  '4,25',
  '0.123',
  '-5',
  'minus -12',
  '12.345.67',
  '12345678901234567890',
  'No idea',
  '\ud800',
];

describe('parseCount', () => {
  for (const [text, value] of Object.entries(EXACT)) {
    it('reads no unit in a word with an apostrophe', () => {
      expect(parseCount('1\u202f234 J’aime')).to.deep.equal({ value: 1234, exact: true });
      expect(parseCount("12 j'aime")).to.deep.equal({ value: 12, exact: true });
      expect(parseCount('1,2 k d’abonnés')).to.deep.equal({ value: 1200, exact: false });
    });

    it(`reads ${JSON.stringify(text)} as exactly ${value}`, () => {
      expect(parseCount(text)).to.deep.equal({ value, exact: true });
    });
  }
  for (const [text, value] of Object.entries(ROUNDED)) {
    it(`reads ${JSON.stringify(text)} as about ${value}`, () => {
      expect(parseCount(text)).to.deep.equal({ value, exact: false });
    });
  }
  for (const text of NOTHING) {
    it(`reads nothing in ${JSON.stringify(text)}`, () => {
      expect(parseCount(text)).to.equal(undefined);
    });
  }

  it('reads every whole number as every locale writes it', () => {
    const locales = ['en', 'de', 'fr', 'es', 'de-CH', 'hi', 'ar-EG', 'fa', 'ru', 'ja', 'bn', 'th', 'sv', 'my', 'mr'];
    fc.assert(
      fc.property(fc.nat(2_000_000_000), fc.constantFrom(...locales), (value, locale) => {
        expect(parseCount(new Intl.NumberFormat(locale).format(value)), locale).to.deep.equal({ value, exact: true });
      }),
    );
  });

  it('reads the abbreviations of every locale', () => {
    // Without those whose letters mean something else in most languages; texts above show how words tell them.
    const locales =
      'af am ar be bg bn bs ca cs de el en es et eu fa fi fil fr gl gu he hi hr hy is it ja ka km kn ko ky lo lt lv mk ml ' +
      'mn mr ms my nl no or pa pl pt ro ru si sk sl sq sr sv sw ta te th uk ur uz zh-CN zh-TW zu en-IN';
    const wrong: string[] = [];
    for (const locale of locales.split(' ')) {
      for (const compactDisplay of ['short', 'long'] as const) {
        const format = new Intl.NumberFormat(locale, { notation: 'compact', compactDisplay, maximumFractionDigits: 1 });
        for (const value of [12_000, 340_000, 1_500_000, 25_000_000, 1_200_000_000]) {
          const text = format.format(value);
          const read = parseCount(text)?.value;
          if (read !== value) wrong.push(`${locale}: ${text} is ${value}, read as ${read}`);
        }
      }
    }
    expect(wrong).to.deep.equal([]);
  });

  it('returns only whole, non-negative numbers for any input', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        const count = parseCount(text);
        if (count) expect(Number.isSafeInteger(count.value) && count.value >= 0).to.equal(true);
      }),
      { numRuns: 2000 },
    );
    parseCount('1'.repeat(1_000_000));
    parseCount('1,111'.repeat(200_000));
  });
});

describe('counters of a page', () => {
  it('are metrics, with the precision of rounded ones', () => {
    const counts = { likes: parseCount('1.2K likes'), comments: parseCount('7 comments'), views: parseCount('a view') };
    expect(shownCounters(counts)).to.deep.equal({
      metrics: { likes: 1200, comments: 7, views: undefined },
      precision: { likes: 'rounded' },
    });
  });
});
