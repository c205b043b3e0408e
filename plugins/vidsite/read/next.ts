/*
 * Reads the data around the player: title, owner, counters, day, badges and chapters, of a page or of the `next` reply.
 * One record of places serves the desktop and the phone layout, and gaps are filled from the description panel. Joint
 * videos name several channels; the uploader is first, the others are collaborators. A reply whose ids are those of
 * another video is not read. If the page shows a reason instead of a video, it is returned as a refusal.
 */

import {
  asArray,
  asString,
  at,
  findAll,
  type JsonRecord,
  type PartialPost,
  rawStats,
  shownCounters,
} from 'mediagate/plugin';
import { bestCount, countsIn, parseComments, parseLikes, parseViews, type ShownCount } from './counters.js';
import { parseChapters, parseDescription, parseDescriptionPanel, parseMusic } from './description.js';
import { olderPhoneRow } from './older/layouts.js';
import {
  accessibilityLabel,
  channelId,
  type PartialAuthor,
  parseShownDate,
  rendererIn,
  type Subject,
  shownAuthor,
  subjectOf,
  textOf,
  videoIds,
  withoutMarks,
} from './values.js';

/**
 * Reads `ytInitialData` of a watch page, or the reply of `/youtubei/v1/next`, which is the same. Fields that are known
 * from the player reply are not computed again. `post` is empty unless the reply is about the requested video;
 * `refusal` is the reason that the page shows instead of a video.
 */
export function parseNext(
  next: unknown,
  id: string,
  known: PartialPost['common'] = {},
): { subject: Subject; post: PartialPost; refusal?: string | undefined } {
  const items = columnItems(next);
  const layout = readLayout(items);
  const endpoint = at(next, 'currentVideoEndpoint');
  const named = at(endpoint, 'watchEndpoint', 'videoId') ?? at(endpoint, 'reelWatchEndpoint', 'videoId');
  const stated = subjectOf([named, layout?.id], id);
  // Without any other id, the buttons say which video it is.
  const subject = stated === 'unknown' ? subjectOf(idsIn(layout?.actions), id) : stated;
  const panel = layout?.complete ? undefined : parseDescriptionPanel(next);
  if (subject !== 'requested' || !(layout ?? panel)) {
    const refusal = textOf(rendererIn(items, 'backgroundPromoRenderer')?.title);
    return { subject: subject === 'requested' ? 'unknown' : subject, post: {}, refusal };
  }
  const [owner, ...others] = parseOwners(layout?.owner);
  const collaborators = others.flatMap(({ author }) => author ?? []);
  const likes = parseLikes(layout?.buttons ?? [], next) ?? panel?.likes;
  const liveSign = at(next, 'playerOverlays', 'playerOverlayRenderer', 'liveIndicatorText');
  const views = parseViews(layout?.viewsText, layout?.isStream, liveSign !== undefined);
  const comments = parseComments(next, items);
  const dateText = layout?.dateText ?? panel?.dateText;
  const description = known.description ?? parseDescription(layout?.described) ?? panel?.description;
  const author = owner?.author ?? panel?.author;
  const isUnlisted = (asArray(layout?.badges) ?? []).some(
    (badge) => at(badge, 'metadataBadgeRenderer', 'icon', 'iconType') === 'PRIVACY_UNLISTED',
  );
  const { metrics, precision } = shownCounters({
    views: layout?.isStream === undefined ? bestCount([views.total, panel?.views]) : views.total,
    concurrent_viewers: views.watching,
    likes,
    comments,
    subscriber_count: owner?.subscribers,
  });
  const post: PartialPost = {
    common: {
      title: textOf(layout?.title) ?? panel?.title,
      description,
      caption: description,
      author,
      // Before a stream begins, the line has the day of its start.
      published_at: known.published_at || views.waiting ? undefined : parseShownDate(dateText ?? ''),
      is_unlisted: isUnlisted || undefined,
      is_live: views.live || undefined,
      live_status: views.live ? 'live' : views.announced ? 'upcoming' : undefined,
      chapters: parseChapters(next, description),
      collaborators: collaborators.length > 0 ? collaborators : undefined,
      music: parseMusic(next, layout?.described, description),
    },
    ids: videoIds(id, author?.id),
    metrics,
    precision: { ...precision, ...(!likes && panel?.likesHidden && { likes: 'hidden' }) },
    raw_stats: rawStats({
      viewCountText: layout?.viewsText,
      likeText: likes?.text,
      subscriberCountText: owner?.subscribers?.text,
      commentCountText: comments?.text,
      dateText,
    }),
  };
  return { subject, post };
}

/** Sections whose items belong to the same column. */
const SECTIONS = ['itemSectionRenderer', 'slimVideoMetadataSectionRenderer'];

/** The items of the column with the video, including those of its sections, in page order. */
function columnItems(next: unknown): readonly unknown[] {
  const contents = at(next, 'contents');
  const columns = at(contents, 'twoColumnWatchNextResults') ?? at(contents, 'singleColumnWatchNextResults');
  const items = asArray(at(columns, 'results', 'results', 'contents')) ?? [];
  return items.flatMap((item) => [item, ...SECTIONS.flatMap((name) => asArray(at(item, name, 'contents')) ?? [])]);
}

/** Where a page shows the data of its video, in the desktop or in the phone layout. Undefined if it shows no video. */
function readLayout(items: readonly unknown[]) {
  const primary = rendererIn(items, 'videoPrimaryInfoRenderer');
  const secondary = rendererIn(items, 'videoSecondaryInfoRenderer');
  return primary || secondary ? desktopLayout(primary, secondary) : phoneLayout(items);
}

function desktopLayout(primary: JsonRecord | undefined, secondary: JsonRecord | undefined) {
  const views = at(primary, 'viewCount', 'videoViewCountRenderer');
  return {
    /** False if the layout shows only a part, and the description panel may show the rest. */
    complete: primary !== undefined && secondary !== undefined,
    id: asString(at(primary, 'updatedMetadataEndpoint', 'updatedMetadataEndpoint', 'videoId')),
    title: primary?.title,
    /** The line with the views, or with the viewers of a running stream. */
    viewsText: textOf(at(views, 'viewCount')),
    /** Whether the line is of a stream; undefined if the layout does not distinguish streams from videos. */
    isStream: primary && at(views, 'isLive') === true,
    dateText: textOf(primary?.dateText),
    badges: primary?.badges,
    /** The node with the buttons, which refer to the video. */
    actions: primary?.videoActions,
    /** The buttons under the title, without the wrappers of the phone layout. */
    buttons: asArray(at(primary, 'videoActions', 'menuRenderer', 'topLevelButtons')) ?? [],
    owner: at(secondary, 'owner', 'videoOwnerRenderer'),
    /** The node with the description; see {@link parseDescription}. */
    described: secondary,
  };
}

/** One renderer for each row; until 2020 a single one for all rows. */
function phoneLayout(items: readonly unknown[]): ReturnType<typeof desktopLayout> | undefined {
  const whole = olderPhoneRow(items);
  const info = whole ?? rendererIn(items, 'slimVideoInformationRenderer');
  if (!info) return undefined;
  const description = whole ?? rendererIn(items, 'slimVideoDescriptionRenderer');
  const bar = whole ?? rendererIn(items, 'slimVideoActionBarRenderer', 'slimVideoScrollableActionBarRenderer');
  const section = whole ?? rendererIn(items, 'slimVideoMetadataSectionRenderer');
  return {
    complete: false,
    id: asString(section?.videoId),
    title: info.title,
    viewsText: textOf(info.expandedSubtitle) ?? textOf(info.collapsedSubtitle),
    isStream: undefined,
    dateText: textOf(description?.dateText) ?? textOf(description?.publishDate),
    badges: info.badges,
    actions: bar?.buttons,
    buttons: (asArray(bar?.buttons) ?? []).map(
      (button) => at(button, 'slimMetadataButtonRenderer', 'button') ?? button,
    ),
    owner: at(whole, 'owner', 'slimOwnerRenderer') ?? rendererIn(items, 'slimOwnerRenderer'),
    described: description,
  };
}

/** The ids of the videos that buttons refer to. */
function idsIn(actions: unknown): unknown[] {
  const found = findAll(actions, (node) => typeof node.videoId === 'string', { maxNodes: 5_000 });
  return found.map(({ videoId }) => videoId);
}

/** Reads the line under the title: the channel, or the channels of a joint video, the uploader first. */
export function parseOwners(owner: unknown): { author?: PartialAuthor; subscribers?: ShownCount | undefined }[] {
  const name = textOf(at(owner, 'title'));
  if (name === undefined) return parseJointOwners(owner);
  const run = at(owner, 'title', 'runs', 0, 'navigationEndpoint', 'browseEndpoint');
  const endpoint = at(owner, 'navigationEndpoint', 'browseEndpoint') ?? run;
  const verified = (asArray(at(owner, 'badges')) ?? []).some((badge) =>
    asString(at(badge, 'metadataBadgeRenderer', 'style'))?.startsWith('BADGE_STYLE_TYPE_VERIFIED'),
  );
  const subscribers = subscribersIn([
    textOf(at(owner, 'subscriberCountText')),
    accessibilityLabel(at(owner, 'subscriberCountText')),
    // The phone layout.
    ...splitLine(textOf(at(owner, 'expandedSubtitle'))),
    ...splitLine(textOf(at(owner, 'collapsedSubtitle'))),
  ]);
  return [{ author: shownAuthor(name, endpoint, at(owner, 'thumbnail', 'thumbnails'), { verified }), subscribers }];
}

/** The picture of the tick behind a channel's name. */
const TICK = /^(?:CHECK_CIRCLE|MUSIC|AUDIO_BADGE|OFFICIAL_ARTIST)/;

/** Since 2025 the channels of a joint video are in a dialog. One that cannot be read keeps its place. */
function parseJointOwners(owner: unknown): ReturnType<typeof parseOwners> {
  const list = firstIn(owner, (node) => Array.isArray(node.listItems), 2_000);
  return (asArray(list?.listItems) ?? []).map((item) => {
    const model = at(item, 'listItemViewModel');
    const name = textOf(at(model, 'title'));
    const endpoint = browseEndpointIn(at(model, 'title')) ?? browseEndpointIn(at(model, 'rendererContext'));
    if (!name || !endpoint) return {};
    const parts = splitLine(textOf(at(model, 'subtitle')));
    const handle = parts.find((part) => part.startsWith('@'));
    const avatars = at(model, 'leadingAccessory', 'avatarViewModel', 'image', 'sources');
    const tick = firstIn(at(model, 'title', 'attachmentRuns'), (node) => TICK.test(asString(node.imageName) ?? ''));
    const author = shownAuthor(name, endpoint, avatars, { handle, verified: tick !== undefined });
    return { author, subscribers: subscribersIn(parts) };
  });
}

function firstIn(value: unknown, test: (node: JsonRecord) => boolean, maxNodes = 500): JsonRecord | undefined {
  return findAll(value, test, { maxNodes, maxResults: 1 })[0];
}

function browseEndpointIn(value: unknown): unknown {
  return firstIn(value, (node) => channelId(at(node, 'browseEndpoint', 'browseId')) !== undefined)?.browseEndpoint;
}

/** The first count; a handle is none. */
function subscribersIn(texts: readonly (string | undefined)[]): ShownCount | undefined {
  return countsIn(texts.filter((text) => !text?.startsWith('@')))[0];
}

/** The parts of a line such as `@handle • 1.2M subscribers`. */
function splitLine(text = ''): string[] {
  return withoutMarks(text)
    .split(/[•·]/)
    .map((part) => part.trim());
}
