/*
 * Readers for parts of pages from before 2024, which recorded pages in the tests still have: player configuration,
 * phone rows, like buttons and the table of music.
 */

import { asArray, at, type Common, findJsonAfter, type JsonRecord, tryParseJson } from 'mediagate/plugin';
import type { SiteConfig } from '../../fetch.js';
import { accessibilityLabel, rendererIn, textOf } from '../values.js';
import musicRows from './music-rows.json' with { type: 'json' };

/**
 * Until 2020 the player configuration of a page had the whole player reply, as JSON in a string, and pages in the phone
 * layout until 2021 had a configuration of their own.
 */
export function olderPlayer(html: string, { config, phoneConfig }: SiteConfig['markers']): unknown {
  const found = findJsonAfter(html, config, 0, 'as_numbers') ?? findJsonAfter(html, phoneConfig, 0, 'as_numbers');
  const reply = at(found?.value, 'args', 'player_response');
  return typeof reply === 'string' ? tryParseJson(reply) : undefined;
}

/** Until 2020 the phone layout had one renderer for title, views, day, description, buttons and owner. */
export function olderPhoneRow(items: readonly unknown[]): JsonRecord | undefined {
  return rendererIn(items, 'slimVideoMetadataRenderer');
}

/** Until 2020 the phone layout showed the comments below the video, with their number above. */
export function olderCommentsText(item: unknown): unknown {
  return at(item, 'commentSectionRenderer', 'header', 'commentSectionHeaderRenderer', 'countText');
}

/** The texts of a like button of 2020 to 2023, most exact first; undefined for another button. */
export function olderLikeTexts(button: unknown): (string | undefined)[] | undefined {
  const phone = at(button, 'slimMetadataToggleButtonRenderer');
  const single = at(button, 'toggleButtonRenderer');
  const toggle =
    at(button, 'segmentedLikeDislikeButtonRenderer', 'likeButton', 'toggleButtonRenderer') ??
    (at(phone, 'isLike') === true ? at(phone, 'button', 'toggleButtonRenderer') : undefined) ??
    (at(single, 'defaultIcon', 'iconType') === 'LIKE' ? single : undefined);
  if (toggle === undefined) return undefined;
  const text = at(toggle, 'defaultText');
  return [accessibilityLabel(text), accessibilityLabel(toggle), textOf(text)];
}

type Music = NonNullable<Common['music']>;

/** Until 2022: a table below the description, with titles in the interface language. */
export function olderMusic(described: unknown): Music | undefined {
  const music: Music = {};
  for (const row of asArray(at(described, 'metadataRowContainer', 'metadataRowContainerRenderer', 'rows')) ?? []) {
    const name = (textOf(at(row, 'metadataRowRenderer', 'title')) ?? '').trim().toLowerCase();
    const field = (['title', 'artist', 'album'] as const).find((one) => musicRows[one].includes(name));
    const value = textOf(at(row, 'metadataRowRenderer', 'contents', 0));
    if (!field || !value) continue;
    // A second song.
    if (music[field] !== undefined) return undefined;
    music[field] = value;
  }
  return music.title || music.artist ? music : undefined;
}
