import type { FileSource, FileStat } from '../contracts/index.js';
import { damagedFile } from '../runtime/index.js';

const SHA256 = 'x-amz-meta-sha256';
const SIZE = 'x-amz-meta-size';
const MODIFIED_AT = 'x-amz-meta-modified-at';
const EXPIRES_AT = 'x-amz-meta-expires-at';

/** What is kept with an object, besides its media type. Times are milliseconds since 1970. */
export function metadataOf({ etag, size, modifiedAt, expiresAt }: FileStat): Record<`x-amz-meta-${string}`, string> {
  return {
    [SHA256]: etag.slice(1, -1),
    [SIZE]: String(size),
    [MODIFIED_AT]: String(modifiedAt.getTime()),
    ...(expiresAt && { [EXPIRES_AT]: String(expiresAt.getTime()) }),
  };
}

/**
 * @param size - bytes of the whole object, as the store counts them.
 * @throws GatewayError `storage_error`, not to be retried, where the object was not written by this storage, or is not whole.
 */
export function statOf(name: string, headers: Headers, size: number, source: FileSource): FileStat {
  const contentType = headers.get('content-type');
  const sha256 = headers.get(SHA256) ?? '';
  const modifiedAt = numberIn(headers, MODIFIED_AT);
  const expiresAt = numberIn(headers, EXPIRES_AT);
  // A store that takes half a file for a whole one has the metadata of the whole.
  if (!contentType || !/^[0-9a-f]{64}$/.test(sha256) || modifiedAt === undefined || numberIn(headers, SIZE) !== size) {
    throw damagedFile(`The object ${name} has not the metadata that this storage gives.`);
  }
  const stat: FileStat = { name, contentType, size, etag: `"${sha256}"`, modifiedAt: new Date(modifiedAt), source };
  return expiresAt === undefined ? stat : { ...stat, expiresAt: new Date(expiresAt) };
}

function numberIn(headers: Headers, name: string): number | undefined {
  const text = headers.get(name) ?? '';
  return /^\d{1,15}$/.test(text) ? Number(text) : undefined;
}
