import { asArray, asRecord, at, type Common, type Count, type JsonRecord, parseCount } from 'mediagate';
import { parseAttributed } from './parse-description.js';
import { largestImage } from './parse-images.js';
import { absoluteUrl, channelId, shownText, usernameIn } from './renderer-text.js';

/** What the panel behind "more" repeats of the page's item. */
export interface PanelReading {
  title?: string;
  author?: Common['author'];
  views?: Count;
  /** Rounded on this panel. */
  likes?: Count & { text: string };
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
    likes: likesOf(facts),
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

/** Likes, views and the day, in this order. Hidden likes keep their place, without a number. */
function likesOf(facts: readonly unknown[]): PanelReading['likes'] {
  const text = shownText(at(facts[0], 'factoidRenderer', 'value'));
  const count = facts.length === 3 && text !== undefined ? parseCount(text) : undefined;
  return count && text !== undefined ? { ...count, text } : undefined;
}

function countIn(value: unknown): Count | undefined {
  const text = shownText(value);
  return text === undefined ? undefined : parseCount(text);
}
