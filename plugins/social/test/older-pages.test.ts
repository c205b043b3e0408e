/** Older pages, aliases, embeds and query results of the social network. */

import { expect } from 'chai';
import { matchedLink } from 'mediagate/plugin';
import { matchItem } from '../links.js';
import { parsePlugin } from '../read/embed.js';
import { parsePublishTime } from '../read/older/pages.js';
import { readPage } from '../read/page.js';
import siteConfig from '../site-config.json' with { type: 'json' };

const SITE = 'https://www.facebook.com';
const ID = '4410000000000731';
const alias = (letter: string) => `pfbid0${letter.repeat(24)}`;

function read(address: string, html: string, answeredAt = address) {
  const link = matchedLink(matchItem(new URL(address)));
  if (!link) throw new Error('the link does not match');
  return readPage({ status: 200, url: new URL(answeredAt), html }, link, siteConfig);
}

function page({ address, body = '', data }: { address: string; body?: string; data?: object }): string {
  const call = ['RelayPrefetchedStreamCache', 'next', [], ['adp_X', { __bbox: { result: { data } } }]];
  const script = data ? `<script type="application/json" data-sjs>${JSON.stringify({ require: [call] })}</script>` : '';
  return `<html><head><link rel="canonical" href="${address}" /><meta property="og:title" content="Some One" />
    <meta property="og:description" content="A text." /></head><body>${body}${script}</body></html>`;
}

describe('social posts under an alias', () => {
  const address = `${SITE}/someone/posts/a-text/${ID}/`;

  it('are identified by the return address of the login', () => {
    const next = `${SITE}/someone/posts/${alias('a')}`;
    for (const body of [
      `<form><input type="hidden" value="${next}" name="next" /></form>`,
      `<a href="/login/?privacy=1&amp;next=${encodeURIComponent(next)}">Log in</a>`,
    ]) {
      const outcome = read(next, page({ address, body }));
      expect(outcome.kind === 'found' && outcome.found.at(-1)?.ids?.post_id).to.equal(ID);
    }
  });

  it('exclude posts that a page merely links to', () => {
    const body = `<a href="/someone/posts/${alias('a')}">another</a>`;
    expect(read(`${SITE}/someone/posts/${alias('a')}`, page({ address, body }))).to.include({
      code: 'upstream_refused',
    });
  });

  it('are identified by their number in the page for embedding', () => {
    const html = `<a href="/someone/posts/${ID}?ref=embed_post"><abbr data-utime="1778081177"></abbr></a>
      <div data-testid="post_message"><p>A text</p></div>`;
    expect(parsePlugin(html, alias('a'))?.ids).to.deep.equal({ post_id: ID });
    expect(parsePlugin(html, '4410000000000999')).to.equal(undefined);
  });
});

describe('social posts that are shown at another address', () => {
  it('are the video or photo that the site redirected to', () => {
    const video = '730000000000417';
    const html = page({ address: `${SITE}/someone/videos/${video}/` });
    const outcome = read(`${SITE}/someone/posts/${ID}`, html, `${SITE}/someone/videos/${video}/`);
    expect(outcome.kind === 'found' && outcome.found[0]?.common?.caption).to.equal('A text.');
    expect(read(`${SITE}/someone/posts/${ID}`, html)).to.include({ code: 'upstream_refused' });
  });
});

describe('social query results', () => {
  const story = Buffer.from(`S:_I100009000000731:${ID}:${ID}`).toString('base64');
  const feedback = Buffer.from(`feedback:${ID}`).toString('base64');
  const inner = {
    feedback: { comment_rendering_instance: { comments: { total_count: 87 } }, share_count: { count: 3 } },
  };
  const foreign = { feedback: { id: 'x', share_count: { count: 99 }, i18n_reaction_count: '4K' } };
  const renderers = { comet_ufi_summary_and_actions_renderer: inner, adaptive_ufi_action_renderers: [foreign, inner] };
  const counters = { id: feedback, reaction_count: { count: 41 }, ...renderers };
  const node = { __typename: 'Story', id: story, message: { text: 'A text.' }, feedback: counters };

  it('name a post by the number in its id if the page is about that post', () => {
    const address = `${SITE}/someone/posts/${ID}`;
    const outcome = read(address, page({ address, data: { node } }));
    expect(outcome.kind === 'found' && outcome.found[0]?.metrics).to.include({ likes: 41, comments: 87, shares: 3 });
    const elsewhere = read(address, page({ address: `${SITE}/someone/posts/4410000000000999`, data: { node } }));
    expect(elsewhere).to.include({ code: 'upstream_refused' });
  });
});

describe('social texts in the markup of a page', () => {
  const address = `${SITE}/someone/posts/${ID}`;
  const head = `<link rel="canonical" href="${address}" /><meta property="og:title" content="Some One" />
    <meta property="og:description" content="The planks are down and..." />`;
  const caption = (message: string) => {
    const body = `<div data-testid="post_message" class="_5pbx userContent">${message}</div>`;
    const outcome = read(address, `<html><head>${head}</head><body>${body}</body></html>`);
    return outcome.kind === 'found' ? outcome.found[0]?.common?.caption : outcome.code;
  };

  it('are complete if the tags cut them', () => {
    const message = '<p>The planks are down and</p> <p> the rails go up.</p>';
    expect(caption(message)).to.equal('The planks are down and\n\nthe rails go up.');
  });

  it('count only if they continue the tags', () => {
    expect(caption('<p>Something else altogether.</p>')).to.equal('The planks are down and...');
  });
});

describe('social times', () => {
  it('are beside the number of the post in the statistics data', () => {
    const context = (time: number, id: string) =>
      JSON.stringify({ post_context: { publish_time: time, story_name: 'EntStory', story_fbid: [id] } });
    const text = `${context(1771412345, '4410000000000999')}${context(1771400000, ID)}`;
    expect(parsePublishTime(`<div data-ft='${text.replaceAll('"', '&quot;')}'>`, ID)).to.equal('2026-02-18T07:33:20Z');
    expect(parsePublishTime(`<script>${JSON.stringify(text)}</script>`, ID)).to.equal('2026-02-18T07:33:20Z');
    expect(parsePublishTime(text, '4410000000000')).to.equal(undefined);
  });

  it('are in the link of the post, and not in those of its comments', () => {
    const link = (query: string, time: number) =>
      `<a class="x" href="/someone/posts/${ID}?${query}"><abbr title="then" data-utime="${time}">then</abbr></a>`;
    const html = `${link('comment_id=1', 1771499999)}${link('__tn__=-R', 1771400000)}`;
    expect(parsePublishTime(html, ID)).to.equal('2026-02-18T07:33:20Z');
  });
});

describe('social pages for embedding', () => {
  const frame = (message: string, body = '') =>
    `<a href="/someone/posts/${ID}?ref=embed_post"><abbr data-utime="1778081177"></abbr></a>
     <span class="_2_79 _50f7">Some One</span><span aria-label="Verified profile"></span>
     <div class="_5pbx userContent">${message}</div>${body}`;

  it('contain the whole of a folded text', () => {
    const folded = `<p>One<span class="text_exposed_hide">...</span><span class="text_exposed_show"> and two</span></p>
      <span class="text_exposed_link"><a class="see_more_link" href="#"><span>See more</span></a></span>`;
    const post = parsePlugin(frame(folded), ID);
    expect(post?.common?.caption).to.equal('One and two');
    expect(post?.common?.author).to.include({ name: 'Some One', username: 'someone', verified: true });
  });

  it('contain the file of a post that is a video', () => {
    const data = '{"video_id":"730000000000417","sd_src":"https:\\/\\/video.invented.fbcdn.net\\/v.mp4?oe=6A2F0000"}';
    expect(parsePlugin(frame('A text', `<script>${data}</script>`), ID)?.media?.video_urls).to.have.length(1);
  });
});
