/** Links of the five platforms in the forms that people and the platforms' own apps give them, and what they are. */

type Links = Readonly<Record<string, string>>;

/** Platform → kind of item → link → id. A short link has its code. */
export const ACCEPTED: Readonly<Record<string, Readonly<Record<string, Links>>>> = {
  vidsite: {
    video: {
      'https://www.youtube.com/watch?v=YE7VzlLtp-4&t=1s&end=9': 'YE7VzlLtp-4',
      '//www.YouTube.com/watch?v=yZIXLfi8CZQ': 'yZIXLfi8CZQ',
      'youtube.com/watch?v=HtVdAasjOgU': 'HtVdAasjOgU',
      'https://www.youtube.com/watch?v=YE7VzlLtp-4&v=BaW_jenozKc': 'YE7VzlLtp-4',
      'https://www.youtube.com/watch?feature=player_embedded&amp;amp;v=V36LpHqtcDY': 'V36LpHqtcDY',
      'https://www.youtube.com/watch?v=V36LpHqtcDY?si=AbCdEf': 'V36LpHqtcDY',
      'https://www.youtube.com/watch?v=V36LpHqtcDY%26t=5': 'V36LpHqtcDY',
      'https://www.youtube.com/watch%3Fv%3DV36LpHqtcDY': 'V36LpHqtcDY',
      'https://www.youtube.com/watch/V36LpHqtcDY': 'V36LpHqtcDY',
      'https://www.youtube.com/watch_popup?v=63RmMXCd_bQ': '63RmMXCd_bQ',
      'https://www.youtube.com/watch?list=PLW4dVinRY435CBE_JD3t-0SRXKfnZHS1P&feature=youtu.be&v=M9cJMXmQ_ZU':
        'M9cJMXmQ_ZU',
      'https://music.youtube.com/watch?v=5rGTsvZCEdk&feature=share': '5rGTsvZCEdk',
      'https://gaming.youtube.com/watch?v=5rGTsvZCEdk': '5rGTsvZCEdk',
      'https://www.youtubekids.com/watch?v=Agk7R8I8o5U&list=PUZ6jURNr1WQZCNHF0ao-c0g': 'Agk7R8I8o5U',
      'https://m.youtube.com/watch?v=5rGTsvZCEdk&feature=youtu.be': '5rGTsvZCEdk',
      'https://www.youtube.com/shorts/18NGQq7p3LY': '18NGQq7p3LY',
      'https://www.youtube.com/live/qVv6vCqciTM?feature=shared': 'qVv6vCqciTM',
      'https://www.youtube.com/embed/CsmdDsKjzN8': 'CsmdDsKjzN8',
      'http://www.youtube.com/embed/_xDOZElKyNU?list=PLsyOSbh5bs16vubvKePAQ1x3PhKavfBIl': '_xDOZElKyNU',
      'https://www.youtube-nocookie.com/embed/CsmdDsKjzN8?rel=0': 'CsmdDsKjzN8',
      'https://www.youtube.com/v/CsmdDsKjzN8?version=3': 'CsmdDsKjzN8',
      'https://www.youtube.com/e/CsmdDsKjzN8': 'CsmdDsKjzN8',
      'https://youtu.be/yeWKywCrFtk?list=PL2qgrgXsNUG5ig9cat4ohreBjYLAPC0J5': 'yeWKywCrFtk',
      'https://youtu.be/yeWKywCrFtk?si=AbCdEf?t=3': 'yeWKywCrFtk',
      'https://youtu.be/shorts/18NGQq7p3LY': '18NGQq7p3LY',
      'https://youtu.be/live/qVv6vCqciTM?si=x': 'qVv6vCqciTM',
      'https://youtu.be/watch?v=yeWKywCrFtk': 'yeWKywCrFtk',
      'https://consent.youtube.com/m?continue=https%3A%2F%2Fwww.youtube.com%2Flive%2FqVv6vCqciTM%3Fcbrd%3D1&gl=NL&m=0':
        'qVv6vCqciTM',
    },
    short_link: {
      'https://www.youtube.com/clip/UgytZKpehg-hEMBSn3F4AaABCQ': 'UgytZKpehg-hEMBSn3F4AaABCQ',
      'https://www.youtube.com/@sbcitygov/live': '@sbcitygov',
      'https://www.youtube.com/channel/UCoMdktPbSTixAyNGwb-UYkQ/live': 'UCoMdktPbSTixAyNGwb-UYkQ',
      'https://www.youtube.com/embed/live_stream?channel=UC2_KI6RB__jGdlnK6dvFEZA': 'UC2_KI6RB__jGdlnK6dvFEZA',
      'https://www.youtube.com/user/TheYoungTurks/live': 'TheYoungTurks',
      'https://www.youtube.com/c/CommanderVideoHq/live': 'CommanderVideoHq',
      'https://www.youtube.com/TheYoungTurks/live': 'TheYoungTurks',
    },
  },
  clip_video: {
    video: {
      'https://www.tiktok.com/@patroxofficial/video/6742501081818877190?langCountry=en': '6742501081818877190',
      'https://www.tiktok.com/@MS4wLjABAAAATh8Vewkn0LYM7Fo03iec3qKdeCUOcBIouRk1mkiag6h3o_pQu_dUXvZ2EZlGST7_/video/7042692929109986561':
        '7042692929109986561',
      'https://www.tiktok.com/@.kyle.films/video/7415757181145877793': '7415757181145877793',
      'https://www.tiktok.com/@chillezy/photo/7240568259186019630': '7240568259186019630',
      'https://www.tiktok.com/@/video/7668090902816017671/': '7668090902816017671',
      'https://www.tiktok.com/en/@/video/7668090902816017671': '7668090902816017671',
      'https://www.tiktok.com/share/video/7668090902816017671/': '7668090902816017671',
      'https://www.tiktokv.com/share/video/7240568259186019630': '7240568259186019630',
      'https://m.tiktok.com/v/7106798200794926362.html': '7106798200794926362',
      'https://www.tiktok.com/embed/v2/7106798200794926362': '7106798200794926362',
      'https://www.tiktok.com/player/v1/7106798200794926362?autoplay=1': '7106798200794926362',
      'https://www.tiktok.com/@ughuwhguweghw/video/1': '1',
    },
    short_link: {
      'https://vm.tiktok.com/ZTR45GpSF/': 'ZTR45GpSF',
      'https://vt.tiktok.com/ZGdhVtER2': 'ZGdhVtER2',
      'https://www.tiktok.com/t/ZGdhVtER2//': 'ZGdhVtER2',
      'https://lite.tiktok.com/t/ZGdhVtER2/': 'ZGdhVtER2',
    },
  },
  clip_shop: {
    product: {
      'https://www.tiktok.com/shop/pdp/a-pot/1729384756012345678': '1729384756012345678',
      'https://www.tiktok.com/shop/pdp/a-pot-1729384756012345678': '1729384756012345678',
      'https://www.tiktok.com/view/product/1729384756012345678?region=US': '1729384756012345678',
      'https://shop-id.tokopedia.com/pdp/a-pot/1729384756012345678': '1729384756012345678',
      'https://shop-id.tokopedia.com/view/product/1729384756012345678': '1729384756012345678',
    },
    short_link: { 'https://vt.tokopedia.com/t/ZSinvented/': 'ZSinvented' },
  },
  photo: {
    post: {
      'https://instagram.com/p/aye83DjauH/?foo=bar#abc': 'aye83DjauH',
      'instagram.com/p/-Cmh1cukG2/': '-Cmh1cukG2',
      'https://www.instagram.com/reel/Chunk8-jurw/': 'Chunk8-jurw',
      'https://www.instagram.com/reels/CDg_6Y1pxWu/': 'CDg_6Y1pxWu',
      'https://www.instagram.com/tv/BkfuX9UB-eK/': 'BkfuX9UB-eK',
      'http://instagram.com/p/9o6LshA7zy/embed/': '9o6LshA7zy',
      'https://www.instagram.com/marvelskies.fc/reel/CWqAgUZgCku/': 'CWqAgUZgCku',
      'https://www.instagram.com/dm/p/CW042g7B9CY/': 'CW042g7B9CY',
      'https://www.instagram.com/p/482584233761418119/': 'aye83DjauH',
      'https://de.instagram.com/p/aye83DjauH/': 'aye83DjauH',
      'https://www.instagram.com/p/C5_A1TQNPrYw4c2g9KAUTPUl8RVHqiAdAcOOSY0': 'C5_A1TQNPrYw4c2g9KAUTPUl8RVHqiAdAcOOSY0',
    },
    short_link: {
      'https://www.instagram.com/share/BACiUUUYQV': 'BACiUUUYQV',
      'https://www.instagram.com/share/p/BACiUUUYQV': 'BACiUUUYQV',
      'https://www.instagram.com/share/r/BACiUUUYQV': 'BACiUUUYQV',
      'https://www.instagram.com/share/reel/BARSSL4rTu': 'BARSSL4rTu',
    },
  },
  social: {
    video: {
      'https://www.facebook.com/watch/?v=647537299265662': '647537299265662',
      'https://web.facebook.com/watch/?v=883839773514682&ref=sharing': '883839773514682',
      'https://www.facebook.com/watch/live/?v=1823658634322275': '1823658634322275',
      'https://www.facebook.com/watch/live/1823658634322275/': '1823658634322275',
      'https://www.facebook.com/video.php?v=637842556329505&fref=nf': '637842556329505',
      'https://www.facebook.com/videos/637842556329505': '637842556329505',
      'https://www.facebook.com/cnn/videos/10155529876156509/': '10155529876156509',
      'https://www.facebook.com/100033620354545/videos/106560053808006/': '106560053808006',
      'https://www.facebook.com/ChristyClarkForBC/videos/vb.22819070941/10153870694020942/?type=2&theater':
        '10153870694020942',
      'https://web.facebook.com/wood57/videos/𝐒𝐞𝐛𝐚𝐬𝐤𝐨𝐦-𝐟𝐮𝐥𝐥/883839773514682': '883839773514682',
      'https://zh-hk.facebook.com/peoplespower/videos/1135894589806027/': '1135894589806027',
      'https://www.facebook.com/pg/cnn/videos/10155529876156509/': '10155529876156509',
      'https://www.facebook.com/p/CNN-100033620354545/videos/106560053808006/': '106560053808006',
      'https://www.facebook.com/plugins/video.php?href=https%3A%2F%2Fwww.facebook.com%2Fgov.sg%2Fvideos%2F10154383743583686%2F&show_text=0&width=560':
        '10154383743583686',
      'https://www.facebook.com/plugins/video.php?href=https://www.facebook.com/gov.sg/videos/10154383743583686/&show_text=0&width=560':
        '10154383743583686',
      'https://www.facebook.com/plugins/video.php?href=https%3A%2F%2Fwww.facebook.com%2Fvideo.php%3Fv%3D10204634152394104':
        '10204634152394104',
      'https://www.facebook.com/v23.0/plugins/video.php?href=%2Fgov.sg%2Fvideos%2F10154383743583686%2F':
        '10154383743583686',
    },
    reel: {
      'https://www.facebook.com/reel/1195289147628387': '1195289147628387',
      'https://www.facebook.com/reel/?v=1195289147628387': '1195289147628387',
    },
    post: {
      'https://www.facebook.com/maxlayn/posts/10153807558977570': '10153807558977570',
      'https://www.facebook.com/maxlayn/posts/some-words-10153807558977570': '10153807558977570',
      'https://m.facebook.com/story.php?story_fbid=1035862816472149&id=116132035111903': '1035862816472149',
      'https://mbasic.facebook.com/story.php?story_fbid=1035862816472149&id=116132035111903': '1035862816472149',
      'https://www.facebook.com/permalink.php?story_fbid=pfbid0fqQuVEQyXRa9Dp4RcaTR14KHU3uULHV1EK7eckNXSH63JMuoALsAvVCJ97zAGitil&id=100068861234290':
        'pfbid0fqQuVEQyXRa9Dp4RcaTR14KHU3uULHV1EK7eckNXSH63JMuoALsAvVCJ97zAGitil',
      'https://www.facebook.com/profile.php?id=116132035111903&story_fbid=1035862816472149': '1035862816472149',
      'https://www.facebook.com/groups/1024490957622648/permalink/1396382447100162/': '1396382447100162',
      'https://www.facebook.com/groups/1513990329015294/posts/d41d8cd9/2013209885760000/?app=fbl': '2013209885760000',
      'https://www.facebook.com/pg/maxlayn/posts/10153807558977570': '10153807558977570',
      'https://www.facebook.com/pages/Max/116132035111903/posts/10153807558977570': '10153807558977570',
      'https://www.facebook.com/photo.php/?fbid=10165113568399554&set=t.100064860875397': '10165113568399554',
      'https://www.facebook.com/photo/?fbs=home&fbid=10160743390456729': '10160743390456729',
      'https://www.facebook.com/photo/10160743390456729': '10160743390456729',
      'https://www.facebook.com/Facebook/photos/a.10152716010956729/10152716011076729': '10152716011076729',
    },
    short_link: {
      'https://web.facebook.com/share/r/JFZfPVgLkiJQmWrr/': 'JFZfPVgLkiJQmWrr',
      'https://www.facebook.com/share/reel/JFZfPVgLkiJQmWrr/': 'JFZfPVgLkiJQmWrr',
      'https://www.facebook.com/share/v/JFZfPVgLkiJQmWrr/': 'JFZfPVgLkiJQmWrr',
      'https://www.facebook.com/share/p/JFZfPVgLkiJQmWrr/': 'JFZfPVgLkiJQmWrr',
      'https://fb.watch/1nvent3dCo/': '1nvent3dCo',
    },
  },
};

/** `code`, or `code: what the link is` → links. */
export const REFUSED: Readonly<Record<string, readonly string[]>> = {
  invalid_url: [
    '__2ABJjxzNo',
    'PLBB231211A4F62143',
    ':ytfav',
    'ytuser:phihag',
    'ytsearch5:youtube-dl test video',
    'tiktokuser:MS4wLjABAAAAM3R2BtjzVT-uAtstkl2iugMzC6AtnpkojJbjiOdDDrdsTiTR75-8lyWJCY5VvDrZ',
    'instagram://media?id=482584233761418119',
    'facebook:544765982287235',
    'ytdl:https://www.youtube.com/watch?v=BaW_jenozKc&t=1s&end=9',
  ],
  unsupported_platform: [
    'https://vid.plus/FlRa-iH7PGw',
    'https://redirect.invidious.io/watch?v=YE7VzlLtp-4',
    'https://zwearz.com/watch/9lWxNJF-ufM/electra-woman-dyna-girl-official-trailer-grace-helbig.html',
    'https://www.douyin.com/video/6961737553342991651',
    'https://ddinstagram.com/p/CmCVWoIr9OH/',
    'https://www.facebookwkhpilnemxj7asaniu7vnjjbiltxjqhye3mhbshg7kx5tfyd.onion/video.php?v=274175099429670',
  ],
  'unsupported_link: a channel': [
    'https://www.youtube.com/c/ИгорьКлейнер/playlists?view=1&flow=grid',
    'https://www.youtube.com/user/igorkle1/playlists?view=1&sort=dd',
    'https://www.youtube.com/channel/UCTwECeGqMZee77BjdoYtI2Q/videos?view=0&sort=p&flow=grid',
    'https://www.youtube.com/@NotJustBikes/shorts',
    'https://music.youtube.com/channel/UCmlqkdCBesrv2Lak1mF_MxA',
    'http://www.youtube.com/NASAgovVideo/videos',
  ],
  'unsupported_link: a playlist': [
    'https://www.youtube.com/playlist?list=PLt5yu3-wZAlSLRHmI1qNm0wjyVNWw1pCU',
    'https://music.youtube.com/playlist?list=PLRBp0Fe2GpgmgoscNFLxNyBVSFVdYmFkq',
  ],
  'unsupported_link: an embedded list': [
    'https://www.youtube.com/embed/videoseries?list=PL6IaIsEjSbf96XFRuNccS_RuEXwNdsoEu',
  ],
  'unsupported_link: a search': [
    'https://www.youtube.com/results?search_query=%23cats',
    'https://music.youtube.com/search?q=royalty+free+music#community+playlists',
  ],
  'unsupported_link: a feed': [
    'https://www.youtube.com/feed/trending?bp=4gIcGhpnYW1pbmdfY29ycHVzX21vc3RfcG9wdWxhcg%3D%3D',
  ],
  'unsupported_link: a hashtag': [
    'https://www.youtube.com/hashtag/cctv9',
    'https://tiktok.com/tag/fypシ?is_copy_url=0',
  ],
  'unsupported_link: a page of an artist, album or list': ['https://music.youtube.com/browse/MPREb_gTAcphH99wE'],
  'unsupported_link: a list of videos with the same audio': ['https://www.youtube.com/source/Lyj-MZSAA9o/shorts'],
  'unsupported_link: a channel or another page of the site': ['https://www.youtube.com/zsecurity'],
  'unsupported_link: a link of a video without its id': [
    'https://www.youtube.com/watch?',
    'https://www.youtube.com/watch?annotation_id=annotation_3951667041',
  ],
  'unsupported_link: a link with a malformed video id (11 letters, digits, - or _ are one)': [
    'https://www.youtube.com/watch?v=N_708QY7Ob',
  ],
  'unsupported_link: the home page': ['https://youtube.com', 'instagram.com', 'https://www.tiktok.com/'],
  'unsupported_link: a profile': [
    'https://tiktok.com/@corgibobaa?lang=en',
    'https://www.tiktok.com/@chillezy/reposts',
    'https://www.instagram.com/instagram/?hl=en',
    'https://www.instagram.com/instagram/saved/all-posts/',
    'https://www.instagram.com/instagram/highlights',
    'https://www.facebook.com/profile.php?id=100064860875397',
    'https://www.facebook.com/people/facebook/100064860875397/?sk=photos',
    'https://www.facebook.com/facebook/avatar',
  ],
  "unsupported_link: an item's link without its author": ['https://www.tiktok.com/video/7668090902816017671'],
  'unsupported_link: a piece of music': ['https://www.tiktok.com/music/Build-a-Btch-6956990112127585029?lang=en'],
  'unsupported_link: an effect': ['https://www.tiktok.com/sticker/Elf-Friend-479565'],
  'unsupported_link: a collection': ['https://www.tiktok.com/@imanoreotwe/collection/%F0%9F%98%82-7111887189571160875'],
  'unsupported_link: a live stream': [
    'https://www.tiktok.com/@pilarmagenta/live',
    'https://m.tiktok.com/share/live/7209423610325322522/?language=en',
  ],
  'unsupported_link: a story': [
    'https://www.instagram.com/stories/fruits_zipper/3570766765028588805/',
    'https://www.tiktok.com/@chillezy/stories',
  ],
  'unsupported_link: a highlight': [
    'https://www.instagram.com/stories/highlights/18090946048123978/',
    'https://www.instagram.com/s/aGlnaGxpZ2h0OjE4MDQyNTA5NDg4MTcwMDk1?story_media_id=2724343156064789461',
  ],
  'unsupported_link: an explore page': ['https://instagram.com/explore/tags/lolcats'],
  'unsupported_link: a list of reels': ['https://www.instagram.com/reels/videos/CDg_6Y1pxWu/'],
  'unsupported_link: a list of reels with the same audio': ['https://www.instagram.com/reels/audio/1128000000000091/'],
  'unsupported_link: an advertisement': ['https://es-la.facebook.com/ads/library/?id=901230958115569'],
  'unsupported_link: an event': ['https://m.facebook.com/events/1509582499515440'],
  'unsupported_link: a watch party': ['https://www.facebook.com/watchparty/211641140192478'],
  'unsupported_link: an album': ['https://www.facebook.com/media/set/?set=a.10152716010956729&type=3'],
  'unsupported_link: a list of a profile': [
    'https://www.facebook.com/100064860875397/photos',
    'https://www.facebook.com/facebook/photos_albums/Mobile uploads',
  ],
  "unsupported_link: a shop's page": ['https://www.tiktok.com/shop/store/a/7495000000000000070'],
};
