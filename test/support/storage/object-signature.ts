/** Checks the AWS signature of a request to the object store. */

import { createHash, createHmac } from 'node:crypto';
import type { IncomingMessage } from 'node:http';

/** Whether a request bears the AWS signature (version 4, of headers alone) that this secret gives it. */
export function isSigned({ method, url = '', headers }: IncomingMessage, secret: string): boolean {
  const { pathname, searchParams } = new URL(url, 'http://store');
  const found = /^AWS4-HMAC-SHA256 Credential=[^/]+\/([^,]+), SignedHeaders=([^,]+), Signature=([0-9a-f]{64})$/.exec(
    headers.authorization ?? '',
  );
  const [, scope = '', names = '', signature] = found ?? [];
  // Every such header has to be signed: else whoever stands between could change it.
  if (Object.keys(headers).some((name) => name.startsWith('x-amz-') && !names.split(';').includes(name))) return false;
  const query = [...searchParams].map((pair) => pair.map(encodeURIComponent).join('=')).sort();
  const lines = names.split(';').map((name) => `${name}:${headers[name]}`);
  const request = [method, pathname, query.join('&'), ...lines, '', names, 'UNSIGNED-PAYLOAD'].join('\n');
  const digest = createHash('sha256').update(request).digest('hex');
  const text = ['AWS4-HMAC-SHA256', headers['x-amz-date'], scope, digest].join('\n');
  const sign = (key: string | Buffer, part: string) => createHmac('sha256', key).update(part).digest();
  const key = scope.split('/').reduce<string | Buffer>(sign, `AWS4${secret}`);
  return sign(key, text).toString('hex') === signature;
}
