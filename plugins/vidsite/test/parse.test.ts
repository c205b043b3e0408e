/** What the video-site plugin reads from pages: dates, likes, channels, lists and files. */

import { expect } from 'chai';
import { parseLikes } from '../read/counters.js';
import { parseChapters, parseDescription, parseMusic } from '../read/description.js';
import { chooseAudio, parseFormats } from '../read/formats.js';
import { parseNext, parseOwners } from '../read/next.js';
import { parseCaptions, parsePlayer } from '../read/player.js';
import { parseShownDate } from '../read/values.js';

const ID = 'Tugs0fOst3n';

const absentIds = { id: undefined, username: undefined, url: undefined, avatar: undefined };

describe('vidsite: dates as shown', () => {
  const read: Readonly<Record<string, string>> = {
    'Apr 21, 2020': '2020-04-21',
    '21 Apr 2020': '2020-04-21',
    'Streamed live on Apr 21, 2020': '2020-04-21',
    'Am 21.04.2020 live gestreamt': '2020-04-21',
    '9.3.2020': '2020-03-09',
    'Diffusé en direct le 9 août 2021': '2021-08-09',
    '21 de abr. de 2020': '2020-04-21',
    '21 апр. 2020 г.': '2020-04-21',
    '2020年4月21日': '2020-04-21',
    '2020. 4. 21.': '2020-04-21',
    '21 thg 4, 2020': '2020-04-21',
    '21 เม.ย. 2563': '2020-04-21',
    '21 अप्रैल 2020': '2020-04-21',
    '٢١‏/٤‏/٢٠٢٠': '2020-04-21',
  };
  for (const [text, day] of Object.entries(read)) {
    it(`reads ${text}`, () => expect(parseShownDate(text)).to.equal(`${day}T00:00:00Z`));
  }

  for (const text of ['Premiered 5 hours ago', '04/05/2020', '12 srp 2019', '31 Feb 2020', 'May 2020', '']) {
    it(`does not guess at "${text}"`, () => expect(parseShownDate(text)).to.equal(undefined));
  }
});

describe('vidsite: likes', () => {
  const model = (accessibilityText: string, title: string) => [
    {
      segmentedLikeDislikeButtonViewModel: {
        likeButtonViewModel: {
          likeButtonViewModel: {
            toggleButtonViewModel: {
              toggleButtonViewModel: {
                defaultButtonViewModel: { buttonViewModel: { title, accessibilityText } },
                toggledButtonViewModel: { buttonViewModel: { title, accessibilityText: '999 likes' } },
              },
            },
          },
        },
      },
    },
  ];

  it('takes the whole number from the label, in any language', () => {
    const texts = [
      'like this video along with 15,288 other people',
      'haz clic en Me gusta en este vídeo junto con otras 15.288 personas',
      'J’aime cette vidéo, comme 15 288 autres personnes',
      '他 15,288 人もこの動画を高く評価しました',
    ];
    for (const text of texts) expect(parseLikes(model(text, '15K'), {})).to.include({ value: 15288, exact: true });
  });

  it('fall back to the rounded number, and mark it', () => {
    expect(parseLikes(model('I like this', '15K'), {})).to.include({ value: 15000, exact: false });
  });

  it('finds none on a button without a number', () => {
    expect(parseLikes(model('I like this', 'Like'), {})).to.equal(undefined);
  });

  it('are distinguished from dislikes among buttons of one kind', () => {
    const toggle = (iconType: string, label: string) => ({
      toggleButtonRenderer: {
        defaultIcon: { iconType },
        defaultText: { accessibility: { accessibilityData: { label } } },
      },
    });
    const topLevelButtons = [toggle('DISLIKE', '791 dislikes'), toggle('LIKE', '15,288 likes')];
    expect(parseLikes(topLevelButtons, {})?.value).to.equal(15288);
  });

  it('ignores the number of an entity that may belong to another item', () => {
    const entity = (likeCountIfIndifferentNumber: string) => ({
      payload: { likeCountEntity: { likeCountIfIndifferentNumber } },
    });
    const next = (...mutations: object[]) => ({ frameworkUpdates: { entityBatchUpdate: { mutations } } });
    expect(parseLikes([], next(entity('15288')))?.value).to.equal(15288);
    expect(parseLikes([], next(entity('15288'), entity('4')))).to.equal(undefined);
  });
});

describe('vidsite: channel', () => {
  const owner = (text: string, canonicalBaseUrl = '/@Loom') => ({
    title: { runs: [{ text: 'Village Loom' }] },
    navigationEndpoint: { browseEndpoint: { browseId: 'UCvillageLoom000000003-A', canonicalBaseUrl } },
    subscriberCountText: { simpleText: text },
    thumbnail: { thumbnails: [{ url: '//yt3.ggpht.com/a=s48', width: 48, height: 48 }] },
  });

  it('reads subscribers in several languages', () => {
    const texts: Readonly<Record<string, number>> = {
      '1.27M subscribers': 1270000,
      '1,2 Mio. Abonnenten': 1200000,
      '6,6 M de suscriptores': 6600000,
      '12,3 mil inscritos': 12300,
      '1,15 тыс. подписчиков': 1150,
      'チャンネル登録者数 12.3万人': 123000,
      '912 subscribers': 912,
    };
    for (const [text, value] of Object.entries(texts)) {
      expect(parseOwners(owner(text))[0]?.subscribers?.value, text).to.equal(value);
    }
  });

  it('has a user name for handles and old user pages only', () => {
    const username = (address: string) => parseOwners(owner('1', address))[0]?.author?.username;
    expect(username('/@Loom')).to.equal('Loom');
    expect(username('/user/LoomTV')).to.equal('LoomTV');
    expect(username('/channel/UCvillageLoom000000003-A')).to.equal(undefined);
  });

  it('has an absolute image address', () => {
    expect(parseOwners(owner('1'))[0]?.author?.avatar).to.equal('https://yt3.ggpht.com/a=s48');
  });
});

describe('vidsite: texts and lists of the page', () => {
  it('restores the addresses that the page shortens', () => {
    const redirect =
      'https://www.youtube.com/redirect?event=video_description&q=https%3A%2F%2Floom.example%2Fa%3Fb%3D1';
    const secondary = {
      attributedDescription: {
        content: '🧵 More: https://loom.exa... and 0:42',
        commandRuns: [
          { startIndex: 9, length: 19, onTap: { innertubeCommand: { urlEndpoint: { url: redirect } } } },
          { startIndex: 33, length: 4, onTap: { innertubeCommand: { watchEndpoint: { videoId: ID } } } },
        ],
      },
    };
    expect(parseDescription(secondary)).to.equal('🧵 More: https://loom.example/a?b=1 and 0:42');
  });

  it('keeps an address as its author wrote it if the link behind it is longer', () => {
    const runs = [
      {
        text: 'https://loom.example',
        navigationEndpoint: { urlEndpoint: { url: 'https://loom.example/?from=shelf' } },
      },
      { text: ' and ' },
      {
        text: 'https://loom.example/long...',
        navigationEndpoint: { urlEndpoint: { url: '/redirect?q=https%3A%2F%2Floom.example%2Flonger&v=x' } },
      },
    ];
    expect(parseDescription({ description: { runs } })).to.equal(
      'https://loom.example and https://loom.example/longer',
    );
  });

  it('reads the fields that only the description panel has', () => {
    const text = (simpleText: string) => ({ simpleText });
    const fact = (value: string) => ({ factoidRenderer: { value: text(value) } });
    const next = (factoid: unknown[], views = '31,209 views') => ({
      currentVideoEndpoint: { watchEndpoint: { videoId: ID } },
      engagementPanels: [
        {
          engagementPanelSectionListRenderer: {
            content: {
              structuredDescriptionContentRenderer: {
                items: [
                  {
                    videoDescriptionHeaderRenderer: {
                      title: text('Warp and weft'),
                      channel: text('Village Loom'),
                      views: text(views),
                      publishDate: text('21 Apr 2020'),
                      factoid,
                    },
                  },
                  { expandableVideoDescriptionBodyRenderer: { attributedDescriptionBodyText: { content: 'Threads' } } },
                ],
              },
            },
          },
        },
      ],
    });
    const { subject, post } = parseNext(next([fact('1.6K'), fact('31,209'), fact('2020')]), ID);
    expect(subject).to.equal('requested');
    expect(post.common).to.deep.include({
      title: 'Warp and weft',
      description: 'Threads',
      author: { name: 'Village Loom', ...absentIds },
      published_at: '2020-04-21T00:00:00Z',
    });
    expect(post.metrics).to.deep.include({ views: 31_209, likes: 1_600 });
    expect(post.precision).to.deep.equal({ likes: 'rounded' });
    const hidden = parseNext(next([fact('N/A'), fact('31,209'), fact('2020')]), ID).post;
    expect(hidden.metrics).to.deep.include({ views: 31_209, likes: undefined });
    const live = parseNext(next([], '512 watching now'), ID).post;
    expect(live.metrics).to.deep.include({ views: undefined, likes: undefined });
    expect(live.common?.published_at).to.equal(undefined);
    expect(parseNext(next([]), 'Another0ne1').subject).to.equal('other');
  });

  it("reads chapters from the description by the site's rule", () => {
    const good = '0:00 Warp\n(1:05) Weft\n1:00:30 - Twill';
    expect(parseChapters({}, good)).to.deep.equal([
      { title: 'Warp', start_seconds: 0 },
      { title: 'Weft', start_seconds: 65 },
      { title: 'Twill', start_seconds: 3630 },
    ]);
    for (const bad of ['0:00 a\n1:00 b', '0:10 a\n1:00 b\n2:00 c', '0:00 a\n2:00 b\n1:00 c']) {
      expect(parseChapters({}, bad), bad).to.equal(undefined);
    }
  });

  it('reads the music of a label’s recording', () => {
    const description = 'Provided to YouTube by Twill Records\n\nWeft · The Shuttles · Bobbin\n\nSelvedge\n\n℗ 2021';
    expect(parseMusic({}, {}, description)).to.deep.equal({
      title: 'Weft',
      artist: 'The Shuttles, Bobbin',
      album: 'Selvedge',
    });
  });

  it('credits no piece of music if there are several', () => {
    const row = (title: string, value: string) => ({
      metadataRowRenderer: { title: { simpleText: title }, contents: [{ simpleText: value }] },
    });
    const rows = [row('Song', 'Warp'), row('Artist', 'A'), row('Song', 'Weft'), row('Artist', 'B')];
    const secondary = { metadataRowContainer: { metadataRowContainerRenderer: { rows } } };
    expect(parseMusic({}, secondary, undefined)).to.equal(undefined);
  });
});

describe('vidsite: files', () => {
  const whole = {
    itag: 18,
    url: 'https://rr1.googlevideo.com/videoplayback?expire=1781524800&ip=203.0.113.7',
    mimeType: 'video/mp4; codecs="avc1.42001E, mp4a.40.2"',
    width: 640,
    height: 360,
    qualityLabel: '360p',
    averageBitrate: 523000,
    contentLength: '98712345',
    approxDurationMs: '1498210',
  };
  const picture = {
    ...whole,
    itag: 137,
    url: `${whole.url}&n=1`,
    mimeType: 'video/mp4; codecs="avc1.640028"',
    height: 1080,
  };
  const audioFile = (itag: number, more: object = {}) => ({
    itag,
    url: `https://rr1.googlevideo.com/videoplayback?itag=${itag}`,
    mimeType: 'audio/mp4; codecs="mp4a.40.2"',
    bitrate: 130000,
    ...more,
  });

  it('lists downloadable files, and only whole ones as video_urls', () => {
    const { media, limitations, hasAudio } = parseFormats({
      formats: [whole],
      adaptiveFormats: [picture, audioFile(140)],
    });
    expect(media.video_urls).to.deep.equal([whole.url]);
    expect(media.entries?.[0]).to.deep.include({
      kind: 'video',
      mime: 'video/mp4',
      codecs: 'avc1.42001E, mp4a.40.2',
      has_audio: true,
      has_video: true,
      quality: '360p',
      size: 98712345,
      duration_seconds: 1498.21,
      expires_at: '2026-06-15T12:00:00Z',
      bound_to: ['ip'],
    });
    expect(media.entries?.map(({ kind, has_audio }) => `${kind} ${has_audio}`)).to.deep.equal([
      'video true',
      'video false',
      'audio true',
    ]);
    expect({ limitations, hasAudio }).to.deep.equal({ limitations: [], hasAudio: true });
  });

  it('names ciphered, protected and streamed files without listing them', () => {
    const { url: _url, ...bare } = whole;
    const kinds: Readonly<Record<string, object>> = {
      media_ciphered: { ...bare, signatureCipher: 's=x&sp=sig&url=y' },
      drm: { ...whole, drmFamilies: ['WIDEVINE'] },
      sabr_only: bare,
    };
    for (const [note, format] of Object.entries(kinds)) {
      const { media, limitations } = parseFormats({ adaptiveFormats: [format] });
      expect(limitations, note).to.include(note);
      expect(media.entries, note).to.deep.equal([]);
    }
  });

  it('lists upscaled files last, and marks them', () => {
    const file = (itag: number, height: number, more: object = {}) => ({
      itag,
      url: `https://rr1.googlevideo.com/videoplayback?itag=${itag}`,
      mimeType: 'video/mp4; codecs="avc1.64001f"',
      height,
      width: (height * 16) / 9,
      ...more,
    });
    const enlarged = [
      file(1, 2160, {
        xtags: Buffer.from([0x0a, 7, 0x0a, 2, ...Buffer.from('sr'), 0x12, 1, ...Buffer.from('1')]).toString('base64'),
      }),
      file(2, 1440, { url: 'https://rr1.googlevideo.com/videoplayback?itag=2&xtags=lang%3Den%3Asr%3D1' }),
      file(3, 1080, { url: 'https://rr1.googlevideo.com/videoplayback?itag=3&xtags=sr=1' }),
    ];
    const { media } = parseFormats({ adaptiveFormats: [...enlarged, file(4, 480), file(5, 720)] });
    const itags = (urls: readonly string[]) => urls.map((url) => Number(/itag=(\d+)/.exec(url)?.[1]));
    expect(itags(media.video_urls)).to.deep.equal([5, 4, 1, 2, 3]);
    expect(itags(media.entries.map(({ url }) => url))).to.deep.equal([5, 4, 1, 2, 3]);
    expect(media.entries.map(({ label }) => label)).to.deep.equal([
      undefined,
      undefined,
      ...Array(3).fill('enlarged by the platform'),
    ]);
  });

  it('uses the original audio track, not a dubbed or levelled one', () => {
    const original = Buffer.from('acont=original').toString('base64');
    const formats = [
      audioFile(251, { audioTrack: { id: 'en.3', audioIsDefault: true } }),
      audioFile(140, { audioTrack: { id: 'nl.4', audioIsDefault: false }, xtags: original, isDrc: true }),
      audioFile(139, { audioTrack: { id: 'nl.4', audioIsDefault: false }, xtags: original }),
    ];
    expect(chooseAudio({ formats: [whole], adaptiveFormats: formats }, [140, 251, 139])?.url).to.match(/itag=139$/);
    expect(chooseAudio({ formats: [whole] }, [140])?.url).to.equal(whole.url);
    expect(chooseAudio({ adaptiveFormats: [audioFile(140, { targetDurationSec: 2 })] }, [140])).to.equal(undefined);
  });

  it('offers subtitles as WebVTT, except those that need a token', () => {
    const base = 'https://www.youtube.com/api/timedtext?v=x&expire=1781528400';
    const track = (baseUrl: string, kind?: string) => ({ baseUrl, languageCode: 'nl', ...(kind && { kind }) });
    const captionTracks = [track(`${base}&fmt=srv3&lang=nl`), track(`${base}&exp=xpe`), track(base, 'asr')];
    const read = parseCaptions({ playerCaptionsTracklistRenderer: { captionTracks } });
    expect(read.entries.map(({ url, auto_generated }) => [url, auto_generated])).to.deep.equal([
      [`${base}&lang=nl&fmt=vtt`, false],
      [`${base}&fmt=vtt`, true],
    ]);
    expect(read).to.deep.include({ spoken: 'nl', limitations: ['subtitles_withheld'] });
  });
});

describe('vidsite: the item of a reply', () => {
  const details = (videoId: string) => ({ videoDetails: { videoId, title: 'A title', viewCount: '48213' } });

  it('reads the requested item only', () => {
    expect(parsePlayer(details(ID), ID).post.metrics?.views).to.equal(48213);
    expect(parsePlayer(details('An0ther__15'), ID)).to.deep.include({ subject: 'other', post: {} });
    expect(parsePlayer({ playabilityStatus: { status: 'ERROR' } }, ID)).to.deep.include({
      subject: 'unknown',
      post: {},
    });
  });

  it('does not mix two items', () => {
    const microformat = { playerMicroformatRenderer: { externalVideoId: 'An0ther__15', viewCount: '7' } };
    expect(parsePlayer({ ...details(ID), microformat }, ID).subject).to.equal('other');
  });
});
