/** Hashtags, phrases, digits and values of unknown shape. */

import { expect } from 'chai';
import { findPhrase, hashtagsIn, latinDigits } from '../../../../core/extraction/scraping/texts.js';
import { asId, asRecords, rawStats } from '../../../../core/runtime/json.js';

describe('hashtags', () => {
  const readings: readonly [text: string, ...tags: string[]][] = [
    ['#fog over the #harbour_2', 'fog', 'harbour_2'],
    ['one (#two), three', 'two'],
    ['#Fog #fog #FOG', 'Fog'],
    ['#東京 #Köln #हिन्दी', '東京', 'Köln', 'हिन्दी'],
    ['#❤️‍🔥 ＃wide', '❤️‍🔥', 'wide'],
    ['#first-class', 'first'],
  ];
  for (const [text, ...tags] of readings) {
    it(`in "${text}" are ${tags.join(', ')}`, () => {
      expect(hashtagsIn(text)).to.deep.equal(tags);
    });
  }

  it('are not read from numbers, references, addresses and words', () => {
    for (const text of ['', 'no tags', '#', '# a', 'No. #1', '&#39;', 'https://a.example/#x', 'C#sharp', 'a_#b'])
      expect(hashtagsIn(text), text).to.equal(undefined);
    expect(hashtagsIn(undefined)).to.equal(undefined);
  });

  it('may be numbers, follow each other, and be listed by the source', () => {
    expect(hashtagsIn('#2024 #2', { numbers: true })).to.deep.equal(['2024', '2']);
    expect(hashtagsIn('#a#b c#d &#39;', { adjacent: true, numbers: true })).to.deep.equal(['a', 'b', 'd']);
    expect(hashtagsIn('#FYP', { listed: ['fyp', '#new', ' other ', '', 7, undefined] })).to.deep.equal([
      'FYP',
      'new',
      'other',
    ]);
    expect(hashtagsIn('#fog🎉 #🎉 #🎉x', { emoji: false })).to.deep.equal(['fog']);
    expect(hashtagsIn('#a🎉#b', { emoji: false, adjacent: true })).to.deep.equal(['a', 'b']);
    expect(hashtagsIn(undefined, { listed: ['2024'] })).to.deep.equal(['2024']);
  });

  it('are a hundred at most, also in a megabyte', () => {
    for (const piece of ['#a№ ', '#', '#a#', '&#', '#aaaa']) {
      const text = Array.from({ length: 2 ** 18 }, (_, index) => piece.replace('№', String(index))).join('');
      const started = process.cpuUsage();
      expect(hashtagsIn(text)?.length ?? 0).to.be.at.most(100);
      expect(process.cpuUsage(started).user, piece).to.be.below(1_000_000);
    }
  });
});

describe('a phrase', () => {
  it('is found in any letter case', () => {
    expect(findPhrase('This Video is UNAVAILABLE.', ['removed', 'unavailable', 'video'])).to.equal('unavailable');
    expect(findPhrase('Fine', ['gone'])).to.equal(undefined);
    expect(findPhrase(undefined, ['gone'])).to.equal(undefined);
  });
});

describe('digits', () => {
  it('of other scripts become 0 to 9, and nothing else changes', () => {
    expect(latinDigits('٢١/٤/٢٠٢٠ ۰۹ २१ ২১ ๒๕๖๓ ２０')).to.equal('21/4/2020 09 21 21 2563 20');
    expect(latinDigits('7 of 9, ½ ② Ⅷ 三')).to.equal('7 of 9, ½ ② Ⅷ 三');
  });
});

describe('values of unknown shape', () => {
  it('can be ids', () => {
    expect([7, '7', '1234567890123456789'].map(asId)).to.deep.equal(['7', '7', '1234567890123456789']);
    for (const value of [0, '0', '07', -1, 1.5, 2 ** 60, '', 'x', ' 7', '7'.repeat(26), null, [7]])
      expect(asId(value), String(value)).to.equal(undefined);
  });

  it('can be records', () => {
    expect(asRecords([{ a: 1 }, 7, null, ['x'], { b: 2 }])).to.deep.equal([{ a: 1 }, { b: 2 }]);
    expect(asRecords({ a: 1 })).to.deep.equal([]);
  });

  it('can be raw statistics', () => {
    expect(rawStats({ a: 'x', b: '', c: 0, d: false, e: null, f: undefined, g: [1], h: {} })).to.deep.equal({
      a: 'x',
      c: 0,
      d: false,
    });
  });
});
