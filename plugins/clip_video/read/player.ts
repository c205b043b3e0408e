import { asArray, asNumber, asPositive, asString, at, type MediaEntry, type PartialPost, toIsoTime } from 'mediagate';
import { canonicalUrl } from '../links.js';
import { parseAuthor } from './author.js';
import { ofPlayer, parseCounters } from './counters.js';
import { betterFirst, COVER, codecOf, isFetchable, lifeOf, mimeOf } from './media-files.js';
import { parseMusic } from './music.js';
import { languageTag, tagsOf, urlsIn } from './values.js';
import { parsePictures, parseSound } from './video.js';

/** Durations are milliseconds here; a number below this one is none. */
const LEAST_MILLISECONDS = 1_000;

/** An element of `items` in the reply that the embedded player asks for. It has no count of plays. */
export function parsePlayerItem(item: unknown, id: string): PartialPost {
  const video = at(item, 'video_info');
  const pictures = parsePictures(at(item, 'image_post_info', 'images'));
  const files = pictures.length > 0 ? [] : playerFiles(video).sort(betterFirst);
  const covers = ['cover', 'origin_cover']
    .flatMap((name) => urlsIn(at(video, name)).slice(0, 1))
    .map((url): MediaEntry => ({ url, kind: 'image', label: COVER, ...lifeOf(url) }));
  const images = pictures.length > 0 ? pictures : covers;
  // Of a slideshow, what is to be played is its sound.
  const sound =
    parseSound(at(item, 'music_info')) ??
    (pictures.length > 0 ? parseSound({ playUrl: at(video, 'url_list') }) : undefined);
  const caption = asString(at(item, 'desc'))?.trim() || undefined;
  const author = parseAuthor({ author: at(item, 'author_info') });
  const milliseconds = asNumber(at(video, 'meta', 'duration')) ?? 0;
  const duration = milliseconds >= LEAST_MILLISECONDS ? milliseconds / 1000 : undefined;
  const hashtags = (asArray(at(item, 'text_extra')) ?? []).map((extra) => at(extra, 'hashtag_name'));
  const counters = ofPlayer(parseCounters(at(item, 'statistics_info')));
  return {
    common: {
      caption,
      description: caption,
      author,
      thumbnail: covers[0]?.url ?? pictures[0]?.url,
      published_at: toIsoTime(at(item, 'create_time')),
      duration_seconds: duration,
      language: languageTag(at(item, 'desc_language')),
      tags: tagsOf(caption, ...hashtags),
      music: parseMusic(at(item, 'music_info')),
    },
    ids: { video_id: id, post_id: id, canonical_url: canonicalUrl(id), author_id: author?.id },
    ...counters,
    metrics: { ...counters.metrics, duration_seconds: duration },
    media: {
      image_urls: images.map(({ url }) => url),
      video_urls: files.map(({ url }) => url),
      entries: [...files, ...images, ...(sound ? [sound] : [])],
    },
    audio: files.length > 0 || (pictures.length > 0 && sound !== undefined),
  };
}

function playerFiles(video: unknown): MediaEntry[] {
  const files = new Map<string, MediaEntry>();
  const add = (address: unknown, entry: Partial<MediaEntry>) => {
    const url = urlsIn(address).find(isFetchable);
    const mime = (url && mimeOf(url)) ?? 'video/mp4';
    if (!url || files.has(url) || mime.startsWith('audio/')) return;
    files.set(url, { url, kind: 'video', mime, has_video: true, has_audio: true, ...entry, ...lifeOf(url) });
  };
  for (const profile of asArray(at(video, 'profiles')) ?? []) {
    const address = at(profile, 'play_addr');
    const codec = asString(at(profile, 'codec_type'));
    if (codec?.includes('bytevc2')) continue;
    const lines = /_(\d{3,4})(?:_|$)/.exec(asString(at(profile, 'gear_name')) ?? '')?.[1];
    add(address, {
      codecs: codecOf(codec),
      bitrate: asPositive(at(profile, 'bitrate')),
      fps: asPositive(at(profile, 'fps')),
      width: asPositive(at(address, 'width')),
      height: asPositive(at(address, 'height')),
      size: asPositive(at(address, 'data_size')),
      quality: lines && `${lines}p`,
    });
  }
  add(at(video, 'url_list'), {
    width: asPositive(at(video, 'meta', 'width')),
    height: asPositive(at(video, 'meta', 'height')),
    bitrate: asPositive(at(video, 'meta', 'bitrate')),
  });
  return [...files.values()];
}
