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

/**
 * All records of a page by their id. The members of one thing are spread over many records with the same id, and records
 * of different things are nested in one another.
 */
export interface RelayStore {
  add(blocks: readonly RelayBlock[]): void;
  of(id: string | undefined): readonly JsonRecord[];
  /** The outermost records; some have no id. */
  readonly roots: readonly JsonRecord[];
  /** The records of posts. */
  readonly stories: readonly JsonRecord[];
}

const MAX_RECORDS = 400_000;

export function createRelayStore(): RelayStore {
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
    if (id !== undefined) {
      const known = byId.get(id);
      if (known) known.push(record);
      else byId.set(id, [record]);
    }
    if (isStory(record)) stories.push(record);
    for (const key in record) {
      const member = record[key];
      if (typeof member === 'object' && member !== null) index(member);
    }
  }

  return {
    roots,
    stories,
    of: (id) => (id === undefined ? [] : (byId.get(id) ?? [])),
    add(blocks) {
      for (const { data } of blocks) {
        roots.push(data);
        index(data);
      }
    },
  };
}

function isStory(record: JsonRecord): boolean {
  return (
    record.__typename === 'Story' ||
    record.post_id !== undefined ||
    record.short_form_video_context !== undefined ||
    record.comet_sections !== undefined ||
    record.wwwURL !== undefined
  );
}

/** The first value that one of the records has, in their order. */
export function firstValue<Value>(
  records: readonly JsonRecord[],
  read: (record: JsonRecord) => Value | undefined,
): Value | undefined {
  for (const record of records) {
    const value = read(record);
    if (value !== undefined) return value;
  }
  return undefined;
}

/** The id of a post or profile: digits, as text. */
export function numericId(value: unknown): string | undefined {
  const text = typeof value === 'number' && Number.isSafeInteger(value) ? String(value) : value;
  return typeof text === 'string' && /^\d{3,20}$/.test(text) ? text : undefined;
}
