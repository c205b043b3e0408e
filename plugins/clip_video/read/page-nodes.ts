import { asId, asRecord, asString, at } from 'mediagate/plugin';

/** The item nodes in one script of a page. */
export interface PageNodes {
  /** `itemStruct` nodes that the page shows as its item. */
  items: unknown[];
  /** `videoData` nodes, of older pages and of the embedded player. */
  videoData: unknown[];
  /** Accounts and their counters by handle, if they are listed apart from the items. */
  users?: unknown;
  userStats?: unknown;
  /** States that the page reports instead of the item. */
  states: PageState[];
}

export interface PageState {
  code: string;
  message?: string;
}

/** Whether a node is the requested item's: by every id that it states of itself. */
export function isItem(node: unknown, id: string): boolean {
  return asId(at(node, 'id')) === id;
}

export function isVideoData(node: unknown, id: string): boolean {
  return asId(at(node, 'itemInfos', 'id')) === id;
}

/** Nodes of a page; empty lists by default. */
export function nodes(found: Partial<PageNodes>): PageNodes {
  return { items: [], videoData: [], states: [], ...found };
}

/** A detail as most pages have it: the item, or a status code and a message in its place. */
export function ofDetail(detail: unknown): PageNodes {
  const item = at(detail, 'itemInfo', 'itemStruct');
  const data = at(detail, 'videoData');
  const state = stateOf(detail);
  return nodes({
    items: asRecord(item) ? [item] : [],
    videoData: asRecord(at(data, 'itemInfos')) ? [data] : [],
    states: state ? [state] : [],
  });
}

/** The state in a detail; undefined if its status is a success. */
export function stateOf(detail: unknown): PageState | undefined {
  const written = at(detail, 'statusCode');
  const code = typeof written === 'number' || typeof written === 'string' ? String(written) : '';
  if (!/^-?\d+$/.test(code) || code === '0' || code === '200') return undefined;
  return { code, message: asString(at(detail, 'statusMsg')) ?? asString(at(detail, 'statusMessage')) };
}

export function together(parts: readonly PageNodes[]): PageNodes {
  return nodes({
    items: parts.flatMap(({ items }) => items),
    videoData: parts.flatMap(({ videoData }) => videoData),
    states: parts.flatMap(({ states }) => states),
  });
}
