import {
  asNumber,
  asPositive,
  at,
  decodeEntities,
  type MediaEntry,
  parseDuration,
  toIsoTime,
  tryParseJson,
} from 'mediagate';

/** Web addresses only; paths of the site are made whole. */
export function absoluteUrl(value: unknown): string | undefined {
  if (typeof value !== 'string' || value === '') return undefined;
  const url = URL.parse(value, 'https://www.facebook.com/');
  return url && /^https?:$/.test(url.protocol) ? url.href : undefined;
}

export interface AddressReading {
  expires_at?: string;
  bitrate?: number;
  duration_seconds?: number;
  quality?: string;
}

/**
 * What an address of the media hosts tells by itself: `oe` is its end in hexadecimal seconds, `efg` a piece of JSON in
 * base64 with the length and the encoding.
 */
export function readAddress(address: string): AddressReading {
  const query = URL.parse(address)?.searchParams;
  const end = query?.get('oe') ?? '';
  const efg = tryParseJson(Buffer.from(query?.get('efg') ?? '', 'base64').toString('utf8'));
  const tag = [at(efg, 'vencode_tag'), query?.get('tag')].find((one) => typeof one === 'string' && one !== '');
  const seconds = asNumber(at(efg, 'duration_s'));
  const bitrate = asNumber(query?.get('bitrate') ?? at(efg, 'bitrate'));
  return {
    expires_at: /^[0-9a-f]{8}$/i.test(end) ? toIsoTime(Number.parseInt(end, 16)) : undefined,
    bitrate: bitrate && bitrate > 0 ? Math.round(bitrate) : undefined,
    duration_seconds: seconds && seconds > 0 ? seconds : undefined,
    quality: typeof tag === 'string' ? /(?:^|[._-])(\d{3,4}p)(?:$|[._-])/.exec(tag)?.[1] : undefined,
  };
}

/** A picture; its size stands in the node or nowhere. */
export function imageEntry(url: string, width?: unknown, height?: unknown): MediaEntry {
  return {
    url,
    kind: 'image',
    width: asPositive(width),
    height: asPositive(height),
    expires_at: readAddress(url).expires_at,
  };
}

/** One entry for each address, the first of them. */
export function unique(entries: readonly MediaEntry[]): MediaEntry[] {
  const seen = new Set<string>();
  return entries.filter(({ url }) => !seen.has(url) && seen.add(url));
}

const MAX_REPRESENTATIONS = 60;

/** The files a DASH manifest lists: pictures and sound apart from each other. Files in segments are not listed. */
export function parseManifest(xml: string): MediaEntry[] {
  const duration = parseDuration(/mediaPresentationDuration="(P[^"]{1,40})"/.exec(xml)?.[1] ?? '');
  const entries: MediaEntry[] = [];
  for (const set of sections(xml, 'AdaptationSet')) {
    for (const section of sections(set.body, 'Representation').slice(0, MAX_REPRESENTATIONS)) {
      if (entries.length >= MAX_REPRESENTATIONS) return entries;
      const value = (name: string) => attribute(section.tag, name) ?? attribute(set.tag, name);
      const address = /<BaseURL[^<>]*>([^<]{8,8000})<\/BaseURL>/.exec(section.body)?.[1];
      const url = absoluteUrl(address && decodeEntities(address.trim()));
      const mime = value('mimeType') ?? (value('contentType') === 'audio' ? 'audio/mp4' : undefined);
      if (!url || !mime || !/^(?:video|audio)\//.test(mime)) continue;
      entries.push(fileEntry(url, mime, { value, duration_seconds: duration }));
    }
  }
  return entries;
}

/** One file that holds pictures or sound, but not both. */
export function fileEntry(
  url: string,
  mime: string,
  { value, duration_seconds }: { value(name: string): string | undefined; duration_seconds?: number },
): MediaEntry {
  const isVideo = mime.startsWith('video/');
  return {
    url,
    kind: isVideo ? 'video' : 'audio',
    mime,
    codecs: value('codecs'),
    has_video: isVideo,
    has_audio: !isVideo,
    width: isVideo ? asPositive(value('width')) : undefined,
    height: isVideo ? asPositive(value('height')) : undefined,
    bitrate: asPositive(value('bandwidth')),
    size: asPositive(value('FBContentLength')),
    quality: isVideo ? value('FBQualityLabel') : undefined,
    duration_seconds: duration_seconds || readAddress(url).duration_seconds,
    expires_at: readAddress(url).expires_at,
  };
}

function sections(xml: string, name: string): { tag: string; body: string }[] {
  const found: { tag: string; body: string }[] = [];
  for (let open = xml.indexOf(`<${name} `); open >= 0; ) {
    const end = xml.indexOf('>', open);
    if (end < 0) break;
    const close = xml[end - 1] === '/' ? end : xml.indexOf(`</${name}>`, end);
    const stop = close < 0 ? xml.length : close;
    found.push({ tag: xml.slice(open, end), body: xml.slice(end + 1, stop) });
    open = xml.indexOf(`<${name} `, stop);
  }
  return found;
}

function attribute(tag: string, name: string): string | undefined {
  const start = tag.indexOf(` ${name}="`);
  if (start < 0) return undefined;
  const from = start + name.length + 3;
  const text = tag.slice(from, tag.indexOf('"', from));
  return text && decodeEntities(text);
}
