/** The social plugin, checked by the testing kit on recorded replies. */

import { absent, containing, count, describeExtractor, describePlugin, matching, type Sample } from 'mediagate/testing';
import social from '../index.js';

const SITE = 'https://www.facebook.com';
const ALIAS = 'pfbid02InventedAliasForTheFixture7Kq';

const samples: Sample[] = [
  {
    name: 'reel-2025',
    url: `${SITE}/reel/730000000000417?mibextid=invented`,
    id: '730000000000417',
    expect: {
      method: 'page',
      audio: true,
      partial: false,
      limitations: ['stats_rounded: views, shares'],
      data: {
        common: {
          title: 'The wheel turns again after forty years.',
          caption: 'The wheel turns again after forty years.\n#watermill #restoration',
          author: {
            id: '61551000000417',
            name: 'Tidewater Mill',
            username: 'tidewater.mill',
            url: `${SITE}/tidewater.mill`,
            avatar: containing('/t39.30808-1/'),
            verified: true,
          },
          thumbnail: containing('chosen730000000000417'),
          published_at: '2026-03-04T08:00:05Z',
          duration_seconds: 41.2,
          tags: ['watermill', 'restoration'],
          live_status: 'none',
          music: { artist: 'The Weir Trio', title: 'Slow Water', id: '6690000000000001' },
        },
        ids: { video_id: '730000000000417', post_id: '122300000000000417', author_id: '61551000000417' },
        metrics: { views: 12000, likes: 2841, comments: 96, shares: 1300 },
        media: { video_urls: [containing('417hd'), containing('417sd')] },
        raw_stats: { 'unified_reactors.count': 2841, share_count_reduced: '1.3K' },
        provenance: { precision: { likes: 'exact', shares: 'rounded', views: 'rounded' } },
      },
    },
  },
  {
    name: 'post-2025',
    url: 'https://m.facebook.com/story.php?story_fbid=4410000000000731&id=rosalind.okafor.1',
    id: '4410000000000731',
    expect: {
      audio: false,
      limitations: ['carousel_truncated: 5 of 8'],
      data: {
        common: {
          caption: 'First firing of the year: forty bowls, two cracked.\n\n#stoneware',
          author: { id: '100009000000731', name: 'Rosalind Okafor', avatar: containing('/t39.30808-1/') },
          published_at: '2026-02-18T10:59:05Z',
          thumbnail: containing('bowl0_n'),
        },
        ids: { post_id: '4410000000000731', video_id: absent },
        metrics: {
          likes: 1904,
          comments: 212,
          shares: 58,
          views: absent,
          reactions: { like: 1204, love: 689, pride: 11 },
        },
        media: { image_urls: count(5), video_urls: [] },
      },
    },
  },
  {
    name: 'group-2022',
    url: `${SITE}/groups/loom.repairs/posts/7020000000000256/`,
    id: '7020000000000256',
    expect: {
      audio: true,
      data: {
        common: {
          title: 'Can anybody date this shuttle?',
          author: { name: 'Imre Halasz' },
          published_at: '2022-06-12T05:39:05Z',
          duration_seconds: 15.5,
        },
        ids: { post_id: '7020000000000256', video_id: '910000000000256' },
        metrics: { likes: 41, comments: 19, shares: 2 },
        media: { video_urls: count(2) },
      },
    },
  },
  {
    name: 'watch-2025',
    url: `${SITE}/bellfoundryweekly/videos/pouring/1250000000000338/`,
    id: '1250000000000338',
    aliases: ['990000000000338'],
    expect: {
      audio: true,
      data: {
        common: {
          title: 'Inside the bell foundry',
          caption: 'Pouring the tenor bell, start to finish.',
          author: { name: 'Bell Foundry Weekly', username: 'bellfoundryweekly', verified: true },
          published_at: '2026-02-01T12:46:40Z',
          duration_seconds: 612,
          live_status: 'ended',
        },
        metrics: { views: 2417330, plays: 2400000, likes: 30144, comments: 1210, shares: absent },
        media: { video_urls: [containing('338hd'), containing('338sd')] },
        provenance: { precision: { views: 'exact', plays: 'rounded' } },
      },
    },
  },
  {
    name: 'live-2026',
    url: `${SITE}/watch/live/?v=1360000000000447`,
    id: '1360000000000447',
    expect: {
      audio: false,
      limitations: ['live_now'],
      data: {
        common: { title: 'Regatta, second day', is_live: true, live_status: 'live' },
        metrics: { concurrent_viewers: 1873, views: 15400, likes: 640, comments: 322 },
        media: { video_urls: [containing('hls.m3u8')] },
      },
    },
  },
  {
    name: 'photo-2025',
    url: `${SITE}/lamp.archive/photos/a.1200000000001/5610000000000582/?type=3`,
    id: '5610000000000582',
    expect: {
      data: {
        common: {
          caption: 'Acetylene lamp, 1908',
          author: { name: 'Lamp Archive', id: '100001000000582' },
          published_at: '2025-11-28T03:20:00Z',
        },
        ids: { post_id: '5610000000000582' },
        metrics: { likes: 377, comments: 45, shares: 12 },
        media: { image_urls: [containing('lamp')] },
      },
    },
  },
  {
    name: 'post-tags-2026',
    url: `${SITE}/permalink.php?story_fbid=122400000000000693&id=seed.library&rdid=x`,
    id: '122400000000000693',
    expect: {
      method: 'page+plugin',
      limitations: ['caption_truncated', 'stats_rounded: likes'],
      data: {
        common: {
          author: {
            id: '61552000000693',
            name: 'Seed Library',
            username: 'seed.library',
            avatar: containing('/t39.30808-1/'),
          },
          published_at: '2026-06-01T08:30:00Z',
        },
        metrics: { likes: 2600, comments: 418 },
        media: { image_urls: count(2) },
      },
    },
  },
  {
    name: 'post-tags-2023',
    url: `${SITE}/NorthPier/posts/694000000000724`,
    id: '694000000000724',
    expect: {
      limitations: ['stats_not_shown'],
      data: {
        common: { author: { name: 'North Pier' }, caption: 'The planks are down. #pier', thumbnail: absent },
        metrics: { likes: absent, comments: absent },
      },
    },
  },
  {
    name: 'reel-tags-2026',
    url: 'https://de-de.facebook.com/reel/730000000000520',
    id: '730000000000520',
    expect: {
      method: 'page+plugin',
      audio: true,
      limitations: ['stats_rounded: likes'],
      data: {
        common: { caption: 'Frost am Morgen auf dem Wehr', author: { name: 'Mühlenverein Unterbach' } },
        metrics: { views: 41000, likes: 1200000 },
        media: { video_urls: [matching(/520hd\.mp4\?oe=6A2F1234&tag=hd$/), containing('520sd')] },
      },
    },
  },
  {
    name: 'linked-data-2022',
    url: `${SITE}/paper.archive/posts/${ALIAS}?__cft__[0]=x`,
    id: ALIAS,
    expect: {
      data: {
        common: {
          caption: 'The archive opens on Monday.\n\nBring gloves.',
          author: { id: '100040000000815', name: 'Paper Archive' },
          published_at: '2021-03-09T08:15:00-08:00',
        },
        ids: { post_id: '10150000000000815' },
        metrics: { likes: 2215, comments: 134, shares: 87 },
        media: { image_urls: count(1) },
      },
    },
  },
  {
    name: 'video-2020',
    url: `${SITE}/video.php?v=387000000000926`,
    id: '387000000000926',
    expect: {
      audio: true,
      data: {
        common: {
          caption: 'Raking the first salt of summer.',
          author: { id: '128000000000926', name: 'Salt Pans', url: `${SITE}/saltpans/` },
          duration_seconds: 125,
          published_at: '2020-06-03T11:00:04-07:00',
          language: 'en',
        },
        metrics: { views: 5121, likes: 318, comments: 12, shares: 41 },
        media: { video_urls: count(1), image_urls: count(1) },
      },
    },
  },
  {
    name: 'mobile-2021',
    url: 'https://mbasic.facebook.com/story.php?story_fbid=3065000000000137&id=119240000000137',
    id: '3065000000000137',
    expect: {
      data: {
        common: { caption: 'New sails are in the shop', author: { name: 'Kite Works' } },
        metrics: { likes: 1615, comments: 149, shares: 281 },
      },
    },
  },
  {
    name: 'plugin-only',
    url: `${SITE}/orchard.watch/posts/7770000000000203`,
    id: '7770000000000203',
    expect: {
      method: 'plugin',
      data: {
        common: {
          caption: 'Codling moth count is down.\nAnd 🌱 more.\n\nSecond & last.',
          author: { name: 'Orchard Watch' },
          published_at: '2026-05-06T15:26:17Z',
        },
        metrics: { likes: absent, comments: absent },
      },
    },
  },
  {
    name: 'share-page-2026',
    url: `${SITE}/share/p/1InventedCode/?mibextid=x`,
    id: '122500000000000849',
    expect: { data: { common: { caption: 'A barrel a day.', author: { name: 'Cooper Yard' } } } },
  },
  {
    name: 'share-redirect',
    url: 'https://fb.watch/1nvent3dCo/',
    id: '1250000000000338',
    aliases: ['990000000000338'],
    expect: { data: { metrics: { likes: 30144 } } },
  },
  {
    name: 'share-behind-login',
    url: `${SITE}/share/v/1BehindLogin/`,
    id: '730000000000417',
    expect: { data: { metrics: { likes: 2841 } } },
  },
  { name: 'share-dead', url: `${SITE}/share/r/1DeadCode00`, error: 'short_link_dead' },
  { name: 'share-login', url: `${SITE}/share/1LoginCode0`, error: 'login_required' },
  { name: 'reel-of-another', url: `${SITE}/reel/730000000000111`, error: 'upstream_refused', reason: /another item/ },
  { name: 'generic-feed', url: `${SITE}/watch/?v=1470000000000112`, error: 'unavailable', reason: /feed/ },
  { name: 'age-gate', url: `${SITE}/someone/posts/122600000000000013`, error: 'age_restricted' },
  { name: 'unavailable', url: `${SITE}/someone/posts/122600000000000021`, error: 'unavailable', reason: /isn’t avail/ },
  { name: 'unavailable-german', url: `${SITE}/someone/posts/122600000000000039`, error: 'unavailable' },
  { name: 'not-found', url: `${SITE}/someone/posts/122600000000000062`, error: 'unavailable', reason: /404/ },
  { name: 'error-screen', url: `${SITE}/someone/posts/122600000000000047`, error: 'bot_check' },
  { name: 'challenge', url: `${SITE}/someone/posts/122600000000000070`, error: 'bot_check' },
  { name: 'checkpoint', url: `${SITE}/someone/posts/122600000000000104`, error: 'bot_check' },
  { name: 'blocked', url: `${SITE}/someone/posts/122600000000000054`, error: 'upstream_rate_limited' },
  { name: 'login-wall', url: `${SITE}/groups/quiet.group/posts/2345000000000188`, error: 'login_required' },
  { name: 'login-page', url: `${SITE}/someone/posts/122600000000000096`, error: 'login_required' },
];

describePlugin({ plugin: social, folder: import.meta.url });

describeExtractor({
  plugin: social,
  folder: import.meta.url,
  // A post's address names its owner, by name or by number, and only that address shows it.
  severalLinks: true,
  links: {
    'https://www.facebook.com/watch/?v=1250000000000338&ref=sharing': '1250000000000338',
    'https://www.facebook.com/watch/live/?ref=x&v=1250000000000338': '1250000000000338',
    'https://www.facebook.com/bellfoundry/videos/1250000000000338': '1250000000000338',
    'https://www.facebook.com/watch/1250000000000338/': '1250000000000338',
    'https://www.facebook.com/video/video.php?v=1250000000000338': '1250000000000338',
    'https://fb.watch/v/1nvent3dCo/': '1nvent3dCo',
    'https://www.facebook.com/bellfoundry/videos/vb.1200000000001/1250000000000338/?type=2': '1250000000000338',
    'https://www.facebook.com/video/embed?video_id=1250000000000338': '1250000000000338',
    'https://web.facebook.com/reels/730000000000417': '730000000000417',
    'https://www.facebook.com/tidewater.mill/reels/730000000000417/': '730000000000417',
    'https://fb.com/rosalind.okafor.1/posts/4410000000000731': '4410000000000731',
    'https://www.facebook.com/rosalind.okafor.1/posts/first-firing/4410000000000731/?comment_id=5': '4410000000000731',
    'https://www.facebook.com/rosalind.okafor.1/posts/4410000000000731:0': '4410000000000731',
    'https://zh-hk.facebook.com/permalink.php?story_fbid=pfbid0InventedAliasOfAPost12&id=100009000000731':
      'pfbid0InventedAliasOfAPost12',
    'https://www.facebook.com/groups/880000000000001/permalink/7020000000000256/': '7020000000000256',
    'https://www.facebook.com/groups/loom.repairs/?multi_permalinks=7020000000000256&hoisted_section_header_type=x':
      '7020000000000256',
    'https://m.facebook.com/groups/loom.repairs?view=permalink&id=7020000000000256': '7020000000000256',
    'https://www.facebook.com/photo.php?fbid=5610000000000582&set=a.1&type=3': '5610000000000582',
    'https://www.facebook.com/photo?fbid=5610000000000582': '5610000000000582',
    'https://www.facebook.com/media/set/?set=pcb.4410000000000731&type=1': '4410000000000731',
    'https://l.facebook.com/l.php?u=https%3A%2F%2Fwww.facebook.com%2Freel%2F730000000000417&h=x': '730000000000417',
    'https://www.facebook.com/plugins/post.php?href=https%3A%2F%2Fwww.facebook.com%2Fsomeone%2Fposts%2F4410000000000731':
      '4410000000000731',
    'https://www.facebook.com/login/?next=https%3A%2F%2Fwww.facebook.com%2Fwatch%2F%3Fv%3D1250000000000338':
      '1250000000000338',
    'https://www.facebook.com/v23.0/plugins/video.php?height=314&href=https%3A%2F%2Fwww.facebook.com%2Fbellfoundry%2Fvideos%2F1250000000000338%2F&show_text=0':
      '1250000000000338',
    'https://www.facebook.com/plugins/video.php?href=%2Fbellfoundry%2Fvideos%2F1250000000000338%2F': '1250000000000338',
    'https://www.facebook.com/v2.5/plugins/post.php?href=/someone/posts/4410000000000731': '4410000000000731',
    'https://www.facebook.com/photo/5610000000000582/': '5610000000000582',
    'https://www.facebook.com/videos/1250000000000338': '1250000000000338',
    'https://www.facebook.com/reel/?v=730000000000417': '730000000000417',
    'https://www.facebook.com/watch/live/1250000000000338/': '1250000000000338',
    'https://www.facebook.com/pg/bellfoundry/posts/4410000000000731': '4410000000000731',
    'https://www.facebook.com/pg/bellfoundry/videos/1250000000000338/': '1250000000000338',
    'https://www.facebook.com/p/Bell-Foundry-100009000000731/videos/1250000000000338/': '1250000000000338',
    'https://www.facebook.com/p/Bell-Foundry-100009000000731/posts/4410000000000731/': '4410000000000731',
    'https://www.facebook.com/pages/Bell-Foundry/100009000000731/posts/4410000000000731': '4410000000000731',
    'https://www.facebook.com/pages/category/Museum/Bell-Foundry-100009000000731/posts/4410000000000731/':
      '4410000000000731',
    'https://www.facebook.com/people/Rosalind/100009000000731/posts/4410000000000731/': '4410000000000731',
    'https://www.facebook.com/profile.php?id=100009000000731&story_fbid=4410000000000731': '4410000000000731',
    'https://www.facebook.com/rosalind.okafor.1/posts/first-firing-4410000000000731': '4410000000000731',
    'https://www.facebook.com/rosalind.okafor.1/posts/first-firing-pfbid0InventedAliasOfAPost12':
      'pfbid0InventedAliasOfAPost12',
    'https://de-de.facebook.com/Rosalind.Okafor.1/Posts/4410000000000731': '4410000000000731',
    'https://www.facebook.com/share/reel/1BehindLogin/': '1BehindLogin',
    'https://www.facebook.com/share/v/1BehindLogin/': '1BehindLogin',
    'https://www.facebook.com/share/1LoginCode0/?mibextid=x': '1LoginCode0',
    'https://fb.watch/1nvent3dCo/?s=1': '1nvent3dCo',
  },
  foreign: [
    'https://www.youtube.com/watch?v=1250000000000338',
    'https://www.instagram.com/reel/730000000000417/',
    'https://developers.facebook.com/docs/reel/730000000000417',
    'https://facebook.com.example/reel/730000000000417',
    'https://notfb.watch/1nvent3dCo/',
  ],
  unsupported: [
    'https://www.facebook.com/',
    'https://www.facebook.com/bellfoundry',
    'https://www.facebook.com/bellfoundry/videos/',
    'https://www.facebook.com/profile.php?id=100009000000731',
    'https://www.facebook.com/people/Rosalind/100009000000731/',
    'https://www.facebook.com/groups/loom.repairs/',
    'https://www.facebook.com/events/7020000000000256/',
    'https://www.facebook.com/stories/100009000000731/abc',
    'https://www.facebook.com/marketplace/item/7020000000000256/',
    'https://www.facebook.com/hashtag/loom',
    'https://www.facebook.com/watch/',
    'https://www.facebook.com/watch/bellfoundry/1250000000000338',
    'https://www.facebook.com/people/Rosalind/100009000000731/photos/',
    'https://www.facebook.com/p/Bell-Foundry-100009000000731/',
    'https://www.facebook.com/pg/bellfoundry/posts/',
    'https://www.facebook.com/pages/posts/4410000000000731',
    'https://www.facebook.com/v23.0/plugins/page.php?href=https%3A%2F%2Fwww.facebook.com%2Fbellfoundry',
    'https://www.facebook.com/plugins/video.php?href=%2F%2Fevil.example%2Fwatch%2F%3Fv%3D1250000000000338',
    'https://www.facebook.com/videos/',
    'https://www.facebook.com/photo/',
    'https://www.facebook.com/share/x/1BehindLogin/',
    'https://www.facebook.com/share/g/1BehindLogin/',
    'https://www.facebook.com/share/story/1BehindLogin/',
    'https://www.facebook.com/Events/posts/7020000000000256',
    'https://www.facebook.com/unknown.php/posts/7020000000000256',
    'https://fb.watch/x/1nvent3dCo/',
    'https://www.facebook.com/reel/',
    'https://www.facebook.com/ads/library/?id=7020000000000256',
    'https://www.facebook.com/media/set/?set=a.4410000000000731',
    'https://www.facebook.com/permalink.php?story_fbid=abc&id=5',
    'https://l.facebook.com/l.php?u=https%3A%2F%2Fevil.example%2Freel%2F730000000000417',
    'https://www.facebook.com/plugins/post.php?href=https%3A%2F%2Fl.facebook.com%2Fl.php%3Fu%3Dhttps%253A%252F%252Fwww.facebook.com%252Freel%252F730000000000417',
    'https://fb.watch/',
  ],
  samples,
});
