import {
  asArray,
  asString,
  at,
  type Count,
  findAll,
  type JsonRecord,
  type PartialPost,
  parseCount,
  rawStats,
} from 'mediagate/plugin';
import { parseComments, parseLikes, parseViews, type ShownCount } from './counters.js';
import { parseShownDate } from './dates.js';
import { parseChapters, parseDescription, parseDescriptionPanel, parseMusic } from './description.js';
import { olderPhoneRow } from './older/layouts.js';
import {
  accessibilityLabel,
  channelAuthor,
  channelId,
  largestImage,
  type PartialAuthor,
  rendererIn,
  type Subject,
  subjectOf,
  textOf,
  videoIds,
  withoutMarks,
} from './values.js';

/** The data of a `next` reply, which describes the page around the player. */
export interface NextReply {
  subject: Subject;
  /** Empty unless the reply is about the requested video. */
  post: PartialPost;
  /** The reason that the page shows instead of a video. */
  refusal?: string;
}

/**
 * Reads `ytInitialData` of a watch page, or the reply of `/youtubei/v1/next`, which is the same. Fields that are known
 * from the player reply are not computed again.
 */
export function parseNext(next: unknown, id: string, known: PartialPost['common'] = {}): NextReply {
  const items = columnItems(next);
  const layout = readLayout(items);
  const endpoint = at(next, 'currentVideoEndpoint');
  const named = at(endpoint, 'watchEndpoint', 'videoId') ?? at(endpoint, 'reelWatchEndpoint', 'videoId');
  const stated = subjectOf([named, layout?.id], id);
  // Without any other id, the buttons say which video it is.
  const subject = stated === 'unknown' ? subjectOf(layout?.buttonIds() ?? [], id) : stated;
  const panel = layout?.complete ? undefined : parseDescriptionPanel(next);
  if (subject !== 'requested' || !(layout ?? panel)) {
    const refusal = textOf(rendererIn(items, 'backgroundPromoRenderer')?.title);
    return { subject: subject === 'requested' ? 'unknown' : subject, post: {}, ...(refusal && { refusal }) };
  }
  const owner = parseOwner(layout?.owner);
  const likes = parseLikes(layout?.buttons ?? [], next) ?? panel?.likes;
  const views = parseViews(
    layout,
    at(next, 'playerOverlays', 'playerOverlayRenderer', 'liveIndicatorText') !== undefined,
  );
  const comments = parseComments(next, items);
  const total = layout?.isStream === undefined ? better(views.total, panel?.views) : views.total;
  const dateText = layout?.dateText ?? panel?.dateText;
  const description = known.description ?? parseDescription(layout?.described) ?? panel?.description;
  const author = owner.author ?? panel?.author;
  const channel = author?.id;
  const announced = views.waiting && /\bwaiting\b/i.test(views.text ?? '');
  const counts = {
    views: total,
    concurrent_viewers: views.watching,
    likes,
    comments,
    subscriber_count: owner.subscribers,
  };
  const post: PartialPost = {
    common: {
      title: textOf(layout?.title) ?? panel?.title,
      description,
      caption: description,
      author,
      // Before a stream begins, the line has the day of its start.
      published_at: known.published_at || views.waiting ? undefined : parseShownDate(dateText ?? ''),
      is_unlisted: isUnlisted(layout?.badges) || undefined,
      is_live: views.live || undefined,
      live_status: views.live ? 'live' : announced ? 'upcoming' : undefined,
      chapters: parseChapters(next, description),
      collaborators: owner.collaborators,
      music: parseMusic(next, layout?.described, description),
    },
    ids: videoIds(id, channel),
    metrics: {
      ...Object.fromEntries(Object.entries(counts).map(([metric, count]) => [metric, count?.value])),
      channel_id: channel,
    },
    precision: {
      ...(!likes && panel?.likesHidden && { likes: 'hidden' }),
      ...Object.fromEntries(
        Object.entries(counts).flatMap(([metric, count]) => (count && !count.exact ? [[metric, 'rounded']] : [])),
      ),
    },
    raw_stats: rawStats({
      viewCountText: views.text,
      likeText: likes?.text,
      subscriberCountText: owner.subscribers?.text,
      commentCountText: comments?.text,
      dateText,
    }),
  };
  return { subject, post };
}

/** The first exact count, otherwise the first count. */
function better(one: Count | undefined, other: Count | undefined): Count | undefined {
  return one?.exact || !other?.exact ? (one ?? other) : other;
}

function isUnlisted(badges: unknown): boolean {
  return (asArray(badges) ?? []).some(
    (badge) => at(badge, 'metadataBadgeRenderer', 'icon', 'iconType') === 'PRIVACY_UNLISTED',
  );
}

/** Where a page shows the data of its video, in the desktop and in the phone layout. */
export interface PageLayout {
  /** False if the layout shows only a part, and the description panel may show the rest. */
  complete: boolean;
  title: unknown;
  /** The line with the views, or with the viewers of a running stream. */
  viewsText: string | undefined;
  /** Whether the line is of a stream; undefined if the layout does not distinguish streams from videos. */
  isStream: boolean | undefined;
  dateText: string | undefined;
  badges: unknown;
  /** The buttons under the title, without the wrappers of the phone layout. */
  buttons: readonly unknown[];
  owner: unknown;
  /** The node with the description; see {@link parseDescription}. */
  described: unknown;
  /** The id that the layout states. */
  id: string | undefined;
  /** Ids of the videos that its buttons refer to. */
  buttonIds(): string[];
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

/** Undefined if the column shows no video. */
function readLayout(items: readonly unknown[]): PageLayout | undefined {
  const primary = rendererIn(items, 'videoPrimaryInfoRenderer');
  const secondary = rendererIn(items, 'videoSecondaryInfoRenderer');
  return primary || secondary ? desktopLayout(primary, secondary) : phoneLayout(items);
}

function desktopLayout(primary: JsonRecord | undefined, secondary: JsonRecord | undefined): PageLayout {
  const views = at(primary, 'viewCount', 'videoViewCountRenderer');
  return {
    complete: primary !== undefined && secondary !== undefined,
    title: primary?.title,
    viewsText: textOf(at(views, 'viewCount')),
    isStream: primary && at(views, 'isLive') === true,
    dateText: textOf(primary?.dateText),
    badges: primary?.badges,
    buttons: asArray(at(primary, 'videoActions', 'menuRenderer', 'topLevelButtons')) ?? [],
    owner: at(secondary, 'owner', 'videoOwnerRenderer'),
    described: secondary,
    id: asString(at(primary, 'updatedMetadataEndpoint', 'updatedMetadataEndpoint', 'videoId')),
    buttonIds: () => idsIn(primary?.videoActions),
  };
}

/** One renderer for each row; until 2020 a single one for all rows. */
function phoneLayout(items: readonly unknown[]): PageLayout | undefined {
  const whole = olderPhoneRow(items);
  const info = whole ?? rendererIn(items, 'slimVideoInformationRenderer');
  if (!info) return undefined;
  const description = whole ?? rendererIn(items, 'slimVideoDescriptionRenderer');
  const bar = whole ?? rendererIn(items, 'slimVideoActionBarRenderer', 'slimVideoScrollableActionBarRenderer');
  const section = whole ?? rendererIn(items, 'slimVideoMetadataSectionRenderer');
  return {
    complete: false,
    title: info.title,
    viewsText: textOf(info.expandedSubtitle) ?? textOf(info.collapsedSubtitle),
    isStream: undefined,
    dateText: textOf(description?.dateText) ?? textOf(description?.publishDate),
    badges: info.badges,
    buttons: (asArray(bar?.buttons) ?? []).map(
      (button) => at(button, 'slimMetadataButtonRenderer', 'button') ?? button,
    ),
    owner: at(whole, 'owner', 'slimOwnerRenderer') ?? rendererIn(items, 'slimOwnerRenderer'),
    described: description,
    id: asString(section?.videoId),
    buttonIds: () => idsIn(bar?.buttons),
  };
}

/** The ids of the videos that buttons refer to. */
function idsIn(buttons: unknown): string[] {
  return findAll(buttons, (node) => typeof node.videoId === 'string', { maxNodes: 5_000 }).flatMap(
    (node) => asString(node.videoId) ?? [],
  );
}

export interface Owner {
  author?: PartialAuthor;
  subscribers?: ShownCount | undefined;
  /** The other channels of a joint video. */
  collaborators?: PartialAuthor[];
}

/** Reads the line under the title with the channel, or with the channels of a joint video. */
export function parseOwner(owner: unknown): Owner {
  const name = textOf(at(owner, 'title'));
  if (name === undefined) return parseJointOwners(owner);
  const run = at(owner, 'title', 'runs', 0, 'navigationEndpoint', 'browseEndpoint');
  const endpoint = at(owner, 'navigationEndpoint', 'browseEndpoint') ?? run;
  const badges = asArray(at(owner, 'badges')) ?? [];
  const verified = badges.some((badge) =>
    asString(at(badge, 'metadataBadgeRenderer', 'style'))?.startsWith('BADGE_STYLE_TYPE_VERIFIED'),
  );
  return {
    author: channelAuthor({
      name,
      id: channelId(at(endpoint, 'browseId')),
      url: at(endpoint, 'canonicalBaseUrl'),
      avatar: largestImage(at(owner, 'thumbnail', 'thumbnails')),
      ...(verified && { verified }),
    }),
    subscribers: subscribersIn([
      textOf(at(owner, 'subscriberCountText')),
      accessibilityLabel(at(owner, 'subscriberCountText')),
      // The phone layout.
      ...splitLine(textOf(at(owner, 'expandedSubtitle'))),
      ...splitLine(textOf(at(owner, 'collapsedSubtitle'))),
    ]),
  };
}

/** Since 2025 the channels of a joint video are in a dialog, the uploader first. */
function parseJointOwners(owner: unknown): Owner {
  const list = firstIn(owner, (node) => Array.isArray(node.listItems), 2_000);
  const channels = (asArray(list?.listItems) ?? []).map((item): Owner => {
    const model = at(item, 'listItemViewModel');
    const name = textOf(at(model, 'title'));
    const endpoint = browseEndpointIn(at(model, 'title')) ?? browseEndpointIn(at(model, 'rendererContext'));
    if (!name || !endpoint) return {};
    const parts = splitLine(textOf(at(model, 'subtitle')));
    const handle = parts.find((part) => part.startsWith('@'));
    const verified = firstIn(at(model, 'title', 'attachmentRuns'), isTick) !== undefined;
    const author = channelAuthor({
      name,
      id: channelId(at(endpoint, 'browseId')),
      url: handle ? `/${handle}` : at(endpoint, 'canonicalBaseUrl'),
      avatar: largestImage(at(model, 'leadingAccessory', 'avatarViewModel', 'image', 'sources')),
      ...(verified && { verified }),
    });
    return { author, subscribers: subscribersIn(parts) };
  });
  // Only the first is the uploader, also if it cannot be read.
  const [first, ...others] = channels;
  const collaborators = others.flatMap(({ author }) => author ?? []);
  return { ...first, ...(collaborators.length > 0 && { collaborators }) };
}

function firstIn(value: unknown, test: (node: JsonRecord) => boolean, maxNodes = 500): JsonRecord | undefined {
  return findAll(value, test, { maxNodes, maxResults: 1 })[0];
}

function browseEndpointIn(value: unknown): unknown {
  return firstIn(value, (node) => channelId(at(node, 'browseEndpoint', 'browseId')) !== undefined)?.browseEndpoint;
}

function isTick(node: JsonRecord): boolean {
  return /^(?:CHECK_CIRCLE|MUSIC|AUDIO_BADGE|OFFICIAL_ARTIST)/.test(asString(node.imageName) ?? '');
}

/** The first count; a handle is none. */
function subscribersIn(texts: readonly (string | undefined)[]): ShownCount | undefined {
  for (const text of texts) {
    const count = text === undefined || text.startsWith('@') ? undefined : parseCount(text);
    if (count && text !== undefined) return { ...count, text };
  }
  return undefined;
}

/** The parts of a line such as `@handle • 1.2M subscribers`. */
function splitLine(text = ''): string[] {
  return withoutMarks(text)
    .split(/[•·]/)
    .map((part) => part.trim());
}
