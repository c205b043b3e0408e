import { asRecord, at, findAll, findJsonAfter, type JsonRecord } from 'mediagate';
import { readNextData, readSigi } from './older/page-data.js';
import { isItem, nodes, ofDetail, type PageNodes, together } from './page-nodes.js';

interface Reader {
  /** Scripts that carry the data, by id or by the global that they set. */
  scripts: readonly string[];
  /** Members that hold the item, in a script that holds much besides. */
  members?: readonly string[];
  ofMember?(member: unknown): PageNodes;
  read(blob: unknown, id: string): PageNodes;
}

/** Today's first; of those, the one that phones get besides the other. */
const READERS: readonly Reader[] = [
  { scripts: ['api-data'], read: (blob) => ofDetail(at(blob, 'videoDetail')) },
  {
    scripts: ['__UNIVERSAL_DATA_FOR_REHYDRATION__'],
    members: ['webapp.video-detail', 'webapp.reflow.video.detail'],
    ofMember: ofWrapped,
    read: readUniversal,
  },
  { scripts: ['SIGI_STATE', 'sigi-persisted-data'], read: readSigi },
  { scripts: ['__NEXT_DATA__'], read: readNextData },
  { scripts: ['__INIT_PROPS__'], read: readRoutes },
  { scripts: ['__FRONTITY_CONNECT_STATE__'], read: (blob) => readRoutes(at(blob, 'source', 'data')) },
];
const NAMES: ReadonlySet<string> = new Set(READERS.flatMap(({ scripts }) => scripts));

export interface PageReading extends PageNodes {
  /** Whether the page has one of the scripts, and whether one of those there could be read. */
  scripts: 'none' | 'unreadable' | 'read';
}

/**
 * The nodes of the first script that says something about the page's item. Most of such a script is texts and settings
 * of the site, so the member with the item is looked for alone, and the whole is read where none of the scripts has it.
 */
export function readPageNodes(html: string, id: string): PageReading {
  const scripts = locateScripts(html, NAMES);
  const found = READERS.flatMap((reader) =>
    reader.scripts.flatMap((name) => {
      const script = scripts.get(name);
      return script ? [{ reader, script }] : [];
    }),
  );
  const blobs: unknown[] = [];
  const wholeOf = ({ reader, script }: (typeof found)[number]) => {
    const blob = findJsonAfter(script.text, script.marker)?.value;
    if (blob === undefined) return undefined;
    blobs.push(blob);
    return reader.read(blob, id);
  };
  // A script that holds much besides is read whole only where no other has the item.
  const methods = [
    ...found.map((one) => () => (one.reader.members ? ofMember(one.reader, one.script.text) : wholeOf(one))),
    ...found.filter(({ reader }) => reader.members).map((one) => () => wholeOf(one)),
  ];
  for (const method of methods) {
    const read = method();
    if (read && hasContent(read)) return { ...read, scripts: 'read' };
  }
  const items = html.includes(id) ? findItem(blobs, id) : [];
  return { ...nodes({ items }), scripts: blobs.length > 0 ? 'read' : found.length > 0 ? 'unreadable' : 'none' };
}

function hasContent({ items, videoData, states }: PageNodes): boolean {
  return items.length > 0 || videoData.length > 0 || states.length > 0;
}

function ofMember({ members = [], ofMember: read }: Reader, text: string): PageNodes | undefined {
  for (const name of members) {
    const member = findJsonAfter(text, `"${name}"`)?.value;
    const nodesOfMember = member === undefined ? undefined : read?.(member);
    if (nodesOfMember && hasContent(nodesOfMember)) return nodesOfMember;
  }
  return undefined;
}

/** The requested item in a place that none of the readers knows. */
function findItem(blobs: readonly unknown[], id: string): JsonRecord[] {
  const isWhole = (node: JsonRecord) => node.createTime !== undefined && node.author !== undefined;
  return findAll(blobs, (node) => isItem(node, id) && isWhole(node), { maxResults: 1 });
}

/** Since 2023: one member for each part of the page; the item's is `webapp.video-detail`, or `webapp.reflow.video.detail` for phones. */
function readUniversal(blob: unknown): PageNodes {
  const scope = asRecord(at(blob, '__DEFAULT_SCOPE__')) ?? asRecord(blob) ?? {};
  const details = Object.entries(scope).filter(
    ([name, part]) => /(?:video|photo|item)[.-]detail$/.test(name) || at(part, 'itemInfo', 'itemStruct') !== undefined,
  );
  return together(details.map(([, detail]) => ofWrapped(detail)));
}

function ofWrapped(detail: unknown): PageNodes {
  return ofDetail(asRecord(at(detail, 'body')) ?? detail);
}

/** Data by route: share pages of 2019, and the embedded player's page. */
function readRoutes(routes: unknown): PageNodes {
  return together(Object.values(asRecord(routes) ?? {}).map((route) => ofDetail(route)));
}

/** One script of a page. */
export interface PageScript {
  /** From the `>` of the opening tag on. */
  text: string;
  /** What the value follows. */
  marker: string | RegExp;
}

const SCRIPT_ID = /\sid=["']([\w-]{1,60})["']/;
const ASSIGNED = /^>\s*(?:window|self|globalThis)(?:\.|\[["'])(\w{1,60})/;
/** Characters of a tag, or of a script's beginning, that are looked at. */
const GLANCE = 500;

/**
 * The scripts of the given names, by id or by the global that they set. One pass over the page, from script to script: a
 * search for every name would cost as much as reading the data.
 */
export function locateScripts(html: string, names: ReadonlySet<string>): Map<string, PageScript> {
  const scripts = new Map<string, PageScript>();
  for (let open = html.indexOf('<script'); open >= 0; ) {
    const tagEnd = html.indexOf('>', open);
    if (tagEnd < 0) break;
    const close = html.indexOf('</script', tagEnd);
    const end = close < 0 ? html.length : close;
    const id = SCRIPT_ID.exec(html.slice(open, Math.min(tagEnd, open + GLANCE)))?.[1];
    const global = ASSIGNED.exec(html.slice(tagEnd, Math.min(end, tagEnd + GLANCE)))?.[1];
    const name = [global, id].find((one) => one !== undefined && names.has(one));
    // Before the script that bears the name, another may set a global of the same name to nothing.
    if (name && (name === id || !scripts.has(name))) {
      scripts.set(name, { text: html.slice(tagEnd, end), marker: name === global ? name : '>' });
    }
    open = html.indexOf('<script', end);
  }
  return scripts.size > 0 ? scripts : locateByName(html, names);
}

/** For pages whose tags are written otherwise: what matters is a name in quotes, and the end of the tag after it. */
function locateByName(html: string, names: ReadonlySet<string>): Map<string, PageScript> {
  const scripts = new Map<string, PageScript>();
  for (const name of names) {
    const place = html.indexOf(name);
    if (place >= 0) scripts.set(name, { text: html.slice(place), marker: new RegExp(`${name}["'][^<{]{0,500}>`) });
  }
  return scripts;
}
