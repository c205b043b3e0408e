/** The separation of a page into its scripts and the rest. */

import { expect } from 'chai';
import fc from 'fast-check';
import { indexOfTag, splitScripts } from '../../../../core/extraction/scraping/page-json.js';

describe('splitScripts', () => {
  it('separates scripts from markup', () => {
    const page = `<p>one</p><script type="application/json" data-x>{"a":"<b>"}</script><p>two</p><script>if (1<2) run()</script >three`;
    expect(splitScripts(page)).to.deep.equal({
      scripts: [
        { tag: 'script type="application/json" data-x', text: '{"a":"<b>"}' },
        { tag: 'script', text: 'if (1<2) run()' },
      ],
      markup: ['<p>one</p>', '<p>two</p>', 'three'],
    });
  });

  it('returns the scripts of a cut page', () => {
    expect(splitScripts('one<script>{"a":')).to.deep.equal({
      scripts: [{ tag: 'script', text: '{"a":' }],
      markup: ['one', ''],
    });
    expect(splitScripts('one<script id="')).to.deep.equal({ scripts: [], markup: ['one<script id="'] });
    expect(splitScripts('')).to.deep.equal({ scripts: [], markup: [''] });
  });

  it('keeps every character at its position', () => {
    const piece = fc.constantFrom('<script', '<script>', '</script', '</script>', '<', '>', 'x', '</');
    fc.assert(
      fc.property(fc.array(piece), (pieces) => {
        const page = pieces.join('');
        const { scripts, markup } = splitScripts(page);
        let from = 0;
        for (const part of markup.flatMap((text, index) => [
          text,
          scripts[index]?.tag ?? '',
          scripts[index]?.text ?? '',
        ])) {
          const place = page.indexOf(part, from);
          expect(place, part).to.be.at.least(from);
          from = place + part.length;
        }
        expect(page.endsWith(markup.at(-1) ?? '-')).to.equal(true);
      }),
    );
  });
});

describe('indexOfTag', () => {
  it('finds the same positions as indexOf', () => {
    const piece = fc.constantFrom('<a', '</a', '<', 'a', '/', '<a>');
    fc.assert(
      fc.property(fc.array(piece), fc.nat(20), (pieces, from) => {
        const page = pieces.join('');
        for (const tag of ['<a', '</a']) expect(indexOfTag(page, tag, from)).to.equal(page.indexOf(tag, from));
      }),
    );
  });
});
