/** Replies of platforms: status, cookies, redirects and short links. */

import { expect } from 'chai';
import type { LinkMatch } from '../../../core/contracts/index.js';
import {
  cookieHeader,
  followRedirects,
  matchAddress,
  outcomeError,
  readCookies,
  readStatus,
  requireSuccess,
  resolveShortLink,
  type ShortLinkResolution,
} from '../../../core/extraction/responses.js';
import { GatewayError } from '../../../core/runtime/index.js';
import { createFakeHttp, type FakeReply } from '../../../core/testing/index.js';

const { signal } = new AbortController();
const reply = (status: number, headers: Record<string, string> = {}) => ({ status, headers });
const moved = (location: string, status = 302): FakeReply => ({ status, headers: { location } });

async function errorOf(promise: Promise<unknown>): Promise<GatewayError> {
  const error = await promise.then(
    (value) => expect.fail(`it gave ${JSON.stringify(value)}`),
    (thrown: unknown) => thrown,
  );
  expect(error).to.be.instanceOf(GatewayError);
  return error as GatewayError;
}

describe('the status of a reply', () => {
  it('is no result if the body must be read', () => {
    for (const status of [200, 204, 299]) expect(readStatus(reply(status)), String(status)).to.equal(undefined);
  });

  for (const [status, code] of [
    [301, 'upstream_refused'],
    [400, 'upstream_refused'],
    [404, 'upstream_refused'],
    [429, 'upstream_rate_limited'],
    [500, 'upstream_error'],
    [503, 'upstream_error'],
  ] as const) {
    it(`${status} is ${code}`, () => {
      expect(readStatus(reply(status))).to.deep.equal({ kind: 'transient', code, reason: `HTTP ${status}` });
    });
  }

  it('has the meaning that a platform gives it', () => {
    const meanings = { 404: 'removed', 403: 'bot_check', 200: 'unavailable' } as const;
    expect(readStatus(reply(404), meanings)).to.deep.equal({ kind: 'definitive', code: 'removed', reason: 'HTTP 404' });
    expect(readStatus(reply(403), meanings)).to.include({ kind: 'transient', code: 'bot_check' });
    expect(readStatus(reply(200), meanings)).to.include({ kind: 'definitive', code: 'unavailable' });
    expect(readStatus(reply(402), meanings)).to.include({ code: 'upstream_refused' });
  });

  it('410 is "removed", unless the platform means something else', () => {
    expect(readStatus(reply(410))).to.deep.equal({ kind: 'definitive', code: 'removed', reason: 'HTTP 410' });
    expect(readStatus(reply(410), { 404: 'private' })).to.include({ code: 'removed' });
    expect(readStatus(reply(410), { 410: 'upstream_refused' })).to.include({ code: 'upstream_refused' });
  });

  it('includes the wait that the platform asks for', () => {
    expect(readStatus(reply(429, { 'retry-after': '7' }))).to.include({ retryAfterSeconds: 7 });
    expect(readStatus(reply(503, { 'retry-after': '9' }))).to.include({ retryAfterSeconds: 9 });
    expect(readStatus(reply(429, { 'retry-after': '3600' }))).to.include({ retryAfterSeconds: 60 });
    expect(readStatus(reply(429, { 'retry-after': 'soon' }))).not.to.have.property('retryAfterSeconds');
  });

  it('is thrown as an error if a success is required', () => {
    const success = reply(201);
    expect(requireSuccess(success)).to.equal(success);
    expect(() => requireSuccess(reply(429, { 'retry-after': '7' })))
      .to.throw(GatewayError)
      .that.includes({ code: 'upstream_rate_limited', reason: 'HTTP 429', retryAfterSeconds: 7 });
    expect(() => requireSuccess(reply(410), { 410: 'removed' }))
      .to.throw(GatewayError)
      .that.includes({ code: 'removed', message: 'The item was removed or never existed.' });
  });

  it('becomes an error with its code and reason', () => {
    const error = outcomeError({ kind: 'definitive', code: 'private', reason: 'for friends' });
    expect(error).to.include({ code: 'private', message: 'The item is private.', reason: 'for friends' });
  });
});

describe('the cookies of a reply', () => {
  it('are the requested ones, as a header', () => {
    const headers = { 'set-cookie': 'a=1; Path=/; HttpOnly\nb=x=y\nc=; Max-Age=0\n d=4;\nother=5\na=2' };
    const cookies = readCookies({ headers }, ['a', 'b', 'c', 'd']);
    expect([...cookies]).to.deep.equal([
      ['a', '2'],
      ['b', 'x=y'],
      ['d', '4'],
    ]);
    expect(cookieHeader(cookies)).to.equal('a=2; b=x=y; d=4');
  });

  it('may be absent', () => {
    expect(cookieHeader(readCookies({ headers: {} }, ['a']))).to.equal(undefined);
    expect(readCookies({ headers: { 'set-cookie': '=1\n;\n' } }, ['', 'a']).size).to.equal(0);
  });
});

describe('redirects', () => {
  const url = 'https://a.example/1';

  it('are followed as the extractor decides', async () => {
    const http = createFakeHttp([moved('/2'), moved('https://b.example/3', 308), { body: 'page' }]);
    const targets: string[] = [];
    const end = await followRedirects(http, {
      url,
      headers: { accept: 'text/html' },
      signal,
      onRedirect(target) {
        targets.push(target.href);
        return new URL(target.pathname, 'https://c.example/');
      },
    });
    expect('response' in end && [end.response.text(), end.url.href]).to.deep.equal(['page', 'https://c.example/3']);
    expect(targets).to.deep.equal(['https://a.example/2', 'https://b.example/3']);
    expect(http.requests.map((request) => [String(request.url), request.headers])).to.deep.equal([
      [url, { accept: 'text/html' }],
      ['https://c.example/2', { accept: 'text/html' }],
      ['https://c.example/3', { accept: 'text/html' }],
    ]);
  });

  it('stop without a further request', async () => {
    const http = createFakeHttp([moved('/login')]);
    const end = await followRedirects<string>(http, { url, onRedirect: ({ pathname }) => ({ stop: pathname }) });
    expect(end).to.deep.equal({ stop: '/login' });
    expect(http.requests).to.have.length(1);
  });

  it('end after three, or the allowed number', async () => {
    for (const [maxRedirects, requests] of [
      [undefined, 4],
      [0, 1],
    ] as const) {
      const http = createFakeHttp([moved('/again')]);
      const error = await errorOf(followRedirects(http, { url, maxRedirects, onRedirect: (target) => target }));
      expect(error).to.include({ code: 'upstream_refused', reason: 'too many redirects' });
      expect(http.requests).to.have.length(requests);
    }
  });

  it('are replies if their location is unreadable', async () => {
    for (const headers of [undefined, { location: 'http://[' }]) {
      const http = createFakeHttp([{ status: 302, headers }]);
      const end = await followRedirects(http, { url, onRedirect: () => expect.fail('no target') });
      expect('response' in end && end.response.status).to.equal(302);
    }
  });
});

const HOSTS = ['a.example', 's.example'];
function match(url: URL): LinkMatch {
  if (!HOSTS.includes(url.hostname)) return undefined;
  const [, kind, id = ''] = url.pathname.split('/');
  if (kind === 'item') return { kind: 'post', id, url: `https://a.example/item/${id}` };
  if (url.hostname === 's.example') return { kind: 'short_link', id, url: url.href };
  return { unsupported: 'a profile' };
}

describe('the link in an address', () => {
  it('is an item, a short link, or neither', () => {
    expect(matchAddress(match, 'https://a.example/item/7')?.id).to.equal('7');
    expect(matchAddress(match, new URL('https://s.example/x'))?.kind).to.equal('short_link');
    for (const none of ['https://a.example/user', 'https://other.example/', 'no address', undefined, null])
      expect(matchAddress(match, none), String(none)).to.equal(undefined);
  });
});

describe('a short link', () => {
  function resolve(replies: readonly FakeReply[], more: Partial<ShortLinkResolution> = {}) {
    const http = createFakeHttp(replies);
    const link = { kind: 'short_link', id: 'x', url: 'https://s.example/x' } as const;
    const isOwn = ({ hostname }: URL) => HOSTS.includes(hostname);
    return { http, end: resolveShortLink({ http, link, match, isOwn, signal, ...more }) };
  }
  const login = { isPage: ({ pathname }: URL) => pathname === '/login', parameter: 'next' };

  it('leads to its item in few requests', async () => {
    const { http, end } = resolve([moved('https://s.example/y'), moved('https://a.example/item/7?tracking=1')]);
    expect((await end).href).to.equal('https://a.example/item/7?tracking=1');
    expect(http.requests).to.have.length(2);
    expect(http.openBodies).to.equal(0);
  });

  it('leads to the item that a login page names', async () => {
    const next = encodeURIComponent('https://a.example/item/7');
    const { end } = resolve([moved(`https://a.example/login?next=${next}`)], { login });
    expect((await end).href).to.equal('https://a.example/item/7');
  });

  it('leads to everything that the extractor accepts as an item', async () => {
    const isItem = ({ hostname }: URL) => hostname === 'shop.example';
    expect((await resolve([moved('https://shop.example/1')], { isItem }).end).hostname).to.equal('shop.example');
  });

  it('is read if it does not redirect', async () => {
    const readPage = async (url: URL) => new URL('/item/8', url);
    expect((await resolve([{ body: 'page' }], { readPage }).end).pathname).to.equal('/item/8');
    expect(await errorOf(resolve([{ body: 'page' }]).end)).to.include({ code: 'upstream_refused' });
  });

  it('returns another page of the platform', async () => {
    expect((await resolve([moved('https://a.example/user')]).end).pathname).to.equal('/user');
  });

  for (const [title, replies, code, reason] of [
    ['to the home page', [moved('https://a.example/')], 'short_link_dead', 'it leads to the home page'],
    ['to a login page', [moved('https://a.example/login')], 'login_required', 'it leads to the login page'],
    [
      'to a login page before another site',
      [moved('https://a.example/login?next=//evil.example/item/7')],
      'login_required',
      'it leads to the login page',
    ],
    ['to a refused page', [moved('https://a.example/check')], 'bot_check', 'HTTP 403'],
    ['to another site', [moved('https://evil.example/item/7')], 'redirected_to_unsupported', 'evil.example'],
    ['to itself', [moved('https://s.example/x')], 'short_link_dead', 'it leads back to itself'],
    ['that is gone', [{ status: 410 }], 'short_link_dead', 'HTTP 410'],
    ['of a limited source', [{ status: 429, headers: { 'retry-after': '3' } }], 'upstream_rate_limited', 'HTTP 429'],
    ['of a broken source', [{ status: 502 }], 'upstream_error', 'HTTP 502'],
  ] as const) {
    it(`${title} is ${code}`, async () => {
      const refusal = ({ pathname }: URL) =>
        pathname === '/check' ? outcomeError({ kind: 'transient', code: 'bot_check', reason: 'HTTP 403' }) : undefined;
      expect(await errorOf(resolve(replies, { login, refusal }).end)).to.include({ code, reason });
    });
  }

  it('is given up after five requests', async () => {
    const { http, end } = resolve(Array.from({ length: 9 }, (_, index) => moved(`https://s.example/${index}`)));
    expect(await errorOf(end)).to.include({ code: 'short_link_dead', reason: 'it redirects too often' });
    expect(http.requests).to.have.length(5);
  });
});
