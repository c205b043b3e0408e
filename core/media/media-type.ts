/*
 * The type of a media file by its first bytes. What the source states is not used: a page, a script or an SVG that
 * calls itself a picture has no type here, and is not passed on.
 */

import { type Container, sniffContainer } from './containers.js';
import { IMAGE_CONTENT_TYPES, sniffImage } from './image-header.js';

export interface MediaType {
  contentType: string;
  /** Of a file name, without the dot. */
  extension: string;
}

type Kind = 'video' | 'audio' | 'image' | 'subtitle' | 'manifest';

const CONTAINERS: Readonly<Record<Container, { video: MediaType; audio: MediaType }>> = {
  mov: both('mp4', 'mp4', 'm4a'),
  matroska: both('webm', 'webm', 'weba'),
  ogg: both('ogg', 'ogv', 'ogg'),
  mp3: onlyAudio('audio/mpeg', 'mp3'),
  aac: onlyAudio('audio/aac', 'aac'),
  flac: onlyAudio('audio/flac', 'flac'),
  wav: onlyAudio('audio/wav', 'wav'),
  mpegts: both('mp2t', 'ts', 'ts'),
  mpeg: both('mpeg', 'mpg', 'mpga'),
};

/** Brands of still pictures in the container of MP4. */
const PICTURE_BRANDS: Readonly<Record<string, MediaType>> = {
  avif: { contentType: 'image/avif', extension: 'avif' },
  heic: { contentType: 'image/heic', extension: 'heic' },
  mif1: { contentType: 'image/heic', extension: 'heic' },
};

const VTT = { contentType: 'text/vtt; charset=utf-8', extension: 'vtt' };
const PLAIN = { contentType: 'text/plain; charset=utf-8', extension: 'txt' };

function both(name: string, video: string, audio: string) {
  return {
    video: { contentType: `video/${name}`, extension: video },
    audio: { contentType: `audio/${name}`, extension: audio },
  };
}

function onlyAudio(contentType: string, extension: string) {
  const type = { contentType, extension };
  return { video: type, audio: type };
}

/**
 * @param head First bytes of the file; the first 4,096 are enough.
 * @param kind What the platform calls the file: it decides between video and audio of one container, and only a subtitle may be text.
 * @returns Undefined if the bytes are no media.
 */
export function mediaTypeOf(head: Uint8Array, kind: Kind): MediaType | undefined {
  const image = sniffImage(head);
  if (image) return { contentType: IMAGE_CONTENT_TYPES[image], extension: image === 'jpeg' ? 'jpg' : image };
  const bytes = Buffer.from(head.buffer, head.byteOffset, head.byteLength);
  const brand = bytes.toString('latin1', 4, 8) === 'ftyp' ? bytes.toString('latin1', 8, 12) : '';
  if (Object.hasOwn(PICTURE_BRANDS, brand)) return PICTURE_BRANDS[brand];
  const container = sniffContainer(head);
  if (container) return CONTAINERS[container][kind === 'audio' ? 'audio' : 'video'];
  return kind === 'subtitle' ? subtitleType(bytes) : undefined;
}

/** Subtitles in XML and JSON are sent as plain text. Markup that a browser would run is none. */
function subtitleType(bytes: Buffer): MediaType | undefined {
  const start = bytes
    .toString('utf8')
    .replace(/^\uFEFF/, '')
    .trimStart();
  if (start.includes('\0') || start === '') return undefined;
  if (/<\s*(?:!doctype\s+html|html|head|body|script|svg|iframe|\w+:script)\b/i.test(start)) return undefined;
  return /^WEBVTT(?:\s|$)/.test(start) ? VTT : PLAIN;
}
