/*
 * Finds the item in the scripts of a page, in every layout since 2019. The newest script is read first, and of a large
 * script only the part with the item is parsed; the whole script is parsed if that part is missing. A script holds an
 * item, its older form `videoData`, or a status code in its place. If no known place has the item, it is searched for
 * by its shape and id. The result also says whether scripts were absent or unreadable, which tells a changed layout
 * from a block.
 */

import { asId, asRecord, asString, at, findAll, findJsonAfter, type JsonRecord, splitScripts } from 'mediagate/plugin';
import { readNextData, readSigi } from './older/pages.js';

/**
 * The data of one script. A detail is what most layouts have for an item: `itemInfo.itemStruct`, or `videoData` of older
 * pages and of the embedded player, or a status code and a message in their place.
 */
interface Reader {
  /** Members with a detail, in a script that has much other data. */
  members?: readonly string[];
  /** The details in the whole data. */
  read(blob: unknown, id: string): readonly unknown[];
}

/** By the script's id or the global that it sets; today's first, and of those the one that phones get besides the other. */
const READERS: ReadonlyMap<string, Reader> = new Map<string, Reader>([
  ['api-data', { read: (blob) => [at(blob, 'videoDetail')] }],
  [
    '__UNIVERSAL_DATA_FOR_REHYDRATION__',
    { members: ['webapp.video-detail', 'webapp.reflow.video.detail'], read: readUniversal },
  ],
  ['SIGI_STATE', { read: readSigi }],
  ['sigi-persisted-data', { read: readSigi }],
  ['__NEXT_DATA__', { read: readNextData }],
  // By route: share pages of 2019, and the embedded player's page.
  ['__INIT_PROPS__', { read: valuesOf }],
  ['__FRONTITY_CONNECT_STATE__', { read: (blob) => valuesOf(at(blob, 'source', 'data')) }],
]);

/** What one script of a page has about its item. */
interface PageNodes {
  items: readonly unknown[];
  videoData: readonly unknown[];
  /** States that the page reports instead of the item. */
  states: readonly PageState[];
}

export interface PageState {
  code: string;
  message?: string | undefined;
}

export interface PageReading extends PageNodes {
  /** Whether the page has one of the scripts, and whether one of those there could be read. */
  scripts: 'none' | 'unreadable' | 'read';
}

/**
 * The nodes of the first script with content about the page's item. Most of such a script is texts and settings of the
 * site, so only the member with the item is parsed, and the whole script if no member has it.
 */
export function readPageNodes(html: string, id: string): PageReading {
  const scripts = locateScripts(html);
  const blobs: unknown[] = [];
  for (const [name, { members = [], read }] of READERS) {
    const script = scripts.get(name);
    if (!script) continue;
    for (const member of members) {
      const nodes = nodesOf([findJsonAfter(script.text, `"${member}"`)?.value]);
      if (nodes) return { ...nodes, scripts: 'read' };
    }
    const blob = findJsonAfter(script.text, script.marker)?.value;
    if (blob === undefined) continue;
    blobs.push(blob);
    const nodes = nodesOf(read(blob, id));
    if (nodes) return { ...nodes, scripts: 'read' };
  }
  const items = html.includes(id) ? findItem(blobs, id) : [];
  const status = blobs.length > 0 ? 'read' : scripts.size > 0 ? 'unreadable' : 'none';
  return { items, videoData: [], states: [], scripts: status };
}

/** The nodes in details; undefined if there are none. */
function nodesOf(details: readonly unknown[]): PageNodes | undefined {
  // Phones get the detail in `body`.
  const parts = details.map((detail) => asRecord(at(detail, 'body')) ?? detail);
  const items = parts.flatMap((part) => asRecord(at(part, 'itemInfo', 'itemStruct')) ?? []);
  const videoData = parts.map((part) => at(part, 'videoData')).filter((data) => asRecord(at(data, 'itemInfos')));
  const states = parts.flatMap((part) => stateOf(part) ?? []);
  return items.length + videoData.length + states.length > 0 ? { items, videoData, states } : undefined;
}

/** The state in a detail; undefined if its status is a success. */
function stateOf(detail: unknown): PageState | undefined {
  const written = at(detail, 'statusCode');
  const code = typeof written === 'number' || typeof written === 'string' ? String(written) : '';
  if (!/^-?\d+$/.test(code) || code === '0' || code === '200') return undefined;
  return { code, message: asString(at(detail, 'statusMsg')) ?? asString(at(detail, 'statusMessage')) };
}

/** Whether a node is the requested item's. */
export function isItem(node: unknown, id: string): boolean {
  return asId(at(node, 'id')) === id;
}

/** The requested item anywhere in the data, if no reader found it. */
function findItem(blobs: readonly unknown[], id: string): JsonRecord[] {
  const isWhole = (node: JsonRecord) => node.createTime !== undefined && node.author !== undefined;
  return findAll(blobs, (node) => isItem(node, id) && isWhole(node), { maxResults: 1 });
}

/** Since 2023: one member for each part of the page. */
function readUniversal(blob: unknown): unknown[] {
  const scope = asRecord(at(blob, '__DEFAULT_SCOPE__')) ?? asRecord(blob) ?? {};
  const details = Object.entries(scope).filter(
    ([name, part]) => /(?:video|photo|item)[.-]detail$/.test(name) || at(part, 'itemInfo', 'itemStruct') !== undefined,
  );
  return details.map(([, detail]) => detail);
}

function valuesOf(record: unknown): unknown[] {
  return Object.values(asRecord(record) ?? {});
}

/** A script with data. */
interface DataScript {
  text: string;
  /** Precedes the data. */
  marker: string | RegExp;
}

const SCRIPT_ID = /\sid=["']([\w-]{1,60})["']/;
const ASSIGNED = /^\s*(?:window|self|globalThis)(?:\.|\[["'])(\w{1,60})/;
/** Characters of a tag, or of a script's beginning, that are searched. */
const GLANCE = 500;

/** The scripts that have a reader, by name, in one pass over the page. */
function locateScripts(html: string): Map<string, DataScript> {
  const scripts = new Map<string, DataScript>();
  for (const { tag, text } of splitScripts(html).scripts) {
    const id = SCRIPT_ID.exec(tag.slice(0, GLANCE))?.[1];
    const global = ASSIGNED.exec(text.slice(0, GLANCE))?.[1];
    const name = [global, id].find((one) => one !== undefined && READERS.has(one));
    // Before the script with the id, another may set a global of the same name to nothing.
    if (name && (name === id || !scripts.has(name))) {
      scripts.set(name, { text: `>${text}`, marker: name === global ? name : '>' });
    }
  }
  return scripts.size > 0 ? scripts : locateByName(html);
}

/** For pages with unusual tags: finds the name in quotes, and the end of the tag after it. */
function locateByName(html: string): Map<string, DataScript> {
  const scripts = new Map<string, DataScript>();
  for (const name of READERS.keys()) {
    const place = html.indexOf(name);
    if (place >= 0) scripts.set(name, { text: html.slice(place), marker: new RegExp(`${name}["'][^<{]{0,500}>`) });
  }
  return scripts;
}
