import type { MediaEntry, PartialPost } from 'mediagate';
import { absoluteUrl, readAddress } from './media-address.js';

const FILES = [
  ['HD', /"?(?:hd_src_no_ratelimit|hd_src|browser_native_hd_url|playable_url_quality_hd)"?:"(https:[^"]{8,4000})"/],
  ['SD', /"?(?:sd_src_no_ratelimit|sd_src|browser_native_sd_url|playable_url)"?:"(https:[^"]{8,4000})"/],
] as const;

/** The files in a video page's script, where that is the script of one video: the requested one, or any of a post's. */
export function parsePluginVideo(html: string, id: string | undefined): PartialPost | undefined {
  const ids = new Set(Array.from(html.matchAll(/"?(?:video_id|videoID)"?:"(\d{5,20})"/g), ([, one]) => one));
  if (ids.size !== 1 || (id !== undefined && !ids.has(id))) return undefined;
  const entries = FILES.flatMap(([label, pattern]): MediaEntry[] => {
    const url = absoluteUrl(unescaped(pattern.exec(html)?.[1]));
    if (!url) return [];
    const { expires_at, bitrate, quality } = readAddress(url);
    return [
      {
        url,
        kind: 'video',
        mime: 'video/mp4',
        has_video: true,
        has_audio: true,
        quality: quality ?? label,
        bitrate,
        expires_at,
      },
    ];
  });
  if (entries.length === 0) return undefined;
  return { media: { video_urls: entries.map(({ url }) => url), entries }, audio: true };
}

function unescaped(text: string | undefined): string | undefined {
  return text
    ?.replaceAll('\\/', '/')
    .replace(/\\u0025/gi, '%')
    .replace(/\\u0026/gi, '&')
    .replace(/&amp;/g, '&');
}
