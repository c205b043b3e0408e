import { asArray, asRecord, at, findJsonAfter, type JsonRecord, tryParseJson } from 'mediagate';
import { createRepeatedLists } from './repeated-lists.js';

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
