/** One post from the parts of several methods. */

import { expect } from 'chai';
import fc from 'fast-check';
import { PostDataSchema } from '../../../core/contracts/documents.js';
import { mergePosts, type PartialPost, type PostPart } from '../../../core/extraction/merge.js';
import { createValidator } from '../../../core/runtime/validation.js';

const part = (method: string, found: PartialPost): PostPart => ({ method, found });

describe('mergePosts', () => {
  it('takes each field from the first part that has it, and names the part', () => {
    const data = mergePosts([
      part('api', { common: { title: 'One', duration_seconds: 12 }, ids: { channel_id: 'c1' } }),
      part('page', {
        common: { title: 'Two', description: 'Long' },
        ids: { video_id: 'v1' },
        raw_stats: { likes: '7' },
      }),
    ]);
    expect(data).to.deep.include({
      common: { title: 'One', duration_seconds: 12, description: 'Long' },
      ids: { channel_id: 'c1', video_id: 'v1' },
      metrics: { duration_seconds: 12, channel_id: 'c1' },
      raw_stats: { likes: '7' },
    });
    expect(data.provenance?.sources).to.deep.equal({
      'common.title': 'api',
      'common.duration_seconds': 'api',
      'common.description': 'page',
      'ids.channel_id': 'api',
      'ids.video_id': 'page',
      'metrics.duration_seconds': 'api',
      'metrics.channel_id': 'api',
    });
  });

  it('prefers exact counts to rounded ones, and both to hidden ones', () => {
    const data = mergePosts([
      part('a', {
        metrics: { views: 1200, shares: 5 },
        precision: { views: 'rounded', likes: 'hidden', saves: 'hidden' },
      }),
      part('b', { metrics: { views: 1234, likes: 70, shares: 6 }, precision: { likes: 'rounded' } }),
    ]);
    expect(data.metrics).to.deep.equal({ views: 1234, shares: 5, likes: 70 });
    expect(data.provenance?.precision).to.deep.equal({
      views: 'exact',
      likes: 'rounded',
      shares: 'exact',
      saves: 'hidden',
    });
    expect(data.provenance?.sources).to.include({ 'metrics.views': 'b', 'metrics.shares': 'a', 'metrics.likes': 'b' });
  });

  it('merges media by URL in order', () => {
    const entry = (url: string, quality: string) => ({ url, kind: 'video' as const, quality });
    const data = mergePosts([
      part('a', { media: { video_urls: ['https://m.example/1'], entries: [entry('https://m.example/1', 'first')] } }),
      part('b', {
        media: {
          image_urls: ['https://m.example/i'],
          video_urls: ['https://m.example/2', 'https://m.example/1'],
          entries: [entry('https://m.example/1', 'second'), entry('https://m.example/2', 'second')],
        },
      }),
    ]);
    expect(data.media).to.deep.equal({
      video_urls: ['https://m.example/1', 'https://m.example/2'],
      image_urls: ['https://m.example/i'],
      entries: [entry('https://m.example/1', 'first'), entry('https://m.example/2', 'second')],
    });
    expect(data.provenance?.sources).to.include({ 'media.video_urls': 'a', 'media.image_urls': 'b' });
  });

  it('completes one author and never mixes two', () => {
    const same = mergePosts([
      part('a', { common: { author: { name: 'N', id: 'UC1' } } }),
      part('b', { common: { author: { id: 'UC1', username: 'n', avatar: 'https://i.example/a' } } }),
    ]);
    expect(same.common.author).to.deep.equal({ name: 'N', id: 'UC1', username: 'n', avatar: 'https://i.example/a' });
    expect(same.provenance?.sources).to.include({ 'common.author.id': 'a', 'common.author.username': 'b' });
    const two = mergePosts([
      part('a', { common: { author: { name: 'N', id: 'UC1' } } }),
      part('b', { common: { author: { id: 'UC2', username: 'other' } } }),
    ]);
    expect(two.common.author).to.deep.equal({ name: 'N', id: 'UC1' });
  });

  it('prefers a stated time to one computed from the id', () => {
    const computed = part('a', { common: { published_at: '2024-01-01T00:00:00Z' }, publishedAtSource: 'id' });
    const stated = part('b', { common: { published_at: '2024-01-01T00:01:00+02:00' } });
    expect(mergePosts([computed]).provenance?.published_at_source).to.equal('id');
    const both = mergePosts([computed, stated]);
    expect(both.common.published_at).to.equal('2024-01-01T00:01:00+02:00');
    expect(both.provenance).to.not.have.property('published_at_source');
    const ofOneMethod = mergePosts([stated, { ...computed, method: 'b' }]);
    expect(ofOneMethod.common.published_at).to.equal('2024-01-01T00:01:00+02:00');
    expect(ofOneMethod.provenance).to.not.have.property('published_at_source');
  });

  it('uses the first line of the caption if there is no title', () => {
    const data = mergePosts([part('a', { common: { caption: '\n  First line\nSecond' } })]);
    expect(data.common.title).to.equal('First line');
    expect(data.provenance?.sources['common.title']).to.equal('a');
    expect(mergePosts([part('a', { common: { caption: 'x'.repeat(500) } })]).common.title).to.have.length.at.most(120);
  });

  it('drops empty values and repairs what it can', () => {
    const found = {
      common: {
        title: 'a\0b\ud800c',
        description: '',
        category: '  ',
        thumbnail: '//i.example/t.jpg',
        published_at: 'yesterday',
        live_start_at: '2024-05-01',
        tags: ['one', '', null],
        duration_seconds: Number.NaN,
        author: { name: '', avatar: '/relative.jpg' },
        invented: 1,
      },
      metrics: { views: -1, likes: 1.5, comments: Number.POSITIVE_INFINITY, shares: '7', saves: 3 },
      media: { image_urls: ['nowhere', 'https://i.example/1'], entries: [{ kind: 'video' }] },
      raw_stats: { text: '1.2M', none: null, empty: '', number: Number.NaN, flag: false },
    };
    const before = structuredClone(found);
    const data = mergePosts([part('a', found as unknown as PartialPost)]);
    expect(found).to.deep.equal(before);
    expect(data).to.deep.include({
      common: {
        title: 'a\ufffdb\ufffdc',
        thumbnail: 'https://i.example/t.jpg',
        live_start_at: '2024-05-01T00:00:00Z',
        tags: ['one'],
      },
      metrics: { saves: 3 },
      media: { image_urls: ['https://i.example/1'], video_urls: [] },
      raw_stats: { text: '1.2M', flag: false },
    });
  });

  it('matches the schema for every content of the parts', () => {
    const validator = createValidator(PostDataSchema);
    const anything = fc.anything({ withNullPrototype: false, withBigInt: false });
    const members = (names: readonly string[]) => fc.dictionary(fc.constantFrom(...names), anything);
    const found = fc.record(
      {
        common: fc.oneof(
          anything,
          members(['title', 'author', 'tags', 'thumbnail', 'published_at', 'music', 'chapters']),
        ),
        ids: fc.oneof(anything, members(['video_id', 'canonical_url'])),
        metrics: fc.oneof(anything, members(['views', 'likes', 'reactions', 'duration_seconds'])),
        media: fc.oneof(anything, members(['image_urls', 'video_urls', 'entries'])),
        raw_stats: anything,
      },
      { requiredKeys: [] },
    );
    fc.assert(
      fc.property(fc.array(found, { maxLength: 3 }), (parts) => {
        const data = mergePosts(parts.map((one, index) => part(`method_${index}`, one as PartialPost)));
        expect(validator.check(data)).to.have.property('ok', true);
      }),
      { numRuns: 300 },
    );
  });
});
