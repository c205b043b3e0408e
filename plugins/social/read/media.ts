import {
  absoluteUrl,
  asNumber,
  asPositive,
  at,
  expiryOf,
  type MediaEntry,
  type PartialPost,
  readDashManifest,
  tryParseJson,
} from 'mediagate/plugin';

/** An http or https URL; paths are those of the site. */
export function siteUrl(value: unknown): string | undefined {
  return absoluteUrl(value, 'https://www.facebook.com/');
}

/** What a URL of the media hosts states: `efg` is JSON in base64 with the duration and the encoding. */
export function readAddress(address: string) {
  const query = URL.parse(address)?.searchParams;
  const efg = tryParseJson(Buffer.from(query?.get('efg') ?? '', 'base64').toString('utf8'));
  const tag = [at(efg, 'vencode_tag'), query?.get('tag')].find((one) => typeof one === 'string' && one !== '');
  const seconds = asNumber(at(efg, 'duration_s'));
  const bitrate = asNumber(query?.get('bitrate') ?? at(efg, 'bitrate'));
  return {
    expires_at: expiryOf(address),
    bitrate: bitrate && bitrate > 0 ? Math.round(bitrate) : undefined,
    duration_seconds: seconds && seconds > 0 ? seconds : undefined,
    quality: typeof tag === 'string' ? /(?:^|[._-])(\d{3,4}p)(?:$|[._-])/.exec(tag)?.[1] : undefined,
  };
}

/** A picture with the size that its node states. */
export function imageEntry(url: string, width?: unknown, height?: unknown): MediaEntry {
  return { url, kind: 'image', width: asPositive(width), height: asPositive(height), expires_at: expiryOf(url) };
}

/** The picture in `uri`, `width` and `height` of a node. */
export function imageIn(node: unknown): MediaEntry[] {
  const url = siteUrl(at(node, 'uri'));
  return url ? [imageEntry(url, at(node, 'width'), at(node, 'height'))] : [];
}

/** A file with video and audio; `label` is its quality if the URL states none. */
export function videoEntry(url: string, label?: string): MediaEntry {
  const { expires_at, bitrate, quality = label } = readAddress(url);
  return { url, kind: 'video', mime: 'video/mp4', has_video: true, has_audio: true, bitrate, quality, expires_at };
}

/** The files that the text of a DASH manifest lists, with video or audio each. */
export function manifestFiles(xml: unknown): MediaEntry[] {
  const { files, durationSeconds } = readDashManifest(xml);
  return files.map((file) => ({
    ...file,
    duration_seconds: durationSeconds ?? readAddress(file.url).duration_seconds,
  }));
}

/** The media of a part: the URLs of its images and videos, and their entries. */
export function mediaOf(entries: readonly MediaEntry[]): NonNullable<PartialPost['media']> {
  const urls = (wanted: string) => entries.filter(({ kind }) => kind === wanted).map(({ url }) => url);
  return { image_urls: urls('image'), video_urls: urls('video'), entries: [...entries] };
}

/** The first entry of each URL. */
export function unique(entries: readonly MediaEntry[]): MediaEntry[] {
  const urls = new Set<string>();
  return entries.filter(({ url }) => !urls.has(url) && urls.add(url));
}
