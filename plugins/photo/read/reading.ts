import type { PartialPost } from 'mediagate';

/**
 * Where a reading comes from, best first: the site's own data, the data of an embed, the linked data of older
 * pages, an embed's markup, the tags that a page has for link previews.
 */
export const SOURCES = ['data', 'embed_data', 'linked_data', 'embed_markup', 'page_tags'] as const;
export type Source = (typeof SOURCES)[number];

/** One reply's account of the requested post. */
export interface PostReading {
  source: Source;
  post: PartialPost;
  /** Whether the post is, or holds, a video; undefined where the reply does not tell. */
  hasVideo?: boolean;
  /** Items of a carousel that the reply counts, whether it shows them or not. */
  itemCount?: number;
}
