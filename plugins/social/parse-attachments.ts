import { asArray, asRecord, asString, at, type JsonRecord, type MediaEntry } from 'mediagate';
import { recordsIn } from './json-records.js';
import { absoluteUrl, imageEntry, unique } from './media-address.js';
import type { RelayStore } from './relay-store.js';

/** What hangs on a post. */
export interface Attached {
  images: MediaEntry[];
  /** Ids of the attached videos, in order. */
  videoIds: string[];
  /** How many pictures and videos the post says it has, where that is more than the page lists. */
  declared?: number;
}

/** Members that hold a picture of a photo, the larger ones first. */
const PICTURES = [
  'viewer_image',
  'photo_image',
  'image',
  'full_width_image',
  'placeholder_image',
  'flexible_height_share_image',
];

export function parseAttachments(stories: readonly JsonRecord[], store: RelayStore): Attached {
  const images: MediaEntry[] = [];
  const videoIds = new Set<string>();
  const pictured = new Set<string>();
  let declared = 0;
  const listed = stories.flatMap(({ attachments }) => asArray(attachments) ?? []);
  for (const attachment of listed) {
    for (const holder of holdersOf(attachment)) {
      const album = largestAlbum(holder);
      declared = Math.max(declared, album.declared);
      for (const medium of [...album.media, holder.media])
        addMedium(asRecord(medium), { images, videoIds, pictured, store });
    }
  }
  for (const { short_form_video_context: reel } of stories) {
    const id = asString(at(reel, 'playback_video', 'id')) ?? asString(at(reel, 'video', 'id'));
    if (id) videoIds.add(id);
  }
  const kept = unique(images);
  return { images: kept, videoIds: [...videoIds], ...(declared > kept.length + videoIds.size && { declared }) };
}

/** The largest picture that one of the nodes of a photo or video shows. */
export function pictureOf(nodes: readonly JsonRecord[]): MediaEntry | undefined {
  const found = nodes.flatMap((node) => [
    ...PICTURES.flatMap((member) => entryOf(node[member])),
    ...entryOf(at(node, 'comet_photo_attachment_resolution_renderer', 'image')),
    ...entryOf(asArray(node.prefetch_uris_v2)?.[0]),
  ]);
  const area = (entry: MediaEntry) => (entry.width ?? 0) * (entry.height ?? 0);
  return found.reduce<MediaEntry | undefined>((best, one) => (best && area(best) >= area(one) ? best : one), undefined);
}

interface Collected {
  images: MediaEntry[];
  videoIds: Set<string>;
  /** Ids of those whose picture was looked for. */
  pictured: Set<string>;
  store: RelayStore;
}

function addMedium(medium: JsonRecord | undefined, { images, videoIds, pictured, store }: Collected): void {
  const kind = asString(medium?.__typename) ?? asString(medium?.__isMedia);
  if (!medium || kind === 'Sticker' || kind === 'GenericAttachmentMedia') return;
  const id = asString(medium.id);
  if (kind === 'Video' || medium.playable_url !== undefined || medium.videoDeliveryLegacyFields !== undefined) {
    if (id) videoIds.add(id);
    return;
  }
  if (id !== undefined) {
    if (pictured.has(id)) return;
    pictured.add(id);
  }
  const same = store.of(id).filter(({ __typename }) => __typename === undefined || __typename === kind);
  const picture = pictureOf([medium, ...same]);
  if (picture) images.push(picture);
}

function holdersOf(attachment: unknown): JsonRecord[] {
  return recordsIn([
    at(attachment, 'styles', 'attachment'),
    at(attachment, 'style_type_renderer', 'attachment'),
    attachment,
  ]);
}

/** Albums come under several names (`five_photos_subattachments` …), each with a part; the fullest is taken. */
function largestAlbum(holder: JsonRecord): { media: unknown[]; declared: number } {
  let media: unknown[] = [];
  let declared = 0;
  for (const [name, value] of Object.entries(holder)) {
    if (!name.endsWith('subattachments')) continue;
    const nodes = asArray(at(value, 'nodes')) ?? [];
    const count = at(value, 'count');
    if (typeof count === 'number' && Number.isSafeInteger(count)) declared = Math.max(declared, count);
    if (nodes.length > media.length) media = nodes.map((node) => at(node, 'media'));
  }
  return { media, declared };
}

function entryOf(image: unknown): MediaEntry[] {
  const url = absoluteUrl(at(image, 'uri'));
  return url && !url.includes('/rsrc.php/') ? [imageEntry(url, at(image, 'width'), at(image, 'height'))] : [];
}
