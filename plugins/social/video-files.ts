import { asArray, asPositive, asRecord, asString, at, type JsonRecord, type MediaEntry } from 'mediagate';
import type { ItemNodes } from './item-nodes.js';
import { absoluteUrl, readAddress } from './media-address.js';
import { fileEntry } from './parse-manifest.js';

const DELIVERY = ['videoDeliveryResponseFragment', 'videoDeliveryResponseResult'] as const;

/** Files with pictures and sound together, the better one first. */
export function progressiveFiles(video: JsonRecord, has_audio: boolean): MediaEntry[] {
  const [width, height] = [asPositive(video.width), asPositive(video.height)];
  const file = (value: unknown, label: string): MediaEntry[] => {
    const url = absoluteUrl(value);
    if (!url) return [];
    const { expires_at, bitrate, duration_seconds, quality } = readAddress(url);
    return [
      {
        url,
        kind: 'video',
        mime: 'video/mp4',
        has_video: true,
        has_audio,
        // The node's size is that of one of the files, by its lines.
        ...(width && height && quality === `${Math.min(width, height)}p` ? { width, height } : {}),
        bitrate,
        duration_seconds,
        quality: quality ?? label,
        expires_at,
      },
    ];
  };
  const listed = asArray(at(video, ...DELIVERY, 'progressive_urls')) ?? [];
  const delivered = ['HD', 'SD'].flatMap((wanted) =>
    listed.flatMap((one) => {
      const label = at(one, 'metadata', 'quality') === 'HD' ? 'HD' : 'SD';
      return label === wanted ? file(at(one, 'progressive_url'), label) : [];
    }),
  );
  const legacy = [asRecord(video.videoDeliveryLegacyFields), video].flatMap((holder) => [
    ...file(holder?.browser_native_hd_url, 'HD'),
    ...file(holder?.playable_url_quality_hd, 'HD'),
    ...file(holder?.browser_native_sd_url, 'SD'),
    ...file(holder?.playable_url, 'SD'),
  ]);
  return [...delivered, ...legacy].sort((one, other) => rank(one) - rank(other));
}

function rank({ quality }: MediaEntry): number {
  if (quality === 'HD') return 0;
  const lines = Number.parseInt(quality ?? '', 10);
  return Number.isNaN(lines) ? 1 : lines >= 720 ? 0 : 1;
}

/** DASH manifests, which some generations of the page hold as text. */
export function manifestTexts(video: JsonRecord): string[] {
  const delivered = asArray(at(video, ...DELIVERY, 'dash_manifests')) ?? [];
  const texts = [
    at(video, 'videoDeliveryLegacyFields', 'dash_manifest_xml_string'),
    video.dash_manifest_xml_string,
    video.dash_manifest,
    video.playlist,
    ...delivered.map((one) => at(one, 'manifest_xml')),
  ];
  return texts.flatMap((text) => asString(text) ?? []).filter((text) => text.includes('<MPD'));
}

/** What the page fetches beforehand of a video. */
export function prefetchedFiles(videos: readonly JsonRecord[], prefetched: ItemNodes['prefetched']): MediaEntry[] {
  const ids = new Set(videos.map(({ id }) => id));
  const own = [...ids].flatMap((id) => prefetched.get(id) ?? []);
  return own.flatMap(({ representations }) =>
    (asArray(representations) ?? []).flatMap((one) => {
      const url = absoluteUrl(at(one, 'base_url'));
      const mime = asString(at(one, 'mime_type'));
      if (!url || !mime || !/^(?:video|audio)\//.test(mime)) return [];
      const value = (name: string) => {
        const member = at(one, name);
        return typeof member === 'number' ? String(member) : asString(member);
      };
      return [fileEntry(url, mime, { value })];
    }),
  );
}

/** Playlists that a player may be given; those on the site's own host are for debugging. */
export function playlistsOf(video: JsonRecord): MediaEntry[] {
  const kinds = [
    ['hls_playlist_urls', 'hls_playlist_url', 'application/vnd.apple.mpegurl'],
    ['dash_manifest_urls', 'manifest_url', 'application/dash+xml'],
  ] as const;
  return kinds.flatMap(([list, member, mime]) =>
    (asArray(at(video, ...DELIVERY, list)) ?? []).flatMap((one): MediaEntry[] => {
      const url = absoluteUrl(at(one, member));
      if (!url || !new URL(url).hostname.endsWith('.fbcdn.net')) return [];
      return [{ url, kind: 'manifest', mime, has_video: true, expires_at: readAddress(url).expires_at }];
    }),
  );
}
