import { asRecord, at, findAll, findJsonAfter, type JsonRecord, splitScripts } from 'mediagate/plugin';
import { readNextData, readSigi } from './older/pages.js';
import { isItem, nodes, ofDetail, type PageNodes, together } from './page-nodes.js';

interface Reader {
  /** Scripts that carry the data, by id or by the global that they set. */
  scripts: readonly string[];
  /** Members with the item, in a script that has much other data. */
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
 * The nodes of the first script with content about the page's item. Most of such a script is texts and settings of the
 * site, so only the member with the item is parsed, and the whole script if no member has it.
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
  const attempts = [
    ...found.map((one) => () => (one.reader.members ? ofMember(one.reader, one.script.text) : wholeOf(one))),
    ...found.filter(({ reader }) => reader.members).map((one) => () => wholeOf(one)),
  ];
  for (const attempt of attempts) {
    const read = attempt();
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

/** The requested item anywhere in the data, if no reader found it. */
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

/** The scripts of the given names, by id or by the global that they set, in one pass over the page. */
function locateScripts(html: string, names: ReadonlySet<string>): Map<string, DataScript> {
  const scripts = new Map<string, DataScript>();
  for (const { tag, text } of splitScripts(html).scripts) {
    const id = SCRIPT_ID.exec(tag.slice(0, GLANCE))?.[1];
    const global = ASSIGNED.exec(text.slice(0, GLANCE))?.[1];
    const name = [global, id].find((one) => one !== undefined && names.has(one));
    // Before the script with the id, another may set a global of the same name to nothing.
    if (name && (name === id || !scripts.has(name))) {
      scripts.set(name, { text: `>${text}`, marker: name === global ? name : '>' });
    }
  }
  return scripts.size > 0 ? scripts : locateByName(html, names);
}

/** For pages with unusual tags: finds the name in quotes, and the end of the tag after it. */
function locateByName(html: string, names: ReadonlySet<string>): Map<string, DataScript> {
  const scripts = new Map<string, DataScript>();
  for (const name of names) {
    const place = html.indexOf(name);
    if (place >= 0) scripts.set(name, { text: html.slice(place), marker: new RegExp(`${name}["'][^<{]{0,500}>`) });
  }
  return scripts;
}
