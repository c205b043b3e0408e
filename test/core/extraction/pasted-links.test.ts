/** Links as people paste them, for the five platforms. */

import { expect } from 'chai';
import fc from 'fast-check';
import { createGateway, type Gateway, GatewayError } from 'mediagate';
import clipShop from 'mediagate/plugins/clip_shop';
import clipVideo from 'mediagate/plugins/clip_video';
import photo from 'mediagate/plugins/photo';
import social from 'mediagate/plugins/social';
import vidsite from 'mediagate/plugins/vidsite';
import { ACCEPTED, REFUSED } from '../../support/links/link-forms.js';

const VIDEO = 'https://www.youtube.com/watch?v=dQw4w9WgXcQ';
const enc = encodeURIComponent;

/** Addresses around a link → the item in it. */
const WRAPPED: Readonly<Record<string, string>> = {
  [`https://l.facebook.com/l.php?u=${enc(VIDEO)}&h=AT0x`]: 'dQw4w9WgXcQ',
  [`https://lm.facebook.com/l.php?u=${enc(VIDEO)}`]: 'dQw4w9WgXcQ',
  [`https://www.facebook.com/l.php?h=x&u=${enc('https://youtu.be/dQw4w9WgXcQ?si=x')}`]: 'dQw4w9WgXcQ',
  [`https://www.facebook.com/flx/warn/?h=T&u=${enc(VIDEO)}&s=1`]: 'dQw4w9WgXcQ',
  [`https://www.facebook.com/sharer/sharer.php?u=${enc(VIDEO)}`]: 'dQw4w9WgXcQ',
  [`https://www.facebook.com/dialog/share?app_id=1&href=${enc(VIDEO)}`]: 'dQw4w9WgXcQ',
  [`https://l.instagram.com/?u=${enc('https://www.tiktok.com/@a/video/7106798200794926362')}&e=x`]:
    '7106798200794926362',
  [`https://l.threads.com/?u=${enc('https://www.instagram.com/p/BQ0eAlwhDrw/')}`]: 'BQ0eAlwhDrw',
  [`https://www.google.com/url?sa=t&q=&url=${enc(VIDEO)}&usg=AOv`]: 'dQw4w9WgXcQ',
  [`https://google.de/url?q=${enc(VIDEO)}`]: 'dQw4w9WgXcQ',
  [`http://www.google.co.uk/url?q=${VIDEO}&sa=U`]: 'dQw4w9WgXcQ',
  [`https://consent.youtube.com/m?continue=${enc(`${VIDEO}&cbrd=1`)}&gl=NL`]: 'dQw4w9WgXcQ',
  [`https://consent.youtube.com/ml?continue=${VIDEO}&gl=DE`]: 'dQw4w9WgXcQ',
  [`https://consent.google.com/m?continue=${enc(VIDEO)}`]: 'dQw4w9WgXcQ',
  [`https://www.youtube.com/redirect?event=x&q=${enc('https://www.instagram.com/reel/BQ0eAlwhDrw')}`]: 'BQ0eAlwhDrw',
  'https://www.youtube.com/attribution_link?a=x&u=%2Fwatch%3Fv%3DdQw4w9WgXcQ%26feature%3Dshare': 'dQw4w9WgXcQ',
  [`https://www.youtube.com/attribution_link?u=${enc(VIDEO)}`]: 'dQw4w9WgXcQ',
  'https://www.youtube.com/verify_age?next_url=/watch%3Fv%3DdQw4w9WgXcQ': 'dQw4w9WgXcQ',
  [`https://accounts.google.com/ServiceLogin?service=youtube&continue=${enc(`https://www.youtube.com/signin?app=desktop&next=${enc('/watch?v=dQw4w9WgXcQ')}`)}`]:
    'dQw4w9WgXcQ',
  [`https://accounts.google.com/v3/signin/identifier?continue=${enc(VIDEO)}`]: 'dQw4w9WgXcQ',
  'https://www.instagram.com/accounts/login/?next=/reel/CDUMkliABpa/': 'CDUMkliABpa',
  'https://www.instagram.com/accounts/login/?next=%2Freel%2FCDUMkliABpa%2F%3Figsh%3Dx': 'CDUMkliABpa',
  [`https://www.instagram.com/accounts/login/?next=${enc('https://www.instagram.com/p/CDUMkliABpa/')}&is_from_rle`]:
    'CDUMkliABpa',
  'https://www.instagram.com/challenge/?next=/p/CDUMkliABpa/': 'CDUMkliABpa',
  [`https://www.tiktok.com/login?redirect_url=${enc('https://www.tiktok.com/@a/video/7106798200794926362?lang=en')}&enter_method=x`]:
    '7106798200794926362',
  [`https://www.tiktok.com/login/phone-or-email?redirect_url=${enc('https://shop.tiktok.com/us/pdp/x/1729384756012345678')}`]:
    '1729384756012345678',
  [`https://www.tiktok.com/link/v2?aid=1988&scene=bio_url&target=${enc('https://youtu.be/dQw4w9WgXcQ')}`]:
    'dQw4w9WgXcQ',
  [`https://www.facebook.com/login/?next=${enc('https://www.facebook.com/watch/?v=647537299265662')}`]:
    '647537299265662',
  [`https://m.facebook.com/login.php?next=${enc('https://m.facebook.com/story.php?story_fbid=1035862816472149&id=116132035111903')}&refsrc=x`]:
    '1035862816472149',
  [`https://www.facebook.com/login/device-based/regular/login/?next=${enc('https://www.facebook.com/reel/1195289147628387')}`]:
    '1195289147628387',
  [`https://www.facebook.com/checkpoint/?next=${enc('https://www.facebook.com/reel/1195289147628387')}`]:
    '1195289147628387',
  [`https://www.facebook.com/checkpoint/828281030927956/?next=${enc('https://www.facebook.com/reel/1195289147628387')}`]:
    '1195289147628387',
  // Two addresses around it, and what people paste inside.
  [`https://l.facebook.com/l.php?u=${enc(`https://consent.youtube.com/m?continue=${enc(VIDEO)}`)}`]: 'dQw4w9WgXcQ',
  [`<https://www.google.com/url?q=${enc(`https://l.instagram.com/?u=${enc(VIDEO)}`)}&amp;sa=D>.`]: 'dQw4w9WgXcQ',
  [`https://l.facebook.com/l.php?u=${enc('https://www.youtube.com/watch?feature=x&amp;v=dQw4w9WgXcQ')}`]: 'dQw4w9WgXcQ',
  [`https://l.facebook.com/l.php?u=${enc('www.youtube.com/watch?v=dQw4w9WgXcQ?si=x')}`]: 'dQw4w9WgXcQ',
  [`https://l.facebook.com/l.php?u=${enc(enc(VIDEO))}`]: 'dQw4w9WgXcQ',
};

const redirect = (to: string) => `https://l.facebook.com/l.php?u=${enc(to)}`;

/** Addresses around what is refused → the code, and what the message says. */
const NOT_UNWRAPPED: Readonly<Record<string, readonly [code: string, words: RegExp]>> = {
  [redirect('https://evil.example/watch?v=dQw4w9WgXcQ')]: ['unsupported_link', /redirect/],
  [redirect(VIDEO.replace('https:', 'http:'))]: ['unsupported_link', /not an https address/],
  [redirect('javascript:alert(1)')]: ['unsupported_link', /redirect.*does not begin with/],
  [redirect('https://www.youtube.com:8443/watch?v=dQw4w9WgXcQ')]: ['unsupported_link', /redirect.*a port/],
  [redirect('https://me:word@www.youtube.com/watch?v=dQw4w9WgXcQ')]: ['unsupported_link', /user information/],
  [redirect('https://www.youtube.com@evil.example/watch?v=dQw4w9WgXcQ')]: ['unsupported_link', /user information/],
  [redirect('https://www.youtube.com\\@evil.example/watch?v=dQw4w9WgXcQ')]: ['unsupported_link', /backslash/],
  [redirect('https://169.254.169.254/latest/meta-data')]: ['unsupported_link', /redirect.*not supported/],
  [redirect('https://localhost/watch?v=dQw4w9WgXcQ')]: ['unsupported_link', /redirect.*not supported/],
  [redirect('https://[::1]/watch?v=dQw4w9WgXcQ')]: ['unsupported_link', /redirect.*not supported/],
  [redirect('https://www.yout\u0443be.com/watch?v=dQw4w9WgXcQ')]: ['unsupported_link', /redirect/],
  [redirect('https://www.youtube.com.evil.example/watch?v=dQw4w9WgXcQ')]: ['unsupported_link', /redirect/],
  [redirect(`https://evil.example/${VIDEO}`)]: ['unsupported_link', /redirect/],
  [redirect(redirect(redirect(VIDEO)))]: ['unsupported_link', /more than 2 addresses|redirect/],
  [redirect('https://www.instagram.com/porsche/')]: ['unsupported_link', /a profile, not an item of Instagram/],
  [redirect('https://www.youtube.com/playlist?list=PLx')]: ['unsupported_link', /a playlist, not an item of YouTube/],
  'https://www.instagram.com/accounts/login/?next=//evil.example/p/CDUMkliABpa/': ['unsupported_link', /login page/],
  'https://www.instagram.com/accounts/login/?next=/porsche/': ['unsupported_link', /a profile/],
  'https://www.instagram.com/accounts/login/?next=/%5Cevil.example/p/CDUMkliABpa/': ['unsupported_link', /login page/],
  'https://www.youtube.com/redirect?q=https%3A%2F%2Fevil.example%2F': ['unsupported_link', /redirect/],
  'https://www.tiktok.com/login?redirect_url=https%3A%2F%2Fevil.example': ['unsupported_link', /login page/],
  'https://www.google.com/url?q=https%3A%2F%2Fevil.example%2F': ['unsupported_platform', /No platform/],
  'https://consent.youtube.com/m?continue=http%3A%2F%2F127.0.0.1%2F': ['unsupported_link', /consent form/],
  // Not in the list: a host or a path that only looks like it.
  [`https://l.facebook.com.evil.example/l.php?u=${enc(VIDEO)}`]: ['unsupported_platform', /No platform/],
  [`https://evil.example/url?q=${enc(VIDEO)}`]: ['unsupported_platform', /No platform/],
  [`https://evil.example/${VIDEO}`]: ['unsupported_platform', /No platform/],
  [`https://www.google.com/search?q=${enc(VIDEO)}`]: ['unsupported_platform', /No platform/],
  [`https://www.google.evil.example/url?q=${enc(VIDEO)}`]: ['unsupported_platform', /No platform/],
  [`https://www.facebook.com/bellfoundry?u=${enc(VIDEO)}`]: ['unsupported_link', /a profile/],
  // Hosts in other letters.
  'https://www.yo\u03c5tube.com/watch?v=dQw4w9WgXcQ': ['unsupported_platform', /No platform/],
  'https://www.\uff59outube.com/watch?v=dQw4w9WgXcQ': ['invalid_url', /only look like/],
  'https://www.youtube\u3002com/watch?v=dQw4w9WgXcQ': ['invalid_url', /only look like/],
  'https://www.youtube.com\\@evil.example/watch?v=dQw4w9WgXcQ': ['invalid_url', /backslash/],
};

/** Values for the placeholders of link forms. */
const EXAMPLES: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  vidsite: { id: 'dQw4w9WgXcQ', clip: 'UgkxInvented_1', handle: 'tugs', channel: 'UCharbourNotes0000000001' },
  clip_video: { id: '7106798200794926362', code: 'ZTRC5xgJp', user: 'someone' },
  clip_shop: { id: '1729384756012345678', region: 'gb', code: 'ZSinvented' },
  social: {
    id: '647537299265662',
    user: '100009000000731',
    group: 'loom.repairs',
    code: '1BehindLogin',
    version: '23.0',
  },
  photo: { shortcode: 'BQ0eAlwhDrw', media_id: '482584233761418119', code: 'BACiUUUYQV', user: 'someone' },
};
const OTHERS: Readonly<Record<string, string>> = {
  name: 'a-name',
  slug: 'some-words',
  set: 'a.1',
  language: 'de',
  link: enc('https://www.facebook.com/reel/647537299265662'),
};

describe('pasted links', () => {
  let gateway: Gateway;
  before(async () => {
    gateway = await createGateway({ plugins: [clipShop, clipVideo, vidsite, social, photo].map((use) => ({ use })) });
  });
  after(() => gateway.close());

  const refusalOf = (text: string) => {
    try {
      const { platform, link } = gateway.match(text);
      return new Error(`${platform} ${link.kind} ${link.id}`);
    } catch (error) {
      return error instanceof GatewayError ? error : new Error(String(error));
    }
  };

  for (const [platform, kinds] of Object.entries(ACCEPTED)) {
    it(`of ${platform} are accepted in every form`, () => {
      for (const [kind, links] of Object.entries(kinds)) {
        for (const [text, id] of Object.entries(links)) {
          const { link, ...found } = gateway.match(text);
          expect({ ...found, kind: link.kind, id: link.id }, text).to.deep.equal({ platform, kind, id });
        }
      }
    });
  }

  for (const [kind, links] of Object.entries(REFUSED)) {
    it(`are refused as ${kind}`, () => {
      const [code, words] = kind.split(': ');
      for (const text of links) {
        const error = refusalOf(text);
        expect(error, `${text}: ${error.message}`).to.have.property('code', code);
        if (words !== undefined) expect(error.message, text).to.contain(`The link is ${words}, not an item of `);
      }
    });
  }

  it('are unwrapped from redirects, login pages and consent forms', () => {
    for (const [text, id] of Object.entries(WRAPPED)) expect(gateway.match(text).link.id, text).to.equal(id);
  });

  for (const [text, [code, words]] of Object.entries(NOT_UNWRAPPED)) {
    it(`are refused: ${decodeURIComponent(text).slice(0, 100)}`, () => {
      const error = refusalOf(text);
      expect(error, error.message).to.include({ code, param: 'url' });
      expect(error.message).to.match(words);
    });
  }

  it('name the platform of the wrapped link', () => {
    expect(refusalOf(redirect('https://www.instagram.com/porsche/'))).to.have.property('platform', 'photo');
    expect(refusalOf(redirect('https://evil.example/'))).to.have.property('platform', 'social');
  });

  it('may have path words in capitals', () => {
    for (const [text, id] of Object.entries({
      'https://www.instagram.com/Reel/CDUMkliABpa/': 'CDUMkliABpa',
      'https://www.instagram.com/P/CDUMkliABpa/': 'CDUMkliABpa',
      'HTTPS://WWW.INSTAGRAM.COM/REEL/CDUMkliABpa/': 'CDUMkliABpa',
      'https://www.instagram.com/Someone/Reel/CDUMkliABpa/': 'CDUMkliABpa',
      'https://www.instagram.com/Share/Reel/BARSSL4rTu': 'BARSSL4rTu',
      'https://www.youtube.com/Watch?v=dQw4w9WgXcQ': 'dQw4w9WgXcQ',
      'https://www.youtube.com/SHORTS/dQw4w9WgXcQ': 'dQw4w9WgXcQ',
      'https://www.tiktok.com/@Someone/Video/7106798200794926362': '7106798200794926362',
      'https://www.tiktok.com/T/ZTRC5xgJp/': 'ZTRC5xgJp',
      'https://www.tiktok.com/Shop/PDP/a-pot/1729384756012345678': '1729384756012345678',
      'https://www.facebook.com/Watch/?v=647537299265662': '647537299265662',
      'https://www.facebook.com/Someone/Videos/647537299265662': '647537299265662',
    })) {
      expect(gateway.match(text).link.id, text).to.equal(id);
    }
  });

  it('are accepted in every form that the capabilities list', () => {
    for (const { key, linkForms } of gateway.platforms()) {
      const values: Readonly<Record<string, string>> = { ...OTHERS, user: 'someone', ...EXAMPLES[key] };
      for (const form of linkForms) {
        const link = form.replace(/\{(\w+)\}/g, (_, name: string) => values[name] ?? `NO ${name}`);
        expect(gateway.match(link).platform, link).to.equal(key);
      }
      expect(new Set(linkForms).size, key).to.equal(linkForms.length);
    }
  });

  it('return the item of the plain link in any surrounding text', () => {
    const plain = Object.values(ACCEPTED).flatMap((kinds) =>
      Object.values(kinds).flatMap((links) => Object.keys(links)),
    );
    const around = (before: string, after: string) => (link: string) => `${before}${link}${after}`;
    const matched = (text: string) => {
      try {
        return gateway.match(text).link;
      } catch (error) {
        return String(error);
      }
    };
    const https = (link: string) => link.replace(/^http:/i, 'https:');
    // In the order in which they may be combined.
    const forms: readonly ((link: string) => string)[] = [
      (link) => link.replace(/^(https?:\/\/)[^/]+/, (origin) => origin.toUpperCase()),
      (link) => redirect(https(link)),
      (link) => `https://www.google.com/url?url=${enc(https(link))}&usg=x`,
      enc,
      (link) => link.replaceAll('&', '&amp;'),
      (link) => link.replace(/^https?:\/\//, ''),
      (link) => link.replace(/^https?:/, ''),
      (link) => `${link.slice(0, 12)}\r\n${link.slice(12)}`,
      around('', '%20'),
      around('[a title](', ')'),
      around('<', '>'),
      around('\u200b', '\u200e'),
      around('"', '",'),
      around('(', ').'),
      around(' \n', '\t'),
    ];
    const isPlain = (link: string) => /^https?:\/\/[!-~]+$/.test(link) && !/[?&](?:u|continue|next|q)=/.test(link);
    fc.assert(
      fc.property(fc.constantFrom(...plain.filter(isPlain)), fc.subarray([...forms]), (link, wraps) => {
        const text = wraps.reduce((inner, wrap) => wrap(inner), link);
        fc.pre(text.length <= 2048);
        expect(matched(text), text).to.deep.equal(gateway.match(link).link);
      }),
      { numRuns: 1_000 },
    );
  });
});
