import { asArray, asPositive, asString, at, type MediaEntry, type PartialPost, toIsoTime } from 'mediagate';
import { canonicalUrl } from '../links.js';
import { parseAuthor } from './author.js';
import { ofPlayer, parseCounters, parseFollowers } from './counters.js';
import { betterFirst, COVER, isFetchable, lifeOf, mimeOf } from './media-files.js';
import { parseMusic } from './music.js';
import { member, tagsOf, urlsIn } from './values.js';
import { parsePictures, parseSound } from './video.js';

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
  const sound = parseSound(music);
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
      entries: [...files, ...images, ...(sound ? [sound] : [])],
    },
    raw_stats: { ...counters.raw_stats, ...followers.raw_stats },
    audio: files.length > 0 || (pictures.length > 0 && sound !== undefined),
  };
}
