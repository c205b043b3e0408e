import { asRecord, asString, at, findAll, findJsonAfter, type JsonRecord } from 'mediagate';
import { idText } from './item-values.js';
import { locateScripts } from './page-scripts.js';

/** What a page holds of items in one of its scripts. */
export interface PageNodes {
  /** `itemStruct` nodes that the page shows as its item. */
  items: unknown[];
  /** `videoData` nodes, of older pages and of the embedded player. */
  videoData: unknown[];
  /** Accounts and their counters by handle, where they stand apart from the items. */
  users?: unknown;
  userStats?: unknown;
  /** What the page says in the place of the item. */
  states: PageState[];
}

export interface PageState {
  code: string;
  message?: string;
}

type Reader = (blob: unknown, id: string) => PageNodes;

/** Scripts that pages carry their data in, by id or by the global that they set; today's first. */
const READERS: readonly (readonly [name: string, read: Reader])[] = [
  ['__UNIVERSAL_DATA_FOR_REHYDRATION__', readUniversal],
  ['api-data', (blob) => ofDetail(at(blob, 'videoDetail'))],
  ['SIGI_STATE', readSigi],
  ['sigi-persisted-data', readSigi],
  ['__NEXT_DATA__', readNextData],
  ['__INIT_PROPS__', readRoutes],
  ['__FRONTITY_CONNECT_STATE__', (blob) => readRoutes(at(blob, 'source', 'data'))],
];
const NAMES: ReadonlySet<string> = new Set(READERS.map(([name]) => name));

export interface PageReading extends PageNodes {
  /** Whether the page has one of the scripts, and whether one of those there could be read. */
  scripts: 'none' | 'unreadable' | 'read';
}

/** The nodes of the first scripts that say something about the page's item. */
export function readPageNodes(html: string, id: string): PageReading {
  const all: PageReading = { items: [], videoData: [], states: [], scripts: 'none' };
  const blobs: unknown[] = [];
  const scripts = locateScripts(html, NAMES);
  for (const [name, read] of READERS) {
    const script = scripts.get(name);
    const blob = script && findJsonAfter(script.text, script.marker)?.value;
    if (blob === undefined) {
      if (script && all.scripts === 'none') all.scripts = 'unreadable';
      continue;
    }
    all.scripts = 'read';
    const { items, videoData, users, userStats, states } = read(blob, id);
    all.items.push(...items);
    all.videoData.push(...videoData);
    all.states.push(...states);
    all.users ??= users;
    all.userStats ??= userStats;
    if (items.length > 0 || videoData.length > 0 || states.length > 0) return all;
    blobs.push(blob);
  }
  if (html.includes(id)) all.items.push(...findItem(blobs, id));
  return all;
}

/** The requested item in a place that none of the readers knows. */
function findItem(blobs: readonly unknown[], id: string): JsonRecord[] {
  const isWhole = (node: JsonRecord) => node.createTime !== undefined && node.author !== undefined;
  return findAll(blobs, (node) => isItem(node, id) && isWhole(node), { maxResults: 1 });
}

/** Whether a node is the requested item's: by every id that it states of itself. */
export function isItem(node: unknown, id: string): boolean {
  return idText(at(node, 'id')) === id;
}

export function isVideoData(node: unknown, id: string): boolean {
  return idText(at(node, 'itemInfos', 'id')) === id;
}

function nodes(found: Partial<PageNodes>): PageNodes {
  return { items: [], videoData: [], states: [], ...found };
}

/** A detail as most pages have it: the item, or a status code and a message in its place. */
function ofDetail(detail: unknown): PageNodes {
  const item = at(detail, 'itemInfo', 'itemStruct');
  const data = at(detail, 'videoData');
  const state = stateOf(detail);
  return nodes({
    items: asRecord(item) ? [item] : [],
    videoData: asRecord(at(data, 'itemInfos')) ? [data] : [],
    states: state ? [state] : [],
  });
}

function stateOf(detail: unknown): PageState | undefined {
  const written = at(detail, 'statusCode');
  const code = typeof written === 'number' || typeof written === 'string' ? String(written) : '';
  if (!/^-?\d+$/.test(code) || code === '0' || code === '200') return undefined;
  return { code, message: asString(at(detail, 'statusMsg')) ?? asString(at(detail, 'statusMessage')) };
}

/** Since 2023: one member for each part of the page; the item's is `webapp.video-detail`, or `webapp.reflow.video.detail` for phones. */
function readUniversal(blob: unknown): PageNodes {
  const scope = asRecord(at(blob, '__DEFAULT_SCOPE__')) ?? asRecord(blob) ?? {};
  const details = Object.entries(scope).filter(
    ([name, part]) => /(?:video|photo|item)[.-]detail$/.test(name) || at(part, 'itemInfo', 'itemStruct') !== undefined,
  );
  return together(details.map(([, detail]) => ofDetail(asRecord(at(detail, 'body')) ?? detail)));
}

/** 2021 to 2023: items and accounts in tables of their own. */
function readSigi(blob: unknown, id: string): PageNodes {
  const item = at(blob, 'ItemModule', id) ?? at(blob, 'MobileItemModule', id);
  const state = stateOf(at(blob, 'VideoPage')) ?? stateOf(at(blob, 'MobileSharingVideo'));
  return nodes({
    items: asRecord(item) ? [item] : [],
    users: at(blob, 'UserModule', 'users'),
    userStats: at(blob, 'UserModule', 'stats'),
    states: state ? [state] : [],
  });
}

/** 2019 to 2021. */
function readNextData(blob: unknown): PageNodes {
  const props = at(blob, 'props', 'pageProps');
  return together([ofDetail(props), ofDetail(at(props, 'videoObjectPageProps'))]);
}

/** Data by route: share pages of 2019, and the embedded player's page. */
function readRoutes(routes: unknown): PageNodes {
  return together(Object.values(asRecord(routes) ?? {}).map((route) => ofDetail(route)));
}

function together(parts: readonly PageNodes[]): PageNodes {
  return nodes({
    items: parts.flatMap(({ items }) => items),
    videoData: parts.flatMap(({ videoData }) => videoData),
    states: parts.flatMap(({ states }) => states),
  });
}
