/** Counters of the photo network in every page layout. */

import { expect } from 'chai';
import { CODE, extract, MEDIA_ID, type Replies, SITE } from './extract.js';

/** What a post's node says of its counters, in the names of the two forms. */
type Node = Readonly<Record<string, unknown>>;

const image = 'https://a.example/cover.jpg';
const video = 'https://a.example/reel.mp4';

const script = (type: string, value: unknown) => `<script type="${type}">${JSON.stringify(value)}</script>`;
const page = (body: string): Replies => ({ page: { body: `<html>${body}</html>` } });

function restReel(counters: Node) {
  const { user, files } = {
    user: { pk: '58000000031', username: 'invented.name' },
    files: { video_versions: [{ url: video }], image_versions2: { candidates: [{ url: image }] } },
  };
  return {
    pk: MEDIA_ID,
    code: CODE,
    media_type: 2,
    product_type: 'clips',
    taken_at: 1777876200,
    user,
    ...files,
    ...counters,
  };
}

function graphqlReel(counters: Node) {
  const owner = { id: '58000000031', username: 'invented.name' };
  const files = { is_video: true, video_url: video, display_url: image };
  return { id: MEDIA_ID, shortcode: CODE, taken_at_timestamp: 1777876200, owner, ...files, ...counters };
}

/** The layouts that hold a post as data, each with the form of its node. */
const LAYOUTS = {
  'a page of 2026': (node) =>
    page(
      script('application/json', {
        xig_polaris_media: { pk: MEDIA_ID, code: CODE, if_not_gated_logged_out: restReel(node) },
      }),
    ),
  'a page of 2025': (node) =>
    page(script('application/json', { xdt_api__v1__media__shortcode__web_info: { items: [restReel(node)] } })),
  'a reply of the API': (node) => ({ info: { body: { items: [restReel(node)] } } }),
  'a page of 2019': (node) =>
    page(
      `<script>window._sharedData = ${JSON.stringify({ graphql: { shortcode_media: graphqlReel(node) } })};</script>`,
    ),
  'a reply of a query': (node) => ({ query: { body: { data: { xdt_shortcode_media: graphqlReel(node) } } } }),
  'the data of an embed': (node) => {
    const context = JSON.stringify({ gql_data: { shortcode_media: graphqlReel(node) } });
    return { embed: { body: `<html><script>{"contextJSON":${JSON.stringify(context)}}</script></html>` } };
  },
} satisfies Record<string, (node: Node) => Replies>;

async function countersOf(replies: Replies) {
  const { data, limitations } = await extract(replies);
  if (!('metrics' in data)) throw new Error('the document is not that of a post');
  const { views, plays, likes, comments } = data.metrics;
  const hidden = Object.entries(data.provenance?.precision ?? {}).flatMap(([name, how]) =>
    how === 'hidden' ? name : [],
  );
  return { views, plays, likes, comments, hidden, limitations };
}

const rest = (likes: unknown, comments: unknown, views: Node): Node => ({
  like_count: likes,
  comment_count: comments,
  ...views,
});
const graphql = (likes: unknown, comments: unknown, views: Node): Node => ({
  edge_media_preview_like: { count: likes },
  edge_media_to_parent_comment: { count: comments },
  ...views,
});
const disabled = { like_and_view_counts_disabled: true };

/** Each case in both forms, and what the document has to say. */
const CASES: readonly [what: string, rest: Node, graphql: Node, wanted: object][] = [
  [
    'all that are shown',
    rest(522, 52, { view_count: null, play_count: 8000, ig_play_count: 7000 }),
    graphql(522, 52, { video_view_count: 3000, video_play_count: 8000 }),
    { views: 8000, plays: 8000, likes: 522, comments: 52, hidden: [] },
  ],
  [
    'views without plays',
    rest(522, 0, { view_count: 3000 }),
    graphql(522, 0, { video_view_count: 3000 }),
    { views: 3000, plays: undefined, likes: 522, comments: 0, hidden: [] },
  ],
  [
    'plays with a 0 in the place of the views',
    rest(522, 52, { view_count: 0, play_count: 8000 }),
    graphql(522, 52, { video_view_count: 0, video_play_count: 8000 }),
    { views: 8000, plays: 8000, likes: 522, hidden: [] },
  ],
  [
    'a 0 in the place of the views',
    rest(522, 52, { view_count: 0 }),
    graphql(522, 52, { video_view_count: 0 }),
    { views: undefined, likes: 522, comments: 52, hidden: ['views'] },
  ],
  [
    'a 0 in the place of views and plays',
    rest(0, 0, { view_count: 0, play_count: 0 }),
    graphql(0, 0, { video_view_count: 0, video_play_count: 0 }),
    { views: undefined, plays: undefined, likes: 0, comments: 0, hidden: ['views', 'plays'] },
  ],
  [
    'no counts of likes and views',
    rest(3, 52, { ...disabled, view_count: 0, play_count: null }),
    graphql(0, 52, { ...disabled, video_view_count: 0 }),
    { views: undefined, likes: undefined, comments: 52, hidden: ['views', 'likes'] },
  ],
  [
    'a count of plays beside hidden likes',
    rest(-1, 52, { ...disabled, play_count: 8000 }),
    graphql(-1, 52, { ...disabled, video_play_count: 8000 }),
    { views: 8000, plays: 8000, likes: undefined, comments: 52, hidden: ['likes'] },
  ],
  [
    'a -1 in the place of all',
    rest(-1, -1, { play_count: -1 }),
    graphql(-1, -1, { video_play_count: -1 }),
    { views: undefined, plays: undefined, likes: undefined, hidden: ['views', 'likes', 'comments', 'plays'] },
  ],
];

describe('photo: counters of a reel', () => {
  for (const [layout, replies] of Object.entries(LAYOUTS)) {
    const isRest = ['a page of 2026', 'a page of 2025', 'a reply of the API'].includes(layout);
    for (const [what, restNode, graphqlNode, wanted] of CASES) {
      it(`are those of ${layout}: ${what}`, async () => {
        expect(await countersOf(replies(isRest ? restNode : graphqlNode))).to.deep.include(wanted);
      });
    }
  }

  it('exclude plays of another network', async () => {
    const counters = rest(522, 52, { view_count: null, play_count: null, ig_play_count: null, fb_play_count: 14375 });
    const wanted = { views: undefined, plays: undefined, hidden: [] };
    expect(await countersOf(LAYOUTS['a page of 2026'](counters))).to.deep.include(wanted);
  });

  it('are hidden according to the limitations', async () => {
    const { limitations } = await countersOf(LAYOUTS['a page of 2026'](rest(522, 52, { view_count: 0 })));
    expect(limitations).to.deep.equal(['stats_hidden: views']);
  });
});

describe('photo: counters of a page without data', () => {
  const about = `<meta property="og:url" content="${SITE}/reel/${CODE}/" /><meta property="og:image" content="${image}" />
    <meta property="og:title" content="Some Name on Instagram: &quot;x&quot;" />`;
  const tags = (line: string) =>
    countersOf(page(`<head>${about}<meta property="og:description" content='${line}' /></head>`));

  it('come from the line for link previews', async () => {
    const shown = await tags('12.4K likes, 215 comments - some.user on May 1, 2026: "x". ');
    expect(shown).to.deep.include({ likes: 12_400, comments: 215, views: undefined, hidden: [] });
  });

  it('have no likes if the line has only comments', async () => {
    const hidden = await tags('215 comments - some.user on May 1, 2026: "x". ');
    expect(hidden).to.deep.include({ likes: undefined, comments: 215, hidden: ['likes'] });
  });

  it('come from the linked data of older pages', async () => {
    const linked = (views: number) =>
      countersOf(
        page(
          script('application/ld+json', {
            '@type': 'VideoObject',
            identifier: { value: CODE },
            author: { identifier: { value: 'some.user' } },
            caption: 'x',
            contentUrl: video,
            commentCount: '52',
            interactionStatistic: [
              { interactionType: 'http://schema.org/LikeAction', userInteractionCount: 522 },
              { interactionType: { '@type': 'WatchAction' }, userInteractionCount: views },
            ],
          }),
        ),
      );
    expect(await linked(8000)).to.deep.include({ likes: 522, comments: 52, views: 8000, hidden: [] });
    expect(await linked(0)).to.deep.include({ likes: 522, comments: 52, views: undefined, hidden: ['views'] });
  });

  it('come from the markup of an embed', async () => {
    const body = `<div class="Embed" data-media-id="${MEDIA_ID}"><span class="UsernameText">some.user</span>
      <img class="EmbeddedMediaImage" src="${image}" /><div class="SocialProof"><a>4,737 likes</a></div>
      <div class="Caption">x<div class="CaptionComments"><a class="CaptionCommentsExpand">View all 30 comments</a></div></div></div>`;
    expect(await countersOf({ embed: { body } })).to.deep.include({ likes: 4737, comments: 30, hidden: [] });
  });
});
