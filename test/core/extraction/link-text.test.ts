/** Links as text: parsing and canonical spelling. */

import { expect } from 'chai';
import fc from 'fast-check';
import { GatewayError } from 'mediagate';
import { parseLinkText } from '../../../core/extraction/links/index.js';

const read = (text: unknown) => {
  try {
    return parseLinkText(text).href;
  } catch (error) {
    return error instanceof GatewayError ? `${error.code} ${error.param}` : String(error);
  }
};

const LINK = 'https://site.example/watch?v=a_B-9&t=1';

/** What people paste → the address that they mean. */
const PASTED: Readonly<Record<string, string>> = {
  'https://www.site.example/watch?v=a#t=1': 'https://www.site.example/watch?v=a#t=1',
  '  HTTP://SITE.example/a  ': 'http://site.example/a',
  'https://site.example:443/': 'https://site.example/',
  'https://site.example./a': 'https://site.example/a',
  // Without its scheme, or with two.
  'site.example/watch?v=a_B-9&t=1': LINK,
  '//site.example/watch?v=a_B-9&t=1': LINK,
  'www.Site.example': 'https://www.site.example/',
  'https://https://site.example/watch?v=a_B-9&t=1': LINK,
  'http://https://site.example/watch?v=a_B-9&t=1': LINK,
  '://site.example/watch?v=a_B-9&t=1': LINK,
  'https:/site.example/watch?v=a_B-9&t=1': LINK,
  'https:site.example/watch?v=a_B-9&t=1': LINK,
  // White space, line breaks and invisible characters.
  'https://site.example/wat\r\n  ch?v=a_B-9&t=1': LINK,
  'https://site.ex\tample/watch?v=a_B-9 &t=1\n': LINK,
  '\u00a0https://site.example/watch?v=a_B-9&t=1\u2028': LINK,
  '\u2068https://site.example/\u200bwatch?v=a_B\u00ad-9&t=1\u2069\ufeff': LINK,
  '\u202ahttps://site.example/watch?v=a_B-9&t=1\u202c\u200e': LINK,
  'https://site.example/watch?v=a_B-9&t=1%20': LINK,
  'https://site.example/watch?v=a_B-9&t=1%0A%0d': LINK,
  'https://site.example/watch?v=a_B-9&t=1%E2%80%8B': LINK,
  // Brackets, quotes and punctuation.
  '<https://site.example/watch?v=a_B-9&t=1>': LINK,
  '<https://site.example/watch?v=a_B-9&t=1|site.example>': LINK,
  '(https://site.example/watch?v=a_B-9&t=1).': LINK,
  '[https://site.example/watch?v=a_B-9&t=1],': LINK,
  '"https://site.example/watch?v=a_B-9&t=1";': LINK,
  "'https://site.example/watch?v=a_B-9&t=1'": LINK,
  '„https://site.example/watch?v=a_B-9&t=1“': LINK,
  '«https://site.example/watch?v=a_B-9&t=1»…': LINK,
  '「https://site.example/watch?v=a_B-9&t=1」。': LINK,
  '`https://site.example/watch?v=a_B-9&t=1`': LINK,
  '**https://site.example/watch?v=a_B-9&t=1**': LINK,
  '- https://site.example/watch?v=a_B-9&t=1!': LINK,
  '> https://site.example/watch?v=a_B-9&t=1?': LINK,
  'https://site.example/watch?v=a_B-9&t=1)>': LINK,
  'https://site.example/watch?v=a_B-9&t=1%22%3E': LINK,
  'https://site.example/a_(film)': 'https://site.example/a_(film)',
  'https://site.example/a_(film))': 'https://site.example/a_(film)',
  'https://site.example/watch?v=a_B-9&t=1</a>': LINK,
  'https://site.example/watch?v=a_B-9&t=1">a film</a>': LINK,
  'https://site.example/watch?v=a_B-9&t=1<br>more': LINK,
  // Markdown, HTML and BBCode.
  '[a film](https://site.example/watch?v=a_B-9&t=1)': LINK,
  '[a film](https://site.example/watch?v=a_B-9&t=1 "its title") and more': LINK,
  '![a film](<https://site.example/watch?v=a_B-9&t=1>)': LINK,
  '[![a film](https://site.example/a.png)](https://site.example/watch?v=a_B-9&t=1)': LINK,
  '[https://site.example/x](https://site.example/watch?v=a_B-9&t=1)': LINK,
  '<a class="x" href="https://site.example/watch?v=a_B-9&amp;t=1">a film</a>': LINK,
  '<iframe width="1" src="//site.example/watch?v=a_B-9&amp;t=1" allowfullscreen></iframe>': LINK,
  '[url]https://site.example/watch?v=a_B-9&t=1[/url]': LINK,
  '[url=https://site.example/watch?v=a_B-9&t=1]a film[/url]': LINK,
  // References of HTML, and what was encoded as a whole.
  'https://site.example/watch?v=a_B-9&amp;t=1': LINK,
  'https://site.example/watch?v=a_B-9&amp;amp;t=1': LINK,
  'https://site.example/watch?v=a_B-9&#38;t=1': LINK,
  'https://site.example/watch?v=a_B-9&#x26;t=1&gt;': LINK,
  'https:&#47;&#x2F;site.example/watch?v&#61;a_B-9&t=1&quot;': LINK,
  '&#8203;https://site.example/watch?v=a_B-9&#x200b;&t=1&nbsp;': LINK,
  'https%3A%2F%2Fsite.example%2Fwatch%3Fv%3Da_B-9%26t%3D1': LINK,
  'https%253A%252F%252Fsite.example%252Fwatch%253Fv%253Da_B-9%2526t%253D1': LINK,
  // A second `?`, an encoded `&`, an encoded query.
  'https://site.example/watch?v=a_B-9?t=1': LINK,
  'https://site.example/watch?v=a_B-9%26t=1': LINK,
  'https://site.example/watch?v=a_B-9%26t%3D1': LINK,
  'https://site.example/watch?v=a_B-9%3Ft%3D1': LINK,
  'https://site.example/watch%3Fv%3Da_B-9%26t%3D1': LINK,
  'https://site.example/watch?v=a?si=b?x=c#d?e': 'https://site.example/watch?v=a&si=b&x=c#d?e',
  'https://site.example/watch&v=a_B-9&t=1': LINK,
  'https://site.example/watch?v%3Da_B-9&t=1': LINK,
  'https://site.example/a&b': 'https://site.example/a&b',
  // They belong to an address that is a value.
  'https://site.example/?u=https://other.example/?v=1?x=2&h=3':
    'https://site.example/?u=https://other.example/?v=1?x=2&h=3',
  'https://site.example/?u=%2Fwatch%3Fv%3D1%26x%3D2': 'https://site.example/?u=%2Fwatch%3Fv%3D1%26x%3D2',
  'https://site.example/?title=R%26B': 'https://site.example/?title=R%26B',
  // Another script is not another host.
  'https://b\u00fccher.example/a': 'https://xn--bcher-kva.example/a',
};

const REFUSED: readonly unknown[] = [
  undefined,
  7,
  {},
  '',
  '   ',
  '\u200b',
  'a9LDPn-MO4I',
  'watch?v=a9LDPn-MO4I',
  'ytsearch5:two tugs',
  'mailto:someone@site.example',
  'someone@site.example/a',
  'view-source:https://site.example/a',
  'instagram://media?id=482584233761418119',
  'ftp://site.example/a',
  'javascript:alert(1)',
  'data:text/html,https://site.example/',
  'https:///site.example/a',
  'https://',
  'https://user@site.example/a',
  'https://user:word@site.example/',
  'https://@site.example/',
  'https://site.example@evil.example/',
  'https://site.example%40evil.example/',
  'https://site.example:8443/a',
  'site.example:8443/a',
  'https://site.example\\@evil.example/',
  'https:\\\\site.example\\a',
  'https://site.example/\u0000',
  'https://site.example/\u001b[2J',
  'https://site.example/\u202egnp.a',
  'https://site.example/%5c'.replace('%5c', '\\'),
  'https%3A%2F%2Fsite.example%2F%00a',
  `https://site.example/${'a'.repeat(2048)}`,
  'https://[::1',
  'https://%zz/',
  'https://site.example&v=.evil.example/a',
  'https://site.example%3Fv=.evil.example/a',
  // Letters that only look like those of another host.
  'https://\uff53ite.example/a',
  'https://site\u3002example/a',
  'https://s%69te.example/a',
];

describe('parseLinkText', () => {
  for (const [text, href] of Object.entries(PASTED)) {
    it(`reads ${JSON.stringify(text).slice(0, 90)}`, () => expect(read(text)).to.equal(href));
  }

  for (const text of REFUSED) {
    it(`refuses ${JSON.stringify(text)?.slice(0, 60)}`, () => expect(read(text)).to.equal('invalid_url url'));
  }

  it('explains what is wrong', () => {
    for (const text of ['', '   ']) expect(() => parseLinkText(text)).to.throw('url is empty');
    expect(() => parseLinkText('https://site.example:8443/')).to.throw('url has a port');
    expect(() => parseLinkText('https://a@site.example/')).to.throw('user information');
    expect(() => parseLinkText('https://\uff53ite.example/a')).to.throw('only look like site.example');
    expect(() => parseLinkText('https://site.example/\\')).to.throw('a backslash');
  });

  it('returns a canonical address unchanged', () => {
    const part = fc.constantFrom(
      ...[
        'https://',
        '//',
        'site.example',
        'www.',
        '/',
        '?',
        '&',
        '=',
        '#',
        '%',
        '.',
        ',',
        '(',
        ')',
        '[',
        ']',
        '](',
        '<',
      ],
      ...[
        '>',
        '"',
        "'",
        '|',
        ' ',
        '\n',
        '\u200b',
        '&amp;',
        '&#38;',
        '&#47;',
        '&lt;',
        '%26',
        '%3F',
        '%3D',
        '%20',
        '%22',
      ],
      ...['%3A%2F%2F', '%25', 'a', 'v=', 'Zß', 'href=', '[url]', ';', '*', '\u3002', '_', '-', '38;', 'amp;', '<a '],
    );
    const text = fc.oneof(
      fc.array(part, { maxLength: 24 }).map((parts) => parts.join('')),
      fc.array(part, { maxLength: 24 }).map((parts) => `https://site.example/${parts.join('')}`),
    );
    fc.assert(
      fc.property(text, (sent) => {
        const once = read(sent);
        if (!once.startsWith('invalid_url')) expect(read(once), sent).to.equal(once);
      }),
      { numRuns: 3_000 },
    );
  });

  it('takes no longer for hostile texts than their length allows', () => {
    const repeated = [
      '?',
      '&amp;',
      '%26a=',
      '%3F',
      '(',
      ')',
      '](',
      '[',
      '<a ',
      ' href=',
      '%25',
      '.',
      '%20',
      '&#38;',
      'https://',
      '\u200b',
      '//',
      '-a.',
      '?a',
    ];
    for (const piece of repeated) {
      const filled = piece.repeat(Math.floor(1_990 / piece.length));
      for (const text of [
        filled,
        `https://site.example/${filled}`,
        `https://site.example/?v=${filled}x`,
        `[x](${filled}`,
      ]) {
        const begun = performance.now();
        for (let round = 0; round < 20; round += 1) read(text);
        // 20 rounds take a few milliseconds; quadratic time would be seconds.
        expect(performance.now() - begun, JSON.stringify(piece)).to.be.below(1_000);
      }
    }
  });
});
