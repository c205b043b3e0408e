/** The address guard: literals, names and trusted origins. */

import { expect } from 'chai';
import { createAddressGuard, isPublicAddress } from '../../../core/net/egress.js';
import { GatewayError } from '../../../core/runtime/errors.js';
import { rejection } from '../../support/rejection.js';

/** Special targets, as a hostile link may spell them. What is a host here is tried as http and https. */
const SPECIAL_HOSTS = words(`
  127.0.0.1 127.1 127.0.1 127.255.255.254 127.0.0.1. 2130706433 017700000001 0x7f000001 0x7f.1 0x7f.0.0.1
  0X7F.0.0.0x1 0177.0.0.1 00000177.0.0.01 127.0x0.0.1 0177.0.0x1 127.0.00.1 %31%32%37.0.0.1 127%2e0%2e0%2e1
  127。0。0。1 127．0．0．1 １２７.０.０.１ ①②⑦.⓪.⓪.① 1\u00ad27.0.0.1 𝟏𝟐𝟕.0.0.1 0 0.0.0.0 0x0 00 1 0.1.2.3 10.0.0.1 10.1 0xa.1
  012.0.0.1 167772161 10.255.255.255 100.64.0.1 100.100.100.200 100.127.255.255 0x64.0x64.0x64.0xc8 169.254.0.1
  169.254.169.254 2852039166 0xa9fea9fe 0251.0376.0251.0376 169.254.43518 0xa9.0xfe.43518 ①⑥⑨.②⑤④.①⑥⑨.②⑤④
  169.254.170.2 172.16.0.1 172.31.255.255 172.1048577 192.0.0.1 192.0.0.192 192.0.2.1 192.31.196.1 192.52.193.1
  192.88.99.1 192.168.0.1 192.168.1.1 192.168.257 3232235777 192.175.48.1 198.18.0.1 198.19.255.255 198.51.100.7
  203.0.113.9 224.0.0.1 239.255.255.250 240.0.0.1 255.255.255.255 4294967295 0xffffffff 168.63.129.16 0xa83f8110
  [::] [::1] [0:0:0:0:0:0:0:1] [0000::0001] [::127.0.0.1] [::7f00:1] [::ffff:127.0.0.1] [::ffff:7f00:1]
  [::ffff:169.254.169.254] [::ffff:a9fe:a9fe] [::ffff:10.0.0.1] [::ffff:8.8.8.8] [::ffff:0:127.0.0.1]
  [64:ff9b::7f00:1] [64:ff9b::169.254.169.254] [64:ff9b::8.8.8.8] [64:ff9b:1::a9fe:a9fe] [100::1] [100:0:0:1::1]
  [1::1] [400::1] [4000::1] [5f00::1] [8000::1] [2001::1] [2001:0:7f00:1::] [2001:2::1] [2001:10::1] [2001:20::1]
  [2001:1ff::1] [2001:db8::1] [2002:7f00:1::] [2002:a9fe:a9fe::1] [2002:808:808::1] [2620:4f:8000::1] [3fff::1]
  [3fff:fff::1] [2a00:1450:4001:800:0:5efe:7f00:1] [2a00:1450:4001:800:200:5efe:a00:1] [2a00:1450::5efe:127.0.0.1]
  [fc00::1] [fd00:ec2::254] [fd20:ce::254] [fdff::1] [fe00::1] [fe80::1] [fe80::a9fe:a9fe] [fec0::1] [febf::1]
  [ff02::1] [ff0e::1] localhost LOCALHOST localhost. a.localhost lo\u00adcalhost loc\u200balhost ⓛocalhost router
  kubernetes metadata com. printer.local metadata.google.internal db.internal. instance-data.internal
  localhost.localdomain nas.lan wiki.intranet fritz.home.arpa home.arpa
`);

const SPECIAL_URLS = [
  'ftp://example.com/',
  'file:///etc/passwd',
  'gopher://example.com/',
  'data:text/plain,x',
  'blob:https://example.com/x',
  'javascript:alert(1)',
  'ws://example.com/',
  'http://user@example.com/',
  'https://user:password@example.com/',
  'http://:password@example.com/',
  'http://example.com:22/',
  'https://example.com:80/',
  'http://example.com:443/',
  'https://example.com:8443/',
  'http://example.com:6379/',
  `https://example.com/${'a'.repeat(8192)}`,
];

const PUBLIC_HOSTS = words(`
  1.1.1.1 8.8.8.8 9.9.9.9 1.0.0.0 9.255.255.255 11.0.0.0 100.63.255.255 100.128.0.0 126.255.255.255 128.0.0.1
  142.250.185.78 168.63.129.15 168.63.129.17 169.253.255.255 169.255.0.0 172.15.255.255 172.32.0.0 192.0.1.1
  192.167.255.255 192.169.0.0 198.17.255.255 198.20.0.0 203.0.112.255 203.0.114.0 223.255.255.255 134744072
  [2000::1] [2001:200::1] [2001:4860:4860::8888] [2606:4700:4700::1111] [2620:4f:8001::1]
  [2a00:1450:4001:800::200e] [2a00:1450:4001:800:1:5efe:a00:1] [3ffe:ffff::1] [2003::1] [2001:db9::1] example.com
  example.com. www.youtube.com localhost.example internal.example.com local.example.org xn--bcher-kva.example
  BÜCHER.example
`);

const guard = createAddressGuard();

function words(text: string): string[] {
  return text.trim().split(/\s+/);
}

function refusal(call: () => unknown): GatewayError | undefined {
  try {
    call();
  } catch (error) {
    if (error instanceof GatewayError) return error;
    throw error;
  }
  return undefined;
}

describe('address guard', () => {
  it('has enough special targets to try', () => {
    const parsed = SPECIAL_HOSTS.filter((host) => URL.canParse(`http://${host}/`));
    expect(new Set(parsed).size).to.be.at.least(110);
    expect(new Set(PUBLIC_HOSTS).size).to.be.at.least(25);
  });

  for (const host of SPECIAL_HOSTS) {
    it(`refuses ${host}`, () => {
      for (const scheme of ['http', 'https']) {
        // Some spellings are stopped by the parser already, which is as good.
        const url = URL.parse(`${scheme}://${host}/`);
        if (!url) continue;
        const error = refusal(() => guard.checkUrl(url));
        expect(error?.code, url.href).to.equal('upstream_refused');
        expect(error?.retryable).to.equal(false);
        expect(error?.message).not.to.match(/\d|:/);
      }
    });
  }

  for (const text of SPECIAL_URLS) {
    it(`refuses ${text.slice(0, 60)}`, () => {
      expect(refusal(() => guard.checkUrl(new URL(text)))?.code).to.equal('upstream_refused');
    });
  }

  for (const host of PUBLIC_HOSTS) {
    it(`allows ${host}`, () => {
      guard.checkUrl(new URL(`http://${host}/path?query`));
      guard.checkUrl(new URL(`https://${host}/path?query`));
    });
  }

  it('accepts only the spelling of an address', () => {
    for (const text of [
      '',
      '8.8.8',
      '0x08080808',
      '010.8.8.8',
      '8.8.8.8/8',
      ' 8.8.8.8',
      '2001:4860::8888%eth0x/',
      'x',
    ]) {
      expect(isPublicAddress(text), text).to.equal(false);
    }
    expect(isPublicAddress('8.8.8.8')).to.equal(true);
    expect(isPublicAddress('fe80::1%eth0')).to.equal(false);
  });

  describe('trusted origins', () => {
    const trusting = createAddressGuard({ trustedOrigins: ['http://127.0.0.1:9000', 'https://Files.LAN/'] });

    it('are accepted exactly as configured', () => {
      for (const text of [
        'http://127.0.0.1:9000/a',
        'http://0x7f.1:9000/a',
        'https://files.lan/',
        'https://files.lan:443/',
      ]) {
        trusting.checkUrl(new URL(text));
        expect(trusting.isTrusted(new URL(text)), text).to.equal(true);
      }
      for (const text of [
        'https://127.0.0.1:9000/',
        'http://127.0.0.1/',
        'http://127.0.0.2:9000/',
        'http://files.lan/',
        'https://x.files.lan/',
      ]) {
        expect(refusal(() => trusting.checkUrl(new URL(text)))?.code, text).to.equal('upstream_refused');
      }
    });

    it('may be named for a single call', () => {
      const url = new URL('http://10.0.0.5:8080/');
      guard.checkUrl(url, ['http://10.0.0.5:8080']);
      expect(guard.isTrusted(url)).to.equal(false);
      expect(refusal(() => guard.checkUrl(url))?.code).to.equal('upstream_refused');
    });

    it('cover one port and one scheme of their host', () => {
      const named = ['http://10.0.0.5:8080', 'https://vendor.example:8443', 'http://box.lan'];
      const others = [
        'http://10.0.0.5:8081/',
        'http://10.0.0.5/',
        'https://10.0.0.5:8080/',
        'http://10.0.0.6:8080/',
        'https://vendor.example:8444/',
        'http://vendor.example:8443/',
        'https://a.vendor.example:8443/',
        'https://box.lan/',
        'http://box.lan:8080/',
        'http://box.lan.local/',
      ];
      const own = createAddressGuard({ trustedOrigins: named });
      for (const text of others) {
        const url = new URL(text);
        expect([own.isTrusted(url), guard.isTrusted(url, named)], text).to.deep.equal([false, false]);
        expect(refusal(() => own.checkUrl(url))?.code, text).to.equal('upstream_refused');
        expect(refusal(() => guard.checkUrl(url, named))?.code, text).to.equal('upstream_refused');
      }
      for (const text of ['http://10.0.0.5:8080/v1', 'https://vendor.example:8443/v1', 'http://box.lan:80/']) {
        guard.checkUrl(new URL(text), named);
        expect(guard.isTrusted(new URL(text), named), text).to.equal(true);
      }
    });

    it('allow neither user info nor other schemes', () => {
      const loose = createAddressGuard({ trustedOrigins: ['ftp://127.0.0.1', 'http://127.0.0.1'] });
      expect(refusal(() => loose.checkUrl(new URL('ftp://127.0.0.1/')))?.code).to.equal('upstream_refused');
      expect(refusal(() => loose.checkUrl(new URL('http://me@127.0.0.1/')))?.code).to.equal('upstream_refused');
    });
  });

  describe('names', () => {
    const answering = (...addresses: string[]) => createAddressGuard({ resolve: async () => addresses });

    it('return all their addresses if all are public', async () => {
      const found = await answering('93.184.216.34', '2606:4700::6810:84e5').addresses('example.com');
      expect(found).to.deep.equal(['93.184.216.34', '2606:4700::6810:84e5']);
    });

    for (const mixed of [
      ['127.0.0.1'],
      ['93.184.216.34', '10.0.0.1'],
      ['169.254.169.254', '93.184.216.34'],
      ['93.184.216.34', '2606:4700::1', '::1'],
      ['93.184.216.34', '::ffff:93.184.216.34'],
      ['93.184.216.34', 'not an address'],
    ]) {
      it(`are refused if they resolve to ${mixed.join(' and ')}`, async () => {
        const error = await rejection(answering(...mixed).addresses('rebind.example'));
        expect(error).to.include({ code: 'upstream_refused', retryable: false });
        expect(String(error)).not.to.match(/\d{2}/);
      });
    }

    it('are not resolved if they are literals', async () => {
      const failing = createAddressGuard({ resolve: () => expect.fail('was asked') });
      expect(await failing.addresses('8.8.8.8')).to.deep.equal(['8.8.8.8']);
      expect(await failing.addresses('[2606:4700::1]')).to.deep.equal(['2606:4700::1']);
      expect(await rejection(failing.addresses('127.0.0.1'))).to.include({ code: 'upstream_refused' });
      expect(await rejection(failing.addresses('::1'))).to.include({ code: 'upstream_refused' });
    });

    it('without an address are an error with its cause', async () => {
      expect(await rejection(answering().addresses('example.com'))).to.include({ code: 'upstream_error' });
      const cause = Object.assign(new Error('queryA ENOTFOUND'), { code: 'ENOTFOUND' });
      const failing = createAddressGuard({ resolve: () => Promise.reject(cause) });
      expect(await rejection(failing.addresses('example.com'))).to.include({ code: 'upstream_error', cause });
    });

    it('time out if name servers are silent', async () => {
      let given: AbortSignal | undefined;
      const silent = createAddressGuard({
        resolve: (_name, signal) => {
          given = signal;
          return new Promise(() => {});
        },
        resolveTimeoutMs: 20,
      });
      expect(await rejection(silent.addresses('example.com'))).to.include({ code: 'upstream_timeout' });
      expect(given?.aborted).to.equal(true);

      const reason = new Error('no longer wanted');
      const caller = new AbortController();
      const asked = silent.addresses('example.com', caller.signal);
      caller.abort(reason);
      expect(await rejection(asked)).to.equal(reason);
    });
  });
});
