import {
  absent,
  atLeast,
  containing,
  count,
  describeExtractor,
  describePlugin,
  matching,
  type Sample,
  startsWith,
} from 'mediagate/testing';
import vidsite from '../index.js';

const watch = (id: string) => `https://www.youtube.com/watch?v=${id}`;
const KEY = 'invented-api-key-1234567890';

const samples: Sample[] = [
  {
    name: 'innertube-2026',
    url: 'https://youtu.be/Tugs0fOst3n?si=invented',
    id: 'Tugs0fOst3n',
    expect: {
      method: 'innertube_player+innertube_microformat+innertube_next',
      audio: true,
      partial: false,
      limitations: ['media_separate_tracks', 'media_ip_bound', 'stats_rounded: comments, subscriber_count'],
      data: {
        common: {
          title: 'A morning on the Ostend tugs',
          description: startsWith('A morning with the tug crew.'),
          author: {
            id: 'UCharbourNotes0000000001',
            name: 'Harbour Notes',
            username: 'HarbourNotes',
            url: 'https://www.youtube.com/@HarbourNotes',
            avatar: containing('invented-harbour=s176'),
            verified: true,
          },
          thumbnail: matching(/maxresdefault\.jpg$/),
          published_at: '2026-04-18T06:30:11-07:00',
          duration_seconds: 601,
          language: 'nl',
          tags: ['tug boat', 'Ostend', 'harbour'],
          category: 'Travel & Events',
          live_status: 'none',
          is_unlisted: false,
          available_countries: absent,
          chapters: [
            { title: 'Before dawn', start_seconds: 0 },
            { title: 'First ship', start_seconds: 95 },
            { title: 'The narrow lock', start_seconds: 380 },
          ],
        },
        ids: { video_id: 'Tugs0fOst3n', canonical_url: watch('Tugs0fOst3n'), channel_id: 'UCharbourNotes0000000001' },
        metrics: { views: 1204377, likes: 48213, comments: 2100, subscriber_count: 1270000 },
        media: { video_urls: count(4), image_urls: atLeast(2) },
        raw_stats: {
          likeText: containing('48,213'),
          subscriberCountText: '1.27M subscribers',
          commentCountText: '2.1K',
        },
        provenance: {
          precision: { views: 'exact', likes: 'exact', comments: 'rounded', subscriber_count: 'rounded' },
          sources: { 'common.published_at': 'innertube_microformat', 'metrics.comments': 'innertube_next' },
        },
      },
    },
  },
  {
    name: 'watch-2025',
    url: 'https://m.youtube.com/watch?app=desktop&v=Grn-Br3ad25&feature=share',
    id: 'Grn-Br3ad25',
    expect: {
      method: 'watch_page',
      audio: true,
      data: {
        common: { title: 'Rye bread without yeast', published_at: '2025-01-11T06:02:48-08:00', language: 'en' },
        metrics: { views: 83417, likes: 5127, comments: 412, subscriber_count: 96400 },
        media: { video_urls: count(1) },
      },
    },
  },
  {
    name: 'watch-2020',
    url: watch('0ldL00m_20x'),
    id: '0ldL00m_20x',
    expect: {
      audio: true,
      limitations: ['media_ciphered', 'metadata_only', 'stats_rounded: subscriber_count'],
      data: {
        common: {
          author: { username: 'VillageLoomTV', url: 'https://www.youtube.com/user/VillageLoomTV' },
          published_at: '2020-04-21T00:00:00Z',
          music: { title: 'Warp and Weft', artist: 'The Shuttles', album: 'Twill' },
        },
        metrics: { views: 2601754, likes: 15288, comments: absent, subscriber_count: 218000 },
        media: { video_urls: [] },
      },
    },
  },
  {
    name: 'live-2026',
    url: 'https://www.youtube.com/live/L1veNest_26',
    id: 'L1veNest_26',
    expect: {
      audio: false,
      limitations: ['live_now', 'media_ip_bound', 'stats_rounded: subscriber_count'],
      data: {
        common: { is_live: true, live_status: 'live', live_start_at: '2026-04-03T06:20:44+00:00' },
        metrics: { views: 914206, concurrent_viewers: 1846, likes: 7351, duration_seconds: absent },
        media: { video_urls: [matching(/hls_variant/)] },
      },
    },
  },
  {
    name: 'upcoming',
    url: watch('Up_c0ming26'),
    id: 'Up_c0ming26',
    expect: {
      audio: false,
      limitations: ['live_upcoming', 'metadata_only'],
      data: {
        common: {
          live_status: 'upcoming',
          live_start_at: '2026-06-18T12:00:00Z',
          published_at: '2026-06-10T02:15:00-07:00',
          author: { username: 'clock.works' },
        },
        metrics: { likes: 94, subscriber_count: 912, concurrent_viewers: absent },
        media: { video_urls: [] },
      },
    },
  },
  {
    name: 'age-gate',
    url: watch('AgeG4te_022'),
    id: 'AgeG4te_022',
    expect: {
      audio: false,
      limitations: ['age_restricted', 'metadata_only', 'stats_rounded: subscriber_count'],
      data: {
        common: { age_limit: 18, is_family_safe: false, published_at: '2022-05-14T19:12:08-07:00' },
        metrics: { views: 184226, likes: 6318, comments: 239 },
      },
    },
  },
  { name: 'private', url: watch('Pr1vate_007'), error: 'private', reason: /private video/i },
  { name: 'removed', url: watch('Rem0ved__08'), error: 'removed', reason: /removed by the uploader/ },
  { name: 'members-only', url: watch('Memb3rs_009'), error: 'members_only', reason: /members-only/ },
  {
    name: 'region',
    url: watch('Regi0n__010'),
    id: 'Regi0n__010',
    expect: {
      audio: false,
      limitations: ['geo_blocked', 'metadata_only', 'stats_rounded: subscriber_count'],
      data: { common: { available_countries: ['FJ', 'NZ', 'TO'] }, metrics: { views: 402117, likes: 2204 } },
    },
  },
  { name: 'bot-check', url: watch('B0tCheck_11'), error: 'bot_check', reason: /not a bot/ },
  { name: 'rate-limited', url: watch('R4teLimit12'), error: 'upstream_rate_limited' },
  { name: 'consent', url: watch('C0nsent__13'), error: 'upstream_refused' },
  {
    name: 'oembed-only',
    url: watch('0Embed_On14'),
    id: '0Embed_On14',
    expect: {
      method: 'oembed',
      audio: false,
      partial: true,
      limitations: ['fallback_source: oembed', 'metadata_only'],
      data: {
        common: { title: 'Paper boats, folded in one minute', author: { name: 'Fold Once', username: 'FoldOnce' } },
        metrics: { views: absent },
      },
    },
  },
  { name: 'other-video', url: watch('An0ther__15'), error: 'upstream_refused', reason: /another video/ },
  {
    name: 'sabr-only',
    url: watch('Sabr0nly_16'),
    id: 'Sabr0nly_16',
    expect: {
      audio: true,
      limitations: ['sabr_only', 'metadata_only', 'stats_hidden: likes'],
      data: {
        metrics: { likes: absent, subscriber_count: 640 },
        media: { video_urls: [] },
        provenance: { precision: { likes: 'hidden', subscriber_count: 'exact' } },
      },
    },
  },
  {
    name: 'shorts-unlisted',
    url: 'https://youtube.com/shorts/Sh0rt_dog17?feature=share',
    id: 'Sh0rt_dog17',
    expect: {
      data: {
        common: { is_unlisted: true, tags: ['shorts'], duration_seconds: 13 },
        ids: { canonical_url: watch('Sh0rt_dog17') },
        metrics: { likes: 1788, comments: 9, subscriber_count: 1240 },
      },
    },
  },
  {
    name: 'watch-german',
    url: watch('De_Alpen_18'),
    id: 'De_Alpen_18',
    expect: {
      data: {
        common: { published_at: '2023-05-21T00:00:00Z', author: { username: 'bergwandern' } },
        metrics: { views: 718263, likes: 15902, comments: 1300, subscriber_count: 1200000 },
      },
    },
  },
  {
    name: 'data-api',
    url: watch('Dat4Api__19'),
    id: 'Dat4Api__19',
    options: { apiKey: KEY },
    expect: {
      method: 'data_api+innertube_player+innertube_next',
      audio: true,
      data: {
        common: { published_at: '2024-11-02T09:00:07Z', duration_seconds: 581, language: 'en-GB' },
        metrics: { views: 50123, likes: 2891, comments: 174, subscriber_count: 48200 },
        media: { video_urls: count(1) },
        provenance: { precision: { comments: 'exact', subscriber_count: 'rounded' } },
      },
    },
  },
  {
    name: 'joint-video',
    url: watch('J0int_Vid20'),
    id: 'J0int_Vid20',
    expect: {
      data: {
        common: {
          author: { id: 'UCpaperEngine00000020-K_', name: 'Paper Engine', verified: true },
          collaborators: [{ id: 'UCstringTheorist000020-L', name: 'String Theorist', username: 'StringTheorist' }],
        },
        metrics: { subscriber_count: 2410000 },
        media: { video_urls: count(1) },
      },
    },
  },
  {
    name: 'page-tags',
    url: watch('TagsOnly_21'),
    id: 'TagsOnly_21',
    expect: {
      limitations: ['fallback_source: page_tags', 'metadata_only'],
      data: {
        common: {
          title: 'Moss on stone, "slowly"',
          author: { name: 'Moss Garden', username: 'MossGarden' },
          published_at: '2024-02-29T05:58:31-08:00',
          duration_seconds: 192,
        },
        metrics: { views: 27118 },
      },
    },
  },
];

describePlugin({ plugin: vidsite, folder: import.meta.url });

describeExtractor({
  plugin: vidsite,
  folder: import.meta.url,
  secrets: [KEY],
  links: {
    [watch('Tugs0fOst3n')]: 'Tugs0fOst3n',
    'http://youtube.com/watch?list=PLx&index=2&v=Tugs0fOst3n&t=42s': 'Tugs0fOst3n',
    'https://www.youtube.com/watch/Tugs0fOst3n': 'Tugs0fOst3n',
    'https://m.youtube.com/watch?v=Tugs0fOst3n&feature=share': 'Tugs0fOst3n',
    'https://music.youtube.com/watch?v=Tugs0fOst3n&si=x': 'Tugs0fOst3n',
    'https://gaming.youtube.com/watch?v=Tugs0fOst3n': 'Tugs0fOst3n',
    'https://youtu.be/Tugs0fOst3n?t=10': 'Tugs0fOst3n',
    'https://youtu.be/Tugs0fOst3n//anything': 'Tugs0fOst3n',
    'https://youtu.be/Tugs0fOst3n&feature=youtu.be': 'Tugs0fOst3n',
    'https://youtu.be/?v=Tugs0fOst3n': 'Tugs0fOst3n',
    'https://y2u.be/Tugs0fOst3n': 'Tugs0fOst3n',
    'https://www.youtube.com/shorts/Tugs0fOst3n?feature=share': 'Tugs0fOst3n',
    'https://www.youtube.com/live/Tugs0fOst3n?si=x': 'Tugs0fOst3n',
    'https://www.youtube.com/embed/Tugs0fOst3n?autoplay=1': 'Tugs0fOst3n',
    'https://www.youtube-nocookie.com/embed/Tugs0fOst3n': 'Tugs0fOst3n',
    'https://www.youtubekids.com/watch?v=Tugs0fOst3n': 'Tugs0fOst3n',
    'https://youtube.googleapis.com/v/Tugs0fOst3n': 'Tugs0fOst3n',
    'https://www.youtube.com/v/Tugs0fOst3n&hl=en': 'Tugs0fOst3n',
    'https://www.youtube.com/e/Tugs0fOst3n': 'Tugs0fOst3n',
    'https://www.youtube.com/w/Tugs0fOst3n': 'Tugs0fOst3n',
    'https://www.youtube.com/?v=Tugs0fOst3n': 'Tugs0fOst3n',
    'https://www.youtube.com/watch_popup?v=Tugs0fOst3n': 'Tugs0fOst3n',
    'https://www.youtube.com/movie?v=Tugs0fOst3n': 'Tugs0fOst3n',
    'https://www.youtube.com/attribution_link?a=x&u=%2Fwatch%3Fv%3DTugs0fOst3n%26feature%3Dshare': 'Tugs0fOst3n',
  },
  foreign: [
    'https://evilyoutube.com/watch?v=Tugs0fOst3n',
    'https://youtube.com.evil.example/watch?v=Tugs0fOst3n',
    'https://youtu.be.evil.example/Tugs0fOst3n',
    'https://xn--yotube-9xa.com/watch?v=Tugs0fOst3n',
    'https://www.youtube.com@evil.example/watch?v=Tugs0fOst3n',
    'https://www.youtube.com:8443/watch?v=Tugs0fOst3n',
    'https://consent.youtube.com/m?continue=https://www.youtube.com/watch?v=Tugs0fOst3n',
    'https://i.ytimg.com/vi/Tugs0fOst3n/default.jpg',
    'ftp://www.youtube.com/watch?v=Tugs0fOst3n',
  ],
  unsupported: [
    'https://www.youtube.com/',
    'https://www.youtube.com/watch#v=Tugs0fOst3n',
    'https://www.youtube.com/watch#!v=Tugs0fOst3n',
    'https://m.youtube.com/#/watch?v=Tugs0fOst3n',
    'https://www.youtube.com/watch?v=tooshort',
    'https://www.youtube.com/watch?v=Tugs0fOst3nX',
    'https://www.youtube.com/watch?list=PLinvented',
    'https://www.youtube.com/playlist?list=PLinvented',
    'https://www.youtube.com/@HarbourNotes',
    'https://www.youtube.com/@HarbourNotes/videos',
    'https://www.youtube.com/channel/UCharbourNotes0000000001',
    'https://www.youtube.com/c/HarbourNotes',
    'https://www.youtube.com/user/HarbourNotes',
    'https://www.youtube.com/results?search_query=tugs',
    'https://www.youtube.com/feed/trending',
    'https://www.youtube.com/post/UgkxInvented',
    'https://www.youtube.com/hashtag/tugs',
    'https://www.youtube.com/redirect?q=https%3A%2F%2Fevil.example',
    'https://www.youtube.com/clip/UgkxInvented',
    'https://www.youtube.com/embed/videoseries?list=PLinvented',
    'https://www.youtube.com/embed/live_stream?channel=UCx',
    'https://www.youtube.com/shorts/',
    'https://www.youtube.com/attribution_link?u=https%3A%2F%2Fevil.example%2Fwatch%3Fv%3DTugs0fOst3n',
    'https://youtu.be/',
  ],
  samples,
});
