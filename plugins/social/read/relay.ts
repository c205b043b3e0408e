import { asArray, asRecord, asString, at, findJsonAfter, type JsonRecord, literalEnd, tryParseJson } from 'mediagate';

/** One result of the site's queries, as a script of the page holds it. */
export interface RelayBlock {
  data: JsonRecord;
  extensions?: JsonRecord;
}

const MAX_SCRIPTS = 400;
const MAX_DEPTH = 14;

/** A script that holds query results, not parsed yet. */
interface Script {
  text: string;
  read: boolean;
}

/**
 * The query results in a page. Pages hold a hundred scripts of which most are about other items; only those that contain
 * one of the texts asked for are parsed, each at most once.
 */
export interface RelayPage {
  /** Results not handed out before, of the scripts that contain one of the texts. */
  withAny(texts: readonly string[]): RelayBlock[];
}

/** @param scripts - texts of the page's scripts, of JSON and of code. */
export function readRelayPage(scripts: readonly string[], marker: string): RelayPage {
  const holding: Script[] = scripts
    .filter((text) => text.includes(marker))
    .slice(0, MAX_SCRIPTS)
    .map((text) => ({ text, read: false }));
  const lists = createRepeatedLists();
  return {
    withAny(texts) {
      const chosen = holding.filter(({ read, text }) => !read && texts.some((one) => text.includes(one)));
      for (const script of chosen) script.read = true;
      return chosen.flatMap(({ text }) => blocksIn(lists.shorten(text), marker));
    },
  };
}

function blocksIn(text: string, marker: string): RelayBlock[] {
  const blocks: RelayBlock[] = [];
  // Code is not even tried: what can be read of it, or of what is cut, is looked for piece by piece.
  const whole = /^\s*[{[]/.test(text) ? tryParseJson(text) : undefined;
  if (whole !== undefined) {
    collect(whole, marker, blocks, MAX_DEPTH);
    return blocks;
  }
  // Before 2023 the results stood in the midst of code.
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

/** A list that each of a page's query results repeats, to the last character: nine tenths of a page of reels. */
const LIST = '"all_video_dash_prefetch_representations":';
/** Different lists that are kept in mind; pages have one. */
const MAX_LISTS = 8;

/** Takes out of the texts of a page's scripts what was in an earlier one, so that it is parsed once. */
export interface RepeatedLists {
  /** The text with an empty list in the place of one that an earlier text had. */
  shorten(text: string): string;
}

export function createRepeatedLists(): RepeatedLists {
  const known: string[] = [];
  return {
    shorten(text) {
      const mark = text.indexOf(LIST);
      const start = mark + LIST.length;
      if (mark < 0 || text[start] !== '[') return text;
      const same = known.find((list) => text.slice(start, start + list.length) === list);
      if (same !== undefined) return `${text.slice(0, start)}[]${text.slice(start + same.length)}`;
      const end = known.length < MAX_LISTS ? literalEnd(text, start) : undefined;
      if (end !== undefined) known.push(text.slice(start, end));
      return text;
    },
  };
}

/**
 * Everything that bears an id, by that id. One thing is spread over many places of a page, each with some of its members;
 * by its id they come together, and what belongs to something else stays apart, wherever it stands.
 */
export interface RelayStore {
  add(blocks: readonly RelayBlock[]): void;
  of(id: string | undefined): readonly JsonRecord[];
  /** What whole results consist of; some bear no id of their own. */
  readonly roots: readonly JsonRecord[];
  /** Records that are stories: posts, whatever they hold. */
  readonly stories: readonly JsonRecord[];
}

const MAX_RECORDS = 400_000;

export function createRelayStore(): RelayStore {
  const byId = new Map<string, JsonRecord[]>();
  const roots: JsonRecord[] = [];
  const stories: JsonRecord[] = [];
  let seen = 0;

  function index(value: object): void {
    if (seen >= MAX_RECORDS) return;
    seen += 1;
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

/** The site's own ids of posts and profiles are numbers, written as text. */
export function numericId(value: unknown): string | undefined {
  const text = typeof value === 'number' && Number.isSafeInteger(value) ? String(value) : value;
  return typeof text === 'string' && /^\d{3,20}$/.test(text) ? text : undefined;
}
