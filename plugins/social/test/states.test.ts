import { expect } from 'chai';
import { resolveFacts } from '../facts.js';
import { matchItem } from '../links.js';
import { readPage } from '../page.js';

const ADDRESS = 'https://www.facebook.com/someone/posts/4410000000000731';
const facts = resolveFacts();

function outcomeOf(head: string, body = '') {
  const link = matchItem(new URL(ADDRESS));
  if (!link) throw new Error('the link does not match');
  const html = `<!DOCTYPE html><html id="facebook"><head>${head}</head><body>${body}</body></html>`;
  const outcome = readPage({ status: 200, url: new URL(ADDRESS), html }, link, facts);
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
    it(`are told apart: ${what}`, () => expect(outcomeOf(head, body)).to.equal(outcome));
  }

  it('are not thought to be where the item only speaks of such things', () => {
    const head = `<title>Someone - Log into Facebook, they said. You must log in to continue, they said.</title>${own}`;
    const text = 'Log into Facebook, they said. You must log in to continue, they said.';
    const form = '<form id="login_form"></form><a href="/cookie/consent/">Temporarily Blocked</a>';
    expect(outcomeOf(`${head}${tag('og:title', 'Someone')}${tag('og:description', text)}`, form)).to.equal('found');
  });
});
