/*
 * Reads the parts of a page that belong to the description: text, chapters, music, and the panel that repeats the
 * video's data. The page shortens URLs; the full ones are taken from the links behind them, whose ranges are in UTF-16
 * units. Chapters come from the progress bar, else from the panel, else from time stamps under the site's own rule: at
 * least three, ascending, from zero. Several credited songs mean that none is the video's own. Of likes, the state
 * before a click is read.
 */

import {
  asArray,
  asNumber,
  asRecord,
  asRecords,
  asString,
  at,
  type Common,
  type JsonRecord,
  parseDuration,
} from 'mediagate/plugin';
import { canonicalUrl } from '../links.js';
import { countsIn, type ShownCount } from './counters.js';
import { olderMusic } from './older/layouts.js';
import { panelsOf, rendererIn, shownAuthor, textOf } from './values.js';

/**
 * The description as its owner wrote it. The page shortens URLs in it and links to a redirect, which has the whole URL.
 */
export function parseDescription(secondary: unknown): string | undefined {
  return parseAttributed(at(secondary, 'attributedDescription')) ?? runsText(at(secondary, 'description'));
}

/** Since 2022: a text, and commands for ranges of it. Ranges are in UTF-16 units. */
export function parseAttributed(description: unknown): string | undefined {
  const content = asString(at(description, 'content'));
  if (content === undefined) return undefined;
  let text = '';
  let from = 0;
  for (const run of asArray(at(description, 'commandRuns')) ?? []) {
    const start = asNumber(at(run, 'startIndex'));
    const length = asNumber(at(run, 'length'));
    if (start === undefined || length === undefined || start < from || length < 0) continue;
    const shown = content.slice(start, start + length);
    text += content.slice(from, start) + (targetOf(at(run, 'onTap', 'innertubeCommand'), shown) ?? shown);
    from = start + length;
  }
  return textOf((text + content.slice(from)).replace(SET_APART, '$1'));
}

function runsText(description: unknown): string | undefined {
  const runs = asArray(at(description, 'runs'));
  if (!runs) return textOf(description);
  return textOf(
    runs
      .map((run) => {
        const shown = asString(at(run, 'text')) ?? '';
        return targetOf(at(run, 'navigationEndpoint'), shown) ?? shown;
      })
      .join(''),
  );
}

/** Marks of writing direction that the page adds around channel names. */
const SET_APART = /\u202a(@[^\u202a-\u202e\s]*)\u202c/g;

/**
 * The external URL behind a range; channel names, hashtags and time stamps have none. A URL that is shown whole is what
 * the owner wrote, although the link may be longer.
 */
function targetOf(command: unknown, shown: string): string | undefined {
  const address = asString(at(command, 'urlEndpoint', 'url'));
  const url = address && URL.parse(address, 'https://www.youtube.com');
  if (!url) return undefined;
  const redirect = url.hostname.endsWith('youtube.com') && url.pathname === '/redirect';
  const target = redirect ? (url.searchParams.get('q') ?? undefined) : URL.canParse(address) ? address : undefined;
  const plain = shown.trim();
  return plain !== '' && target?.startsWith(plain) ? undefined : target;
}

/** Since 2022 a panel repeats the data below the player. It is read if the data below the player is incomplete. */
export function parseDescriptionPanel(next: unknown) {
  const items = descriptionItems(next);
  const header = rendererIn(items, 'videoDescriptionHeaderRenderer');
  const body = rendererIn(items, 'expandableVideoDescriptionBodyRenderer');
  if (!header && !body) return undefined;
  // Before and during a stream the list is empty, the counter is of viewers, and the day may be in the future.
  const factoids = asArray(header?.factoid) ?? [];
  const shown = factoids.length > 0 ? header : undefined;
  const name = textOf(header?.channel);
  const endpoint = at(header, 'channelNavigationEndpoint', 'browseEndpoint');
  return {
    title: textOf(header?.title),
    author: name ? shownAuthor(name, endpoint, at(header, 'channelThumbnail', 'thumbnails')) : undefined,
    views: countsIn([textOf(shown?.views)])[0],
    ...likesOf(factoids),
    dateText: textOf(shown?.publishDate),
    description: parseAttributed(body?.attributedDescriptionBodyText) ?? textOf(body?.descriptionBodyText),
  };
}

/** The items of the panels with a description. */
function descriptionItems(next: unknown): readonly unknown[] {
  return panelsOf(next).flatMap(
    ({ renderer }) => asArray(at(renderer, 'content', 'structuredDescriptionContentRenderer', 'items')) ?? [],
  );
}

/** Likes, views and day, in this order, unless one is marked as the likes. Hidden likes have no number. */
function likesOf(factoids: readonly unknown[]): { likes?: ShownCount; likesHidden?: boolean } {
  const sentiment = factoids.map((fact) => asRecord(at(fact, 'sentimentFactoidRenderer'))).find(Boolean);
  const plain = factoids.length === 3 ? factoids[0] : undefined;
  if (!sentiment && !plain) return {};
  const likes = sentiment ? sentimentLikes(sentiment) : likesIn(plain);
  return likes ? { likes } : { likesHidden: true };
}

/** Has one text for each state of the button. The one after a click includes the viewer's own like. */
function sentimentLikes(sentiment: JsonRecord): ShownCount | undefined {
  const before = Object.keys(sentiment).find((name) => name.startsWith('factoidIf') && name !== 'factoidIfLiked');
  const likes = before && likesIn(sentiment[before]);
  if (likes) return likes;
  const after = likesIn(sentiment.factoidIfLiked);
  return after && { ...after, value: after.exact ? Math.max(after.value - 1, 0) : after.value };
}

function likesIn(fact: unknown): ShownCount | undefined {
  return countsIn([textOf(at(fact, 'factoidRenderer', 'value'))])[0];
}

type Chapters = NonNullable<Common['chapters']>;

/** The chapters of the progress bar, otherwise of the chapter panel, otherwise of time stamps in the description. */
export function parseChapters(next: unknown, description: string | undefined): Chapters | undefined {
  const lists = [progressBarChapters(next), panelChapters(next), describedChapters(description ?? '')];
  return lists.find((chapters) => chapters.length > 1);
}

function progressBarChapters(next: unknown): Chapters {
  const overlay = at(next, 'playerOverlays', 'playerOverlayRenderer', 'decoratedPlayerBarRenderer');
  const bar = at(overlay, 'decoratedPlayerBarRenderer', 'playerBar', 'multiMarkersPlayerBarRenderer');
  const markers = asArray(at(bar, 'markersMap')) ?? [];
  const kinds = ['DESCRIPTION_CHAPTERS', 'AUTO_CHAPTERS'];
  const map = kinds.map((kind) => markers.find((marker) => at(marker, 'key') === kind)).find(Boolean);
  return (asArray(at(map, 'value', 'chapters')) ?? []).flatMap((item) => {
    const start = asNumber(at(item, 'chapterRenderer', 'timeRangeStartMillis'));
    return chapter(at(item, 'chapterRenderer', 'title'), start === undefined ? undefined : start / 1000);
  });
}

function panelChapters(next: unknown): Chapters {
  // The automatic "key moments" have a panel of the same shape; they are no chapters.
  const panel = panelsOf(next).find(({ name }) => name.includes('macro-markers-description-chapters'));
  const items = asArray(at(panel?.renderer, 'content', 'macroMarkersListRenderer', 'contents')) ?? [];
  return items.flatMap((item) => {
    const marker = at(item, 'macroMarkersListItemRenderer');
    return chapter(at(marker, 'title'), parseDuration(textOf(at(marker, 'timeDescription')) ?? ''));
  });
}

function chapter(node: unknown, start_seconds: number | undefined): Chapters {
  const title = textOf(node);
  return title && start_seconds !== undefined && start_seconds >= 0 ? [{ title, start_seconds }] : [];
}

const STAMPED_LINE = /^[\s([•*-]*(\d{1,2}:\d{2}(?::\d{2})?)[\s)\]:–—|-]+(\S.*)/;

/** The rule of the site: at least three, ascending, the first at zero. */
function describedChapters(description: string): Chapters {
  const chapters = description.split('\n').flatMap((line) => {
    const [, stamp = '', title] = STAMPED_LINE.exec(line) ?? [];
    return chapter(title?.trim(), parseDuration(stamp));
  });
  const rising = chapters.every((chapter, index) => chapter.start_seconds > (chapters[index - 1]?.start_seconds ?? -1));
  return chapters.length >= 3 && chapters[0]?.start_seconds === 0 && rising ? chapters : [];
}

type Music = NonNullable<Common['music']>;

/** The music that the page credits. Undefined for several songs: none of them is the video's own. */
export function parseMusic(next: unknown, described: unknown, description: string | undefined): Music | undefined {
  return labelMusic(description ?? '') ?? cardMusic(next) ?? olderMusic(described);
}

/** Descriptions that the site generates for recordings: "Provided to … by …", then title and artists, then album. */
function labelMusic(description: string): Music | undefined {
  const paragraphs = description.split(/\n\s*\n/).map((paragraph) => paragraph.trim());
  if (!/^Provided to YouTube by /.test(paragraphs[0] ?? '')) return undefined;
  const [title, ...artists] = (paragraphs[1] ?? '').split(' · ');
  if (!title || artists.length === 0) return undefined;
  return { title, artist: artists.join(', '), album: paragraphs[2] || undefined };
}

/** Since 2023: cards in the description panel. */
function cardMusic(next: unknown): Music | undefined {
  const lists = descriptionItems(next).map((item) => at(item, 'horizontalCardListRenderer', 'cards'));
  const cards = asRecords(lists.flatMap((list) => asRecords(list).map((card) => card.videoAttributeViewModel)));
  const songs = cards.filter((card) => asString(card.title) && asString(card.subtitle) && card.secondarySubtitle);
  const [card] = songs;
  if (!card || songs.length !== 1) return undefined;
  const id = asString(at(card, 'onTap', 'innertubeCommand', 'watchEndpoint', 'videoId'));
  return {
    title: asString(card.title),
    artist: asString(card.subtitle),
    album: textOf(card.secondarySubtitle),
    ...(id && { id, url: canonicalUrl(id) }),
  };
}
