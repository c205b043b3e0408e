/** Links and bodies that must reach no private address. */

import { expect } from 'chai';
import { type ReplayingProxy, startReplayingProxy } from '../../support/links/replaying-proxy.js';
import { type GatewayHere, startGatewayHere } from '../../support/processes/gateway-here.js';

const ID = 'mgLinks0001';

const LINKS: Readonly<Record<string, readonly string[]>> = {
  'private and special addresses': [
    `http://127.0.0.1/watch?v=${ID}`,
    `http://localhost/watch?v=${ID}`,
    `https://10.0.0.1/watch?v=${ID}`,
    `http://169.254.169.254/latest/meta-data/?v=${ID}`,
    `http://[::1]/watch?v=${ID}`,
    `http://[::ffff:127.0.0.1]/watch?v=${ID}`,
    `http://0.0.0.0/watch?v=${ID}`,
    `http://metadata.google.internal/watch?v=${ID}`,
  ],
  'encoded addresses': [
    `http://2130706433/watch?v=${ID}`,
    `http://0x7f000001/watch?v=${ID}`,
    `http://0177.0.0.1/watch?v=${ID}`,
    `http://127.1/watch?v=${ID}`,
    `http://①②⑦.⓪.⓪.①/watch?v=${ID}`,
    `http://[::ffff:7f00:1]/watch?v=${ID}`,
  ],
  'look-alike hosts': [
    `https://youtube.com.evil.example/watch?v=${ID}`,
    `https://evilyoutube.com/watch?v=${ID}`,
    `https://youtube.com@evil.example/watch?v=${ID}`,
    `https://evil.example/?x=youtu.be/${ID}`,
    `https://evil.example/https://www.youtube.com/watch?v=${ID}`,
    `https://youtu.be.example/${ID}`,
    `https://xn--yutube-wqf.com/watch?v=${ID}`,
    `https://www.youtube.com%2eevil.example/watch?v=${ID}`,
    `https://www.youtube.com\\.evil.example/watch?v=${ID}`,
  ],
  'addresses around hostile ones': [
    `https://l.facebook.com/l.php?u=${encodeURIComponent(`http://127.0.0.1/watch?v=${ID}`)}`,
    `https://l.facebook.com/l.php?u=${encodeURIComponent(`https://169.254.169.254/watch?v=${ID}`)}`,
    `https://www.google.com/url?q=${encodeURIComponent(`https://evil.example/https://youtu.be/${ID}`)}`,
    `https://consent.youtube.com/m?continue=${encodeURIComponent(`https://me@www.youtube.com/watch?v=${ID}`)}`,
    `https://www.instagram.com/accounts/login/?next=${encodeURIComponent('//evil.example/p/CabcdEFGHij/')}`,
    `https://www.youtube.com/redirect?q=${encodeURIComponent(`https://www.youtube.com:8443/watch?v=${ID}`)}`,
  ],
  'links that smuggle': [
    `https://user:password@www.youtube.com/watch?v=${ID}`,
    `https://www.youtube.com:8443/watch?v=${ID}`,
    `file:///etc/passwd?v=${ID}`,
    `ftp://www.youtube.com/watch?v=${ID}`,
    `javascript:alert('${ID}')`,
    `data:text/html,${ID}`,
    `gopher://www.youtube.com/watch?v=${ID}`,
    `https://www.youtube.com/watch?v=${ID}\r\nHost: evil.example`,
    `https://www.youtube.com/redirect?q=http://127.0.0.1/&v=${ID}`,
    'https://www.youtube.com/watch?v=../../etc/passwd',
    `https://www.youtube.com/watch?v=${'A'.repeat(4000)}`,
  ],
  'links of a platform that name no item': [
    `https://www.youtube.com/watch#v=${ID}`,
    `https://www.youtube.com/watch#!v=${ID}`,
    `https://m.youtube.com/#/watch?v=${ID}`,
    `https://www.youtube.com/attribution_link?u=${encodeURIComponent(`/watch#v=${ID}`)}`,
    'https://www.tiktok.com/video/7300000000000000001',
    'https://www.tiktok.com/photo/7300000000000000001',
    'https://m.tiktok.com/video/7300000000000000001',
    'https://www.tiktok.com/tag/video/7300000000000000001',
    'https://www.facebook.com/share/x/1AbCdEfGhI/',
    'https://www.facebook.com/share/g/1AbCdEfGhI/',
    'https://fb.watch/x/1AbCdEfGhI/',
    'https://www.facebook.com/watch/somewhere/1250000000000338',
    'https://www.facebook.com/Events/posts/7020000000000256',
    'https://www.facebook.com/unknown.php/posts/7020000000000256',
  ],
  'no links at all': ['', ' ', 'watch this', '//', 'https://', 'https:///watch', `\u0000https://youtu.be/${ID}`],
};

const WRONG_BODIES: readonly unknown[] = [
  {},
  [],
  null,
  'https://youtu.be/mgLinks0001',
  { url: null },
  { url: 17 },
  { url: ['https://youtu.be/mgLinks0001'] },
  { url: { href: 'https://youtu.be/mgLinks0001' } },
  { url: `https://youtu.be/${ID}`, include_audio_mp3: 'true' },
  { url: `https://youtu.be/${ID}`, clip_review_limit: 0 },
  { url: `https://youtu.be/${ID}`, clip_review_limit: 1.5 },
  { url: `https://youtu.be/${ID}`, clip_sort: 'oldest' },
];

describe('hostile links and bodies', () => {
  let proxy: ReplayingProxy;
  let gateway: GatewayHere;
  let key: string;

  before(async () => {
    proxy = await startReplayingProxy({ answer: () => ({ status: 404 }) });
    gateway = await startGatewayHere({ proxy });
    // One slot a minute: it is still there after all of these, so none of them has taken it.
    ({ key } = await gateway.makeKey({ rpm: 1 }));
  });

  after(async () => {
    await gateway.kill();
    await proxy.close();
  });

  for (const [kind, links] of Object.entries(LINKS)) {
    it(`get 400 without a single outgoing request: ${kind}`, async () => {
      for (const url of links) {
        const refused = await gateway.extract(key, { url });
        expect(refused.status, `${url}: ${refused.text}`).to.equal(400);
        expect(refused.json.error.code, url).to.be.oneOf([
          'invalid_url',
          'unsupported_platform',
          'unsupported_link',
          'invalid_value',
          'missing_required_parameter',
        ]);
        expect(refused.json.error.param, url).to.equal('url');
      }
      expect(proxy.requests).to.deep.equal([]);
    });
  }

  it('get 400 with the name of the field if a body has the wrong shape', async () => {
    for (const body of WRONG_BODIES) {
      const refused = await gateway.extract(key, body);
      expect(refused.status, JSON.stringify(body)).to.equal(400);
      expect(refused.json.error).to.include({ type: 'invalid_request_error' });
      expect(refused.json.error.message).to.be.a('string').that.is.not.empty;
    }
    const broken = await gateway.extract(key, undefined, { body: '{"url": "https://youtu.be/' });
    expect(broken.status).to.equal(400);
    expect(broken.json.error.code).to.equal('invalid_json');
  });

  it('are refused before they are parsed if a body is too large, of another type or coding', async () => {
    const url = `https://youtu.be/${ID}`;
    const large = await gateway.extract(key, { url, padding: 'x'.repeat(200_000) });
    expect(large.status).to.equal(413);
    expect(large.json.error.code).to.equal('request_too_large');
    for (const [name, value] of [
      ['content-type', 'text/plain'],
      ['content-encoding', 'compress'],
    ] as const) {
      const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json', [name]: value };
      const refused = await gateway.extract(key, { url }, { headers });
      expect(refused.status, `${name}: ${value}`).to.equal(415);
      expect(refused.json.error.code).to.equal('unsupported_media_type');
    }
  });

  it('are refused for their key first: missing, mistyped, unknown or not granted', async () => {
    const body = JSON.stringify({ url: `https://youtu.be/${ID}` });
    const headers = { 'content-type': 'application/json' };
    const anonymous = await gateway.request('/v1/extract', { method: 'POST', headers, body });
    expect(anonymous.status).to.equal(401);
    expect(anonymous.json.error.code).to.equal('missing_api_key');
    expect(anonymous.headers.get('www-authenticate')).to.match(/^Bearer/);

    for (const wrong of [`${key}x`, key.slice(0, -1), 'sk-mg-', 'x'.repeat(300)]) {
      const refused = await gateway.extract(wrong, { url: `https://youtu.be/${ID}` });
      expect(refused.status).to.equal(401);
      expect(refused.json.error.code).to.equal('invalid_api_key');
    }

    const other = await gateway.makeKey({ name: 'images only', grants: ['images'] });
    const forbidden = await gateway.extract(other.key, { url: `https://youtu.be/${ID}` });
    expect(forbidden.status).to.equal(403);
    expect(forbidden.json.error.code).to.equal('route_not_allowed');
  });

  it('take no slot of the minute', async () => {
    const first = await gateway.extract(key, { url: `https://youtu.be/${ID}` });
    expect(first.status, first.text).to.be.oneOf([422, 502]);
    const second = await gateway.extract(key, { url: `https://youtu.be/${ID}` });
    expect(second.status).to.equal(429);
    expect(second.json.error.code).to.equal('rate_limit_exceeded');
    expect(Number(second.headers.get('retry-after'))).to.be.within(1, 60);
  });
});
