import { asPositive, decodeEntities, type MediaEntry, parseDuration } from 'mediagate';
import { absoluteUrl, readAddress } from './media-address.js';

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
