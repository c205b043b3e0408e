/** Parts of links, addresses of requests, and expiry times of media URLs. */

import { expect } from 'chai';
import {
  absoluteUrl,
  acceptLanguage,
  expiryOf,
  fillUrl,
  isPlainUrl,
  kindOfPage,
  pathSegments,
  queryValue,
} from '../../../../core/extraction/scraping/addresses.js';

describe('the parts of a link', () => {
  it('have no port and user information', () => {
    for (const url of ['https://a.example/x', 'http://a.example', 'https://a.example:443/'])
      expect(isPlainUrl(new URL(url)), url).to.equal(true);
    for (const url of ['https://a.example:8443/', 'https://u@a.example/', 'https://:p@a.example/', 'ftp://a.example/'])
      expect(isPlainUrl(new URL(url)), url).to.equal(false);
  });

  it('exclude empty segments', () => {
    expect(pathSegments(new URL('https://a.example//clip/a%20b/?c=/d'))).to.deep.equal(['clip', 'a%20b']);
    expect(pathSegments(new URL('https://a.example'))).to.deep.equal([]);
  });

  it('name the kind of a page', () => {
    const kinds = { list: 'a playlist', user: 'a profile' };
    expect(kindOfPage(kinds, 'x', 'user', 'list')).to.equal('a profile');
    expect(kindOfPage(kinds, 'constructor', 'x')).to.equal(undefined);
  });
});

describe('an address for a request', () => {
  it('encodes values in its placeholders', () => {
    const template = 'https://a.example/{id}?l={language}&x={other}&y={id}';
    expect(fillUrl(template, { id: 'a/b?', language: 'pt-BR' })).to.equal(
      'https://a.example/a%2Fb%3F?l=pt-BR&x={other}&y=a%2Fb%3F',
    );
    expect(fillUrl('/{id}', { id: '$&' })).to.equal('/%24%26');
    expect(fillUrl('/{constructor}', {})).to.equal('/{constructor}');
  });

  it('asks for its language first', () => {
    expect(acceptLanguage('en')).to.equal('en-US,en;q=0.9');
    expect(acceptLanguage('en-GB')).to.equal('en-GB,en;q=0.9');
    expect(acceptLanguage('de')).to.equal('de,en;q=0.8');
    expect(acceptLanguage('enm')).to.equal('enm,en;q=0.8');
  });
});

describe('an absolute URL', () => {
  it('keeps its spelling', () => {
    for (const url of ['https://a.example/x?y=%41|z', 'http://a.example', 'HTTPS://A.example/'])
      expect(absoluteUrl(url)).to.equal(url);
  });

  it('gets missing parts from the page', () => {
    expect(absoluteUrl('//a.example/x')).to.equal('https://a.example/x');
    expect(absoluteUrl('/x?y', 'https://a.example/z')).to.equal('https://a.example/x?y');
    expect(absoluteUrl(' https://b.example/a b ', 'https://a.example/')).to.equal('https://b.example/a%20b');
  });

  it('is absent for other text', () => {
    for (const value of [
      '',
      '/x',
      'x',
      'javascript:alert(1)',
      'https://',
      'https:// a',
      'https://[',
      'data:,x',
      7,
      null,
    ])
      expect(absoluteUrl(value), String(value)).to.equal(undefined);
    for (const value of ['javascript:alert(1)', 'mailto:a@b.example', '', undefined])
      expect(absoluteUrl(value, 'https://a.example/'), String(value)).to.equal(undefined);
  });
});

describe('the expiry of a media URL', () => {
  const url = 'https://a.example/x.mp4';

  it('is read from its query', () => {
    expect(expiryOf(`${url}?expire=1700000000`)).to.equal('2023-11-14T22:13:20Z');
    expect(expiryOf(`${url}?a=b&x-expires=1700000000&c`)).to.equal('2023-11-14T22:13:20Z');
    expect(expiryOf(`${url}?oe=6553F100&oh=1`)).to.equal('2023-11-14T22:13:20Z');
  });

  it('is unknown otherwise', () => {
    for (const query of [
      '',
      '?',
      '?expire=',
      '?expire=170000000',
      '?noe=6553F100',
      '?oe=6553F1000',
      '?a=expire=1700000000',
    ])
      expect(expiryOf(url + query), query).to.equal(undefined);
  });

  it('is a parameter as it is written', () => {
    expect(queryValue(`${url}?a=1&b=%202#b=3`, 'b')).to.equal('%202');
    expect(queryValue(`${url}#?a=1`, 'b')).to.equal(undefined);
  });
});
