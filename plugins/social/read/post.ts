import {
  type Author,
  asArray,
  asBoolean,
  asId,
  asRecord,
  asRecords,
  asString,
  at,
  hashtagsIn,
  type JsonRecord,
  type MediaEntry,
  type PartialPost,
  toIsoTime,
} from 'mediagate/plugin';
import { usernameIn } from '../links.js';
import { parseFeedback } from './counters.js';
import { attachmentRecords, findItem, type ItemNodes } from './item.js';
import { imageIn, siteUrl, unique } from './media.js';
import { firstValue, type RelayPage, type RelayStore } from './relay.js';
import type { SiteConfig } from './state.js';
import { parseVideo } from './video.js';

export interface RelayReading {
  post: PartialPost;
  limitations: string[];
}

/** Reads the item from a page's query results; undefined if no record has its id. */
export function parseRelay(
  page: RelayPage,
  link: { kind: string; id: string; pageIsItems: boolean },
  siteConfig: SiteConfig,
): RelayReading | undefined {
  const nodes = findItem(page, link.id, link.pageIsItems);
  if (!nodes) return undefined;
  const { stories, videos, photos, store } = nodes;
  const attached = parseAttachments(stories, store);
  const isVideo = videos.length > 0;
  const shown = isVideo ? videos : attached.videoIds.length === 1 ? store.of(attached.videoIds[0]) : [];
  const video = parseVideo(shown, nodes.prefetched);
  const others = attached.videoIds
    .filter((id) => id !== shown[0]?.id)
    .map((id) => parseVideo(store.of(id), nodes.prefetched));
  const author = parseAuthor(nodes);
  const caption = captionOf(nodes) ?? (isVideo ? video.common?.caption : undefined);
  const own = pictureOf(photos);
  const images = own ? [own] : isVideo ? [] : attached.images;
  const pictures = [
    ...images.map(({ url }) => url),
    ...[video, ...others].flatMap(({ media }) => media?.image_urls ?? []),
  ];
  const { metrics, precision, raw_stats } = parseFeedback([...nodes.feedbacks, ...videos], siteConfig);
  const post: PartialPost = {
    common: {
      ...video.common,
      title: isVideo ? video.common?.title : undefined,
      author,
      caption,
      description: caption,
      thumbnail: images[0]?.url ?? video.common?.thumbnail,
      published_at: timeOf(nodes) ?? (isVideo ? video.common?.published_at : undefined),
      tags: hashtagsIn(caption),
      music: musicOf(stories),
    },
    ids: {
      post_id: isVideo ? nodes.postId : (nodes.postId ?? (photos.length > 0 ? link.id : undefined)),
      video_id: isVideo ? link.id : shown.length > 0 ? attached.videoIds[0] : undefined,
      author_id: author?.id,
    },
    metrics: { ...metrics, ...video.metrics },
    precision,
    raw_stats,
    media: {
      image_urls: pictures,
      video_urls: [video, ...others].flatMap(({ media }) => media?.video_urls ?? []),
      entries: [...images, ...[video, ...others].flatMap(({ media }) => media?.entries ?? [])],
    },
    ...(video.audio && { audio: true }),
  };
  const limitations = attached.declared
    ? [`carousel_truncated: ${attached.images.length + attached.videoIds.length} of ${attached.declared}`]
    : [];
  return { post, limitations };
}

/** The sections of a post, which repeat the post, some without its id. */
const SECTIONS = [
  'comet_sections',
  'content',
  'message',
  'message_container',
  'story',
  'context_layout',
  'metadata',
  'timestamp',
];

function captionOf({ stories, photos }: ItemNodes): string | undefined {
  const textOf = (text: unknown) => (asString(text)?.trim() ? asString(text) : undefined);
  return (
    firstValue(
      [...stories, ...photos],
      ({ message, message_preferred_body: body }) => textOf(at(message, 'text')) ?? textOf(at(body, 'text')),
    ) ?? firstValue(stories.flatMap(sectionsOf), ({ message }) => textOf(at(message, 'text')))
  );
}

function timeOf({ stories, photos }: ItemNodes): string | undefined {
  return (
    firstValue(stories, ({ creation_time }) => toIsoTime(creation_time)) ??
    firstValue(photos, ({ created_time }) => toIsoTime(created_time)) ??
    firstValue(stories.flatMap(sectionsOf), ({ creation_time }) => toIsoTime(creation_time))
  );
}

/** The records in a story's own sections that do not have the id of something else. */
function sectionsOf(story: JsonRecord): JsonRecord[] {
  const records: JsonRecord[] = [];
  const enter = (value: unknown, depth: number) => {
    for (const one of asArray(value) ?? [value]) {
      const record = asRecord(one);
      if (!record || depth > 8 || (record.id !== undefined && record.id !== story.id)) continue;
      records.push(record);
      for (const name of SECTIONS) enter(record[name], depth + 1);
    }
  };
  enter(story.comet_sections, 0);
  return records;
}

function musicOf(stories: readonly JsonRecord[]): NonNullable<PartialPost['common']>['music'] {
  for (const { short_form_video_context: context } of stories) {
    const track = asString(at(context, 'track_title'));
    if (!track) continue;
    const [artist, title, ...rest] = track.split(' · ');
    const parts = title && rest.length === 0 ? { artist, title } : { title: track };
    return { ...parts, id: asString(at(context, 'soundtrack_info', 'id')) };
  }
  return undefined;
}

/** The author: the profile that posted the item, or else the owner of the video or photo. */
function parseAuthor({ stories, videos, photos, store }: ItemNodes): Author | undefined {
  const actors = asRecords(stories.map(({ actors: listed }) => asArray(listed)?.[0]));
  const owners = asRecords([
    ...stories.map((story) => at(story, 'short_form_video_context', 'video_owner')),
    ...[...videos, ...photos].map(({ owner }) => owner),
    ...stories.map((story) => at(story, 'video', 'owner')),
    ...stories.map((story) => at(story, 'feedback', 'owning_profile')),
  ]);
  const candidates = [...actors, ...owners];
  const leading = candidates.find(({ name }) => asString(name)) ?? candidates[0];
  if (!leading) return undefined;
  const id = asId(leading.id);
  const records = [leading, ...candidates.filter((one) => id !== undefined && asId(one.id) === id), ...store.of(id)];
  const first = <Value>(read: (record: JsonRecord) => Value | undefined) => firstValue(records, read);
  const url = first((record) => profileUrl(record.url) ?? profileUrl(record.profile_url));
  return {
    id,
    name: first(({ name }) => asString(name)),
    username: first(({ username }) => asString(username)) ?? usernameIn(url),
    url,
    avatar: first(avatarOf),
    verified: first(({ is_verified }) => asBoolean(is_verified)),
  };
}

function avatarOf(record: JsonRecord): string | undefined {
  const pictures = [record.profile_picture, record.displayPicture, record.profilePicLarge, record.profile_photo];
  return firstValue(asRecords(pictures), ({ uri }) => siteUrl(uri));
}

/** The address of a profile without tracking parameters. */
function profileUrl(value: unknown): string | undefined {
  const address = siteUrl(value);
  if (!address) return undefined;
  const url = new URL(address);
  const id = url.pathname === '/profile.php' ? url.searchParams.get('id') : undefined;
  url.search = id ? `?id=${id}` : '';
  url.hash = '';
  return url.href;
}

/** The pictures and videos of a post. */
interface Attached {
  images: MediaEntry[];
  /** Ids of the attached videos, in order. */
  videoIds: string[];
  /** The number of pictures and videos that the post states, if the page lists fewer. */
  declared?: number;
}

/** Members with a picture of a photo, the larger ones first. */
const PICTURES = [
  'viewer_image',
  'photo_image',
  'image',
  'full_width_image',
  'placeholder_image',
  'flexible_height_share_image',
];

function parseAttachments(stories: readonly JsonRecord[], store: RelayStore): Attached {
  const images: MediaEntry[] = [];
  const videoIds = new Set<string>();
  const photoIds = new Set<string>();
  let declared = 0;

  function add(medium: JsonRecord): void {
    const kind = asString(medium.__typename) ?? asString(medium.__isMedia);
    if (kind === 'Sticker' || kind === 'GenericAttachmentMedia') return;
    const id = asString(medium.id);
    if (kind === 'Video' || medium.playable_url !== undefined || medium.videoDeliveryLegacyFields !== undefined) {
      if (id) videoIds.add(id);
      return;
    }
    if (id !== undefined && photoIds.has(id)) return;
    if (id !== undefined) photoIds.add(id);
    const same = store.of(id).filter(({ __typename }) => __typename === undefined || __typename === kind);
    const picture = pictureOf([medium, ...same]);
    if (picture) images.push(picture);
  }

  for (const attachment of stories.flatMap(({ attachments }) => asArray(attachments) ?? [])) {
    for (const record of attachmentRecords(attachment)) {
      const album = largestAlbum(record);
      declared = Math.max(declared, album.declared);
      for (const medium of asRecords([...album.media, record.media])) add(medium);
    }
  }
  for (const { short_form_video_context: reel } of stories) {
    const id = asString(at(reel, 'playback_video', 'id')) ?? asString(at(reel, 'video', 'id'));
    if (id) videoIds.add(id);
  }
  const listed = unique(images);
  const isMore = declared > listed.length + videoIds.size;
  return { images: listed, videoIds: [...videoIds], ...(isMore && { declared }) };
}

/** The largest picture in the records of a photo. */
function pictureOf(nodes: readonly JsonRecord[]): MediaEntry | undefined {
  const found = nodes.flatMap((node) => [
    ...PICTURES.flatMap((member) => entryOf(node[member])),
    ...entryOf(at(node, 'comet_photo_attachment_resolution_renderer', 'image')),
    ...entryOf(asArray(node.prefetch_uris_v2)?.[0]),
  ]);
  const area = (entry: MediaEntry) => (entry.width ?? 0) * (entry.height ?? 0);
  return found.reduce<MediaEntry | undefined>((best, one) => (best && area(best) >= area(one) ? best : one), undefined);
}

/** The longest list of an album; lists have several names (`five_photos_subattachments` …) and a part each. */
function largestAlbum(record: JsonRecord): { media: unknown[]; declared: number } {
  let media: unknown[] = [];
  let declared = 0;
  for (const [name, value] of Object.entries(record)) {
    if (!name.endsWith('subattachments')) continue;
    const nodes = asArray(at(value, 'nodes')) ?? [];
    const count = at(value, 'count');
    if (typeof count === 'number' && Number.isSafeInteger(count)) declared = Math.max(declared, count);
    if (nodes.length > media.length) media = nodes.map((node) => at(node, 'media'));
  }
  return { media, declared };
}

function entryOf(image: unknown): MediaEntry[] {
  return imageIn(image).filter(({ url }) => !url.includes('/rsrc.php/'));
}
