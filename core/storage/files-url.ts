import type { FileSource } from '../contracts/index.js';
import { GatewayError } from '../runtime/index.js';

/** Where an S3-compatible store is, and as whom to speak to it. */
export interface ObjectStoreAddress {
  /** Origin and bucket: buckets are named by the path, which every such store understands. */
  endpoint: string;
  /** What comes before every key: empty, or with a slash at its end. */
  prefix: string;
  region: string;
  accessKeyId: string;
  secretAccessKey: string;
  source: Exclude<FileSource, 'local_cache'>;
}

const R2_HOST = '.r2.cloudflarestorage.com';
const BUCKET = /^[A-Za-z0-9][A-Za-z0-9._-]{1,62}$/;
const SEGMENT = /^[A-Za-z0-9._-]{1,64}$/;
const REGION = /^[A-Za-z0-9-]{1,64}$/;
const PARAMETERS: readonly string[] = ['region', 'tls'];

/**
 * Reads `s3://KEY:SECRET@host[:port]/bucket[/prefix][?region=…&tls=off]`, key and secret percent-encoded.
 * @throws GatewayError `invalid_value`, which repeats nothing of the URL.
 */
export function readFilesUrl(text: string): ObjectStoreAddress {
  const url = URL.parse(text);
  const [bucket = '', ...folders] = url ? url.pathname.split('/').filter((part) => part !== '') : [];
  const region = url?.searchParams.get('region') ?? (url?.hostname.endsWith(R2_HOST) ? 'auto' : 'us-east-1');
  const tls = url?.searchParams.get('tls') ?? 'on';
  const accessKeyId = decode(url?.username);
  const secretAccessKey = decode(url?.password);
  const usable =
    url?.protocol === 's3:' &&
    url.hostname !== '' &&
    url.hash === '' &&
    BUCKET.test(bucket) &&
    folders.every((folder) => SEGMENT.test(folder)) &&
    REGION.test(region) &&
    (tls === 'on' || tls === 'off') &&
    [...url.searchParams.keys()].every((name) => PARAMETERS.includes(name));
  if (!usable || !accessKeyId || !secretAccessKey) {
    const form = 's3://KEY:SECRET@host/bucket, key and secret percent-encoded';
    const more = 'A prefix may follow the bucket, then ?region=…, and &tls=off for plain http.';
    throw new GatewayError('invalid_value', `The URL of the object store for files must look like ${form}. ${more}`, {
      param: 'filesUrl',
    });
  }
  return {
    endpoint: `${tls === 'on' ? 'https' : 'http'}://${url.host}/${bucket}`,
    prefix: folders.map((folder) => `${folder}/`).join(''),
    region,
    accessKeyId,
    secretAccessKey,
    source: url.hostname.endsWith(R2_HOST) ? 'objstore_r2' : 'objstore_s3',
  };
}

/** Undefined where the text is not percent-encoded as it should be. */
function decode(text: string | undefined): string | undefined {
  try {
    return text && decodeURIComponent(text);
  } catch {
    return undefined;
  }
}
