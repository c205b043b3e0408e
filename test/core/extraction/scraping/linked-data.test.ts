/** Posts and videos in the schema.org nodes of a page. */

import { expect } from 'chai';
import { linkedDataNodes, readLinkedItem } from '../../../../core/extraction/scraping/linked-data.js';
import { splitScripts } from '../../../../core/extraction/scraping/page-json.js';

const script = (value: unknown) =>
  `<script type="application/ld+json">${typeof value === 'string' ? value : JSON.stringify(value)}</script>`;
const nodesOf = (html: string) => linkedDataNodes(splitScripts(html).scripts);

describe('the schema.org nodes of a page', () => {
  it('come from its scripts, lists and graphs', () => {
    const html = [
      script({ '@type': 'A' }),
      '<script>{"@type":"X"}</script>',
      script([{ '@type': 'B' }, 7, { '@graph': [{ '@type': 'C' }, null, { '@type': 'D' }] }]),
      script('{broken'),
      script('null'),
      script({ '@type': 'E' }),
    ].join('<p>');
    expect(nodesOf(html).map((node) => node['@type'])).to.deep.equal(['A', 'B', 'C', 'D', 'E']);
  });

  it('are bounded for every content of a page', () => {
    expect(nodesOf(script({ '@type': 'A' }).repeat(50))).to.have.length(20);
    const started = process.cpuUsage();
    for (const piece of ['{},', '[', '{"@graph":[', '{"a":[{},']) nodesOf(script(`[${piece.repeat(2 ** 16)}{}]`));
    const [node] = nodesOf(
      script({ image: Array(2 ** 16).fill({ url: 'x' }), interactionStatistic: Array(2 ** 16).fill({}) }),
    );
    expect(readLinkedItem(node ?? {}).images).to.deep.equal([]);
    expect(process.cpuUsage(started).user).to.be.below(3_000_000);
  });
});

describe('statements of a schema.org node', () => {
  it('describe a posting', () => {
    const item = readLinkedItem(
      {
        '@type': 'https://schema.org/SocialMediaPosting',
        '@id': 'https://a.example/p/7',
        identifier: { '@type': 'PropertyValue', value: 12 },
        mainEntityofPage: { '@id': '/p/7' },
        articleBody: 'Fog.',
        text: 'other',
        dateCreated: '2024-03-05T10:00:00+0000',
        datePublished: '2020-01-01',
        author: {
          name: 'Harbour',
          alternateName: '@harbour',
          identifier: { value: '@harbour' },
          url: '/harbour',
          image: 'https://i.a.example/h.jpg',
        },
        image: [{ contentUrl: 'https://i.a.example/1.jpg', width: '640', height: 480 }, 'https://i.a.example/2.jpg', 7],
        video: {
          '@type': 'VideoObject',
          contentUrl: 'https://v.a.example/1.mp4',
          uploadDate: '2024-03-05',
          video: [{}],
        },
        interactionStatistic: [
          { interactionType: 'http://schema.org/LikeAction', userInteractionCount: '12' },
          { interactionType: { '@type': 'CommentAction' }, userInteractionCount: 3 },
          { interactionType: 'https://schema.org/LikeAction', userInteractionCount: 99 },
          { interactionType: 'https://schema.org/constructor', userInteractionCount: 5 },
          { interactionType: 'https://schema.org/ShareAction', userInteractionCount: -1 },
        ],
        commentCount: 4,
        comment: [{ interactionStatistic: { interactionType: 'WatchAction', userInteractionCount: 8 } }],
      },
      'https://a.example/',
    );
    expect(item).to.deep.include({
      type: 'SocialMediaPosting',
      identifiers: ['12'],
      addresses: ['https://a.example/p/7', '/p/7'],
      text: 'Fog.',
      publishedAt: '2024-03-05T10:00:00+00:00',
      author: {
        name: 'Harbour',
        username: 'harbour',
        identifier: 'harbour',
        url: 'https://a.example/harbour',
        avatar: 'https://i.a.example/h.jpg',
      },
      images: [
        { url: 'https://i.a.example/1.jpg', width: 640, height: 480 },
        { url: 'https://i.a.example/2.jpg', width: undefined, height: undefined },
      ],
      counts: { likes: 12, comments: 3, views: undefined },
      isLive: false,
    });
    expect(item.videos).to.have.length(1);
    expect(item.videos[0]).to.deep.include({
      type: 'VideoObject',
      contentUrl: 'https://v.a.example/1.mp4',
      publishedAt: '2024-03-05T00:00:00Z',
      videos: [],
    });
  });

  it('describe a video', () => {
    const node = {
      '@type': ['VideoObject'],
      name: 'Fog',
      description: 'All of it.',
      creator: [{ name: 'Harbour' }],
      thumbnailUrl: ['//i.a.example/t.jpg'],
      duration: 'T1M5S',
      inLanguage: 'pt',
      width: 0,
      height: 720,
      isFamilyFriendly: false,
      publication: { isLiveBroadcast: true, startDate: '2024-03-05' },
      interactionCount: '77',
      interactionStatistic: { interactionType: 'ViewAction', userInteractionCount: 'many' },
    };
    expect(readLinkedItem(node)).to.deep.include({
      type: 'VideoObject',
      name: 'Fog',
      description: 'All of it.',
      thumbnail: 'https://i.a.example/t.jpg',
      durationSeconds: 65,
      language: 'pt',
      width: undefined,
      height: 720,
      isFamilyFriendly: false,
      isLive: true,
      counts: { comments: undefined, views: 77 },
    });
    expect(readLinkedItem({ ...node, publication: { isLiveBroadcast: true, endDate: '2024-03-06' } }).isLive).to.equal(
      false,
    );
  });

  it('are none if the node has none', () => {
    const empty = readLinkedItem({
      image: null,
      author: 'me',
      interactionStatistic: 7,
      publication: [null],
      video: 'x',
    });
    expect(empty).to.deep.include({
      type: '',
      identifiers: [],
      addresses: [],
      images: [],
      videos: [],
      author: undefined,
    });
  });
});
