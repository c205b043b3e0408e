import { asArray, asString, at, type JsonRecord } from 'mediagate';
import { numericId, recordsIn } from './json-records.js';
import { readStoryId } from './page-route.js';
import type { RelayBlock, RelayPage } from './relay-blocks.js';
import { createRelayStore, type RelayStore } from './relay-store.js';

/** Everything in a page's query results that is about the requested item, found by ids that refer to one another. */
export interface ItemNodes {
  store: RelayStore;
  /** Faces of the post. */
  stories: readonly JsonRecord[];
  /** Faces of the requested video. */
  videos: readonly JsonRecord[];
  /** Faces of the requested photo. */
  photos: readonly JsonRecord[];
  /** Faces of what holds the counters. */
  feedbacks: readonly JsonRecord[];
  /** Numeric id of the post, where a node states it. */
  postId?: string;
  /** `all_video_dash_prefetch_representations` of the page, by the id of their video. */
  prefetched: ReadonlyMap<unknown, readonly JsonRecord[]>;
}

/**
 * Undefined where no node bears the requested id.
 * @param pageIsItems - whether the page says of itself that it is the item's.
 */
export function findItem(page: RelayPage, id: string, pageIsItems: boolean): ItemNodes | undefined {
  const store = createRelayStore();
  const blocks: RelayBlock[] = [];
  const take = (texts: readonly string[]) => {
    const found = page.withAny(texts);
    store.add(found);
    blocks.push(...found);
    return found.length > 0;
  };
  if (!take([id, feedbackId(id)])) return undefined;
  let nodes = gather(store, id, pageIsItems);
  if (!nodes) return undefined;
  // What was sent later refers to the post and its counters only.
  if (take(linkedIds(nodes))) nodes = gather(store, id, pageIsItems) ?? nodes;
  const prefetched = blocks.flatMap(
    ({ extensions }) => asArray(extensions?.all_video_dash_prefetch_representations) ?? [],
  );
  return { ...nodes, prefetched: Map.groupBy(recordsIn(prefetched), ({ video_id }) => video_id) };
}

type Gathered = Omit<ItemNodes, 'prefetched'>;

function gather(store: RelayStore, id: string, pageIsItems: boolean): Gathered | undefined {
  const bearing = store.of(id);
  const videos = bearing.filter(isVideo);
  // The text of a photo comes in a result that bears no id but that of its counters.
  const texts = store.roots.filter((root) => root.id === undefined && at(root, 'feedback', 'id') === feedbackId(id));
  const photos = [...bearing.filter(isPhoto), ...(bearing.length > 0 ? texts : [])];
  const anchors = store.stories.filter((story) => isStoryOf(story, { id, isVideoId: videos.length > 0, pageIsItems }));
  if (anchors.length + videos.length + photos.length === 0) return undefined;

  const stories = new Set<JsonRecord>(anchors);
  for (const [key, same] of Map.groupBy(anchors, (anchor) => asString(anchor.id))) {
    const posts = new Set(same.map((anchor) => asString(anchor.post_id)));
    for (const face of store.of(key)) if (isOneOf(face, posts)) stories.add(face);
  }
  const postId = [...stories].map((story) => numericId(story.post_id)).find((one) => one !== undefined);
  const keys = new Set<string>();
  for (const key of feedbackKeys([...stories, ...videos, ...photos])) keys.add(key);
  for (const one of [id, postId]) if (one) keys.add(feedbackId(one));
  const feedbacks = [...keys].flatMap((key) => store.of(key));
  return { store, stories: [...stories], videos, photos, feedbacks, postId };
}

/** Whether a story is the requested post, or the one whose only content is the requested video. */
function isStoryOf(
  story: JsonRecord,
  { id, isVideoId, pageIsItems }: { id: string; isVideoId: boolean; pageIsItems: boolean },
): boolean {
  const stated = numericId(story.post_id);
  if (stated === id) return true;
  if (stated === undefined && hasAddress(story, id)) return true;
  if (!isVideoId) {
    const named = readStoryId(asString(story.id))?.posts.at(-1);
    return stated === undefined && named === id && (pageIsItems || bearsPlainly(story, id));
  }
  const context = story.short_form_video_context;
  const shown = [at(story, 'video', 'id'), at(context, 'video', 'id'), at(context, 'playback_video', 'id')];
  const named = shown.filter((one) => one !== undefined);
  if (named.length > 0) return named.every((one) => one === id);
  const attachments = asArray(story.attachments) ?? [];
  return attachments.length === 1 && mediumId(attachments[0]) === id;
}

/** A base64 id alone is not trusted: a second place, in the story or of the page, must name the post as well. */
function bearsPlainly(story: JsonRecord, id: string): boolean {
  return [story.url, story.wwwURL, story.permalink_url, story.tracking].some((text) => asString(text)?.includes(id));
}

function hasAddress(story: JsonRecord, id: string): boolean {
  return [story.wwwURL, story.url, story.permalink_url].some((address) => {
    const text = asString(address);
    const place = text?.indexOf(id) ?? -1;
    return (
      text !== undefined && place > 0 && !/\w/.test(text[place + id.length] ?? '') && /[/=]/.test(text[place - 1]!)
    );
  });
}

function mediumId(attachment: unknown): string | undefined {
  for (const holder of [
    at(attachment, 'styles', 'attachment'),
    at(attachment, 'style_type_renderer', 'attachment'),
    attachment,
  ]) {
    const id = asString(at(holder, 'media', 'id'));
    if (id) return id;
  }
  return undefined;
}

/** Whether a face may be that of one of the posts; where either does not say which it is, it may. */
function isOneOf(face: JsonRecord, posts: ReadonlySet<string | undefined>): boolean {
  const post = asString(face.post_id);
  return post === undefined || posts.has(undefined) || posts.has(post);
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

/** Counters hang on `feedback:{post}`, in base64. */
function feedbackId(postId: string): string {
  return Buffer.from(`feedback:${postId}`).toString('base64');
}

/** Ids that are looked for in the other scripts; a page with more of them is an attack on our time. */
const MAX_LINKED = 50;

function linkedIds({ stories, feedbacks, postId }: Gathered): string[] {
  const ids = [...stories, ...feedbacks].flatMap((record) => asString(record.id) ?? []);
  return [...new Set([...(postId ? [postId] : []), ...ids])].slice(0, MAX_LINKED);
}

const VIDEO_MEMBERS = [
  'playable_duration_in_ms',
  'length_in_second',
  'videoDeliveryLegacyFields',
  'videoDeliveryResponseFragment',
  'playable_url',
  'browser_native_sd_url',
  'browser_native_hd_url',
  'is_live_streaming',
  'creation_story',
];

function isVideo(record: JsonRecord): boolean {
  return record.__typename === 'Video' || VIDEO_MEMBERS.some((member) => record[member] !== undefined);
}

function isPhoto(record: JsonRecord): boolean {
  if (record.__typename === 'Photo' || record.__isMedia === 'Photo') return true;
  return (
    record.__typename === undefined && (record.photo_image ?? record.viewer_image ?? record.created_time) !== undefined
  );
}
