import { asArray, asRecord, asString, at, type JsonRecord, type PartialPost, toIsoTime } from 'mediagate';
import type { Facts } from './facts.js';
import { findItem, type ItemNodes } from './item-nodes.js';
import { parseAttachments, pictureOf } from './parse-attachments.js';
import { parseAuthor } from './parse-author.js';
import { parseFeedback } from './parse-feedback.js';
import { parseVideo } from './parse-video.js';
import type { RelayPage } from './relay-blocks.js';
import { hashtagsIn } from './text.js';

export interface RelayReading {
  post: PartialPost;
  limitations: string[];
}

/** What a page's query results say of the item; undefined where no node in them bears its id. */
export function parseRelay(
  page: RelayPage,
  link: { kind: string; id: string; pageIsItems: boolean },
  facts: Facts,
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
  const { metrics, precision, raw_stats } = parseFeedback([...nodes.feedbacks, ...videos], facts);
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

/** A post's sections repeat the post inside of them, some without its id. */
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
  const texts = [...stories, ...photos].flatMap((node) => [
    at(node, 'message', 'text'),
    at(node, 'message_preferred_body', 'text'),
  ]);
  const inner = stories.flatMap((story) => sectionsOf(story).map((section) => at(section, 'message', 'text')));
  return [...texts, ...inner].map(asString).find((text) => text !== undefined && text.trim() !== '');
}

function timeOf({ stories, photos }: ItemNodes): string | undefined {
  const times = [
    ...stories.map(({ creation_time }) => creation_time),
    ...photos.map(({ created_time }) => created_time),
    ...stories.flatMap((story) => sectionsOf(story).map(({ creation_time }) => creation_time)),
  ];
  return times.map((time) => toIsoTime(time)).find((time) => time !== undefined);
}

/** What lies in a story's own sections and does not bear the id of something else. */
function sectionsOf(story: JsonRecord): JsonRecord[] {
  const found: JsonRecord[] = [];
  const enter = (value: unknown, depth: number) => {
    for (const one of asArray(value) ?? [value]) {
      const record = asRecord(one);
      if (!record || depth > 8 || (record.id !== undefined && record.id !== story.id)) continue;
      found.push(record);
      for (const name of SECTIONS) enter(record[name], depth + 1);
    }
  };
  enter(story.comet_sections, 0);
  return found;
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
