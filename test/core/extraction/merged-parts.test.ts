/** Which part gives which field of an item. */

import { expect } from 'chai';
import { createGateway, type ExtractCall, type Gateway, type PostData, systemClock } from 'mediagate';
import { mergePosts, type PartialPost } from 'mediagate/plugin';
import { FallbackChain } from '../../../core/extraction/fallback-chain.js';
import { silentLogger } from '../../../core/runtime/logger.js';
import { invented } from '../../support/links/invented-plugin.js';

type Author = NonNullable<NonNullable<PartialPost['common']>['author']>;

describe('one item from several methods', () => {
  let gateway: Gateway;
  let parts: readonly PartialPost[];
  let item = 0;

  const names = ['first', 'second', 'third'] as const;
  const chain = new FallbackChain<PartialPost, ExtractCall>({
    methods: names.map((name, index) => ({
      name,
      cost: 1,
      definitive: false,
      usable: () => parts[index] !== undefined,
      run: async () => ({ kind: 'found', found: parts[index] ?? {} }),
    })),
    clock: systemClock,
    logger: silentLogger,
    platform: 'invented',
    isEnough: () => false,
    isWorthwhile: () => true,
  });

  before(async () => {
    const plugin = invented({
      async extract(call) {
        const climb = await chain.run(call, call.signal);
        return { method: climb.parts.map(({ method }) => method).join('+'), data: mergePosts(climb.parts) };
      },
    });
    gateway = await createGateway({ plugins: [{ use: plugin }] });
  });
  after(() => gateway.close());

  async function merged(...given: readonly PartialPost[]) {
    parts = given;
    item += 1;
    const result = await gateway.extract({ url: `https://invented.example/item/${item}` });
    expect(result.method).to.equal(names.slice(0, given.length).join('+'));
    const { provenance, ...data } = result.data as PostData;
    return { ...data, sources: provenance?.sources ?? {}, precision: provenance?.precision ?? {}, provenance };
  }

  const sourcesOf = (sources: Readonly<Record<string, string>>, group: string) =>
    Object.fromEntries(
      Object.entries(sources).flatMap(([name, from]) =>
        name.startsWith(group) ? [[name.slice(group.length), from]] : [],
      ),
    );

  describe('author', () => {
    async function author(...given: readonly (Author | undefined)[]) {
      const { common, sources } = await merged(...given.map((one) => (one ? { common: { author: one } } : {})));
      return { author: common.author, sources: sourcesOf(sources, 'common.author') };
    }
    const anna: Author = { username: 'anna', name: 'Anna' };
    const bert: Author = {
      username: 'bert',
      name: 'Bert',
      url: 'https://invented.example/bert',
      avatar: 'https://i.example/b',
    };
    const ofAnna = { '.username': 'first', '.name': 'first' };

    const two: readonly [string, Author, Author][] = [
      ['without ids, by other user names', anna, bert],
      ['of whom the second has an id, by other user names', anna, { ...bert, id: '2' }],
      ['of whom the first has an id, by other user names', { ...anna, id: '1' }, bert],
      ['with other ids, by other user names', { ...anna, id: '1' }, { ...bert, id: '2' }],
      ['with other ids and one user name', { ...anna, id: '1' }, { ...bert, username: 'anna', id: '2' }],
      ['whose ids differ in case only', { ...anna, id: 'UCa' }, { ...bert, username: 'anna', id: 'uca' }],
      ['with other ids and no user names', { id: '1', name: 'Anna' }, { id: '2', avatar: 'https://i.example/b' }],
    ];
    for (const [what, one, other] of two) {
      it(`never mixes two ${what}`, async () => {
        const found = await author(one, other);
        expect(found.author).to.deep.equal(one);
        expect(found.sources).to.deep.equal(Object.fromEntries(Object.keys(one).map((name) => [`.${name}`, 'first'])));
      });
    }

    const same: readonly [string, Author, Author][] = [
      ['whose user names differ in case only', anna, { username: 'ANNA', url: 'https://invented.example/anna' }],
      [
        'whose user names are equal, with an id',
        anna,
        { username: 'anna', id: '1', url: 'https://invented.example/anna' },
      ],
      [
        'whose user names differ in case only, with an id',
        { ...anna, id: '1' },
        { username: 'Anna', url: 'https://invented.example/anna' },
      ],
      [
        'whose ids are equal, and user names differ',
        { ...anna, id: '1' },
        { username: 'anna.new', id: '1', url: 'https://invented.example/anna' },
      ],
      ['of whom the second has no user name', anna, { name: 'Anna B.', url: 'https://invented.example/anna' }],
      [
        'of whom the first has no user name',
        { name: 'Anna' },
        { username: 'anna', url: 'https://invented.example/anna' },
      ],
      [
        'of whom one has an id and the other a user name',
        { id: '1' },
        { username: 'anna', url: 'https://invented.example/anna' },
      ],
    ];
    for (const [what, one, other] of same) {
      it(`completes one ${what}, with the source of each field`, async () => {
        const found = await author(one, other);
        expect(found.author).to.deep.equal({ ...other, ...one });
        const expected = Object.keys({ ...other, ...one }).map((name) => [
          `.${name}`,
          name in one ? 'first' : 'second',
        ]);
        expect(found.sources).to.deep.equal(Object.fromEntries(expected));
      });
    }

    it('skips another author between two parts of the same', async () => {
      const avatar = 'https://i.example/a';
      const found = await author(anna, bert, { username: 'Anna', avatar });
      expect(found.author).to.deep.equal({ ...anna, avatar });
      expect(found.sources).to.deep.equal({ ...ofAnna, '.avatar': 'third' });
    });

    it('identifies the author by all earlier parts', async () => {
      // The second part has the id that tells the third apart.
      const found = await author(anna, { username: 'anna', id: '1' }, { id: '2', avatar: 'https://i.example/b' });
      expect(found.author).to.deep.equal({ ...anna, id: '1' });
      expect(found.sources).to.deep.equal({ ...ofAnna, '.id': 'second' });
    });

    it('takes the author of a later part if the first has none, or an empty one', async () => {
      for (const none of [undefined, {}, { name: '', avatar: 'nowhere' }]) {
        const found = await author(none, anna);
        expect(found.author).to.deep.equal(anna);
        expect(found.sources).to.deep.equal({ '.username': 'second', '.name': 'second' });
      }
    });

    it('omits an author that no part has, also from the sources', async () => {
      const found = await author({}, undefined);
      expect([found.author, found.sources]).to.deep.equal([undefined, {}]);
    });
  });

  describe('numbers', () => {
    it('keeps the duration of the metrics beside that of the item', async () => {
      for (const [given, sources] of [
        [[{ common: { duration_seconds: 12 }, metrics: { duration_seconds: 13 } }], ['first', 'first']],
        [
          [{ common: { duration_seconds: 12 } }, { metrics: { duration_seconds: 13 } }],
          ['first', 'second'],
        ],
        [
          [{ metrics: { duration_seconds: 13 } }, { common: { duration_seconds: 12 } }],
          ['second', 'first'],
        ],
        [[{ common: { duration_seconds: 12 }, metrics: { duration_seconds: 0 } }], ['first', 'first']],
      ] as const) {
        const data = await merged(...given);
        const stated = given.flatMap((one) => ('metrics' in one ? one.metrics.duration_seconds : []))[0];
        expect([data.common.duration_seconds, data.metrics.duration_seconds]).to.deep.equal([12, stated]);
        expect([data.sources['common.duration_seconds'], data.sources['metrics.duration_seconds']]).to.deep.equal(
          sources,
        );
      }
    });

    it('fills the duration of the metrics from the item, and not the other way', async () => {
      const filled = await merged({ metrics: { views: 1 } }, { common: { duration_seconds: 12 } });
      expect(filled.metrics).to.deep.equal({ views: 1, duration_seconds: 12 });
      expect(filled.sources['metrics.duration_seconds']).to.equal('second');
      const unfilled = await merged({ metrics: { duration_seconds: 13 } });
      expect(unfilled.common).to.deep.equal({});
      expect(unfilled.sources).to.deep.equal({ 'metrics.duration_seconds': 'first' });
    });

    it('keeps the channel of the metrics apart from that of the ids, and fills it if missing', async () => {
      const both = await merged({ ids: { channel_id: 'of-ids' } }, { metrics: { channel_id: 'of-metrics' } });
      expect([both.ids.channel_id, both.metrics.channel_id]).to.deep.equal(['of-ids', 'of-metrics']);
      expect(both.sources).to.deep.equal({ 'ids.channel_id': 'first', 'metrics.channel_id': 'second' });
      const filled = await merged({ metrics: { views: 1 } }, { ids: { channel_id: 'of-ids' } });
      expect(filled.metrics.channel_id).to.equal('of-ids');
      expect(filled.sources['metrics.channel_id']).to.equal('second');
    });

    const counts: readonly [
      string,
      readonly PartialPost[],
      number | undefined,
      string | undefined,
      string | undefined,
    ][] = [
      [
        'exact after rounded',
        [{ metrics: { likes: 1_200 }, precision: { likes: 'rounded' } }, { metrics: { likes: 1_234 } }],
        1_234,
        'exact',
        'second',
      ],
      [
        'exact before rounded',
        [{ metrics: { likes: 1_234 } }, { metrics: { likes: 1_200 }, precision: { likes: 'rounded' } }],
        1_234,
        'exact',
        'first',
      ],
      ['two exact ones', [{ metrics: { likes: 1 } }, { metrics: { likes: 2 } }], 1, 'exact', 'first'],
      [
        'two rounded ones',
        [
          { metrics: { likes: 1_000 }, precision: { likes: 'rounded' } },
          { metrics: { likes: 2_000 }, precision: { likes: 'rounded' } },
        ],
        1_000,
        'rounded',
        'first',
      ],
      ['nothing at all', [{ metrics: { likes: 0 } }, { metrics: { likes: 5 } }], 0, 'exact', 'first'],
      ['hidden alone', [{ precision: { likes: 'hidden' } }, {}], undefined, 'hidden', undefined],
      [
        'hidden before a rounded one',
        [{ precision: { likes: 'hidden' } }, { metrics: { likes: 1_000 }, precision: { likes: 'rounded' } }],
        1_000,
        'rounded',
        'second',
      ],
      [
        'hidden after an exact one',
        [{ metrics: { likes: 7 } }, { precision: { likes: 'hidden' } }],
        7,
        'exact',
        'first',
      ],
      [
        'a precision without a number',
        [{ precision: { likes: 'exact' } }, { precision: { likes: 'rounded' } }],
        undefined,
        undefined,
        undefined,
      ],
      [
        'a precision without a number before a rounded one',
        [{ precision: { likes: 'exact' } }, { metrics: { likes: 9 }, precision: { likes: 'rounded' } }],
        9,
        'rounded',
        'second',
      ],
      [
        'the third, exact',
        [
          { precision: { likes: 'hidden' } },
          { metrics: { likes: 10 }, precision: { likes: 'rounded' } },
          { metrics: { likes: 11 } },
        ],
        11,
        'exact',
        'third',
      ],
    ];
    for (const [what, given, value, precision, source] of counts) {
      it(`takes the most precise count: ${what}`, async () => {
        const data = await merged(...given);
        expect([data.metrics.likes, data.precision.likes, data.sources['metrics.likes']]).to.deep.equal([
          value,
          precision,
          source,
        ]);
      });
    }

    it('marks only counters, each by itself', async () => {
      const data = await merged(
        { metrics: { views: 100, duration_seconds: 9 }, precision: { views: 'rounded', comments: 'hidden' } },
        { metrics: { shares: 3, saves: 4, plays: 5, subscriber_count: 6, concurrent_viewers: 7, channel_id: 'c' } },
      );
      expect(data.precision).to.deep.equal({
        views: 'rounded',
        comments: 'hidden',
        shares: 'exact',
        saves: 'exact',
        plays: 'exact',
        subscriber_count: 'exact',
        concurrent_viewers: 'exact',
      });
      expect(sourcesOf(data.sources, 'metrics.')).to.deep.equal({
        views: 'first',
        duration_seconds: 'first',
        shares: 'second',
        saves: 'second',
        plays: 'second',
        subscriber_count: 'second',
        concurrent_viewers: 'second',
        channel_id: 'second',
      });
    });
  });

  describe('texts and times', () => {
    it('takes the first value: empty does not count, and false does', async () => {
      const { common, sources } = await merged(
        { common: { title: '', description: '  ', tags: [], language: undefined, is_live: false } },
        { common: { title: 'Tugs', tags: ['', 'harbour'], is_live: true } },
        { common: { title: 'Other', description: 'Long', tags: ['fog'], language: 'en' } },
      );
      expect(common).to.deep.equal({
        title: 'Tugs',
        tags: ['harbour'],
        is_live: false,
        description: 'Long',
        language: 'en',
      });
      expect(sources).to.deep.equal({
        'common.title': 'second',
        'common.tags': 'second',
        'common.is_live': 'first',
        'common.description': 'third',
        'common.language': 'third',
      });
    });

    it('makes a title of the caption only if no part has one', async () => {
      const made = await merged({ ids: { post_id: '1' } }, { common: { caption: 'First line\nSecond' } });
      expect([made.common.title, made.sources['common.title']]).to.deep.equal(['First line', 'second']);
      const given = await merged({ common: { caption: 'First line\nSecond' } }, { common: { title: 'Tugs' } });
      expect([given.common.title, given.sources['common.title']]).to.deep.equal(['Tugs', 'second']);
    });

    it('prefers a stated time, and marks a computed one', async () => {
      const [early, late] = ['2024-01-01T00:00:00Z', '2024-01-01T00:05:00Z'];
      const computed: PartialPost = { common: { published_at: early, title: 'Tugs' }, publishedAtSource: 'id' };
      const stated: PartialPost = { common: { published_at: late } };
      for (const given of [
        [computed, stated],
        [stated, computed],
      ] as const) {
        const data = await merged(...given);
        expect([data.common.published_at, data.common.title]).to.deep.equal([late, 'Tugs']);
        expect(data.sources['common.published_at']).to.equal(given[0] === stated ? 'first' : 'second');
        expect(data.provenance).not.to.have.property('published_at_source');
      }
      for (const given of [
        [computed],
        [computed, { common: { title: 'x' } }],
        [{ common: { title: 'x' } }, computed],
      ]) {
        const data = await merged(...given);
        expect([data.common.published_at, data.provenance?.published_at_source]).to.deep.equal([early, 'id']);
      }
    });
  });

  it('merges the media in order, each address once, and takes raw numbers from the first part that has them', async () => {
    const at = (name: string) => `https://m.example/${name}`;
    const entry = (name: string, quality: string) => ({ url: at(name), kind: 'video' as const, quality });
    const data = await merged(
      {
        media: { image_urls: [], video_urls: [at('1')], entries: [entry('1', 'a')] },
        raw_stats: { likes: '1.2K', views: '5' },
      },
      {
        media: {
          image_urls: [at('i'), at('j')],
          video_urls: [at('2'), at('1')],
          entries: [entry('2', 'b'), entry('1', 'b')],
        },
        raw_stats: { likes: '1,234', shares: 3 },
      },
      { media: { image_urls: [at('j'), at('k')], video_urls: [at('3')] }, raw_stats: { shares: 4 } },
    );
    expect(data).to.deep.include({
      media: {
        image_urls: [at('i'), at('j'), at('k')],
        video_urls: [at('1'), at('2'), at('3')],
        entries: [entry('1', 'a'), entry('2', 'b')],
      },
      raw_stats: { likes: '1.2K', views: '5', shares: 3 },
    });
    expect(sourcesOf(data.sources, 'media.')).to.deep.equal({
      image_urls: 'second',
      video_urls: 'first',
      entries: 'first',
    });
    const none = await merged({ media: { image_urls: [] } }, {});
    expect([none.media, none.sources]).to.deep.equal([{ image_urls: [], video_urls: [] }, {}]);
  });
});
