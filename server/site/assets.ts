import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';

export const ASSET_ENCODINGS = ['br', 'gzip', 'identity'] as const;
export type AssetEncoding = (typeof ASSET_ENCODINGS)[number];

/** A file that pages ask for. */
export interface Asset {
  contentType: string;
  /** Compressed once, at the first request. */
  bytes(encoding: AssetEncoding): Promise<Buffer>;
}

/** Style sheet, scripts, fonts and pictures of the pages. */
export interface Assets {
  /** Hash of them all: one change anywhere, and everything has a new address. */
  readonly version: string;
  /** Path under which a page finds one. @throws Error where there is none of that name. */
  url(name: string): string;
  find(name: string): Asset | undefined;
}

/** What is not compiled lies beside the sources. */
const SOURCES = new URL('../../../server/site/', import.meta.url);

/** In the order in which they overrule each other; all together are `site.css`. */
const STYLES = [
  'tokens',
  'base',
  'layout',
  'controls',
  'pieces',
  'home',
  'account',
  'payment',
  'playground',
  'forced-colors',
  'print',
];

const CONTENT_TYPES: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml; charset=utf-8',
  '.woff2': 'font/woff2',
};

/** Those of this package: what pages link to is known once this module is loaded. */
export const assets = loadAssets();

/** At once: `require` takes no module that waits, nor any that imports one. */
function loadAssets(): Assets {
  const styles = STYLES.map((name) => readFileSync(new URL(`styles/${name}.css`, SOURCES)));
  const files = new Map([
    ['site.css', Buffer.concat(styles)],
    ...readFolder(new URL('browser/', import.meta.url), '.js'),
    ...readFolder(new URL('fonts/', SOURCES), '.woff2'),
    ...readFolder(new URL('pictures/', SOURCES), '.svg'),
  ]);
  const found = new Map([...files].map(([name, bytes]) => [name, toAsset(name, bytes)]));
  const version = hashOf(files);
  return {
    version,
    url(name) {
      if (!found.has(name)) throw new Error(`there is no asset ${name}`);
      return `/assets/${version}/${name}`;
    },
    find: (name) => found.get(name),
  };
}

function readFolder(folder: URL, extension: string): [string, Buffer][] {
  const names = readdirSync(folder).filter((name) => name.endsWith(extension));
  return names.sort().map((name) => [name, withoutMap(readFileSync(new URL(name, folder)))]);
}

/** Browsers would ask for the map, which is not served. */
function withoutMap(bytes: Buffer): Buffer {
  const end = bytes.lastIndexOf('//# sourceMappingURL=');
  return end === -1 ? bytes : bytes.subarray(0, end);
}

function hashOf(files: ReadonlyMap<string, Buffer>): string {
  const hash = createHash('sha256');
  for (const [name, bytes] of files) hash.update(`${name}\0${bytes.length}\0`).update(bytes);
  return hash.digest('hex').slice(0, 12);
}

function toAsset(name: string, whole: Buffer): Asset {
  const contentType = CONTENT_TYPES[path.extname(name)] ?? 'application/octet-stream';
  const compressed = new Map<AssetEncoding, Promise<Buffer>>();
  return {
    contentType,
    bytes(encoding) {
      const known = compressed.get(encoding) ?? encode(whole, encoding);
      compressed.set(encoding, known);
      return known;
    },
  };
}

async function encode(bytes: Buffer, encoding: AssetEncoding): Promise<Buffer> {
  if (encoding === 'br') return promisify(brotliCompress)(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: 11 } });
  return encoding === 'gzip' ? promisify(gzip)(bytes, { level: 9 }) : bytes;
}
