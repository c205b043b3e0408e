import { asArray, asRecord, asString, at, type Common, type JsonRecord } from 'mediagate';
import { canonicalUrl } from '../links.js';
import { shownText } from './text.js';

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
