/** The photo plugin, checked by the testing kit on recorded replies. */

import {
  absent,
  containing,
  count,
  describeExtractor,
  describePlugin,
  matching,
  type Sample,
  startsWith,
} from 'mediagate/testing';
import photo from '../index.js';
import { identityOf } from '../links.js';

const post = (shortcode: string) => `https://www.instagram.com/p/${shortcode}/`;
const KEYED = 'DJ9H58TmKkhaBcDeFgHiJkLmNoPqRsTuVwXyZ01';

const samples: Sample[] = [
  {
    name: 'relay-2026',
    url: 'https://www.instagram.com/weir.diary/reel/DX6B-kzkPRH/?igsh=invented&hl=de',
    id: 'DX6B-kzkPRH',
    expect: {
      method: 'permalink',
      audio: true,
      partial: false,
      limitations: [],
      data: {
        common: {
          title: 'First light on the weir 🌊',
          caption: startsWith('First light on the weir 🌊\n\nFilmed by'),
          description: containing('#slowwater'),
          tags: ['slowwater', 'RiverMorning'],
          author: {
            id: '58000000011',
            name: 'Weir Diary',
            username: 'weir.diary',
            url: 'https://www.instagram.com/weir.diary/',
            avatar: containing('weir_hd.jpg'),
            verified: true,
          },
          thumbnail: containing('cover_640'),
          published_at: '2026-05-04T06:32:42Z',
          duration_seconds: 31.417,
          music: { title: 'Low Water', artist: 'The Sluices', id: '1128000000000091' },
          location: 'Weir of Lathum',
        },
        ids: {
          post_id: '3889429926361756743',
          video_id: '3889429926361756743',
          shortcode: 'DX6B-kzkPRH',
          author_id: '58000000011',
          canonical_url: post('DX6B-kzkPRH'),
        },
        metrics: { views: 1204377, plays: 1204377, likes: 48231, comments: 612, shares: 903, saves: absent },
        media: {
          image_urls: count(1),
          video_urls: [matching(/progressive\.mp4/)],
          entries: [
            { kind: 'image', width: 640, height: 1138, label: 'cover', mime: 'image/jpeg' },
            { kind: 'video', width: 720, height: 1280, has_audio: true, expires_at: '2026-07-31T07:27:16Z' },
            { kind: 'video', height: 1920, has_audio: false, codecs: 'avc1.640028', fps: 30, quality: '1080p' },
            { kind: 'video', height: 960, bitrate: 410221, size: 1204410 },
            { kind: 'audio', bitrate: 64016, codecs: 'mp4a.40.5', url: matching(/dashsound\.mp4\?_nc_cat=1&oh=/) },
          ],
        },
        raw_stats: { play_count: 1204377, fb_play_count: 14375, product_type: 'clips' },
        provenance: { published_at_source: absent, precision: { likes: 'exact', views: 'exact' } },
      },
    },
  },
  {
    name: 'web-info-2025',
    url: 'https://instagram.com/p/DKtuaNToeiO?img_index=2',
    id: 'DKtuaNToeiO',
    expect: {
      audio: true,
      limitations: ['stats_hidden: likes'],
      data: {
        common: {
          published_at: '2025-06-10T09:02:11Z',
          tags: ['Sourdough', 'naïve_crumb'],
          collaborators: [{ id: '58000000022', username: 'mill_house', verified: true }],
        },
        ids: { video_id: absent, post_id: '3651778984001267854' },
        metrics: { likes: absent, comments: 88, views: absent, plays: absent },
        media: {
          image_urls: [
            matching(/slide1_1440/),
            matching(/slide2_1440/),
            matching(/slide3_1440/),
            matching(/slide4_1440/),
          ],
          video_urls: [matching(/slide2_hd/), matching(/slide3_hd/)],
          entries: count(8),
        },
        provenance: { precision: { likes: 'hidden' } },
      },
    },
  },
  {
    name: 'page-tags-2026',
    url: 'https://www.instagram.com/reel/DXCMj2DstzV/',
    id: 'DXCMj2DstzV',
    expect: {
      method: 'permalink',
      audio: false,
      limitations: ['metadata_only', 'fallback_source: page_tags', 'published_at_day_only', 'stats_rounded: likes'],
      data: {
        common: {
          caption: 'She said "no rust" and meant it\n-\n#barnfind #patina',
          author: { id: '58000000031', username: 'dora.dodge', name: 'Dora’s Dodge' },
          published_at: '2026-04-12T00:00:00Z',
          thumbnail: containing('dodge.jpg'),
        },
        ids: { post_id: '3873713869275978965', author_id: '58000000031' },
        metrics: { likes: 12400, comments: 215 },
        raw_stats: { description: '12.4K likes, 215 comments' },
        provenance: { precision: { likes: 'rounded', comments: 'exact' } },
      },
    },
  },
  {
    name: 'page-tags-german',
    url: post('DUNN_qjw9Ec'),
    id: 'DUNN_qjw9Ec',
    expect: {
      audio: true,
      data: {
        common: {
          caption: 'Im Stollen, 12 Grad – wie immer #Grubenlicht',
          author: { username: 'bergwerk_sued', name: 'Bergwerk Süd' },
          published_at: '2026-02-01T07:15:00Z',
        },
        metrics: { likes: 1234, comments: 7 },
        media: { video_urls: count(1), image_urls: count(1) },
        provenance: { published_at_source: 'id' },
      },
    },
  },
  {
    name: 'page-tags-2017',
    url: post('BRLNjMThFDM'),
    id: 'BRLNjMThFDM',
    expect: {
      partial: true,
      data: {
        common: { author: { username: 'marble.run' } },
        metrics: { likes: 1234 },
        media: { image_urls: count(1) },
      },
    },
  },
  {
    name: 'embed-data-2026',
    url: 'https://www.instagram.com/p/DWHeV9ziHoj/embed/captioned/',
    id: 'DWHeV9ziHoj',
    expect: {
      method: 'embed',
      audio: true,
      limitations: [],
      data: {
        common: {
          caption: 'Three seeds, one jar.\n\nSaved since 1987. #SeedSaving',
          author: { username: 'seed.vault', verified: true },
          published_at: '2026-03-20T18:45:12Z',
        },
        metrics: { likes: 7130, comments: 27, subscriber_count: 1449115 },
        media: { image_urls: count(3), video_urls: [matching(/g2\.mp4/)] },
        provenance: { published_at_source: 'id' },
      },
    },
  },
  {
    name: 'embed-markup-2026',
    url: post('C79gQi3iiwq'),
    id: 'C79gQi3iiwq',
    expect: {
      method: 'embed',
      audio: false,
      limitations: ['fallback_source: embed_markup', 'stats_rounded: subscriber_count'],
      data: {
        common: {
          caption: 'That’s us. That’s home.\n\nIt’s #ChalkDay & we are early',
          author: { id: '58000000051', username: 'chalk.cliffs', verified: true, avatar: containing('chalk.jpg') },
          tags: ['ChalkDay'],
        },
        metrics: { likes: 4737, comments: 30, subscriber_count: 1400000 },
        media: { image_urls: [matching(/cliff_1080/)], entries: [{ width: 1080 }] },
      },
    },
  },
  {
    name: 'query-post-2026',
    url: post('DTh2OvTi94x'),
    id: 'DTh2OvTi94x',
    expect: {
      method: 'graphql_post',
      audio: true,
      data: {
        common: { published_at: '2026-01-15T11:03:10Z', music: { title: 'Ovens at Three', artist: 'Flour Choir' } },
        ids: { video_id: absent },
        metrics: { likes: 70311, comments: 190 },
        media: {
          image_urls: count(1),
          video_urls: [],
          entries: [{ kind: 'image' }, { kind: 'audio', duration_seconds: 90, label: 'Ovens at Three' }],
        },
      },
    },
  },
  {
    name: 'query-shortcode-2023',
    url: 'https://www.instagram.com/tv/Cw9ytOXjZA4/',
    id: 'Cw9ytOXjZA4',
    expect: {
      method: 'graphql_shortcode',
      audio: false,
      limitations: ['stats_hidden: likes'],
      data: {
        common: {
          title: 'Loom, day one',
          published_at: '2023-09-09T09:10:00Z',
          duration_seconds: 16.266,
          music: { title: 'Weft', artist: 'The Shuttles' },
          location: 'Hall 3',
        },
        metrics: { views: 425901, plays: 425901, likes: absent, comments: 410, subscriber_count: 31877 },
        media: { video_urls: count(1), image_urls: count(1) },
        raw_stats: { video_view_count: 0, video_play_count: 425901 },
      },
    },
  },
  {
    name: 'media-info-2022',
    url: post('CaoDoM_lAlr'),
    id: 'CaoDoM_lAlr',
    expect: {
      method: 'media_info',
      data: { ids: { post_id: '2785492326398822763' }, metrics: { likes: 113, comments: 0, views: 2200, shares: 12 } },
    },
  },
  {
    name: 'shared-data-2019',
    url: post('BtZ9PK7j0I_'),
    id: 'BtZ9PK7j0I_',
    expect: {
      data: {
        common: { published_at: '2019-02-03T04:06:40Z', author: { name: 'Square Band' } },
        metrics: { likes: 3610, comments: 30 },
        media: { image_urls: count(1), entries: [{ label: 'A square at dusk.' }] },
      },
    },
  },
  {
    name: 'additional-data-2021',
    url: post('CJ3D3KTpohE'),
    id: 'CJ3D3KTpohE',
    expect: { data: { common: { published_at: '2021-01-10T10:03:20Z' }, metrics: { likes: 5520 } } },
  },
  {
    name: 'linked-data-2022',
    url: post('ChHYfX7kn7Z'),
    id: 'ChHYfX7kn7Z',
    expect: {
      limitations: ['fallback_source: linked_data'],
      data: {
        common: {
          caption: 'Kiln opened at last. #raku',
          author: { username: 'kiln_and_co', name: 'Kiln & Co' },
          published_at: '2022-08-11T03:14:15-07:00',
        },
        metrics: { likes: 2981, comments: 123 },
        media: { image_urls: count(1), entries: [{ width: 1080, height: 1080 }] },
      },
    },
  },
  {
    name: 'share-link',
    url: 'https://www.instagram.com/share/reel/BAinvented_42',
    id: 'DSo4JITpP2y',
    expect: {
      data: {
        common: { title: 'Filament', caption: absent, music: { title: 'Original audio', artist: 'lamp.works' } },
        metrics: { likes: 990, comments: 14 },
      },
    },
  },
  { name: 'age-gate', url: post('DYj0dkTlZP9'), error: 'age_restricted', reason: /restricted_age 25/ },
  { name: 'gated', url: post('DYmZQcTlx6P'), error: 'private', reason: /signed in/ },
  { name: 'private-key', url: post(KEYED), error: 'private' },
  { name: 'private-page', url: post('C84D0qTqZ1o'), error: 'private', reason: /account is private/ },
  { name: 'removed', url: post('C7T2jcTmjOz'), error: 'removed' },
  { name: 'login-wall', url: post('C7WbWUTm75F'), error: 'upstream_refused', reason: /login page/ },
  { name: 'challenge', url: post('C7ZAJMTnUjX'), error: 'bot_check' },
  { name: 'throttled', url: post('C7bk8ETntNq'), error: 'upstream_rate_limited' },
  { name: 'ruling-age', url: post('C86oniTrLKM'), error: 'age_restricted', reason: /18 years/ },
  { name: 'ruling-region', url: post('C7eJu8ToF38'), error: 'geo_blocked', reason: /in your country/ },
  { name: 'other-post', url: post('C7guh0To3Mg'), error: 'upstream_refused', reason: /another post/ },
];

describePlugin({ plugin: photo, folder: import.meta.url });

const ID = 'DX6B-kzkPRH';

describeExtractor({
  plugin: photo,
  folder: import.meta.url,
  links: {
    [post(ID)]: ID,
    [`http://instagram.com/p/${ID}`]: ID,
    [`https://m.instagram.com/p/${ID}/?igshid=x&utm_source=ig_web_copy_link`]: ID,
    [`https://www.instagram.com/reel/${ID}/?igsh=x`]: ID,
    [`https://www.instagram.com/reels/${ID}/`]: ID,
    [`https://www.instagram.com/tv/${ID}/`]: ID,
    [`https://www.instagram.com/weir.diary/p/${ID}/`]: ID,
    [`https://www.instagram.com/weir_diary/reel/${ID}/?hl=en`]: ID,
    [`https://www.instagram.com/about/tv/${ID}/`]: ID,
    [`https://www.instagram.com/p/${ID}/embed/`]: ID,
    [`https://www.instagram.com/p/${ID}/embed/captioned/?cr=1`]: ID,
    [`https://www.instagram.com/p/${ID}/media/?size=l`]: ID,
    [`https://www.instagram.com/p/${ID}/c/17900000000000001/`]: ID,
    [`https://instagr.am/p/${ID}/`]: ID,
    [`https://de.instagram.com/p/${ID}/`]: ID,
    [`https://pt-br.instagram.com/reel/${ID}/`]: ID,
    [`https://www.instagram.com/p/${identityOf(ID).mediaId}/`]: ID,
    [`https://www.instagram.com/weir.diary/p/${identityOf(ID).mediaId}_58000000011/`]: ID,
    'https://www.instagram.com/p/482584233761418119/': 'aye83DjauH',
    'https://www.instagram.com/p/ySl7G9tO_q/': 'ySl7G9tO_q',
    'https://www.instagram.com/p/C/': 'C',
    [post(KEYED)]: KEYED,
    'https://www.instagram.com/share/BAinvented_42': 'BAinvented_42',
    'https://www.instagram.com/share/p/BAinvented_42?x=1': 'BAinvented_42',
    'https://www.instagram.com/share/r/BAinvented_42/': 'BAinvented_42',
    'https://www.instagram.com/share/reel/BAinvented_42/': 'BAinvented_42',
  },
  foreign: [
    `https://evilinstagram.com/p/${ID}/`,
    `https://www.instagram.com.evil.example/p/${ID}/`,
    `https://l.instagram.com/?u=https%3A%2F%2Fwww.instagram.com%2Fp%2F${ID}`,
    `https://www.ddinstagram.com/p/${ID}/`,
    `https://about.instagram.com/p/${ID}/`,
    `https://www.threads.net/@weir.diary/post/${ID}`,
    `https://www.instagram.com:8443/p/${ID}/`,
    `https://user@www.instagram.com/p/${ID}/`,
    `https://scontent-xyz1-1.cdninstagram.com/p/${ID}/`,
    `ftp://www.instagram.com/p/${ID}/`,
  ],
  unsupported: [
    'https://www.instagram.com/',
    'https://www.instagram.com/weir.diary/',
    'https://www.instagram.com/weir.diary/reels/',
    'https://www.instagram.com/weir.diary/tagged/',
    'https://www.instagram.com/weir.diary/saved/x/1/',
    'https://www.instagram.com/stories/weir.diary/3889429926361756743/',
    'https://www.instagram.com/s/aGlnaGxpZ2h0OjE/',
    'https://www.instagram.com/explore/tags/river/',
    'https://www.instagram.com/direct/inbox/',
    'https://www.instagram.com/reels/audio/1128000000000091/',
    'https://www.instagram.com/reels/videos/DX6B-kzkPRH/',
    'https://www.instagram.com/reels/videos/',
    'https://www.instagram.com/stories/highlights/18042509488170095/',
    'https://www.instagram.com/p/38894299263617567431234/',
    'https://www.instagram.com/reels/',
    'https://www.instagram.com/p/',
    'https://www.instagram.com/p/too-long-for-a-code/',
    'https://www.instagram.com/p/a%20b/',
    'https://www.instagram.com/share/',
    'https://www.instagram.com/share/story/BAinvented_42',
    'https://www.instagram.com/accounts/login/?next=/p/x/',
  ],
  samples,
});
