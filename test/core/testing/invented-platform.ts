/** An invented platform and its plugin package, for tests of the kit. */

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import {
  type Contributions,
  definePlugin,
  type ExtractCall,
  type Extraction,
  type Extractor,
  GatewayError,
  type HttpResponse,
  type LinkMatch,
  type Plugin,
  type PluginContext,
} from 'mediagate';
import { asNumber, asRecord, asString, at, parseJson, Type } from 'mediagate/plugin';
import type { ExtractorDefinition, FixtureExchange } from '../../../core/testing/index.js';

export const ID = 'kL9mN2pQ4r';
export const TOKEN = 'token-that-nobody-may-see';
const HOST = 'invented.example';

const options = Type.Object(
  { token: Type.Optional(Type.String()), language: Type.String({ default: 'en' }) },
  { additionalProperties: false },
);
export type Context = PluginContext<{ token?: string; language: string }>;

/** Pieces of a plugin that keeps to every rule; a test replaces one of them. */
export interface Pieces {
  plugin?: Partial<Plugin>;
  extractor?: (context: Context) => Partial<Extractor>;
  setup?: (context: Context, contributions: Contributions) => Contributions | Promise<Contributions>;
}

export function inventedPlugin({ plugin = {}, extractor = () => ({}), setup }: Pieces = {}): Plugin {
  return definePlugin<typeof options>({
    name: 'invented',
    apiVersion: 1,
    summary: 'Items of an invented platform.',
    provides: ['extractor'],
    options,
    setup(context) {
      const made: Extractor = {
        platform: 'invented',
        displayName: 'Invented',
        linkForms: ['https://invented.example/item/<id>'],
        match,
        extract: (call) => extract(context, call),
        ...extractor(context),
      };
      const contributions = { extractors: [made] };
      return setup ? setup(context, contributions) : contributions;
    },
    ...(plugin as object),
  }) as Plugin;
}

export function match(url: URL): LinkMatch {
  if (url.hostname !== HOST || url.port || url.username || !/^https?:$/.test(url.protocol)) return undefined;
  const id = /^\/item\/(\w{10})$/.exec(url.pathname)?.[1];
  if (!id) return { unsupported: 'another page' };
  return { kind: 'video', id, url: `https://${HOST}/item/${id}` };
}

export async function fetchItem({ http, options: { token = '' } }: Context, { link, signal }: ExtractCall) {
  const headers = { authorization: token };
  return await http.request({ url: `https://api.${HOST}/items/${link.id}`, headers, signal });
}

export async function extract(context: Context, call: ExtractCall): Promise<Extraction> {
  call.signal.throwIfAborted();
  return read(await fetchItem(context, call), call.link.id);
}

export function read(response: HttpResponse, id: string): Extraction {
  if (response.status === 429) throw new GatewayError('upstream_rate_limited', 'Too many requests.');
  if (response.status === 404) throw new GatewayError('removed', 'The item is gone.', { reason: 'no such item' });
  if (response.status !== 200) throw new GatewayError('upstream_error', 'The platform failed.');
  const item = asRecord(at(parsed(response), 'item'));
  if (item?.id !== id) throw new GatewayError('upstream_changed', 'This is another item, or none.');
  return extraction(id, asString(item.title), asNumber(item.views));
}

export function parsed(response: HttpResponse): unknown {
  try {
    return parseJson(response.text());
  } catch (cause) {
    throw new GatewayError('upstream_refused', 'This is not JSON.', { cause });
  }
}

export function extraction(id: string, title?: string, views?: number): Extraction {
  return {
    method: 'api',
    data: {
      common: title === undefined ? {} : { title },
      ids: { video_id: id, canonical_url: `https://${HOST}/item/${id}` },
      metrics: views === undefined || !Number.isSafeInteger(views) || views < 0 ? {} : { views },
      media: { image_urls: [], video_urls: [] },
      raw_stats: {},
    },
  };
}

/** A package on disk with the fixtures of the invented plugin, compiled test folder and all. */
export interface InventedPackage {
  definition(pieces?: Pieces, more?: Partial<ExtractorDefinition>): ExtractorDefinition;
  /** `import.meta.url` of a compiled test file of a plugin of that folder name. */
  testFile(pluginName?: string): string;
  fixtures: string;
  remove(): void;
}

export function createInventedPackage(): InventedPackage {
  const root = mkdtempSync(path.join(tmpdir(), 'mediagate-kit-'));
  const fixtures = path.join(root, 'plugins', 'invented', 'fixtures');
  writeFileSync(path.join(root, 'package.json'), '{}');
  const url = `https://api.${HOST}/items/`;
  const json = { 'content-type': 'application/json' };
  const body = { item: { id: ID, title: 'An item', views: 51_234 }, next: [{ id: 'aaaaaaaaaa', views: 9_876 }] };
  const write = (name: string, exchanges: FixtureExchange[], files: Readonly<Record<string, string>> = {}) => {
    mkdirSync(path.join(fixtures, name), { recursive: true });
    writeFileSync(path.join(fixtures, name, 'exchanges.json'), JSON.stringify({ exchanges }));
    for (const [file, text] of Object.entries(files)) writeFileSync(path.join(fixtures, name, file), text);
  };
  write(
    'good',
    [{ request: { method: 'GET', url: url + ID }, response: { status: 200, headers: json, file: 'item.json' } }],
    {
      'item.json': JSON.stringify(body),
    },
  );
  write('gone', [{ request: { method: 'GET', url: `${url}gggggggggg` }, response: { status: 404, text: '{}' } }]);
  const testFile = (pluginName = 'invented') =>
    pathToFileURL(path.join(root, 'dist', 'plugins', pluginName, 'test', 'invented.test.js')).href;
  return {
    fixtures,
    testFile,
    definition: (pieces, more) => ({
      plugin: inventedPlugin(pieces),
      folder: testFile(),
      options: { token: TOKEN },
      secrets: [TOKEN],
      links: { [`https://${HOST}/item/${ID}`]: ID, [`http://${HOST}/item/${ID}?from=mail`]: ID },
      foreign: ['https://other.example/item/kL9mN2pQ4r'],
      unsupported: [`https://${HOST}/people/ann`],
      samples: [
        {
          name: 'good',
          url: `https://${HOST}/item/${ID}`,
          id: ID,
          expect: { method: 'api', data: { common: { title: 'An item' }, metrics: { views: 51_234 } } },
        },
        { name: 'gone', url: `https://${HOST}/item/gggggggggg`, error: 'removed', reason: /no such/ },
      ],
      ...more,
    }),
    remove: () => rmSync(root, { recursive: true, force: true }),
  };
}
