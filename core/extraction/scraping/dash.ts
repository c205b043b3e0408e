/*
 * Reads a DASH manifest whose representations are whole files, as Meta's platforms send it inside a reply. Segmented
 * files are skipped, at most 60 files are listed, and tags are found by index so that hostile text takes linear time.
 */

import type { MediaEntry } from '../../contracts/index.js';
import { asPositive } from '../../runtime/index.js';
import { absoluteUrl, expiryOf } from './addresses.js';
import { parseDuration } from './dates.js';
import { decodeEntities } from './meta-tags.js';

/** The files that a DASH manifest lists. */
export interface DashManifest {
  /** Files with either video or audio, in the order of the manifest. */
  files: MediaEntry[];
  durationSeconds?: number;
}

/** Maximum files of one manifest; real ones have a third of it. */
const MAX_FILES = 60;
/** Maximum characters of a tag; real ones have a tenth of it. */
const MAX_TAG = 16 * 1024;

/**
 * Reads a DASH manifest whose representations are whole files (`BaseURL`), as Meta's platforms send it inside a reply,
 * with their attributes for size and quality. Files in segments are skipped. Takes linear time; never throws.
 */
export function readDashManifest(manifest: unknown): DashManifest {
  const files: MediaEntry[] = [];
  if (typeof manifest !== 'string' || !manifest.includes('<MPD')) return { files };
  const duration = /\smediaPresentationDuration="(P[^"]{1,40})"/.exec(manifest.slice(0, MAX_TAG))?.[1];
  const durationSeconds = (duration && parseDuration(duration)) || undefined;
  for (const set of elements(manifest, 'AdaptationSet')) {
    for (const representation of elements(set.content, 'Representation')) {
      if (files.length >= MAX_FILES) break;
      const file = readFile((name) => attribute(representation.tag, name) ?? attribute(set.tag, name), representation);
      if (file) files.push(file);
    }
  }
  return { files, ...(durationSeconds && { durationSeconds }) };
}

function readFile(read: (name: string) => string | undefined, { content }: Element): MediaEntry | undefined {
  const text = /<BaseURL[^<>]{0,1000}>([^<]{8,8192})<\/BaseURL>/.exec(content)?.[1];
  const url = absoluteUrl(text && decodeEntities(text.trim()));
  const mime = read('mimeType') ?? (read('contentType') === 'audio' ? 'audio/mp4' : undefined);
  const kind = /^(?:video|audio)(?=\/)/.exec(mime ?? '')?.[0];
  if (!url || (kind !== 'video' && kind !== 'audio')) return undefined;
  const isVideo = kind === 'video';
  return {
    url,
    kind,
    mime,
    codecs: read('codecs'),
    ...(isVideo && {
      width: asPositive(read('width')),
      height: asPositive(read('height')),
      fps: framesPerSecond(read('frameRate')),
      quality: read('FBQualityLabel'),
    }),
    bitrate: asPositive(read('bandwidth')),
    size: asPositive(read('FBContentLength')),
    has_video: isVideo,
    has_audio: !isVideo,
    expires_at: expiryOf(url),
  };
}

interface Element {
  /** The opening tag without its end. */
  tag: string;
  content: string;
}

/** The elements of a name, which do not nest. One that is not closed ends with the text. */
function* elements(xml: string, name: string): Generator<Element> {
  for (let open = xml.indexOf(`<${name} `); open >= 0; ) {
    const end = xml.indexOf('>', open);
    if (end < 0) return;
    const isEmpty = xml[end - 1] === '/';
    const close = isEmpty ? end : xml.indexOf(`</${name}>`, end);
    const stop = close < 0 ? xml.length : close;
    if (end - open <= MAX_TAG) yield { tag: xml.slice(open, end), content: xml.slice(end + 1, stop) };
    open = xml.indexOf(`<${name} `, stop);
  }
}

function attribute(tag: string, name: string): string | undefined {
  const start = tag.indexOf(` ${name}="`);
  if (start < 0) return undefined;
  const from = start + name.length + 3;
  const text = tag.slice(from, tag.indexOf('"', from));
  return text === '' ? undefined : decodeEntities(text);
}

/** `30`, or a fraction such as `15360/512`. */
function framesPerSecond(text: string | undefined): number | undefined {
  const [, over, under = '1'] = /^(\d{1,9})(?:\/(\d{1,9}))?$/.exec(text ?? '') ?? [];
  const rate = Number(over) / Number(under);
  return Number.isFinite(rate) && rate > 0 ? Math.round(rate * 1000) / 1000 : undefined;
}
