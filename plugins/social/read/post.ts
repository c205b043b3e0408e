/*
 * Builds one part of the document from the records of an item: author, caption, time, music, pictures and videos. Each
 * field comes from the first record that has it; sections of a story repeat the post and are used where they have no
 * other id. The author is the profile that posted, else the owner of the video or photo. Of each photo the largest
 * picture is taken. A post that states more attachments than the page lists gets a limitation with both numbers.
 */

import {
  type Author,
  asArray,
  asBoolean,
  asCount,
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
import { imageIn, parseVideo, siteUrl, unique } from './media.js';
import { firstValue, type RelayPage } from './relay.js';
import type { SiteConfig } from './state.js';

/** Reads the item from a page's query results; undefined if no record has its id. */
export function parseRelay(page: RelayPage, id: string, pageIsItems: boolean, siteConfig: SiteConfig) {
  const nodes = findItem(page, id, pageIsItems, siteConfig);
  if (!nodes) return undefined;
  const { stories, photos, store, postId } = nodes;
  const { fields } = siteConfig;
  const attached = parseAttachments(nodes, fields.pictures);
  const isVideo = nodes.videos.length > 0;
  const [attachedId, ...more] = attached.videoIds;
  const shown = isVideo ? nodes.videos : more.length === 0 ? store.of(attachedId) : [];
  const video = parseVideo(shown, nodes.prefetched);
  const others = attached.videoIds.filter((one) => one !== shown[0]?.id);
  const videos = [video, ...others.map((one) => parseVideo(store.of(one), nodes.prefetched))];
  const sections = stories.flatMap((story) => sectionsOf(story, fields.sections));
  const author = parseAuthor(nodes);
  const caption = captionOf(nodes, sections) ?? (isVideo ? video.common?.caption : undefined);
  const own = pictureOf(photos, fields.pictures);
  const images = own ? [own] : isVideo ? [] : attached.images;
  const { metrics, precision, raw_stats } = parseFeedback([...nodes.feedbacks, ...nodes.videos], siteConfig);
  const post: PartialPost = {
    common: {
      ...video.common,
      title: isVideo ? video.common?.title : undefined,
      author,
      caption,
      description: caption,
      thumbnail: images[0]?.url ?? video.common?.thumbnail,
      published_at: timeOf(nodes, sections) ?? (isVideo ? video.common?.published_at : undefined),
      tags: hashtagsIn(caption),
      music: musicOf(stories),
    },
    ids: {
      post_id: postId ?? (!isVideo && photos.length > 0 ? id : undefined),
      video_id: isVideo ? id : shown.length > 0 ? attachedId : undefined,
      author_id: author?.id,
    },
    metrics: { ...metrics, ...video.metrics },
    precision,
    raw_stats,
    media: {
      image_urls: [...images.map(({ url }) => url), ...videos.flatMap(({ media }) => media?.image_urls ?? [])],
      video_urls: videos.flatMap(({ media }) => media?.video_urls ?? []),
      entries: [...images, ...videos.flatMap(({ media }) => media?.entries ?? [])],
    },
    ...(video.audio && { audio: true }),
  };
  const listed = attached.images.length + attached.videoIds.length;
  const isTruncated = attached.declared > listed;
  return { post, limitations: isTruncated ? [`carousel_truncated: ${listed} of ${attached.declared}`] : [] };
}

function captionOf({ stories, photos }: ItemNodes, sections: readonly JsonRecord[]): string | undefined {
  const textOf = (text: unknown) => (asString(text)?.trim() ? asString(text) : undefined);
  return firstValue(
    [...stories, ...photos, ...sections],
    ({ message, message_preferred_body: body }) => textOf(at(message, 'text')) ?? textOf(at(body, 'text')),
  );
}

function timeOf({ stories, photos }: ItemNodes, sections: readonly JsonRecord[]): string | undefined {
  return (
    firstValue(stories, ({ creation_time }) => toIsoTime(creation_time)) ??
    firstValue(photos, ({ created_time }) => toIsoTime(created_time)) ??
    firstValue(sections, ({ creation_time }) => toIsoTime(creation_time))
  );
}

/**
 * The records in a story's own sections that do not have the id of something else. Sections repeat the post, some without
 * its id.
 */
function sectionsOf(story: JsonRecord, names: readonly string[]): JsonRecord[] {
  const records: JsonRecord[] = [];
  const enter = (value: unknown, depth: number) => {
    for (const one of asArray(value) ?? [value]) {
      const record = asRecord(one);
      if (!record || depth > 8 || (record.id !== undefined && record.id !== story.id)) continue;
      records.push(record);
      for (const name of names) enter(record[name], depth + 1);
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

/** The pictures and videos of a post, and how many of them it states that it has. */
function parseAttachments({ stories, store }: ItemNodes, pictureFields: readonly string[]) {
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
    const picture = pictureOf([medium, ...same], pictureFields);
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
  return { images: unique(images), videoIds: [...videoIds], declared };
}

/** The largest picture in the records of a photo. */
function pictureOf(nodes: readonly JsonRecord[], fields: readonly string[]): MediaEntry | undefined {
  const found = nodes.flatMap((node) => [
    ...fields.flatMap((name) => entryOf(node[name])),
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
    declared = Math.max(declared, asCount(at(value, 'count')) ?? 0);
    if (nodes.length > media.length) media = nodes.map((node) => at(node, 'media'));
  }
  return { media, declared };
}

function entryOf(image: unknown): MediaEntry[] {
  return imageIn(image).filter(({ url }) => !url.includes('/rsrc.php/'));
}
