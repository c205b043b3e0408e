/*
 * Finds the query results in a page's scripts and indexes their records by id. A page has a hundred scripts and more,
 * and most are about other items, so only those that contain a wanted id are parsed, each once. One list makes up nine
 * tenths of a page of reels and is repeated in every result; repetitions are cut out before parsing. Limits keep a
 * hostile page cheap: 400 scripts, 400,000 records, and a nesting of 14 levels around a result.
 */

import {
  asArray,
  asRecord,
  asString,
  at,
  findJsonAfter,
  type JsonRecord,
  literalEnd,
  tryParseJson,
} from 'mediagate/plugin';

/** One result of the site's queries. */
export interface RelayBlock {
  data: JsonRecord;
  extensions?: JsonRecord;
}

const MAX_SCRIPTS = 400;
const MAX_DEPTH = 14;

/** Returns the results of scripts that have one of the texts and were not parsed before. */
export type RelayPage = (texts: readonly string[]) => RelayBlock[];

/**
 * The query results in a page. A page has a hundred scripts, and most are about other items, so only those with one of
 * the requested texts are parsed, once each.
 */
export function readRelayPage(scripts: readonly string[], marker: string): RelayPage {
  let unread = scripts.filter((text) => text.includes(marker)).slice(0, MAX_SCRIPTS);
  const shorten = createListShortener();
  return (texts) => {
    const chosen = new Set(unread.filter((script) => texts.some((text) => script.includes(text))));
    unread = unread.filter((script) => !chosen.has(script));
    return [...chosen].flatMap((script) => blocksIn(shorten(script), marker));
  };
}

function blocksIn(text: string, marker: string): RelayBlock[] {
  const blocks: RelayBlock[] = [];
  // Code, and JSON that is cut, is searched for single results.
  const whole = /^\s*[{[]/.test(text) ? tryParseJson(text) : undefined;
  if (whole !== undefined) {
    collect(whole, marker, blocks, MAX_DEPTH);
    return blocks;
  }
  // Before 2023, results were part of code.
  for (let from = text.indexOf(marker), tries = 0; from >= 0 && tries < 50; tries += 1) {
    const found = findJsonAfter(text, /"adp_[^"\\]{1,200}",/, from);
    if (!found) break;
    addResult(at(found.value, '__bbox', 'result'), blocks);
    from = text.indexOf(marker, found.end);
  }
  return blocks;
}

/** `["RelayPrefetchedStreamCache","next",[],["adp_…",{"__bbox":{"result":{…}}}]]`, somewhere within. */
function collect(value: unknown, marker: string, blocks: RelayBlock[], depth: number): void {
  if (typeof value !== 'object' || value === null || depth === 0) return;
  const result = at(value, '__bbox', 'result');
  if (result !== undefined) {
    addResult(result, blocks);
    return;
  }
  for (const inner of asArray(value) ?? Object.values(value)) collect(inner, marker, blocks, depth - 1);
}

function addResult(result: unknown, blocks: RelayBlock[]): void {
  const data = asRecord(at(result, 'data'));
  if (data) blocks.push({ data, extensions: asRecord(at(result, 'extensions')) });
}

/** A list that all query results of a page repeat without any change: nine tenths of a page of reels. */
const LIST = '"all_video_dash_prefetch_representations":';
/** Maximum lists that are remembered; pages have one. */
const MAX_LISTS = 8;

/** Replaces the list of a script by an empty one if an earlier script had the same, so that it is parsed once. */
export function createListShortener(): (text: string) => string {
  const known: string[] = [];
  return (text) => {
    const mark = text.indexOf(LIST);
    const start = mark + LIST.length;
    if (mark < 0 || text[start] !== '[') return text;
    const same = known.find((list) => text.startsWith(list, start));
    if (same !== undefined) return `${text.slice(0, start)}[]${text.slice(start + same.length)}`;
    const end = known.length < MAX_LISTS ? literalEnd(text, start) : undefined;
    if (end !== undefined) known.push(text.slice(start, end));
    return text;
  };
}

const MAX_RECORDS = 400_000;

export type RelayStore = ReturnType<typeof createRelayStore>;

/**
 * All records of a page by their id. The fields of one thing are spread over many records with the same id, and records
 * of different things are nested in one another.
 * @param storyFields Each is a field of records of posts only.
 */
export function createRelayStore(storyFields: readonly string[]) {
  const byId = new Map<string, JsonRecord[]>();
  const roots: JsonRecord[] = [];
  const stories: JsonRecord[] = [];
  let count = 0;

  function index(value: object): void {
    if (count >= MAX_RECORDS) return;
    count += 1;
    if (Array.isArray(value)) {
      for (const item of value) if (typeof item === 'object' && item !== null) index(item);
      return;
    }
    const record = value as JsonRecord;
    const id = asString(record.id);
    const known = id === undefined ? undefined : byId.get(id);
    if (known) known.push(record);
    else if (id !== undefined) byId.set(id, [record]);
    if (storyFields.some((name) => record[name] !== undefined) || record.__typename === 'Story') stories.push(record);
    for (const key in record) {
      const member = record[key];
      if (typeof member === 'object' && member !== null) index(member);
    }
  }

  return {
    /** The outermost records; some have no id. */
    roots: roots as readonly JsonRecord[],
    /** The records of posts. */
    stories: stories as readonly JsonRecord[],
    of: (id: string | undefined): readonly JsonRecord[] => (id === undefined ? undefined : byId.get(id)) ?? [],
    add(blocks: readonly RelayBlock[]) {
      for (const { data } of blocks) {
        roots.push(data);
        index(data);
      }
    },
  };
}

/** The first value that is read from one of the items, in their order. */
export function firstValue<Item, Value>(
  items: readonly Item[],
  read: (item: Item) => Value | undefined,
): Value | undefined {
  for (const item of items) {
    const value = read(item);
    if (value !== undefined) return value;
  }
  return undefined;
}
