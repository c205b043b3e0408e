/** Builds an invented reel page for the benchmarks of parsing. */

import { jsonScript, modules, query, range, scheduledScript, styles } from './page-parts.js';
import { createRandom, type Random } from './random.js';

const SEEN_NEXT = 5;
/** Results that come after the first one; nearly all of each is the same list of what to load beforehand. */
const LATER_RESULTS = 56;
const OTHER = 'otherReelOf';

/** A reel, the requested one or one of those that would be shown after it. */
interface Reel {
  id: string;
  postId: string;
  ownerId: string;
  storyId: string;
  feedbackId: string;
}

/**
 * A reel's page of about three megabytes: maps of modules, one query result with the reel and the five after it, and the
 * results that were streamed later, of which two are the reel's and every one names it in what to load beforehand.
 */
export function buildReelPage(reelId: string): string {
  const random = createRandom(reelId);
  const reel = reelOf(reelId);
  const others = range(SEEN_NEXT, (index) => reelOf(`${reelId.slice(0, -2)}${index + 10}`));
  const prefetched = [reel, ...others].map((one) => prefetch(random, one));
  const address = `https://www.facebook.com/reel/${reelId}`;
  const first = {
    data: {
      video: { id: reelId, creation_story: story(random, reel, 'A generated wheel turns again #generated') },
      viewer: { lasso_blue_feed: { edges: others.map((one) => ({ node: story(random, one, random.sentence(9)) })) } },
    },
    extensions: { all_video_dash_prefetch_representations: prefetched },
  };
  const later = range(LATER_RESULTS, (index) => {
    const shown = index < 2 ? reel : others[index % SEEN_NEXT];
    const data = shown && index < 12 ? counters(shown, index) : { tracking: random.word(900) };
    const label = `${OTHER}_${random.word(8)}`;
    return { label, path: ['viewer'], data, extensions: { all_video_dash_prefetch_representations: prefetched } };
  });
  return [
    '<!DOCTYPE html><html id="facebook" lang="en"><head><meta charset="utf-8"><title>Facebook</title>',
    `<link rel="canonical" href="${address}/"><meta property="og:url" content="${address}/">`,
    '<meta property="og:title" content="12K views · 3.4K reactions | A generated wheel turns again | Generated Mill">',
    `<style>${styles(random, 120_000)}</style></head><body>`,
    jsonScript({ require: [['Bootloader', 'handlePayload', null, [{ rsrcMap: modules(random, 150_000) }]]] }),
    scheduledScript([['CometPlatformRootClient', 'initialize', [], [route(reelId), modules(random, 95_000)]]]),
    scheduledScript([['AsyncData', 'resolve', [], [{ haste: modules(random, 150_000) }]]]),
    result(first),
    ...later.map(result),
    '</body></html>',
  ].join('\n');
}

function reelOf(id: string): Reel {
  const postId = `12${id}`;
  const ownerId = `6155${id.slice(-10)}`;
  const base64 = (text: string) => Buffer.from(text).toString('base64');
  return { id, postId, ownerId, storyId: base64(`S:_I${ownerId}:VK:${id}`), feedbackId: base64(`feedback:${postId}`) };
}

function result(data: unknown): string {
  const bbox = { __bbox: { complete: true, result: data } };
  return scheduledScript([['RelayPrefetchedStreamCache', 'next', [], ['adp_FBReelsRootQueryRelayPreloader_1', bbox]]]);
}

function route(reelId: string): object {
  const root = { resource: { __dr: 'FBReelsRoot.react' }, props: { root_video_id: reelId } };
  return { initialRouteInfo: { route: { rootView: root, url: `/reel/${reelId}`, params: { video_id: reelId } } } };
}

function story(random: Random, reel: Reel, text: string): object {
  const { id, postId, ownerId, storyId, feedbackId } = reel;
  const picture = (name: string) => ({ uri: `https://scontent.fna.fbcdn.net/v/${name}_n.jpg?${query(random, 6)}` });
  const owner = { __typename: 'User', id: ownerId, name: 'Generated Mill', url: 'https://www.facebook.com/generated' };
  return {
    __typename: 'Story',
    short_form_video_context: {
      video: { id, __typename: 'Video', playable_duration_in_ms: 41_200, owner: { id: ownerId } },
      shareable_url: `https://www.facebook.com/reel/${id}`,
      playback_video: {
        id,
        height: 1280,
        width: 720,
        length_in_second: 41.2,
        is_live_streaming: false,
        thumbnailImage: picture('thumbnail'),
        preferred_thumbnail: { image: picture('chosen') },
        videoDeliveryLegacyFields: {
          id,
          dash_manifest_xml_string: manifest(random),
          browser_native_sd_url: fileAddress(random, id, 'sd'),
          browser_native_hd_url: fileAddress(random, id, 'hd'),
        },
        ...Object.fromEntries(range(30, (index) => [`setting_${index}`, index % 3 === 0 ? null : random.word(20)])),
      },
      video_owner: { ...owner, is_verified: true, displayPicture: picture('owner') },
      track_title: 'The Generated Trio · Slow Water',
    },
    id: storyId,
    post_id: postId,
    creation_time: 1_772_611_205,
    feedback: { id: feedbackId },
    video: { id, owner: { id: ownerId } },
    message: { text, ranges: range(4, (index) => ({ offset: index * 8, length: 6, entity: { id: random.word(15) } })) },
    tracking: JSON.stringify({ top_level_post_id: id, story_fbid: [id], page_insights: query(random, 20) }),
  };
}

function counters({ id, ownerId, storyId, feedbackId, postId }: Reel, index: number): object {
  return {
    id: storyId,
    video: { id },
    short_form_video_context: { video: { id }, video_owner: { id: ownerId, name: 'Generated Mill' } },
    fb_reel_react_button: {
      story: { id: storyId, feedback: { id: feedbackId, unified_reactors: { count: 3_400 + index } } },
    },
    feedback: { id: feedbackId, total_comment_count: 96 + index, share_count_reduced: '1.3K' },
    post_id: postId,
  };
}

function fileAddress(random: Random, id: string, name: string): string {
  return `https://video.fna.fbcdn.net/o1/v/${id}${name}.mp4?bitrate=310000&${query(random, 20)}`;
}

function manifest(random: Random): string {
  const representations = range(7, (index) => {
    const size = `width="${180 * (index + 2)}" height="${320 * (index + 2)}" bandwidth="${200_000 * (index + 1)}"`;
    const address = fileAddress(random, `track${index}`, '').replaceAll('&', '&amp;');
    return `<Representation id="${index}v" codecs="avc1.64001F" mimeType="video/mp4" ${size}><BaseURL>${address}</BaseURL></Representation>`;
  });
  const sets = `<AdaptationSet id="0" contentType="video" mimeType="video/mp4">${representations.join('')}</AdaptationSet>`;
  return `<?xml version="1.0"?>\n<MPD xmlns="urn:mpeg:dash:schema:mpd:2011" mediaPresentationDuration="PT41.2S"><Period>${sets}</Period></MPD>`;
}

function prefetch(random: Random, { id }: Reel): object {
  const representations = range(6, (index) => ({
    representation_id: `${id}${index}v`,
    mime_type: 'video/mp4',
    codecs: 'avc1.64001F',
    base_url: fileAddress(random, id, String(index)),
    bandwidth: 200_000 * (index + 1),
    height: 320 * (index + 2),
    width: 180 * (index + 2),
    segments: range(6, (part) => ({ start: part * 90_000, end: part * 90_000 + 89_999 })),
  }));
  return { representations, video_id: id, is_drm: false };
}
