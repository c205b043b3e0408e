import { asArray, asString, at, findAll, type JsonRecord } from 'mediagate/plugin';
import { olderPhoneRow } from './older/layouts.js';
import { rendererIn, textOf } from './values.js';

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
export function columnItems(next: unknown): readonly unknown[] {
  const contents = at(next, 'contents');
  const columns = at(contents, 'twoColumnWatchNextResults') ?? at(contents, 'singleColumnWatchNextResults');
  const items = asArray(at(columns, 'results', 'results', 'contents')) ?? [];
  return items.flatMap((item) => [item, ...SECTIONS.flatMap((name) => asArray(at(item, name, 'contents')) ?? [])]);
}

/** Undefined if the column shows no video. */
export function readLayout(items: readonly unknown[]): PageLayout | undefined {
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
