/** Builds an invented clip page for the benchmarks of parsing. */

import { jsonScript, program, query, range, styles } from './page-parts.js';
import { createRandom, type Random } from './random.js';

/**
 * A clip's page of about four hundred kilobytes, nearly all of it one script: the words of the interface in thousands of
 * short texts, settings and experiments, and among them the clip. All of it is invented.
 */
export function buildClipPage(clipId: string): string {
  const random = createRandom(clipId);
  const words = range(4_400, (index) => [`${random.word(14)}_${index}`, random.sentence(6)]);
  const experiments = range(520, (index) => [random.word(18), { vid: `v${index}`, group: random.word(6) }]);
  const data = {
    __DEFAULT_SCOPE__: {
      'webapp.app-context': {
        language: 'en',
        region: 'BE',
        appId: 1988,
        abTestVersion: {
          versionName: experiments.map(([name]) => name).join(','),
          parameters: Object.fromEntries(experiments),
        },
      },
      'webapp.biz-context': {
        config: settings(random, 120),
        domains: settings(random, 20),
        navList: settings(random, 30),
      },
      'webapp.i18n-translation': { Webapp: Object.fromEntries(words) },
      'seo.abtest': { canonical: `https://www.tiktok.com/@generated.harbour/video/${clipId}`, pageId: clipId },
      'webapp.video-detail': {
        itemInfo: { itemStruct: item(random, clipId) },
        shareMeta: { title: 'on TikTok', desc: 'A generated tide' },
        statusCode: 0,
        statusMsg: '',
      },
    },
  };
  return [
    '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>TikTok - Make Your Day</title>',
    `<style>${styles(random, 30_000)}</style></head><body><div id="app"></div>`,
    `<script>${program(random, 12_000)}</script>`,
    jsonScript(data, ' id="__UNIVERSAL_DATA_FOR_REHYDRATION__"'),
    `<script>${program(random, 8_000)}</script></body></html>`,
  ].join('\n');
}

function settings(random: Random, count: number): object {
  return Object.fromEntries(
    range(count, (index) => [
      random.word(16),
      index % 4 === 0 ? { enabled: true, list: [1, 2, random.word(30)] } : random.word(60),
    ]),
  );
}

function item(random: Random, id: string): object {
  const picture = (name: string) =>
    `https://p16-common-sign.tiktokcdn.com/${name}.jpeg?x-expires=1790700400&${query(random, 5)}`;
  const files = range(9, (index) => ({
    Bitrate: 400_000 * (index + 1),
    QualityType: 2,
    BitrateFPS: 30,
    GearName: `normal_${index}`,
    CodecType: index % 2 === 0 ? 'h264' : 'h265_hvc1',
    Format: 'mp4',
    PlayAddr: {
      DataSize: String(900_000 * (index + 1)),
      Width: 576,
      Height: 1024,
      UrlKey: random.word(24),
      UrlList: range(3, () => fileAddress(random)),
    },
  }));
  const stats = { diggCount: 10_291, shareCount: 388, commentCount: 412, playCount: 128_437, collectCount: '1207' };
  return {
    id,
    desc: 'A generated tide at the old lock #tugboat #generated',
    createTime: '1780300805',
    video: {
      id,
      height: 1024,
      width: 576,
      duration: 34,
      ratio: '720p',
      cover: picture('cover'),
      originCover: picture('origin'),
      playAddr: fileAddress(random),
      downloadAddr: fileAddress(random),
      bitrate: 1_404_000,
      codecType: 'h264',
      bitrateInfo: files,
      subtitleInfos: range(6, (index) => ({
        LanguageID: String(index),
        LanguageCodeName: ['nld-NL', 'eng-US', 'deu-DE', 'fra-FR', 'spa-ES', 'ita-IT'][index],
        Url: fileAddress(random),
        UrlExpire: '1790700000',
        Format: 'webvtt',
      })),
    },
    author: {
      id: '6801234567890123456',
      uniqueId: 'generated.harbour',
      nickname: 'Generated Harbour',
      avatarLarger: picture('face'),
      signature: random.sentence(6),
      verified: true,
      secUid: random.word(60),
    },
    music: {
      id: '7601112223334445556',
      title: 'original sound',
      playUrl: fileAddress(random),
      authorName: 'Generated',
      duration: 34,
    },
    challenges: range(4, (index) => ({ id: String(index), title: random.word(8), desc: random.sentence(10) })),
    stats,
    statsV2: Object.fromEntries(Object.entries(stats).map(([name, value]) => [name, String(value)])),
    authorStats: { followerCount: 48_219, followingCount: 61, heartCount: 900_144, videoCount: 312 },
    textLanguage: 'en',
    locationCreated: 'BE',
    itemMute: false,
  };
}

function fileAddress(random: Random): string {
  return `https://v16-webapp.tiktok.com/video/tos/generated/${random.word(32)}/?a=1988&mime_type=video_mp4&expire=1790700000&${query(random, 6)}`;
}
