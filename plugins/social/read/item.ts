import { asArray, asId, asRecords, asString, at, type JsonRecord } from 'mediagate/plugin';
import { readStoryId } from './parts.js';
import { createRelayStore, firstValue, type RelayBlock, type RelayPage, type RelayStore } from './relay.js';

/** The records of the requested item in a page's query results, connected by their ids. */
export interface ItemNodes {
  store: RelayStore;
  /** Records of the post. */
  stories: readonly JsonRecord[];
  /** Records of the requested video. */
  videos: readonly JsonRecord[];
  /** Records of the requested photo. */
  photos: readonly JsonRecord[];
  /** Records with counters. */
  feedbacks: readonly JsonRecord[];
  /** Numeric id of the post, if a record states it. */
  postId?: string;
  /** `all_video_dash_prefetch_representations` of the page, by the id of their video. */
  prefetched: ReadonlyMap<unknown, readonly JsonRecord[]>;
}

/**
 * Undefined if no record has the requested id.
 * @param pageIsItems Whether the page as a whole is about the item.
 */
export function findItem(page: RelayPage, id: string, pageIsItems: boolean): ItemNodes | undefined {
  const store = createRelayStore();
  const blocks: RelayBlock[] = [];
  const take = (texts: readonly string[]) => {
    const results = page(texts);
    store.add(results);
    blocks.push(...results);
    return results.length > 0;
  };
  if (!take([id, feedbackId(id)])) return undefined;
  let nodes = gather(store, id, pageIsItems);
  if (!nodes) return undefined;
  // Later results have the ids of the post and of its counters only.
  if (take(linkedIds(nodes))) nodes = gather(store, id, pageIsItems) ?? nodes;
  const prefetched = blocks.flatMap(
    ({ extensions }) => asArray(extensions?.all_video_dash_prefetch_representations) ?? [],
  );
  return { ...nodes, prefetched: Map.groupBy(asRecords(prefetched), ({ video_id }) => video_id) };
}

type Gathered = Omit<ItemNodes, 'prefetched'>;

function gather(store: RelayStore, id: string, pageIsItems: boolean): Gathered | undefined {
  const records = store.of(id);
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
    for (const record of store.of(key)) if (isOneOf(record, posts)) stories.add(record);
  }
  const postId = [...stories].map((story) => asId(story.post_id)).find((one) => one !== undefined);
  const keys = new Set<string>();
  for (const key of feedbackKeys([...stories, ...videos, ...photos])) keys.add(key);
  for (const one of [id, postId]) if (one) keys.add(feedbackId(one));
  const feedbacks = [...keys].flatMap((key) => store.of(key));
  return { store, stories: [...stories], videos, photos, feedbacks, postId };
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
  return [story.wwwURL, story.url, story.permalink_url].some((address) => {
    const text = asString(address);
    const place = text?.indexOf(id) ?? -1;
    return (
      text !== undefined && place > 0 && !/\w/.test(text[place + id.length] ?? '') && /[/=]/.test(text[place - 1]!)
    );
  });
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

/** Whether a record may be that of one of the posts; so if either states no id. */
function isOneOf(record: JsonRecord, posts: ReadonlySet<string | undefined>): boolean {
  const post = asString(record.post_id);
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

/** The id of the counters is `feedback:{post}` in base64. */
function feedbackId(postId: string): string {
  return Buffer.from(`feedback:${postId}`).toString('base64');
}

/** Maximum ids to search for in the other scripts; a page with more of them is an attack. */
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
];

function isVideo(record: JsonRecord): boolean {
  if (record.__typename === 'Video') return true;
  return !isPhotoType(record) && VIDEO_MEMBERS.some((member) => record[member] !== undefined);
}

function isPhoto(record: JsonRecord): boolean {
  if (isPhotoType(record)) return true;
  return (
    record.__typename === undefined && (record.photo_image ?? record.viewer_image ?? record.created_time) !== undefined
  );
}

function isPhotoType(record: JsonRecord): boolean {
  return record.__typename === 'Photo' || record.__isMedia === 'Photo';
}

function namesStory(record: JsonRecord): boolean {
  return record.creation_story !== undefined;
}
