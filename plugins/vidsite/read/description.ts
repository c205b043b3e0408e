import {
  asArray,
  asNumber,
  asRecord,
  asString,
  at,
  type Common,
  type Count,
  type JsonRecord,
  parseCount,
  parseDuration,
} from 'mediagate';
import { canonicalUrl } from '../links.js';
import { absoluteUrl, channelId, largestImage, textOf, usernameIn } from './text.js';

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

/** The data of the description panel. */
export interface DescriptionPanel {
  title?: string;
  author?: Common['author'];
  views?: Count;
  /** The panel rounds it. */
  likes?: Count & { text: string };
  /** True if the panel shows likes without a number. */
  likesHidden?: boolean;
  dateText?: string;
  description?: string;
}

/** Since 2022 a panel repeats the data below the player. It is read if the data below the player is incomplete. */
export function parseDescriptionPanel(next: unknown): DescriptionPanel | undefined {
  const header = inPanels(next, 'videoDescriptionHeaderRenderer');
  const body = inPanels(next, 'expandableVideoDescriptionBodyRenderer');
  if (!header && !body) return undefined;
  // Before and during a stream the list is empty, the counter is of viewers, and the day may be in the future.
  const factoids = asArray(header?.factoid) ?? [];
  const shown = factoids.length > 0 ? header : undefined;
  return {
    title: textOf(header?.title),
    author: authorOf(header),
    views: countIn(shown?.views),
    ...likesOf(factoids),
    dateText: textOf(shown?.publishDate),
    description: parseAttributed(body?.attributedDescriptionBodyText) ?? textOf(body?.descriptionBodyText),
  };
}

function inPanels(next: unknown, name: string): JsonRecord | undefined {
  for (const panel of asArray(at(next, 'engagementPanels')) ?? []) {
    const content = at(panel, 'engagementPanelSectionListRenderer', 'content', 'structuredDescriptionContentRenderer');
    for (const item of asArray(at(content, 'items')) ?? []) {
      const renderer = asRecord(at(item, name));
      if (renderer) return renderer;
    }
  }
  return undefined;
}

function authorOf(header: JsonRecord | undefined): Common['author'] {
  const name = textOf(header?.channel);
  const endpoint = at(header, 'channelNavigationEndpoint', 'browseEndpoint');
  const address = at(endpoint, 'canonicalBaseUrl');
  if (!name) return undefined;
  return {
    name,
    id: channelId(at(endpoint, 'browseId')),
    username: usernameIn(address),
    url: absoluteUrl(address),
    avatar: largestImage(at(header, 'channelThumbnail', 'thumbnails')),
  };
}

/** Likes, views and day, in this order, unless one is marked as the likes. Hidden likes have no number. */
function likesOf(factoids: readonly unknown[]): Pick<DescriptionPanel, 'likes' | 'likesHidden'> {
  const sentiment = factoids.map((fact) => asRecord(at(fact, 'sentimentFactoidRenderer'))).find(Boolean);
  const plain = factoids.length === 3 ? factoids[0] : undefined;
  if (!sentiment && !plain) return {};
  const likes = sentiment ? sentimentLikes(sentiment) : likesIn(plain);
  return likes ? { likes } : { likesHidden: true };
}

/** Has one text for each state of the button. The one after a click includes the viewer's own like. */
function sentimentLikes(sentiment: JsonRecord): DescriptionPanel['likes'] {
  const before = Object.keys(sentiment).find((name) => name.startsWith('factoidIf') && name !== 'factoidIfLiked');
  const likes = before && likesIn(sentiment[before]);
  if (likes) return likes;
  const after = likesIn(sentiment.factoidIfLiked);
  return after && { ...after, value: after.exact ? Math.max(after.value - 1, 0) : after.value };
}

function likesIn(fact: unknown): DescriptionPanel['likes'] {
  const text = textOf(at(fact, 'factoidRenderer', 'value'));
  const count = text === undefined ? undefined : parseCount(text);
  return count && text !== undefined ? { ...count, text } : undefined;
}

function countIn(value: unknown): Count | undefined {
  const text = textOf(value);
  return text === undefined ? undefined : parseCount(text);
}

type Chapters = NonNullable<Common['chapters']>;

/** The chapters of the progress bar, otherwise of the chapter panel, otherwise of time stamps in the description. */
export function parseChapters(next: unknown, description: string | undefined): Chapters | undefined {
  const found = [
    () => progressBarChapters(next),
    () => panelChapters(next),
    () => describedChapters(description ?? ''),
  ];
  for (const read of found) {
    const chapters = read();
    if (chapters.length > 1) return chapters;
  }
  return undefined;
}

function progressBarChapters(next: unknown): Chapters {
  const bar = at(
    next,
    'playerOverlays',
    'playerOverlayRenderer',
    'decoratedPlayerBarRenderer',
    'decoratedPlayerBarRenderer',
  );
  const markers = asArray(at(bar, 'playerBar', 'multiMarkersPlayerBarRenderer', 'markersMap')) ?? [];
  const kinds = ['DESCRIPTION_CHAPTERS', 'AUTO_CHAPTERS'];
  const map = kinds.map((kind) => markers.find((marker) => at(marker, 'key') === kind)).find(Boolean);
  return (asArray(at(map, 'value', 'chapters')) ?? []).flatMap((item) => {
    const title = textOf(at(item, 'chapterRenderer', 'title'));
    const start = asNumber(at(item, 'chapterRenderer', 'timeRangeStartMillis'));
    return title && start !== undefined && start >= 0 ? [{ title, start_seconds: start / 1000 }] : [];
  });
}

function panelChapters(next: unknown): Chapters {
  for (const panel of asArray(at(next, 'engagementPanels')) ?? []) {
    const renderer = at(panel, 'engagementPanelSectionListRenderer');
    const name = asString(at(renderer, 'panelIdentifier')) ?? asString(at(renderer, 'targetId')) ?? '';
    // The automatic "key moments" have a panel of the same shape; they are no chapters.
    if (!name.includes('macro-markers-description-chapters')) continue;
    return (asArray(at(renderer, 'content', 'macroMarkersListRenderer', 'contents')) ?? []).flatMap((item) => {
      const title = textOf(at(item, 'macroMarkersListItemRenderer', 'title'));
      const start = parseDuration(textOf(at(item, 'macroMarkersListItemRenderer', 'timeDescription')) ?? '');
      return title && start !== undefined ? [{ title, start_seconds: start }] : [];
    });
  }
  return [];
}

const STAMPED_LINE = /^[\s([•*-]*(\d{1,2}:\d{2}(?::\d{2})?)[\s)\]:–—|-]+(\S.*)/;

/** The rule of the site: at least three, ascending, the first at zero. */
function describedChapters(description: string): Chapters {
  const chapters = description.split('\n').flatMap((line) => {
    const [, stamp, title] = STAMPED_LINE.exec(line) ?? [];
    const start = stamp === undefined ? undefined : parseDuration(stamp);
    return title && start !== undefined ? [{ title: title.trim(), start_seconds: start }] : [];
  });
  const rising = chapters.every((chapter, index) => chapter.start_seconds > (chapters[index - 1]?.start_seconds ?? -1));
  return chapters.length >= 3 && chapters[0]?.start_seconds === 0 && rising ? chapters : [];
}

type Music = NonNullable<Common['music']>;

/** The music that the page credits. Undefined for several songs: none of them is the video's own. */
export function parseMusic(next: unknown, secondary: unknown, description: string | undefined): Music | undefined {
  return labelMusic(description ?? '') ?? cardMusic(next) ?? tableMusic(secondary);
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
  const cards: JsonRecord[] = [];
  for (const panel of asArray(at(next, 'engagementPanels')) ?? []) {
    const content = at(panel, 'engagementPanelSectionListRenderer', 'content', 'structuredDescriptionContentRenderer');
    for (const item of asArray(at(content, 'items')) ?? []) {
      for (const card of asArray(at(item, 'horizontalCardListRenderer', 'cards')) ?? []) {
        const attribute = asRecord(at(card, 'videoAttributeViewModel'));
        if (attribute) cards.push(attribute);
      }
    }
  }
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

const ROWS: Readonly<Record<string, keyof Music>> = {
  song: 'title',
  artist: 'artist',
  album: 'album',
  titel: 'title',
  künstler: 'artist',
  interpret: 'artist',
  titre: 'title',
  artiste: 'artist',
  canción: 'title',
  artista: 'artist',
  álbum: 'album',
  música: 'title',
  brano: 'title',
};

/** Until 2022: a table below the description, with titles in the interface language. */
function tableMusic(secondary: unknown): Music | undefined {
  const rows = asArray(at(secondary, 'metadataRowContainer', 'metadataRowContainerRenderer', 'rows')) ?? [];
  const music: Music = {};
  for (const row of rows) {
    const title = textOf(at(row, 'metadataRowRenderer', 'title')) ?? '';
    const name = title.trim().toLowerCase();
    const member = Object.hasOwn(ROWS, name) ? ROWS[name] : undefined;
    const value = textOf(at(row, 'metadataRowRenderer', 'contents', 0));
    if (!member || !value) continue;
    // A second song.
    if (music[member] !== undefined) return undefined;
    music[member] = value;
  }
  return music.title || music.artist ? music : undefined;
}
