import { type MediaEntry, parseDuration } from 'mediagate';
import { expiryOf } from './media.js';
import { address, positive } from './values.js';

/** What a DASH manifest lists: pictures and sound apart. */
export interface DashReading {
  /** Without sound, best first. */
  videos: MediaEntry[];
  /** Smallest first. */
  sounds: MediaEntry[];
  durationSeconds?: number;
}

const MAX_TRACKS = 60;

/** Reads the manifest that comes as a text inside a reply; each track is one file. */
export function parseDash(manifest: unknown): DashReading {
  const reading: DashReading = { videos: [], sounds: [] };
  if (typeof manifest !== 'string' || !manifest.includes('<MPD')) return reading;
  const duration = attribute(manifest.slice(0, 4096), 'mediaPresentationDuration');
  reading.durationSeconds = (duration && parseDuration(duration)) || undefined;
  const tracks = elementsOf(manifest, 'AdaptationSet').flatMap(([set, inner]) =>
    elementsOf(inner, 'Representation')
      .slice(0, MAX_TRACKS)
      .flatMap(([attributes, content]) => trackOf(`${attributes} ${set}`, content) ?? []),
  );
  for (const track of tracks.slice(0, MAX_TRACKS)) {
    (track.kind === 'audio' ? reading.sounds : reading.videos).push(track);
  }
  reading.videos.sort((one, other) => area(other) - area(one) || (other.bitrate ?? 0) - (one.bitrate ?? 0));
  reading.sounds.sort((one, other) => (one.bitrate ?? 0) - (other.bitrate ?? 0));
  return reading;
}

/** Attributes and content of each element of a name. Elements are told by their ends, so that each is looked at once. */
function elementsOf(xml: string, name: string): (readonly [attributes: string, content: string])[] {
  const open = new RegExp(`<${name}\\b([^<>]*)>`);
  return xml
    .split(`</${name}>`)
    .slice(0, -1)
    .flatMap((piece) => {
      const tag = open.exec(piece);
      return tag ? [[tag[1] ?? '', piece.slice(tag.index + tag[0].length)] as const] : [];
    });
}

function trackOf(attributes: string, content: string): MediaEntry | undefined {
  const url = address(/<BaseURL>([^<]+)<\/BaseURL>/.exec(content)?.[1]?.trim().replaceAll('&amp;', '&'));
  const mime = attribute(attributes, 'mimeType');
  const kind = /^(video|audio)\//.exec(mime ?? attribute(attributes, 'contentType') ?? '')?.[1];
  if (!url || !mime || (kind !== 'video' && kind !== 'audio')) return undefined;
  return {
    url,
    kind,
    mime,
    codecs: attribute(attributes, 'codecs'),
    width: positive(attribute(attributes, 'width')),
    height: positive(attribute(attributes, 'height')),
    fps: framesPerSecond(attribute(attributes, 'frameRate')),
    bitrate: positive(attribute(attributes, 'bandwidth')),
    size: positive(attribute(attributes, 'FBContentLength')),
    has_video: kind === 'video',
    has_audio: kind === 'audio',
    quality: attribute(attributes, 'FBQualityLabel'),
    expires_at: expiryOf(url),
  };
}

function attribute(text: string, name: string): string | undefined {
  return new RegExp(`\\s${name}="([^"]+)"`).exec(` ${text}`)?.[1];
}

/** `30`, or a fraction such as `15360/512`. */
function framesPerSecond(text: string | undefined): number | undefined {
  const [, over, under = '1'] = /^(\d{1,9})(?:\/(\d{1,9}))?$/.exec(text ?? '') ?? [];
  const rate = Number(over) / Number(under);
  return Number.isFinite(rate) && rate > 0 ? Math.round(rate * 1000) / 1000 : undefined;
}

function area({ width = 0, height = 0 }: MediaEntry): number {
  return width * height;
}
