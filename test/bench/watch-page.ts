/** Builds an invented watch page for the benchmarks of parsing. */

import { embeddable, program, query, range, styles } from './page-parts.js';
import { createRandom, type Random } from './random.js';

/**
 * A watch page of about a megabyte, the same for the same id: configuration scripts and styles first, then the player's
 * data and the page's data with two dozen recommendations, as the site lays them out. All of it is invented.
 */
export function buildWatchPage(videoId: string): string {
  const random = createRandom(videoId);
  const player = embeddable(playerData(videoId, random));
  const initialData = embeddable(pageData(videoId, random));
  return [
    '<!DOCTYPE html><html lang="en" dir="ltr"><head><meta charset="utf-8"><title>A generated film - YouTube</title>',
    `<meta property="og:title" content="A generated film"><link rel="canonical" href="https://www.youtube.com/watch?v=${videoId}">`,
    `<script nonce="${random.word(16)}">window.ytcfg={d:{}};ytcfg.set=function(k){window.ytcfg.d=k};ytcfg.set(${JSON.stringify(configuration(random))});</script>`,
    `<style nonce="${random.word(16)}">${styles(random, 240_000)}</style></head><body dir="ltr">`,
    `<script nonce="${random.word(16)}">${program(random, 250_000)}</script>`,
    `<script nonce="${random.word(16)}">var ytInitialPlayerResponse = ${player};var meta = document.createElement('meta');</script>`,
    `<script nonce="${random.word(16)}">${program(random, 60_000)}</script>`,
    `<script nonce="${random.word(16)}">var ytInitialData = ${initialData};</script>`,
    `<script nonce="${random.word(16)}">${program(random, 2_000)}</script></body></html>`,
  ].join('\n');
}

function playerData(videoId: string, random: Random): object {
  return {
    responseContext: { visitorData: random.word(80), serviceTrackingParams: tracking(random) },
    playabilityStatus: { status: 'OK', playableInEmbed: true },
    streamingData: {
      expiresInSeconds: '21540',
      formats: [format(random, 18, 'video/mp4; codecs="avc1.42001E, mp4a.40.2"', 640, 360)],
      adaptiveFormats: range(32, (index) =>
        index % 4 === 3
          ? format(random, 140 + index, 'audio/mp4; codecs="mp4a.40.2"')
          : format(random, 136 + index, 'video/mp4; codecs="avc1.64001f"', 1280, 720),
      ),
    },
    captions: {
      playerCaptionsTracklistRenderer: {
        captionTracks: range(12, (index) => ({
          baseUrl: `https://www.youtube.com/api/timedtext?v=${videoId}&signature=${random.word(120)}&lang=${index}`,
          name: { simpleText: random.sentence(2) },
          vssId: `.l${index}`,
          languageCode: ['en', 'de', 'fr', 'es'][index % 4],
          isTranslatable: true,
        })),
      },
    },
    videoDetails: {
      videoId,
      title: 'A generated film about harbours',
      lengthSeconds: '754',
      keywords: range(20, () => random.word(8)),
      channelId: 'UCgeneratedChannel000001',
      isOwnerViewing: false,
      shortDescription: range(80, () => random.sentence(12)).join('\n'),
      thumbnail: { thumbnails: thumbnails(random, videoId) },
      allowRatings: true,
      viewCount: '1234567',
      author: 'Generated Harbours',
      isLiveContent: false,
    },
    microformat: {
      playerMicroformatRenderer: {
        thumbnail: { thumbnails: thumbnails(random, videoId) },
        title: { simpleText: 'A generated film about harbours' },
        description: { simpleText: range(80, () => random.sentence(12)).join('\n') },
        lengthSeconds: '754',
        ownerProfileUrl: 'http://www.youtube.com/@generatedharbours',
        externalChannelId: 'UCgeneratedChannel000001',
        isFamilySafe: true,
        availableCountries: range(240, () => random.word(2).toUpperCase()),
        isUnlisted: false,
        viewCount: '1234567',
        category: 'Education',
        publishDate: '2026-03-01T08:00:00-08:00',
        ownerChannelName: 'Generated Harbours',
        uploadDate: '2026-03-01T08:00:00-08:00',
        likeCount: '54321',
      },
    },
    frameworkUpdates: {
      entityBatchUpdate: { mutations: range(12, () => ({ entityKey: random.word(40), type: 'UPDATE' })) },
    },
  };
}

function pageData(videoId: string, random: Random): object {
  const primary = {
    videoPrimaryInfoRenderer: {
      title: { runs: [{ text: 'A generated film about harbours' }] },
      viewCount: { videoViewCountRenderer: { viewCount: { simpleText: '1,234,567 views' } } },
      dateText: { simpleText: 'Mar 1, 2026' },
      relativeDateText: { simpleText: '8 months ago' },
      trackingParams: random.word(40),
    },
  };
  const secondary = {
    videoSecondaryInfoRenderer: {
      owner: {
        videoOwnerRenderer: {
          thumbnail: { thumbnails: thumbnails(random, 'owner') },
          title: { runs: [{ text: 'Generated Harbours', navigationEndpoint: channelEndpoint(random) }] },
          subscriberCountText: { simpleText: '1.2M subscribers' },
          navigationEndpoint: channelEndpoint(random),
        },
      },
      attributedDescription: { content: range(80, () => random.sentence(12)).join('\n') },
    },
  };
  return {
    responseContext: { serviceTrackingParams: tracking(random) },
    currentVideoEndpoint: { watchEndpoint: { videoId } },
    contents: {
      twoColumnWatchNextResults: {
        results: { results: { contents: [primary, secondary], trackingParams: random.word(40) } },
        secondaryResults: { secondaryResults: { results: range(24, (index) => recommendation(random, index)) } },
      },
    },
    engagementPanels: range(6, () => ({
      engagementPanelSectionListRenderer: {
        panelIdentifier: random.word(20),
        content: {
          sectionListRenderer: {
            contents: range(90, () => ({ text: random.sentence(14), params: random.word(60) })),
          },
        },
      },
    })),
  };
}

function recommendation(random: Random, index: number): object {
  const videoId = `rec${String(index).padStart(8, '0')}`;
  const command = {
    clickTrackingParams: random.word(40),
    commandMetadata: {
      webCommandMetadata: {
        url: `/watch?v=${videoId}&pp=${random.word(20)}&t=${index}s`,
        webPageType: 'WEB_PAGE_TYPE_WATCH',
        rootVe: 3832,
      },
    },
    watchEndpoint: {
      videoId,
      nofollow: true,
      loggingContext: { vssLoggingContext: { serializedContextData: random.word(24) } },
      watchEndpointSupportedOnesieConfig: {
        html5PlaybackOnesieConfig: {
          commonConfig: {
            url: `https://r${index}---sn-generated.googlevideo.com/initplayback?source=youtube&oeis=1&c=WEB&${query(random, 8)}`,
          },
        },
      },
    },
  };
  return {
    lockupViewModel: {
      contentId: videoId,
      contentType: 'LOCKUP_CONTENT_TYPE_VIDEO',
      contentImage: { thumbnailViewModel: { image: { sources: thumbnails(random, videoId) } } },
      metadata: {
        lockupMetadataViewModel: {
          title: { content: random.sentence(8) },
          image: {
            decoratedAvatarViewModel: {
              avatar: { avatarViewModel: { image: { sources: thumbnails(random, 'owner') } } },
            },
          },
          metadata: {
            contentMetadataViewModel: {
              metadataRows: range(3, (row) => ({
                metadataParts: [{ text: { content: random.sentence(3), styleRuns: [{ startIndex: row, length: 4 }] } }],
              })),
            },
          },
        },
      },
      rendererContext: {
        accessibilityContext: { label: random.sentence(9) },
        commandContext: { onTap: { innertubeCommand: command } },
      },
      menuButton: { buttonViewModel: { iconName: 'MORE_VERT', onTap: menu(random, videoId), isFullWidth: false } },
    },
  };
}

function menu(random: Random, videoId: string): object {
  const items = range(9, (index) => ({
    listItemViewModel: {
      title: { content: random.sentence(3) },
      leadingImage: { sources: [{ clientResource: { imageName: `ICON_${index}` } }] },
      selectionStyle: index % 2 === 0 ? 'LIST_ITEM_SELECTION_STYLE_DEFAULT' : null,
      rendererContext: {
        loggingContext: { loggingDirectives: { trackingParams: random.word(24), visibility: { types: '12' } } },
        commandContext: {
          onTap: {
            innertubeCommand: {
              clickTrackingParams: random.word(32),
              commandMetadata: { webCommandMetadata: { sendPost: true, apiUrl: '/youtubei/v1/feedback' } },
              feedbackEndpoint: {
                feedbackToken: random.word(60),
                actions: [{ [`action${index}`]: { videoId, index } }],
              },
            },
          },
        },
      },
    },
  }));
  return {
    innertubeCommand: {
      showSheetCommand: {
        panelLoadingStrategy: {
          inlineContent: { sheetViewModel: { content: { listViewModel: { listItems: items } } } },
        },
      },
    },
  };
}

function format(random: Random, itag: number, mimeType: string, width?: number, height?: number): object {
  const url = `https://r1---sn-generated.googlevideo.com/videoplayback?expire=1790000000&itag=${itag}&${query(random, 24)}`;
  const ranges = { initRange: { start: '0', end: '739' }, indexRange: { start: '740', end: '2559' } };
  const size =
    width === undefined ? { audioQuality: 'AUDIO_QUALITY_MEDIUM' } : { width, height, fps: 30, qualityLabel: '720p' };
  return {
    itag,
    url,
    mimeType,
    bitrate: 1_500_000,
    contentLength: '123456789',
    approxDurationMs: '754000',
    ...ranges,
    ...size,
  };
}

function thumbnails(random: Random, name: string): object[] {
  return [120, 320, 480, 1280].map((width) => ({
    url: `https://i.ytimg.com/vi/${name}/${width}.jpg?sqp=${random.word(20)}&rs=${random.word(30)}`,
    width,
    height: Math.round((width * 9) / 16),
  }));
}

function channelEndpoint(random: Random): object {
  return {
    clickTrackingParams: random.word(40),
    browseEndpoint: { browseId: 'UCgeneratedChannel000001', canonicalBaseUrl: '/@generatedharbours' },
  };
}

function tracking(random: Random): object[] {
  return range(5, () => ({
    service: random.word(6),
    params: range(6, () => ({ key: random.word(6), value: random.word(60) })),
  }));
}

function configuration(random: Random): object {
  return Object.fromEntries(
    range(900, (index) => [`SETTING_${index}`, { enabled: index % 2 === 0, value: random.word(40) }]),
  );
}
