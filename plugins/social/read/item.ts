/*
 * Collects the records of the requested item from the index of a page. The fields of one post are spread over many
 * records that are linked by ids, so the search runs twice: the ids found first select further scripts. A story counts
 * if it states the post's id or address, or if the requested video or photo is its only content. An id that appears in
 * base64 alone is not trusted. At most 50 linked ids are followed, since a page with more is hostile.
 */

import { asArray, asId, asRecords, asString, at, type JsonRecord } from 'mediagate/plugin';
import { readStoryId } from './parts.js';
import { createRelayStore, firstValue, type RelayPage, type RelayStore } from './relay.js';
import type { SiteConfig } from './state.js';

export type ItemNodes = NonNullable<ReturnType<typeof findItem>>;

/**
 * The records of the requested item in a page's query results, connected by their ids; undefined if no record has the
 * requested id.
 * @param pageIsItems Whether the page as a whole is about the item.
 */
export function findItem(page: RelayPage, id: string, pageIsItems: boolean, { fields }: SiteConfig) {
  const store = createRelayStore(fields.story);
  const first = page([id, feedbackId(id)]);
  store.add(first);
  const nodes = gather(store, id, pageIsItems, fields.video);
  if (!nodes) return undefined;
  // Later results have the ids of the post and of its counters only.
  const later = page(linkedIds(nodes));
  store.add(later);
  const prefetched = [...first, ...later].flatMap(
    ({ extensions }) => asArray(extensions?.all_video_dash_prefetch_representations) ?? [],
  );
  const complete = later.length > 0 ? gather(store, id, pageIsItems, fields.video) : undefined;
  return {
    ...(complete ?? nodes),
    store,
    /** `all_video_dash_prefetch_representations` of the page, by the id of their video. */
    prefetched: Map.groupBy(asRecords(prefetched), ({ video_id }) => video_id),
  };
}

/** The records of the item among those that are in the store so far; undefined if there are none. */
function gather(store: RelayStore, id: string, pageIsItems: boolean, videoFields: readonly string[]) {
  const records = store.of(id);
  const isVideo = (record: JsonRecord) =>
    record.__typename === 'Video' || (!isPhotoType(record) && videoFields.some((name) => record[name] !== undefined));
  // Photos as well as videos may have the story that they were posted with.
  const hasStory = records.some(namesStory);
  const isVideoId = records.some(isVideo) || (hasStory && !records.some(isPhoto));
  const isUntyped = (record: JsonRecord) => namesStory(record) && !isPhotoType(record);
  const videos = isVideoId ? records.filter((record) => isVideo(record) || isUntyped(record)) : [];
  // The text of a photo is in a result that has only the id of its counters.
  const texts = store.roots.filter((root) => root.id === undefined && at(root, 'feedback', 'id') === feedbackId(id));
  const shown = records.filter((record) => isPhoto(record) || (!isVideoId && isUntyped(record)));
  const photos = [...shown, ...(records.length > 0 ? texts : [])];
  const wanted = { id, isVideoId, isOnly: isVideoId || hasStory, pageIsItems };
  const anchors = store.stories.filter((story) => isStoryOf(story, wanted));
  if (anchors.length + videos.length + photos.length === 0) return undefined;

  const stories = new Set<JsonRecord>(anchors);
  for (const [key, same] of Map.groupBy(anchors, (anchor) => asString(anchor.id))) {
    const posts = new Set(same.map((anchor) => asString(anchor.post_id)));
    for (const record of store.of(key)) {
      const post = asString(record.post_id);
      // Without an id on either side, the record may be that of the post.
      if (post === undefined || posts.has(undefined) || posts.has(post)) stories.add(record);
    }
  }
  const postId = [...stories].map((story) => asId(story.post_id)).find((one) => one !== undefined);
  const keys = feedbackKeys([...stories, ...videos, ...photos]);
  const ownKeys = [id, ...(postId ? [postId] : [])].map(feedbackId);
  return {
    /** Records of the post. */
    stories: [...stories] as readonly JsonRecord[],
    /** Records of the requested video. */
    videos,
    /** Records of the requested photo. */
    photos,
    /** Records with counters. */
    feedbacks: [...new Set([...keys, ...ownKeys])].flatMap(store.of),
    /** Numeric id of the post, if a record states it. */
    postId,
  };
}

interface Wanted {
  id: string;
  isVideoId: boolean;
  /** Whether a story with the item alone is the item's. */
  isOnly: boolean;
  pageIsItems: boolean;
}

/** Whether a story is the requested post, or the one whose only content is the requested video or photo. */
function isStoryOf(story: JsonRecord, { id, isVideoId, isOnly, pageIsItems }: Wanted): boolean {
  const stated = asId(story.post_id);
  if (stated === id) return true;
  if (stated === undefined && hasAddress(story, id)) return true;
  const context = story.short_form_video_context;
  const shown = [at(story, 'video', 'id'), at(context, 'video', 'id'), at(context, 'playback_video', 'id')];
  const named = shown.filter((one) => one !== undefined);
  if (isVideoId && named.length > 0) return named.every((one) => one === id);
  const attachments = asArray(story.attachments) ?? [];
  if (isOnly && attachments.length === 1 && mediumId(attachments[0]) === id) return true;
  const post = readStoryId(asString(story.id))?.posts.at(-1);
  return !isVideoId && stated === undefined && post === id && (pageIsItems || hasPlainId(story, id));
}

/** An id in base64 alone is not trusted: the story or the page must have the plain id as well. */
function hasPlainId(story: JsonRecord, id: string): boolean {
  return [story.url, story.wwwURL, story.permalink_url, story.tracking].some((text) => asString(text)?.includes(id));
}

function hasAddress(story: JsonRecord, id: string): boolean {
  const pattern = new RegExp(`[/=]${id}(?!\\w)`);
  return [story.wwwURL, story.url, story.permalink_url].some((address) => pattern.test(asString(address) ?? ''));
}

function mediumId(attachment: unknown): string | undefined {
  return firstValue(attachmentRecords(attachment), (record) => asString(at(record, 'media', 'id')));
}

/** The records of an attachment, which layouts nest in different ways. */
export function attachmentRecords(attachment: unknown): JsonRecord[] {
  return asRecords([
    at(attachment, 'styles', 'attachment'),
    at(attachment, 'style_type_renderer', 'attachment'),
    attachment,
  ]);
}

function feedbackKeys(records: readonly JsonRecord[]): string[] {
  return records.flatMap((record) => {
    const ids = [
      at(record, 'feedback', 'id'),
      at(record, 'feedback_context', 'feedback_target_with_context', 'id'),
      at(record, 'fb_reel_react_button', 'story', 'feedback', 'id'),
      at(record, 'creation_story', 'feedback', 'id'),
    ];
    return ids.flatMap((one) => asString(one) ?? []);
  });
}

/** The id of the counters is `feedback:{post}` in base64. */
function feedbackId(postId: string): string {
  return Buffer.from(`feedback:${postId}`).toString('base64');
}

/** Maximum ids to search for in the other scripts; a page with more of them is an attack. */
const MAX_LINKED = 50;

function linkedIds({ stories, feedbacks, postId }: NonNullable<ReturnType<typeof gather>>): string[] {
  const ids = [...stories, ...feedbacks].flatMap((record) => asString(record.id) ?? []);
  return [...new Set([...(postId ? [postId] : []), ...ids])].slice(0, MAX_LINKED);
}

function isPhoto(record: JsonRecord): boolean {
  const { __typename: type, photo_image, viewer_image, created_time } = record;
  return isPhotoType(record) || (type === undefined && (photo_image ?? viewer_image ?? created_time) !== undefined);
}

function isPhotoType(record: JsonRecord): boolean {
  return record.__typename === 'Photo' || record.__isMedia === 'Photo';
}

function namesStory(record: JsonRecord): boolean {
  return record.creation_story !== undefined;
}
