import { asArray, asPositive, asRecord, asString, at, type JsonRecord, type MediaEntry } from 'mediagate/plugin';
import { known, readExpiry, readImageUrl, readSeconds, readText, readUrl } from './values.js';

export interface FoundMedia {
  image_urls: string[];
  /** Best first. */
  video_urls: string[];
  media: MediaEntry[];
}

/** Pictures and videos of the product itself; then those in its description, and what creators made of it. */
export function readMedia(product: JsonRecord, around: JsonRecord, described: readonly unknown[]): FoundMedia {
  const images = imagesOf(
    asArray(at(product, 'product_model', 'images')) ?? asArray(at(product, 'product_base', 'images')),
  );
  const videos = videosOf(product);
  const inText = imagesOf(described).map((entry) => ({ ...entry, label: 'description' }));
  const listed = new Set<string>();
  const media = [...images, ...videos, ...inText, ...creatorVideos(around)].filter(({ url }) => {
    const isNew = !listed.has(url);
    listed.add(url);
    return isNew;
  });
  return {
    image_urls: [...new Set(images.map(({ url }) => url))],
    video_urls: [...new Set(videos.map(({ url }) => url))],
    media,
  };
}

function imagesOf(list: readonly unknown[] | undefined): MediaEntry[] {
  return (list ?? []).flatMap((image) => {
    const url = readImageUrl(image);
    if (!url) return [];
    return [
      known<MediaEntry>({
        url,
        kind: 'image',
        ...sizeOf(asRecord(at(image, 'image')) ?? image),
        expires_at: readExpiry(url),
      }),
    ];
  });
}

function videosOf(product: JsonRecord): MediaEntry[] {
  const model = at(product, 'product_model', 'videos');
  const videos = asArray(model) ?? Object.values(asRecord(model) ?? {});
  return [...videos, at(product, 'product_base', 'desc_video')]
    .flatMap((video) => (asArray(at(video, 'video_infos')) ?? []).flatMap((info) => readVideo(info, video) ?? []))
    .sort((one, other) => (other.height ?? 0) - (one.height ?? 0) || (other.bitrate ?? 0) - (one.bitrate ?? 0));
}

function readVideo(info: unknown, video: unknown): MediaEntry | undefined {
  const url = readUrl(at(info, 'main_url')) ?? readUrl(at(info, 'backup_url'));
  if (!url) return undefined;
  const format = asString(at(info, 'format'))?.toLowerCase();
  return known<MediaEntry>({
    url,
    kind: 'video',
    has_video: true,
    mime: format && /^[a-z0-9]{2,5}$/.test(format) ? `video/${format}` : undefined,
    ...sizeOf(info),
    bitrate: asPositive(at(info, 'bitrate')),
    size: asPositive(at(info, 'size')),
    duration_seconds: readSeconds(at(video, 'duration')),
    quality: readText(at(info, 'video_quality')),
    expires_at: readExpiry(url, at(info, 'url_expire')),
  });
}

function sizeOf(file: unknown) {
  return { width: asPositive(at(file, 'width')), height: asPositive(at(file, 'height')) };
}

/** Posts of others that show the product: listed, and kept apart from the product's own. Their lengths are in milliseconds. */
function creatorVideos(around: JsonRecord): MediaEntry[] {
  return (asArray(around.related_videos) ?? []).flatMap((post) => {
    const url = readUrl(at(post, 'content_url'));
    if (!url) return [];
    const milliseconds = asPositive(at(post, 'duration'));
    return [
      known<MediaEntry>({
        url,
        kind: 'video',
        has_video: true,
        label: 'creator',
        ...sizeOf(post),
        duration_seconds: milliseconds && milliseconds / 1000,
        expires_at: readExpiry(url, at(post, 'expiration_time')),
      }),
    ];
  });
}
