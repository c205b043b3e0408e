import { asArray, asRecord, at, type Common, type Count, type JsonRecord, parseCount } from 'mediagate';
import { parseAttributed } from './description.js';
import { largestImage } from './images.js';
import { absoluteUrl, channelId, shownText, usernameIn } from './text.js';

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
