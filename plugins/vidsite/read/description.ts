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
import { absoluteUrl, channelId, largestImage, shownText, usernameIn } from './text.js';

/**
 * The description as its owner wrote it. The page shortens the addresses in it and leads them through a redirect of its
 * own, which has the whole address.
 */
export function parseDescription(secondary: unknown): string | undefined {
  return parseAttributed(at(secondary, 'attributedDescription')) ?? ofRuns(at(secondary, 'description'));
}

/** Since 2022: a text, and commands for pieces of it. Pieces are counted in UTF-16 units. */
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
  return shownText((text + content.slice(from)).replace(SET_APART, '$1'));
}

function ofRuns(description: unknown): string | undefined {
  const runs = asArray(at(description, 'runs'));
  if (!runs) return shownText(description);
  return shownText(
    runs
      .map((run) => {
        const shown = asString(at(run, 'text')) ?? '';
        return targetOf(at(run, 'navigationEndpoint'), shown) ?? shown;
      })
      .join(''),
  );
}

/** Marks of writing direction that the page puts around names of channels. */
const SET_APART = /\u202a(@[^\u202a-\u202e\s]*)\u202c/g;

/**
 * The outside address that a piece stands for; names of channels, hashtags and time stamps have none. An address that is
 * shown whole is what the owner wrote, though the link behind it may lead to more.
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

/** What the panel behind "more" repeats of the page's item. */
export interface PanelReading {
  title?: string;
  author?: Common['author'];
  views?: Count;
  /** Rounded on this panel. */
  likes?: Count & { text: string };
  /** Whether the panel has a place for the likes without a number in it. */
  likesHidden?: boolean;
  dateText?: string;
  description?: string;
}

/** Since 2022 a panel says once more what stands under the player: for replies that lack the first place. */
export function parseDescriptionPanel(next: unknown): PanelReading | undefined {
  const header = inPanels(next, 'videoDescriptionHeaderRenderer');
  const body = inPanels(next, 'expandableVideoDescriptionBodyRenderer');
  if (!header && !body) return undefined;
  // Before and during a stream the list is empty, the counter is of those who wait or watch, and the day may be to come.
  const facts = asArray(header?.factoid) ?? [];
  const shown = facts.length > 0 ? header : undefined;
  return {
    title: shownText(header?.title),
    author: authorOf(header),
    views: countIn(shown?.views),
    ...likesOf(facts),
    dateText: shownText(shown?.publishDate),
    description: parseAttributed(body?.attributedDescriptionBodyText) ?? shownText(body?.descriptionBodyText),
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
  const name = shownText(header?.channel);
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

/** Likes, views and the day, in this order, unless a fact says that it is of likes. Hidden likes have no number. */
function likesOf(facts: readonly unknown[]): Pick<PanelReading, 'likes' | 'likesHidden'> {
  const sentiment = facts.map((fact) => asRecord(at(fact, 'sentimentFactoidRenderer'))).find(Boolean);
  const plain = facts.length === 3 ? facts[0] : undefined;
  if (!sentiment && !plain) return {};
  const likes = sentiment ? sentimentLikes(sentiment) : likesIn(plain);
  return likes ? { likes } : { likesHidden: true };
}

/** Has a fact for each state of the button. The one after a click counts the viewer's own like as well. */
function sentimentLikes(sentiment: JsonRecord): PanelReading['likes'] {
  const before = Object.keys(sentiment).find((name) => name.startsWith('factoidIf') && name !== 'factoidIfLiked');
  const likes = before && likesIn(sentiment[before]);
  if (likes) return likes;
  const after = likesIn(sentiment.factoidIfLiked);
  return after && { ...after, value: after.exact ? Math.max(after.value - 1, 0) : after.value };
}

function likesIn(fact: unknown): PanelReading['likes'] {
  const text = shownText(at(fact, 'factoidRenderer', 'value'));
  const count = text === undefined ? undefined : parseCount(text);
  return count && text !== undefined ? { ...count, text } : undefined;
}

function countIn(value: unknown): Count | undefined {
  const text = shownText(value);
  return text === undefined ? undefined : parseCount(text);
}

type Chapters = NonNullable<Common['chapters']>;

/** Chapters of the progress bar, else of the panel that lists them, else of the time stamps in the description. */
export function parseChapters(next: unknown, description: string | undefined): Chapters | undefined {
  const found = [() => ofProgressBar(next), () => ofPanels(next), () => ofDescription(description ?? '')];
  for (const read of found) {
    const chapters = read();
    if (chapters.length > 1) return chapters;
  }
  return undefined;
}

function ofProgressBar(next: unknown): Chapters {
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
    const title = shownText(at(item, 'chapterRenderer', 'title'));
    const start = asNumber(at(item, 'chapterRenderer', 'timeRangeStartMillis'));
    return title && start !== undefined && start >= 0 ? [{ title, start_seconds: start / 1000 }] : [];
  });
}

function ofPanels(next: unknown): Chapters {
  for (const panel of asArray(at(next, 'engagementPanels')) ?? []) {
    const renderer = at(panel, 'engagementPanelSectionListRenderer');
    const name = asString(at(renderer, 'panelIdentifier')) ?? asString(at(renderer, 'targetId')) ?? '';
    // The site's own "key moments" have a panel of the same shape; they divide nothing.
    if (!name.includes('macro-markers-description-chapters')) continue;
    return (asArray(at(renderer, 'content', 'macroMarkersListRenderer', 'contents')) ?? []).flatMap((item) => {
      const title = shownText(at(item, 'macroMarkersListItemRenderer', 'title'));
      const start = parseDuration(shownText(at(item, 'macroMarkersListItemRenderer', 'timeDescription')) ?? '');
      return title && start !== undefined ? [{ title, start_seconds: start }] : [];
    });
  }
  return [];
}

const STAMPED_LINE = /^[\s([•*-]*(\d{1,2}:\d{2}(?::\d{2})?)[\s)\]:–—|-]+(\S.*)/;

/** The site's own rule: at least three, in rising order, the first at zero. */
function ofDescription(description: string): Chapters {
  const chapters = description.split('\n').flatMap((line) => {
    const [, stamp, title] = STAMPED_LINE.exec(line) ?? [];
    const start = stamp === undefined ? undefined : parseDuration(stamp);
    return title && start !== undefined ? [{ title: title.trim(), start_seconds: start }] : [];
  });
  const rising = chapters.every((chapter, index) => chapter.start_seconds > (chapters[index - 1]?.start_seconds ?? -1));
  return chapters.length >= 3 && chapters[0]?.start_seconds === 0 && rising ? chapters : [];
}

type Music = NonNullable<Common['music']>;

/** The piece of music that the page credits; several are a list of songs, none of which is the item's own. */
export function parseMusic(next: unknown, secondary: unknown, description: string | undefined): Music | undefined {
  return ofLabel(description ?? '') ?? ofCards(next) ?? ofRows(secondary);
}

/** Descriptions that the site writes for a label's recordings: "Provided to … by …", then title and artists, then album. */
function ofLabel(description: string): Music | undefined {
  const paragraphs = description.split(/\n\s*\n/).map((paragraph) => paragraph.trim());
  if (!/^Provided to YouTube by /.test(paragraphs[0] ?? '')) return undefined;
  const [title, ...artists] = (paragraphs[1] ?? '').split(' · ');
  if (!title || artists.length === 0) return undefined;
  return { title, artist: artists.join(', '), album: paragraphs[2] || undefined };
}

/** Since 2023: cards in the description panel. */
function ofCards(next: unknown): Music | undefined {
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
    album: shownText(card.secondarySubtitle),
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

/** Until 2022: a table under the description, with titles in the interface's language. */
function ofRows(secondary: unknown): Music | undefined {
  const rows = asArray(at(secondary, 'metadataRowContainer', 'metadataRowContainerRenderer', 'rows')) ?? [];
  const music: Music = {};
  for (const row of rows) {
    const title = shownText(at(row, 'metadataRowRenderer', 'title')) ?? '';
    const name = title.trim().toLowerCase();
    const member = Object.hasOwn(ROWS, name) ? ROWS[name] : undefined;
    const value = shownText(at(row, 'metadataRowRenderer', 'contents', 0));
    if (!member || !value) continue;
    // A second song: a list, of which none is the item's own.
    if (music[member] !== undefined) return undefined;
    music[member] = value;
  }
  return music.title || music.artist ? music : undefined;
}
