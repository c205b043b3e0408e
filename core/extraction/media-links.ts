/*
 * Links to the media files of an item. A link is a signed name of the item's canonical URL, of one file of it, and of
 * the key that it was made for: it works without a key for at most six hours, and it stops when that key is revoked.
 * The file is named by what it is (kind, format, size of the picture, language) and by its position among equal ones,
 * so that the same file is found again when the item is resolved anew and has other addresses.
 */

import { hash } from 'node:crypto';
import type { ExtractionData, LinkRef, MediaEntry, MediaLinkOptions, SignedLink } from '../contracts/index.js';
import { GatewayError } from '../runtime/index.js';
import { SignedNames } from './signed-names.js';

/** With the ten minutes that names are rounded up by, links are valid for at most six hours. */
const TTL_MS = 6 * 3_600_000 - 600_000;
const ID_LENGTH = 10;

/** What a media link leads to. */
export interface MediaTarget extends Pick<LinkRef, 'url' | 'access'> {
  /** Of {@link fileIds}. */
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
  sign(data: ExtractionData, target: Omit<MediaTarget, 'file'>, now: number): (SignedLink | undefined)[] {
    const { url, access = '', issuer } = target;
    const entries = entriesOf(data);
    return fileIds(entries).map((file, index) => {
      // A playlist names its parts by addresses of the platform, which the client cannot open either.
      if (entries[index]?.kind === 'manifest') return undefined;
      const { name, expiresAt } = this.#names.sign([file, issuer, url, access].join(' '), now);
      return { url: `${this.#options.baseUrl}/v1/media/${name}`, expiresAt: new Date(expiresAt).toISOString() };
    });
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

/** Undefined if the item has no such file any more. */
export function findFile(data: ExtractionData, id: string): MediaEntry | undefined {
  const entries = entriesOf(data);
  return entries[fileIds(entries).indexOf(id)];
}

/** @throws GatewayError `file_not_found` if the item has no such file any more. */
export function fileOf(data: ExtractionData, id: string): MediaEntry {
  const entry = findFile(data, id);
  if (!entry) throw new GatewayError('file_not_found', 'The item has no such file any more; extract the link again.');
  return entry;
}
