/*
 * Readers for item pages from before 2024: the tables of 2021 to 2023, the routes of 2019 to 2021, and the schema.org
 * description. They put old data into the shape of today's pages, so that one reader of items serves all.
 */

import {
  asRecord,
  asString,
  at,
  linkedDataNodes,
  type PartialPost,
  readLinkedItem,
  splitScripts,
} from 'mediagate/plugin';
import { postOfSummary } from '../item.js';
import { idIn } from '../page-tags.js';

/** Pages of 2021 to 2023: items and accounts in tables of their own, which are put together as in today's pages. */
export function readSigi(blob: unknown, id: string): unknown[] {
  const item = asRecord(at(blob, 'ItemModule', id) ?? at(blob, 'MobileItemModule', id));
  const handle = asString(item?.author) ?? '';
  const author = asRecord(at(blob, 'UserModule', 'users', handle));
  const authorStats = at(blob, 'UserModule', 'stats', handle);
  const itemStruct = item && {
    ...(authorStats !== undefined && { authorStats }),
    ...item,
    ...(author && { author: { uniqueId: handle, ...author } }),
  };
  return [{ itemInfo: { itemStruct } }, at(blob, 'VideoPage'), at(blob, 'MobileSharingVideo')];
}

/** Pages of 2019 to 2021. */
export function readNextData(blob: unknown): unknown[] {
  const props = at(blob, 'props', 'pageProps');
  return [props, at(props, 'videoObjectPageProps')];
}

/** The schema.org description of the requested item, which pages had until 2023. */
export function parseVideoObject(html: string, id: string): PartialPost | undefined {
  if (!html.includes('VideoObject')) return undefined;
  const item = linkedDataNodes(splitScripts(html).scripts)
    .map((node) => readLinkedItem(node))
    .find(({ type, addresses }) => {
      const stated = addresses.flatMap((address) => idIn(address) ?? []);
      return type === 'VideoObject' && stated.length > 0 && stated.every((one) => one === id);
    });
  if (!item) return undefined;
  const { author, thumbnail, publishedAt: published_at, durationSeconds: duration_seconds, counts } = item;
  const caption = item.description ?? item.name;
  const { username: handle, name, url: address } = author ?? {};
  const post = postOfSummary({ id, caption, name, handle, address, thumbnail });
  return {
    ...post,
    common: { ...post.common, published_at, duration_seconds },
    metrics: { ...counts, plays: counts.views, duration_seconds },
  };
}
