/** Pages of the social network that are not the requested item. */

import { expect } from 'chai';
import { GatewayError, matchedLink } from 'mediagate/plugin';
import { createFakeHttp, extractorOf, setUpPlugin } from 'mediagate/testing';
import social from '../index.js';
import { matchItem } from '../links.js';
import { readPage } from '../read/page.js';
import siteConfig from '../site-config.json' with { type: 'json' };

const ADDRESS = 'https://www.facebook.com/someone/posts/4410000000000731';

function outcomeOf(head: string, body = '') {
  const link = matchedLink(matchItem(new URL(ADDRESS)));
  if (!link) throw new Error('the link does not match');
  const html = `<!DOCTYPE html><html id="facebook"><head>${head}</head><body>${body}</body></html>`;
  const outcome = readPage({ status: 200, url: new URL(ADDRESS), html }, link, siteConfig);
  return outcome.kind === 'found' ? outcome.kind : outcome.code;
}

describe('social pages that are not the item', () => {
  const own = `<meta property="og:url" content="${ADDRESS}" /><link rel="canonical" href="${ADDRESS}" />`;
  const tag = (name: string, text: string) => `<meta property="${name}" content="${text}" />`;
  const pages: [what: string, outcome: string, head: string, body?: string][] = [
    ['a login page under the address of the item', 'login_required', `<title>Log in or sign up to view</title>${own}`],
    [
      'what the site says of itself in place of the text',
      'login_required',
      `<title>Facebook</title>${own}${tag('og:title', 'Someone')}${tag('og:description', 'See posts, photos and more on Facebook.')}`,
    ],
    [
      'a form to log in, and nothing else',
      'login_required',
      '<title>Facebook</title>',
      '<form id="login_form"></form>',
    ],
    [
      'a script that leads to the form to log in',
      'login_required',
      '<title>Redirecting...</title>',
      '<script>window.location.replace("https:\\/\\/www.facebook.com\\/login\\/?next=x")</script>',
    ],
    ['a block in words', 'upstream_rate_limited', '<title>Facebook</title>', 'You’re Temporarily Blocked'],
    ['a consent form', 'upstream_refused', '<title>Facebook</title>', '<form action="/cookie/consent/">'],
    ['an error screen without a route', 'bot_check', '', '<script>{"__dr":"CometErrorRoot.react"}</script>'],
    [
      'a notice without a route',
      'unavailable',
      '',
      `<script>{"props":{"title":"This content isn't available right now","body":"x"}}</script>`,
    ],
  ];
  for (const [what, outcome, head, body] of pages) {
    it(`are distinguished: ${what}`, () => expect(outcomeOf(head, body)).to.equal(outcome));
  }

  it('are not assumed if the item only mentions such things', () => {
    const head = `<title>Someone - Log into Facebook, they said. You must log in to continue, they said.</title>${own}`;
    const text = 'Log into Facebook, they said. You must log in to continue, they said.';
    const form = '<form id="login_form"></form><a href="/cookie/consent/">Temporarily Blocked</a>';
    expect(outcomeOf(`${head}${tag('og:title', 'Someone')}${tag('og:description', text)}`, form)).to.equal('found');
  });
});

describe('social share links that are answered with a page', () => {
  const site = 'https://www.facebook.com';
  const story = Buffer.from('S:_I100009000000731:4410000000000731:4410000000000731').toString('base64');
  const route = { rootView: { resource: { __dr: 'CometSinglePostDialogRoot.react' }, props: { storyID: story } } };
  const pages: [what: string, end: string, html: string][] = [
    ['a script', ADDRESS, `<script>location.href = "${ADDRESS.replaceAll('/', '\\/')}";</script>`],
    ['a refresh', ADDRESS, `<meta http-equiv="refresh" content="0;url=${ADDRESS}" />`],
    ['a route', `${site}/100009000000731/posts/4410000000000731`, `<script>${JSON.stringify(route)}</script>`],
    ['a form to log in', 'login_required', '<html><form id="login_form"></form></html>'],
    ['nothing', 'upstream_changed', '<html><body></body></html>'],
  ];
  for (const [what, end, body] of pages) {
    it(`lead on by ${what}`, async () => {
      const extractor = extractorOf(await setUpPlugin({ plugin: social, http: createFakeHttp([{ body }]) }));
      const link = matchedLink(extractor.match(new URL(`${site}/share/p/1AbCdEfGhI/`)));
      if (!link || !extractor.resolve) throw new Error('no share link');
      const resolved = await extractor.resolve({ link, signal: new AbortController().signal }).catch((e: unknown) => e);
      expect(resolved instanceof GatewayError ? resolved.code : String(resolved)).to.equal(end);
    });
  }
});
