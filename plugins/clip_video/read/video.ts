import { asArray, asNumber, asPositive, asString, at, type MediaEntry } from 'mediagate';
import { COVER, codecOf, isFetchable, lifeOf, mimeOf, WATERMARKED } from './media-files.js';
import { absoluteUrl, languageTag, member, urlsIn } from './values.js';

/** Formats of subtitles as the site names them → media types. */
const SUBTITLES: Readonly<Record<string, string>> = {
  webvtt: 'text/vtt',
  srt: 'application/x-subrip',
  creator_caption: 'application/json',
};

/** The files of an item's `video` node: every quality, the shown one, the one with a watermark. */
export function parseVideoFiles(video: unknown, muted: boolean): MediaEntry[] {
  const files = new Map<string, MediaEntry>();
  const add = (url: string | undefined, entry: Partial<MediaEntry>) => {
    const mime = (url && mimeOf(url)) ?? 'video/mp4';
    if (!url || files.has(url) || mime.startsWith('audio/')) return;
    files.set(url, { url, kind: 'video', mime, has_video: true, has_audio: !muted, ...entry, ...lifeOf(url) });
  };
  for (const quality of asArray(member(video, 'bitrateInfo', 'bit_rate')) ?? []) {
    const address = member(quality, 'PlayAddr', 'playAddr', 'play_addr');
    const codec = asString(member(quality, 'CodecType', 'codec_type'));
    // This codec is played by the app only.
    if (codec?.includes('bytevc2')) continue;
    add(urlsIn(address).find(isFetchable), {
      codecs: codecOf(codec),
      bitrate: asPositive(member(quality, 'Bitrate', 'bit_rate')),
      fps: asPositive(member(quality, 'BitrateFPS', 'FPS')),
      ...sizeOf(address),
      quality: qualityOf(address, quality),
    });
  }
  const shown = at(video, 'PlayAddrStruct');
  const measures = {
    codecs: codecOf(asString(at(video, 'codecType'))),
    width: asPositive(at(video, 'width')),
    height: asPositive(at(video, 'height')),
    bitrate: asPositive(at(video, 'bitrate')),
    size: asPositive(at(video, 'size')) ?? asPositive(at(shown, 'DataSize')),
    quality: asString(at(video, 'definition')) ?? asString(at(video, 'ratio')),
  };
  for (const url of [...urlsIn(at(video, 'playAddr')), ...urlsIn(shown)].filter(isFetchable).slice(0, 1)) {
    if (!isListed(files, url)) add(url, measures);
  }
  add(urlsIn(at(video, 'downloadAddr')).find(isFetchable), { label: WATERMARKED });
  return [...files.values()];
}

/** The same file stands in the list of qualities under an address that differs in its signature only. */
function isListed(files: ReadonlyMap<string, MediaEntry>, url: string): boolean {
  const path = URL.parse(url)?.pathname;
  return (
    path !== undefined && path.length > 20 && [...files.keys()].some((known) => URL.parse(known)?.pathname === path)
  );
}

function sizeOf(address: unknown): Pick<MediaEntry, 'width' | 'height' | 'size'> {
  return {
    width: asPositive(member(address, 'Width', 'width')),
    height: asPositive(member(address, 'Height', 'height')),
    size: asPositive(member(address, 'DataSize', 'data_size')),
  };
}

/** The site's label, which stands in the middle of longer names. */
function qualityOf(address: unknown, quality: unknown): string | undefined {
  const lines =
    /_(\d{3,4})p(?:_|$)/.exec(asString(member(address, 'UrlKey', 'url_key')) ?? '')?.[1] ??
    /_(\d{3,4})(?:_|$)/.exec(asString(member(quality, 'GearName', 'gear_name')) ?? '')?.[1];
  return lines && `${lines}p`;
}

/** Subtitles: those that were heard, and those that were translated from them. */
export function parseSubtitles(video: unknown): MediaEntry[] {
  const subtitles = new Map<string, MediaEntry>();
  for (const subtitle of [
    ...(asArray(at(video, 'subtitleInfos')) ?? []),
    ...(asArray(at(video, 'claInfo', 'captionInfos')) ?? []),
  ]) {
    const url = absoluteUrl(member(subtitle, 'Url', 'url'));
    if (!url || subtitles.has(url)) continue;
    const source = asString(at(subtitle, 'Source'));
    const generated = at(subtitle, 'isAutoGen');
    const format = asString(member(subtitle, 'Format', 'captionFormat'))?.toLowerCase() ?? '';
    subtitles.set(url, {
      url,
      kind: 'subtitle',
      mime: Object.hasOwn(SUBTITLES, format) ? SUBTITLES[format] : undefined,
      language: languageTag(member(subtitle, 'LanguageCodeName', 'language')),
      size: asPositive(at(subtitle, 'Size')),
      auto_generated: source
        ? source === 'ASR' || source === 'MT'
        : typeof generated === 'boolean'
          ? generated
          : undefined,
      ...lifeOf(url, member(subtitle, 'UrlExpire', 'expire')),
    });
  }
  return [...subtitles.values()];
}

/** The still pictures of a video, the one shown first. */
export function parseCovers(video: unknown): MediaEntry[] {
  const urls = ['cover', 'originCover', 'reflowCover', 'dynamicCover'].flatMap((name) => urlsIn(at(video, name)));
  return [...new Set(urls)].slice(0, 2).map((url) => ({ url, kind: 'image', label: COVER, ...lifeOf(url) }));
}

/** The pictures of a slideshow, each once, in a format that everything shows. */
export function parsePictures(images: unknown): MediaEntry[] {
  return (asArray(images) ?? []).flatMap((image) => {
    const source = member(image, 'imageURL', 'display_image', 'urlList', 'url_list') ?? image;
    const urls = urlsIn(source);
    const url = urls.find((one) => !/\.hei[cf](?:[?]|$)/i.test(one)) ?? urls[0];
    if (!url) return [];
    const [holder] = [source, image].filter((node) => asNumber(member(node, 'width', 'imageWidth')) !== undefined);
    const width = asPositive(member(holder, 'imageWidth', 'width'));
    const height = asPositive(member(holder, 'imageHeight', 'height'));
    return [{ url, kind: 'image', width, height, ...lifeOf(url) } as const];
  });
}

/** The sound that a post is set to. */
export function parseSound(music: unknown): MediaEntry | undefined {
  const [url] = urlsIn(member(music, 'playUrl', 'play_url'));
  if (!url) return undefined;
  return {
    url,
    kind: 'audio',
    mime: mimeOf(url),
    has_audio: true,
    has_video: false,
    duration_seconds: asPositive(at(music, 'duration')),
    label: 'music',
    ...lifeOf(url),
  };
}
