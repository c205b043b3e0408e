/** JSON in pages: big integers kept as text, and values found after a marker. */

import { expect } from 'chai';
import fc from 'fast-check';
import { findJsonAfter } from '../../../../core/extraction/scraping/page-json.js';
import { literalEnd, parseJson } from '../../../../core/runtime/json.js';

const BIG = /\d{16}/;

describe('parseJson', () => {
  it('keeps bare integers of 16 digits and more as strings', () => {
    const text = '{"a":12345678901234567890,"b":[ -1234567890123456 ,1],"c":1234567890123456\n}';
    expect(parseJson(text)).to.deep.equal({
      a: '12345678901234567890',
      b: ['-1234567890123456', 1],
      c: '1234567890123456',
    });
    expect(parseJson(' 7527142083258305822 ')).to.equal('7527142083258305822');
  });

  it('leaves strings and other numbers alone', () => {
    const text = String.raw`{"a":"x:1234567890123456789,","b":"\":1234567890123456789,","c":1234567890123456.5,"d":1e400,"e":12345678901234567890e2}`;
    expect(parseJson(text)).to.deep.equal(JSON.parse(text));
  });

  it('leaves numbers in the JSON of a string alone', () => {
    const inner = '{"id":1234567890123456, "ids":[1234567890123456,-1234567890123456 ],"path":"\\\\"}';
    const outer = `{"a":${JSON.stringify(inner)},"b\\\\":1234567890123457,"c":${JSON.stringify(`${inner}\\`)},"d":1234567890123458}`;
    expect(parseJson(outer)).to.deep.equal({
      a: inner,
      'b\\': '1234567890123457',
      c: `${inner}\\`,
      d: '1234567890123458',
    });
  });

  it('refuses what is not JSON', () => {
    for (const text of [
      '',
      '{',
      "{'a':1}",
      '[01234567890123456789]',
      '{1234567890123456789:1}',
      '[1234567890123456789"a"]',
    ]) {
      expect(() => parseJson(text), text).to.throw(SyntaxError);
    }
  });

  it('agrees with JSON.parse if no integer is big', () => {
    fc.assert(
      fc.property(fc.json(), (text) => {
        fc.pre(!BIG.test(text));
        expect(parseJson(text)).to.deep.equal(JSON.parse(text));
      }),
    );
  });

  it('keeps every digit of a big integer anywhere', () => {
    const digits = fc.bigInt({ min: 10n ** 15n, max: 10n ** 40n });
    fc.assert(
      fc.property(fc.array(fc.oneof(digits, fc.string(), fc.integer()), { minLength: 1 }), (values) => {
        const written = (value: bigint | string | number) =>
          typeof value === 'bigint' ? String(value) : JSON.stringify(value);
        const text = `{"list":[${values.map(written).join(', ')}],"last":${written(values[0]!)}}`;
        const expected = values.map((value) => (typeof value === 'bigint' ? String(value) : value));
        expect(parseJson(text)).to.deep.equal({ list: expected, last: expected[0] });
      }),
    );
  });
});

describe('findJsonAfter', () => {
  const forms: readonly [name: string, html: string][] = [
    ['an assignment', '<script>var data = {"a":"}</b>;"};</script>'],
    ['a member of window', '<script>window["data"] = {"a":"}</b>;"}</script>'],
    ['a member of window without spaces', '<script>window[\'data\']={"a":"}</b>;"};window.b=[1];if(a){b()}</script>'],
    ['several lines', '<script>data = {\n"a":\n"}</b>;"\n}\n;\nmore({});\n</script>'],
    ['a line of its own', '<script>data = {"a":"}</b>;"};\nif (x) { y(); }\n</script>'],
    ['a member of an object', '<script>f({"data":{"a":"}</b>;"},"other":{}})</script>'],
    ['the text of a script element', '<script id="data" type="application/json">{"a":"}</b>;"}</script>'],
    ['a parsed string', String.raw`<script>data = JSON.parse('\x7b\x22a\x22:\x22}<\/b>;\x22\x7d');</script>`],
    [
      'a parsed string with unicode escapes',
      String.raw`<script>data=JSON.parse("\u007b\"a\":\"}\u{3c}/b>;\"}")</script>`,
    ],
    ['a string literal', String.raw`<script>data = '{"a":"}<\/b>;"}';</script>`],
    ['no end tag', '<script>data = {"a":"}</b>;"}; more'],
    [
      'uses before the value',
      '<script>data = window.data; if (data) {} data = null;</script><script>data = {"a":"}</b>;"}</script>',
    ],
    ['a broken value before the good one', '<script>data = {a:1};</script><script>data = {"a":"}</b>;"}</script>'],
  ];
  for (const [name, html] of forms) {
    it(`reads ${name}`, () => {
      const marker = html.includes('id="data"') ? 'type="application/json">' : 'data';
      expect(findJsonAfter(html, marker)?.value).to.deep.equal({ a: '}</b>;' });
    });
  }

  it('returns the end of the value, so that the next search continues there', () => {
    const html = 'x={"n":1};x=[2];x={"n":3}';
    const first = findJsonAfter(html, 'x');
    const second = findJsonAfter(html, 'x', first?.end);
    const third = findJsonAfter(html, /x/, second?.end);
    expect([first, second, third].map((found) => found?.value)).to.deep.equal([{ n: 1 }, [2], { n: 3 }]);
    expect(third?.end).to.equal(html.length);
    expect(findJsonAfter(html, 'x', third?.end)).to.equal(undefined);
  });

  it('accepts a regular expression and leaves its state alone', () => {
    const marker = /(?:var|let)\s+data\b/g;
    marker.lastIndex = 5;
    expect(findJsonAfter('let  data = {"a":1}', marker)?.value).to.deep.equal({ a: 1 });
    expect(marker.lastIndex).to.equal(5);
  });

  it('finds nothing in pages cut in the middle and in markers without a value', () => {
    for (const html of [
      'data = {"a":"b',
      'data = {"a":1',
      "data = JSON.parse('\\x7b",
      'data = "',
      'data =',
      'data',
      '',
    ]) {
      expect(findJsonAfter(html, 'data'), html).to.equal(undefined);
    }
    expect(findJsonAfter('{"a":1}', '')).to.equal(undefined);
    expect(findJsonAfter('{"a":1}', /(?:)/)).to.equal(undefined);
  });

  it('is fast on a page that consists of markers', () => {
    const started = process.cpuUsage();
    expect(findJsonAfter('data={"a":['.repeat(100_000), 'data')).to.equal(undefined);
    expect(findJsonAfter(`data=${'['.repeat(1_000_000)}`, 'data')).to.equal(undefined);
    expect(findJsonAfter('data="'.repeat(200_000), 'data')).to.equal(undefined);
    // Seconds, where a search that begins anew at each marker would take minutes.
    const { user, system } = process.cpuUsage(started);
    expect((user + system) / 1_000).to.be.below(5_000);
  });

  it('finds everything that JSON.parse reads in any page', () => {
    const json = fc
      .oneof(fc.array(fc.jsonValue()), fc.dictionary(fc.string(), fc.jsonValue()))
      .map((value) => JSON.stringify(value));
    const after = fc.constantFrom(
      '',
      ';',
      ';</script>',
      ';\nf({});</script>',
      ';g=[{}];if(a){b()}</script>',
      ' x</script>',
      '</script>{}',
    );
    fc.assert(
      fc.property(fc.string(), json, after, (before, text, rest) => {
        fc.pre(!before.includes('MARK') && !text.includes('</script') && !BIG.test(text));
        const html = `${before}MARK = ${text}${rest}`;
        const found = findJsonAfter(html, 'MARK');
        expect(found).to.deep.equal({ value: JSON.parse(text), end: html.length - rest.length });
        expect(literalEnd(text, 0)).to.equal(text.length);
      }),
    );
  });

  it('never throws on a page that is cut or damaged anywhere', () => {
    const page = String.raw`<script>MARK = {"a":[1,{"b":"\"x"}],"c":"\u00e9"};</script><script>MARK=JSON.parse('\x7b\x7d')</script>`;
    fc.assert(
      fc.property(fc.nat(page.length), fc.nat(page.length), fc.string(), (from, to, noise) => {
        findJsonAfter(page.slice(0, from) + noise + page.slice(to), 'MARK');
      }),
      { numRuns: 1000 },
    );
  });
});
