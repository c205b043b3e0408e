/** Which characters a name may contain to be visible as typed. */

import { expect } from 'chai';
import { isVisible, sanitizeForTerminal } from '../../../server/format/index.js';

describe('visible text', () => {
  it('may contain joiners of emoji and of scripts', () => {
    for (const text of ['👩‍👩‍👧‍👦 family', '🏴󠁧󠁢󠁳󠁣󠁴󠁿', '❤️‍🔥', '🇧🇪', 'می‌خواهم', 'क्‍ष', 'Crème brûlée №1', 'a']) {
      expect([isVisible(text), sanitizeForTerminal(text)], text).to.deep.equal([true, text]);
    }
  });

  it('contains no invisible characters, direction changes or line breaks', () => {
    for (const [text, seen] of [
      ['a\u200db', 'a?b'],
      ['a\u200cb', 'a?b'],
      ['👩\u200d', '👩?'],
      ['🏴\u{e0067}', '🏴?'],
      ['a\u202eb', 'a?b'],
      ['a\u2066b', 'a?b'],
      ['\u200b', '?'],
      ['\ufeffa', '?a'],
      ['a\u2028b', 'a?b'],
      ['a\nb', 'a?b'],
      ['\u001b[31m', '?[31m'],
      ['می\u200c', 'می?'],
    ] as const) {
      expect([isVisible(text), sanitizeForTerminal(text)], JSON.stringify(text)).to.deep.equal([false, seen]);
    }
    expect(isVisible('')).to.equal(false);
  });
});
