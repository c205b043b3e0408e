import { expect } from 'chai';
import { GatewayError } from 'mediagate';
import { parseLinkText } from '../../../../core/extraction/scraping/index.js';

const refused = (text: unknown) => {
  try {
    return parseLinkText(text).href;
  } catch (error) {
    return error instanceof GatewayError ? `${error.code} ${error.param}` : String(error);
  }
};

describe('parseLinkText', () => {
  it('takes absolute http and https links', () => {
    expect(refused('https://www.site.example/watch?v=a#t=1')).to.equal('https://www.site.example/watch?v=a#t=1');
    expect(refused('  HTTP://SITE.example/a  ')).to.equal('http://site.example/a');
    expect(refused('https://site.example:443/')).to.equal('https://site.example/');
    expect(refused('https://site.example./a')).to.equal('https://site.example/a');
  });

  it('says of an empty link that it is empty', () => {
    for (const text of ['', '   ']) expect(() => parseLinkText(text)).to.throw('url is empty');
  });

  for (const text of [
    undefined,
    7,
    {},
    '',
    '   ',
    'site.example/watch',
    '//site.example/a',
    'ftp://site.example/a',
    'javascript:alert(1)',
    'https:///site.example/a',
    'https://',
    'https://user@site.example/a',
    'https://user:word@site.example/',
    'https://@site.example/',
    'https://site.example@evil.example/',
    'https://site.example:8443/a',
    'https://site.example\\@evil.example/',
    'https://site.ex\tample/',
    'https://site.example/a\nb',
    'https://site.example/a b',
    'https://site.example/\u0000',
    `https://site.example/${'a'.repeat(2048)}`,
    'https://[::1',
    'https://%zz/',
  ]) {
    it(`refuses ${JSON.stringify(text)?.slice(0, 60)}`, () => expect(refused(text)).to.equal('invalid_url url'));
  }
});
