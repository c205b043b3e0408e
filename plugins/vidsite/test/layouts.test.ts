/** Phone pages and the sentiment panel of the video site. */

import { expect } from 'chai';
import type { PartialPost } from 'mediagate/plugin';
import { siteConfigOf } from '../fetch.js';
import { parseNext } from '../read/next.js';
import { readWatchPage } from '../read/watch-page.js';

const ID = 'Ph0neTugs26';
const runs = (...texts: string[]) => ({ runs: texts.map((part) => ({ text: part })) });
const spoken = (label: string) => ({ accessibility: { accessibilityData: { label } } });

const likeModel = (accessibilityText: string, title: string) => ({
  segmentedLikeDislikeButtonViewModel: {
    likeButtonViewModel: {
      likeButtonViewModel: {
        toggleButtonViewModel: {
          toggleButtonViewModel: { defaultButtonViewModel: { buttonViewModel: { title, accessibilityText } } },
        },
      },
    },
  },
});

const likeToggle = (label: string, shown: string) => ({
  slimMetadataToggleButtonRenderer: {
    isLike: true,
    target: { videoId: ID },
    button: { toggleButtonRenderer: { defaultText: { ...runs(shown), ...spoken(label) } } },
  },
});
const dislikeToggle = {
  slimMetadataToggleButtonRenderer: {
    isDislike: true,
    target: { videoId: ID },
    button: { toggleButtonRenderer: { defaultText: { ...runs('791'), ...spoken('791 dislikes') } } },
  },
};

const owner = {
  slimOwnerRenderer: {
    title: runs('Harbour Notes'),
    navigationEndpoint: {
      browseEndpoint: { browseId: 'UCharbourNotes0000000001', canonicalBaseUrl: '/@HarbourNotes' },
    },
    expandedSubtitle: runs('1.27M subscribers'),
  },
};

/** The reply about a page in the phone layout. */
function phone(contents: readonly object[], more: object = {}) {
  return {
    currentVideoEndpoint: { watchEndpoint: { videoId: ID } },
    contents: { singleColumnWatchNextResults: { results: { results: { contents } } } },
    ...more,
  };
}

/** The layout since 2020: a section with one renderer for each row. */
function section(buttons: readonly object[], bar = 'slimVideoActionBarRenderer') {
  return {
    slimVideoMetadataSectionRenderer: {
      videoId: ID,
      contents: [
        {
          slimVideoInformationRenderer: {
            title: runs('A morning on the Ostend tugs'),
            collapsedSubtitle: runs('1.2M views · 7 months ago'),
            expandedSubtitle: runs('1,204,377 views'),
          },
        },
        owner,
        { [bar]: { buttons } },
        {
          slimVideoDescriptionRenderer: { description: runs('With the tug crew.'), publishDate: runs('Apr 18, 2026') },
        },
      ],
    },
  };
}

const entryPoint = (more: object) => ({
  itemSectionRenderer: { contents: [{ commentsEntryPointHeaderRenderer: more }] },
});

const carousel = (subtitle: unknown, itemType = 'CAROUSEL_ITEM_TYPE_COMMENTS') => ({
  itemSectionRenderer: {
    contents: [
      {
        videoMetadataCarouselViewModel: {
          carouselTitles: [
            { carouselTitleViewModel: { title: 'Info', subtitle: '9' } },
            { carouselTitleViewModel: { title: 'Comments', subtitle } },
          ],
          carouselItems: [
            { carouselItemViewModel: { itemType: 'CAROUSEL_ITEM_TYPE_INFO' } },
            { carouselItemViewModel: { itemType } },
          ],
        },
      },
    ],
  },
});

/** The layout until 2020: one renderer for everything, and the comments below it. */
const old = phone([
  {
    itemSectionRenderer: {
      contents: [
        {
          slimVideoMetadataRenderer: {
            videoId: ID,
            title: runs('A morning on the Ostend tugs'),
            expandedSubtitle: runs('1,204,377 views'),
            dateText: runs('Published on Apr 18, 2020'),
            description: runs('With the tug crew.'),
            buttons: [dislikeToggle, likeToggle('48,213 likes', '48K')],
            owner,
          },
        },
      ],
    },
  },
  { commentSectionRenderer: { header: { commentSectionHeaderRenderer: { countText: runs('Comments', ' 2,104') } } } },
]);

const fact = (value: string) => ({ factoidRenderer: { value: runs(value) } });

function descriptionPanel(factoid: readonly object[]) {
  const header = { title: runs('Tugs'), channel: runs('Harbour Notes'), views: runs('1,204,377 views'), factoid };
  return {
    engagementPanelSectionListRenderer: {
      panelIdentifier: 'video-description-ep-identifier',
      content: { structuredDescriptionContentRenderer: { items: [{ videoDescriptionHeaderRenderer: header }] } },
    },
  };
}

const countersOf = ({ metrics }: PartialPost) => ({
  views: metrics?.views,
  likes: metrics?.likes,
  comments: metrics?.comments,
});

describe('vidsite: pages in the phone layout', () => {
  const shown = { views: 1_204_377, likes: 48_213 };
  const layouts: Readonly<Record<string, readonly [next: object, counters: object]>> = {
    'with buttons of 2023 and later': [
      phone([
        section([
          { slimMetadataButtonRenderer: { button: likeModel('like this video along with 48,213 others', '48K') } },
        ]),
        entryPoint({ headerText: runs('Comments'), commentCount: runs('2,104') }),
      ]),
      { ...shown, comments: 2_104 },
    ],
    'with a toggle in one button': [
      phone([
        section([
          {
            slimMetadataButtonRenderer: {
              button: {
                segmentedLikeDislikeButtonRenderer: {
                  likeButton: { toggleButtonRenderer: { defaultText: { ...runs('48K'), ...spoken('48,213 likes') } } },
                },
              },
            },
          },
        ]),
        entryPoint({ headerText: runs('Comments', ' ', '2.1K') }),
      ]),
      { ...shown, comments: 2_100 },
    ],
    'with a toggle for each': [
      phone([section([dislikeToggle, likeToggle('48,213 likes', '48K')], 'slimVideoScrollableActionBarRenderer')]),
      { ...shown, comments: undefined },
    ],
    'with a carousel of comments': [
      phone([section([likeToggle('48,213 likes', '48K')]), carousel('2,104')]),
      { ...shown, comments: 2_104 },
    ],
    'with a carousel of something else': [
      phone([section([likeToggle('48,213 likes', '48K')]), carousel('2,104', 'CAROUSEL_ITEM_TYPE_CHAT')]),
      { ...shown, comments: undefined },
    ],
    'of 2019': [old, { ...shown, comments: 2_104 }],
  };
  for (const [name, [next, counters]] of Object.entries(layouts)) {
    it(`${name}: likes, comments and views`, () => {
      const { subject, post } = parseNext(next, ID);
      expect(subject).to.equal('requested');
      expect(countersOf(post)).to.deep.equal(counters);
      expect(post.metrics?.subscriber_count).to.equal(1_270_000);
      expect(post.common).to.deep.include({
        title: 'A morning on the Ostend tugs',
        description: post.common?.description,
      });
      expect(post.common?.author).to.deep.include({ id: 'UCharbourNotes0000000001', username: 'HarbourNotes' });
    });
  }

  it('have date and description', () => {
    for (const [next, day] of [
      [phone([section([])]), '2026-04-18T00:00:00Z'],
      [old, '2020-04-18T00:00:00Z'],
    ] as const) {
      expect(parseNext(next, ID).post.common).to.deep.include({ published_at: day, description: 'With the tug crew.' });
    }
  });

  it('do not count current viewers as views', () => {
    const live = (subtitle: string, more: object = {}) => {
      const contents = [{ slimVideoInformationRenderer: { title: runs('Nest'), expandedSubtitle: runs(subtitle) } }];
      return parseNext(phone([{ slimVideoMetadataSectionRenderer: { contents } }], more), ID).post;
    };
    const sign = { playerOverlays: { playerOverlayRenderer: { liveIndicatorText: { simpleText: 'LIVE' } } } };
    expect(live('1,846 watching now').metrics).to.include({ views: undefined, concurrent_viewers: 1_846 });
    expect(live('1.846 Zuschauer', sign).metrics).to.include({ views: undefined, concurrent_viewers: 1_846 });
    expect(live('94 waiting').metrics).to.include({ views: undefined, concurrent_viewers: undefined });
    expect(live('94 waiting').common?.live_status).to.equal('upcoming');
  });

  it('name the video if the endpoint is cut out', () => {
    const { currentVideoEndpoint: _cut, ...next } = phone([section([likeToggle('48,213 likes', '48K')])]);
    expect(parseNext(next, ID).subject).to.equal('requested');
    expect(parseNext(next, 'An0ther__15')).to.deep.include({ subject: 'other', post: {} });
  });

  const player = { videoDetails: { videoId: ID, title: 'Tugs', author: 'Harbour Notes', lengthSeconds: '601' } };
  const escaped = (json: string) =>
    json.replace(/[{}"[\]<>&]/g, (mark) => `\\x${mark.charCodeAt(0).toString(16).padStart(2, '0')}`);
  const pages: Readonly<Record<string, (next: object) => string>> = {
    'as an escaped text': (next) =>
      `<script>var ytInitialPlayerResponse = ${JSON.stringify(player)};</script>` +
      `<script>var ytInitialData = '${escaped(JSON.stringify(next))}';</script>`,
    'in a comment, as until 2020': (next) =>
      `<div id="initial-data"><!-- ${JSON.stringify(next)} --></div>` +
      `<script>var ytInitialPlayerConfig = ${JSON.stringify({ args: { player_response: JSON.stringify(player) } })};</script>`,
  };
  for (const [form, write] of Object.entries(pages)) {
    it(`are read ${form}`, () => {
      const outcome = readWatchPage(write(old), ID, { siteConfig: siteConfigOf(), region: 'US' });
      expect(outcome.kind).to.equal('found');
      const posts = outcome.kind === 'found' ? outcome.found : [];
      expect(posts.map(({ metrics }) => metrics?.likes).filter(Boolean)).to.deep.equal([48_213]);
      expect(posts.map(({ metrics }) => metrics?.comments).filter(Boolean)).to.deep.equal([2_104]);
      expect(posts.map(({ common }) => common?.duration_seconds).filter(Boolean)).to.deep.equal([601]);
    });
  }
});

describe('vidsite: the sentiment fact of the description panel', () => {
  const sentiment = (texts: object) => ({ sentimentFactoidRenderer: texts });
  const likesOf = (...factoid: readonly object[]) => {
    const { post } = parseNext(phone([], { engagementPanels: [descriptionPanel(factoid)] }), ID);
    return { likes: post.metrics?.likes, views: post.metrics?.views, precision: post.precision?.likes };
  };
  const others = [fact('1,204,377'), fact('2026')];

  it('has the number of likes before a click', () => {
    const texts = sentiment({
      factoidIfLiked: fact('914'),
      factoidIfIndifferent: fact('913'),
      factoidIfDisliked: fact('913'),
    });
    const read = { likes: 913, views: 1_204_377, precision: undefined };
    expect(likesOf(texts, ...others)).to.deep.equal(read);
    expect(likesOf(others[0] ?? {}, texts, others[1] ?? {})).to.deep.equal(read);
    expect(likesOf(texts)).to.deep.equal(read);
  });

  it('subtracts one if it has only the number after a click', () => {
    expect(likesOf(sentiment({ factoidIfLiked: fact('914') }), ...others).likes).to.equal(913);
    const rounded = likesOf(sentiment({ factoidIfLiked: fact('48K') }), ...others);
    expect(rounded).to.include({ likes: 48_000, precision: 'rounded' });
  });

  it('marks likes as hidden if it has no number', () => {
    const texts = sentiment({ factoidIfLiked: fact('N/A'), factoidIfIndifferent: fact('N/A') });
    expect(likesOf(texts, ...others)).to.include({ likes: undefined, precision: 'hidden' });
    expect(likesOf(fact('N/A'), ...others)).to.include({ likes: undefined, precision: 'hidden' });
  });
});
