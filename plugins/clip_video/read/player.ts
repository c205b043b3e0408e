import { asArray, asNumber, asPositive, asString, at, type MediaEntry, type PartialPost, toIsoTime } from 'mediagate';
import { canonicalUrl } from '../links.js';
import { betterFirst, COVER, codecOf, isFetchable, lifeOf, mimeOf, parseMusicFile, parsePictures } from './files.js';
import { ofPlayer, parseAuthor, parseCounters, parseFollowers, parseMusic, profileUrl } from './item.js';
import { absoluteUrl, idText, languageTag, member, tagsOf, urlsIn, username } from './values.js';

/** `videoData`: what the embedded player's page calls an item, and what all pages did until 2020. */
export function parseVideoData(data: unknown, id: string): PartialPost {
  const item = at(data, 'itemInfos');
  const video = at(item, 'video');
  const measures = at(video, 'videoMeta');
  const music = at(data, 'musicInfos');
  const pictures = parsePictures(at(data, 'imagePostInfo', 'displayImages'));
  const duration = asPositive(at(measures, 'duration'));
  const files =
    pictures.length > 0
      ? []
      : urlsIn(at(video, 'urls'))
          .filter(isFetchable)
          .map(
            (url): MediaEntry => ({
              url,
              kind: 'video',
              mime: mimeOf(url) ?? 'video/mp4',
              width: asPositive(at(measures, 'width')),
              height: asPositive(at(measures, 'height')),
              has_video: true,
              has_audio: true,
              ...lifeOf(url),
            }),
          )
          .sort(betterFirst);
  const covers = [at(item, 'covers'), at(item, 'coversOrigin')]
    .flatMap((list) => urlsIn(list).slice(0, 1))
    .map((url): MediaEntry => ({ url, kind: 'image', label: COVER, ...lifeOf(url) }));
  const images = pictures.length > 0 ? pictures : covers;
  const audio = parseMusicFile(music);
  const caption = asString(at(item, 'text'))?.trim() || undefined;
  const author = parseAuthor({ author: at(data, 'authorInfos'), authorId: at(item, 'authorId') });
  const counters = ofPlayer(parseCounters(item));
  const followers = parseFollowers(at(data, 'authorStats'));
  const hashtags = (asArray(at(data, 'challengeInfoList')) ?? []).map((one) => member(one, 'challengeName'));
  const extras = (asArray(at(data, 'textExtra')) ?? []).map((one) => member(one, 'hashtagName', 'HashtagName'));
  return {
    common: {
      caption,
      description: caption,
      author,
      thumbnail: covers[0]?.url ?? pictures[0]?.url,
      published_at: toIsoTime(at(item, 'createTime')),
      duration_seconds: duration,
      tags: tagsOf(caption, ...extras, ...hashtags),
      music: parseMusic(music),
    },
    ids: { video_id: id, post_id: id, canonical_url: canonicalUrl(id), author_id: author?.id },
    metrics: { ...counters.metrics, ...followers.metrics, duration_seconds: duration },
    precision: { ...counters.precision, ...followers.precision },
    media: {
      image_urls: images.map(({ url }) => url),
      video_urls: files.map(({ url }) => url),
      entries: [...files, ...images, ...(audio ? [audio] : [])],
    },
    raw_stats: { ...counters.raw_stats, ...followers.raw_stats },
    audio: files.length > 0 || (pictures.length > 0 && audio !== undefined),
  };
}

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
  // Of a slideshow, what is to be played is its audio.
  const audio =
    parseMusicFile(at(item, 'music_info')) ??
    (pictures.length > 0 ? parseMusicFile({ playUrl: at(video, 'url_list') }) : undefined);
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
      entries: [...files, ...images, ...(audio ? [audio] : [])],
    },
    audio: files.length > 0 || (pictures.length > 0 && audio !== undefined),
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

/** The oEmbed reply; undefined unless the player in it is the requested item's. */
export function parseOembed(reply: unknown, id: string): PartialPost | undefined {
  const html = asString(at(reply, 'html')) ?? '';
  const stated = [
    idText(/data-video-id="(\d+)"/.exec(html)?.[1]),
    idText(/\bcite="[^"]*\/(?:video|photo)\/(\d+)/.exec(html)?.[1]),
    idText(at(reply, 'embed_product_id')),
  ].filter((value) => value !== undefined);
  if (stated.length === 0 || stated.some((value) => value !== id)) return undefined;
  const caption = asString(at(reply, 'title'))?.trim() || undefined;
  const address = absoluteUrl(at(reply, 'author_url'));
  const name = username(at(reply, 'author_unique_id')) ?? username(/\/@([^/?#]+)/.exec(address ?? '')?.[1]);
  const thumbnail = absoluteUrl(at(reply, 'thumbnail_url'));
  const image: MediaEntry | undefined = thumbnail
    ? {
        url: thumbnail,
        kind: 'image',
        label: COVER,
        width: asPositive(at(reply, 'thumbnail_width')),
        height: asPositive(at(reply, 'thumbnail_height')),
        ...lifeOf(thumbnail),
      }
    : undefined;
  return {
    common: {
      caption,
      description: caption,
      author: { name: asString(at(reply, 'author_name')), username: name, url: name ? profileUrl(name) : address },
      thumbnail,
      tags: tagsOf(caption),
    },
    ids: { video_id: id, post_id: id, canonical_url: canonicalUrl(id) },
    media: { image_urls: image ? [image.url] : [], entries: image ? [image] : [] },
  };
}
