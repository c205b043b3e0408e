/*
 * Files that the pages load: styles, scripts and their texts, fonts and pictures. Their URLs contain a hash of all files,
 * so that browsers may cache them for ever. During a rolling update, a page of one node may request files of another; it
 * gets that node's version, which is then not cached. Files other than fonts and PNG are compressed at the first request.
 * All are loaded with this module, synchronously, as `require` accepts no module with top-level await.
 */

import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import { GatewayError } from '../../core/runtime/index.js';
import { defineRoute, type ParamsContext, type RequestContext, type Route } from '../http/index.js';
import { LANGUAGES, scriptTextFiles, VIETNAMESE_SENTENCES } from './language/index.js';

export const ASSET_ENCODINGS = ['br', 'gzip', 'identity'] as const;
export type AssetEncoding = (typeof ASSET_ENCODINGS)[number];

/** A file that pages load. */
export interface Asset {
  contentType: string;
  /** Compressed once, at the first request. */
  bytes(encoding: AssetEncoding): Promise<Buffer>;
}

/** Style sheet, scripts, fonts and pictures of the pages. */
export interface Assets {
  /** Hash of all files: any change gives everything a new URL. */
  readonly version: string;
  /** Path of a file. @throws Error if there is none with this name. */
  url(name: string): string;
  find(name: string): Asset | undefined;
}

/** Files that are not compiled are beside the sources. */
const SOURCES = new URL('../../../server/site/', import.meta.url);

/** Where the build puts scripts. */
const SCRIPTS = new URL('scripts/', import.meta.url);

/** In order of precedence; together they are `site.css`, which every page loads. */
const STYLES = [
  'tokens',
  'base',
  'layout',
  'controls',
  'pieces',
  'plans',
  'account',
  'forms',
  'forced-colors',
  'print',
];

const CONTENT_TYPES: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  '.json': 'application/json; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.png': 'image/png',
  '.svg': 'image/svg+xml; charset=utf-8',
  '.woff2': 'font/woff2',
};

/** Style sheets of some pages alone. */
const PAGE_STYLES = [
  'activity',
  'code',
  'console',
  'docs',
  'docs-search',
  'examples',
  'guides',
  'home',
  'images',
  'keys',
  'payment',
  'plan-cards',
  'playground',
  'public',
  'reference',
  'setup',
  'sign-in',
  'tables',
];

/** One sheet of several sources, as each file that a page names costs another request. */
const JOINED: Readonly<Record<string, readonly string[]>> = {
  activity: ['activity', 'requests', 'code-languages'],
  playground: ['code', 'examples', 'documents', 'playground', 'batch', 'sound', 'chat'],
  reference: ['reference', 'code', 'code-languages'],
  tables: ['tables', 'filters', 'table-cards'],
  console: ['console', 'console-tables', 'console-rows', 'console-nav', 'console-forms', 'console-cards', 'incidents'],
  public: ['public', 'incidents'],
};

/** Loaded with this module, so that the links of pages are known. */
export const assets = loadAssets();

/** Synchronously: `require` accepts no module with top-level await, nor any that imports one. */
function loadAssets(): Assets {
  const readStyles = (name: string) => minify(readFileSync(new URL(`styles/${name}.css`, SOURCES), 'utf8'));
  // Remembers keys that come too early: it is a part of the script before all others.
  const early = withoutMap(readFileSync(new URL('early.js', SCRIPTS)));
  const files = new Map([
    ['site.css', Buffer.concat(STYLES.map(readStyles))],
    ...PAGE_STYLES.map((name) => [`${name}.css`, Buffer.concat((JOINED[name] ?? [name]).map(readStyles))] as const),
    ...readFolder(SCRIPTS, '.js'),
    ...readFolder(new URL('fonts/', SOURCES), '.woff2'),
    ...['.svg', '.png'].flatMap((extension) => readFolder(new URL('pictures/', SOURCES), extension)),
    ...LANGUAGES.flatMap(({ code }) => scriptTextFiles(code)).map(
      ([name, script]) => [name, Buffer.concat([Buffer.from(script), early])] as const,
    ),
    ['sentences-vi.json', Buffer.from(JSON.stringify(VIETNAMESE_SENTENCES))],
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

/** Leaves out comments and the space that is for readers of the sources. Quoted texts have none that would match. */
function minify(styles: string): Buffer {
  const lines = styles.replaceAll(/\/\*.*?\*\//gs, '').replaceAll(/\s*\n\s*/g, '\n');
  const joined = lines.replaceAll(/(?<=[{};,:])\n|\n(?=\})|(?<=[:,]) | (?=\{)/g, '');
  return Buffer.from(
    joined
      .replaceAll(';}', '}')
      .replaceAll(' > ', '>')
      .replaceAll(/(?<=[\s:,(-])0(?=\.\d)/g, ''),
  );
}

function readFolder(folder: URL, extension: string): [string, Buffer][] {
  const names = readdirSync(folder).filter((name) => name.endsWith(extension));
  return names.sort().map((name) => [name, withoutMap(readFileSync(new URL(name, folder)))]);
}

/** Browsers would request the source map, which is not served. */
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

const FOR_EVER = 'public, max-age=31536000, immutable';

/** Files of the pages. Their URLs contain a hash of the content, so they are cached for ever. */
export function assetRoutes(): Route[] {
  return [
    defineRoute({
      method: 'GET',
      grant: 'none',
      tag: 'Pages',
      path: '/assets/:version/:name',
      params: { version: { description: 'Version of the file.' }, name: { description: 'Name of the file.' } },
      summary: 'File of the pages',
      description: 'Styles, scripts and fonts of the pages; browsers may cache them for ever.',
      answers: { 200: { description: 'The file.', type: '*/*' } },
      errors: ['file_not_found'],
      handler: sendAsset,
    }),
  ];
}

async function sendAsset(context: ParamsContext): Promise<void> {
  const { version, name = '' } = context.params;
  const asset = assets.find(name);
  if (!asset) throw new GatewayError('file_not_found', 'There is no such file.');
  const encoding = encodingFor(context, asset.contentType);
  const { res: response } = context;
  // During a rolling update, a page of one node may request files of another: it gets that node's version for now.
  response.setHeader('Cache-Control', version === assets.version ? FOR_EVER : 'no-cache');
  response.setHeader('Vary', 'Accept-Encoding');
  response.setHeader('Cross-Origin-Resource-Policy', 'same-origin');
  if (encoding !== 'identity') response.setHeader('Content-Encoding', encoding);
  response.setHeader('Content-Type', asset.contentType);
  context.body = await asset.bytes(encoding);
}

/** Fonts and pictures of pixels are compressed already. */
function encodingFor(context: RequestContext, contentType: string): AssetEncoding {
  const isCompressed = contentType.startsWith('font/') || contentType === 'image/png';
  return isCompressed ? 'identity' : acceptedEncoding(context);
}

/** In our order: browsers list gzip first, without preferring it. */
export function acceptedEncoding(context: RequestContext): AssetEncoding {
  return ASSET_ENCODINGS.find((encoding) => context.acceptsEncodings(encoding)) ?? 'identity';
}
