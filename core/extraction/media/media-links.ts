/*
 * Links to the media files of an item. A link is a signed name of the item's canonical URL, of one file of it, and of
 * the key that it was made for: it works without a key for at most six hours, and it stops when that key is revoked.
 * The file is named by what it is (kind, format, size of the picture, language) and by its position among equal ones,
 * so that the same file is found again when the item is resolved anew and has other addresses.
 */

import { hash } from 'node:crypto';
import type {
  ExtractionData,
  LinkRef,
  MediaEntry,
  MediaFileLinks,
  MediaLinkOptions,
  SignedLink,
  SubtitleFormat,
} from '../../contracts/index.js';
import { GatewayError } from '../../runtime/index.js';
import { SignedNames } from './signed-names.js';

/** With the ten minutes that names are rounded up by, links are valid for at most six hours. */
export const TTL_MS = 6 * 3_600_000 - 600_000;
const ID_LENGTH = 10;

/** What a media link leads to. */
export interface MediaTarget extends Pick<LinkRef, 'url' | 'access'> {
  /** Of {@link fileIds}, or {@link ARCHIVE}. */
  file: string;
  /** Id of the key that the link was made for. */
  issuer: string;
}

/** Creates and reads media links. */
export class MediaLinks {
  readonly #options: Pick<MediaLinkOptions, 'baseUrl'>;
  readonly #names: SignedNames;

  constructor(options: MediaLinkOptions) {
    this.#options = options;
    this.#names = new SignedNames({ secrets: options.secrets, purpose: 'media', ttlMs: TTL_MS });
  }

  /** Links to the files of a document, in their order; undefined for those that are no files. */
  sign(data: ExtractionData, target: Omit<MediaTarget, 'file'>, now: number): (MediaFileLinks | undefined)[] {
    const { baseUrl } = this.#options;
    const entries = entriesOf(data);
    return fileIds(entries).map((file, index) => {
      const kind = entries[index]?.kind;
      // A playlist names its parts by addresses of the platform, which the client cannot open either.
      if (kind === 'manifest') return undefined;
      const { name, expiresAt } = this.#nameOf({ ...target, file }, now);
      const as = (format: SubtitleFormat) => `${baseUrl}/v1/extract/subtitles/${name}.${format}`;
      return {
        url: `${baseUrl}/v1/media/${name}`,
        expiresAt,
        ...(kind === 'subtitle' && { subtitles: { vtt: as('vtt'), srt: as('srt'), txt: as('txt') } }),
      };
    });
  }

  /** A link to an archive of all files of a carousel. */
  signArchive(target: Omit<MediaTarget, 'file'>, now: number): SignedLink {
    const { name, expiresAt } = this.#nameOf({ ...target, file: ARCHIVE }, now);
    return { url: `${this.#options.baseUrl}/v1/extract/archive/${name}.zip`, expiresAt };
  }

  #nameOf({ file, issuer, url, access = '' }: MediaTarget, now: number) {
    const { name, expiresAt } = this.#names.sign([file, issuer, url, access].join(' '), now);
    return { name, expiresAt: new Date(expiresAt).toISOString() };
  }

  /**
   * What a name was signed for.
   * @throws GatewayError `file_not_found` if it was not signed here, `link_expired` if it has expired.
   */
  open(name: string, now: number): { target: MediaTarget; expiresAt: number } {
    const { text, expiresAt } = this.#names.open(name, now);
    const [file = '', issuer = '', url = '', ...access] = text.split(' ');
    const token = access.join(' ');
    return { target: { file, issuer, url, ...(token !== '' && { access: token }) }, expiresAt };
  }
}

/** Name of an item for headers and file systems, without an extension: ASCII letters, digits, `_` and `-`. */
export function plainNameOf(platform: string, { id }: Pick<LinkRef, 'id'>): string {
  return `${platform}-${id}`.replace(/[^A-Za-z0-9_-]+/g, '_').slice(0, 100);
}

/** The media files of a document. */
export function entriesOf(data: ExtractionData): readonly MediaEntry[] {
  return ('product' in data ? data.product.media : data.media.entries) ?? [];
}

/** An id for each file, from what does not change when the item is resolved again. */
export function fileIds(entries: readonly MediaEntry[]): string[] {
  const seen = new Map<string, number>();
  return entries.map((entry) => {
    const { kind, mime, codecs, width, height, fps, quality, language, label, auto_generated: isMade } = entry;
    const what = JSON.stringify([kind, mime, codecs, width, height, fps, quality, language, label, isMade]);
    const position = seen.get(what) ?? 0;
    seen.set(what, position + 1);
    return hash('sha256', `${what}${position}`, 'base64url').slice(0, ID_LENGTH);
  });
}

/** Stands for all files of a carousel, in place of the id of one. */
export const ARCHIVE = 'archive';

/** The file with an id, or those of an archive. Empty if the item has none such any more. */
export function filesOf(data: ExtractionData, id: string): readonly MediaEntry[] {
  const entries = entriesOf(data);
  if (id === ARCHIVE) return entries.filter((entry) => isShown(data, entry));
  const at = fileIds(entries).indexOf(id);
  return at < 0 ? [] : entries.slice(at, at + 1);
}

/** Ids of the files of an archive, in order. */
export function archivedFiles(data: ExtractionData): readonly string[] {
  const entries = entriesOf(data);
  return fileIds(entries).filter((_id, index) => isShown(data, entries[index]));
}

/** Whether a picture or video is shown as a part of a carousel: other qualities and covers of videos are not. */
function isShown(data: ExtractionData, entry: MediaEntry | undefined): boolean {
  if (!entry || 'product' in data) return false;
  const { image_urls, video_urls } = data.media;
  return entry.kind === 'image'
    ? entry.label !== 'cover' && image_urls.includes(entry.url)
    : entry.kind === 'video' && video_urls.includes(entry.url);
}

/** Whether the document names the file as one of its pictures or videos. */
export function isListed(data: ExtractionData, { url }: MediaEntry): boolean {
  const { image_urls: pictures = [], video_urls: videos = [] } = 'product' in data ? data.product : data.media;
  return pictures.includes(url) || videos.includes(url);
}

/** @throws GatewayError `file_not_found` if the item has no such file any more. */
export function fileOf(data: ExtractionData, id: string): MediaEntry {
  const [entry] = filesOf(data, id);
  if (!entry) throw new GatewayError('file_not_found', 'The item has no such file any more; extract the link again.');
  return entry;
}
