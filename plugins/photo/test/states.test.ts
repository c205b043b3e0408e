/** Missing, private and partial posts of the photo network. */

import { expect } from 'chai';
import { GatewayError } from 'mediagate/plugin';
import { readEmbedMarkup } from '../read/embed.js';
import { CODE, extract, MEDIA_ID, type Replies, SITE, setUpSite } from './extract.js';

async function codeOf(ways: Replies, code?: string): Promise<string> {
  const error = await extract(ways, code).catch((reason: unknown) => reason);
  return error instanceof GatewayError ? error.code : 'found';
}

describe('photo: unavailable posts', () => {
  const words = (title: string, description: string) => ({ title, description, status: 'fail' });
  const states: [what: string, code: string, ways: Replies][] = [
    ['a page that is not there, and nobody who says why', 'removed', { page: { status: 404 } }],
    [
      'a page that says so',
      'removed',
      { page: { body: '<html><h2>Sorry, this page isn&#39;t available.</h2></html>' } },
    ],
    ['a page that is titled so', 'removed', { page: { body: "<title>Post isn't available • Instagram</title>" } }],
    [
      'a page that is not there, and a reason',
      'geo_blocked',
      { page: { status: 404 }, ruling: { body: words('Unavailable', 'Not available in your country') } },
    ],
    [
      'a reason given with a refusal',
      'age_restricted',
      { ruling: { status: 400, body: words('Restricted Photo', 'You must be 18 years old or over') } },
    ],
    ['a form to log in, everywhere', 'upstream_refused', {}],
    [
      'a closed gate, in the reply of a query',
      'private',
      { query: { body: { data: { xig_polaris_media: { if_gated_logged_out: {} } } } } },
    ],
    [
      'a closed gate, in the page',
      'private',
      { page: { body: '<html><script>{"data":{"xig_polaris_media":{"if_gated_logged_out":{}}}}</script></html>' } },
    ],
    [
      'no such media, in the reply of the API, and the page the same',
      'removed',
      {
        page: { status: 404 },
        info: { status: 400, body: { message: 'Media not found or unavailable', status: 'fail' } },
      },
    ],
  ];
  for (const [what, code, ways] of states) {
    it(`are distinguished: ${what}`, async () => expect(await codeOf(ways)).to.equal(code));
  }

  it('are private if their link has a key and leads to the login form', async () => {
    expect(await codeOf({}, `${CODE}aBcDeFgHiJkLmNoPqRsTuVwXyZ01`)).to.equal('private');
  });
});

describe('photo: replies that do not mean removal', () => {
  const NULL_QUERY = { body: { data: { xdt_shortcode_media: null } } };
  const BROKEN_EMBED = { body: '<html><div class="EmbedIsBroken"><div class="ebmMessage">Broken</div></div></html>' };
  const pages: Readonly<Record<string, Replies['page']>> = {
    'a login page': undefined,
    'an empty shell': { body: '<html><head><title>Instagram</title></head><body></body></html>' },
    'a page without tags': { body: '<html></html>' },
  };
  const embeds: Readonly<Record<string, Replies['embed']>> = {
    'a broken embed': BROKEN_EMBED,
    'a login page': undefined,
    'an embed of media that is blocked': { body: '<html><div class="EmbedBrokenMedia"></div></html>' },
    'no such page': { status: 404 },
  };
  const queries: Readonly<Record<string, Replies['query']>> = {
    'a null': NULL_QUERY,
    'an empty list': { body: { data: { xdt_api__v1__media__shortcode__web_info: { items: [] } } } },
    'a login page': undefined,
  };
  for (const [shown, page] of Object.entries(pages)) {
    for (const [embedded, embed] of Object.entries(embeds)) {
      for (const [answered, query] of Object.entries(queries)) {
        it(`are ${shown}, ${embedded} as embed and ${answered} of a query`, async () => {
          const replies = { ...(page && { page }), ...(embed && { embed }), ...(query && { query }) };
          expect(await codeOf(replies)).to.equal('upstream_refused');
        });
      }
    }
  }

  it('mean removal after the query has shown a post', async () => {
    const media = {
      pk: MEDIA_ID,
      code: CODE,
      user: { username: 'a.name' },
      caption: { text: 'A' },
      like_count: 4,
      taken_at: 1,
    };
    let query: Replies['query'] = { body: { data: { xdt_shortcode_media: media } } };
    const site = await setUpSite(() => ({ query: query ?? {} }));
    const codeNow = () =>
      site.extract().then(
        () => 'found',
        ({ code }: GatewayError) => code,
      );
    expect(await codeNow()).to.equal('found');
    query = NULL_QUERY;
    expect(await codeNow()).to.equal('removed');
  });

  it('do not count against a missing page', async () => {
    const gone = { page: { status: 404 }, embed: BROKEN_EMBED, query: NULL_QUERY };
    expect(await codeOf(gone)).to.equal('removed');
  });

  it('come from the query that the site uses in 2026', async () => {
    const site = await setUpSite({ query: NULL_QUERY });
    await site.extract().catch(() => {});
    const sent = site.requests.map(({ body }) => new URLSearchParams(String(body ?? '')));
    const query = sent.find((form) => form.get('doc_id') === '27128499623469141');
    expect(JSON.parse(query?.get('variables') ?? '')).to.deep.equal({
      shortcode: CODE,
      __relay_internal__pv__PolarisAIGMMediaWebLabelEnabledrelayprovider: false,
    });
  });
});

describe('photo: partial posts', () => {
  it('are returned without their author', async () => {
    const media = { pk: MEDIA_ID, code: CODE, caption: { text: 'A quiet text' }, like_count: 41, taken_at: 1777876200 };
    const { data } = await extract({ query: { body: { data: { xig_polaris_media: media } } } });
    expect('common' in data && data.common).to.include({ caption: 'A quiet text' });
    expect('metrics' in data && data.metrics.likes).to.equal(41);
  });

  it('are read in the form that pages had until 2017', async () => {
    const counts = { likes: { count: 12 }, comments: { count: 3 }, video_views: 321 };
    const owner = { id: '77', username: 'early.bird', full_name: 'Early Bird' };
    const files = { display_src: 'https://a.example/e.jpg', video_url: 'https://a.example/e.mp4', is_video: true };
    const media = { id: MEDIA_ID, code: CODE, date: 1446000000, caption: 'An early text', owner, ...counts, ...files };
    const data = JSON.stringify({ entry_data: { PostPage: [{ media }] } });
    const found = await extract({ page: { body: `<html><script>window._sharedData = ${data};</script></html>` } });
    expect(found.data).to.deep.include({
      metrics: { views: 321, likes: 12, comments: 3 },
      media: {
        image_urls: [files.display_src],
        video_urls: [files.video_url],
        entries: 'media' in found.data ? found.data.media.entries : [],
      },
    });
    expect('common' in found.data && found.data.common).to.include({
      caption: 'An early text',
      published_at: '2015-10-28T02:40:00Z',
    });
  });
});

describe('photo: names in the titles of pages', () => {
  const tags = (heading: string, line = 'some.user on May 1, 2026: "x".') => `<html><head>
    <meta property="og:title" content='${heading.replaceAll("'", '&#39;')}' />
    <meta property="og:description" content='${line}' /><meta property="og:image" content="https://a.example/x.jpg" />
    <meta property="og:url" content="${SITE}/p/${CODE}/" /></head></html>`;
  const common = async (heading: string, line?: string) => {
    const { data } = await extract({ page: { body: tags(heading, line) } });
    return 'common' in data ? data.common : {};
  };

  it('follow the word order of the language', async () => {
    for (const heading of [
      'Some Name on Instagram: "x"',
      'Some Name Instagram\'da: "x"',
      'Some Name na Instagramie: „x”',
      'Some NameのInstagram: 「x」',
      'Instagram 上的 Some Name：“x”',
      'Instagram의 Some Name님 : "x"',
      'Instagram-এ Some Name: "x"',
      'Instagram photo by Some Name • May 1, 2019 at 3:04pm UTC',
    ]) {
      expect((await common(heading)).author?.name, heading).to.equal('Some Name');
    }
  });

  it('include the minute of the post until 2019', async () => {
    const line = 'See this Instagram photo by @some.user • 1,234 likes';
    const at = async (time: string) =>
      (await common(`Instagram photo by Some Name • May 1, 2018 at ${time} UTC`, line)).published_at;
    expect(await at('3:04pm')).to.equal('2018-05-01T15:04:00Z');
    expect(await at('12:30am')).to.equal('2018-05-01T00:30:00Z');
  });
});

describe('photo: embeds of posts by several', () => {
  it('have the image of the author who is named first', () => {
    const link = (name: string) =>
      `<a class="CollabAvatar" href="${SITE}/${name}/?x=1"><img src="https://a.example/${name}.jpg" /></a>`;
    const html = `<div class="Embed" data-media-type="GraphImage" data-media-id="${MEDIA_ID}" data-owner-id="77">
      <div class="Header">${link('other.one')}${link('first.one')}<span class="UsernameText">first.one</span></div>
      <div class="Content EmbedFrame"><img class="EmbeddedMediaImage" src="https://a.example/p.jpg" /></div></div>`;
    const reading = readEmbedMarkup(html, { shortcode: CODE, mediaId: MEDIA_ID });
    expect(reading?.post.common?.author).to.include({
      username: 'first.one',
      avatar: 'https://a.example/first.one.jpg',
    });
  });
});
