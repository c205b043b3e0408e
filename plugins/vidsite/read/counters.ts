import { asArray, asRecord, asString, at, type Count, findAll, parseCount } from 'mediagate/plugin';
import type { PageLayout } from './next.js';
import { olderCommentsText, olderLikeTexts } from './older/layouts.js';
import { panelsOf, textOf } from './values.js';

/** A count and the text on the page that it was read from. */
export type ShownCount = Count & { text: string };

/** The first exact count of the texts, otherwise the first rounded one. */
export function countIn(texts: readonly (string | undefined)[]): ShownCount | undefined {
  let rounded: ShownCount | undefined;
  for (const text of texts) {
    const count = text === undefined ? undefined : parseCount(text);
    if (count?.exact && text !== undefined) return { ...count, text };
    if (count && text !== undefined) rounded ??= { ...count, text };
  }
  return rounded;
}

/**
 * The likes on the button under the title, in any interface language: the label for screen readers has the exact
 * number. Undefined if the button has no number, e.g. because the owner hides it.
 */
export function parseLikes(buttons: readonly unknown[], next: unknown): ShownCount | undefined {
  const shown = countIn(buttons.map((button) => likeTexts(button) ?? olderLikeTexts(button)).find(Boolean) ?? []);
  if (shown?.exact) return shown;
  const inEntity = countIn(entityTexts(next));
  return inEntity?.exact ? inEntity : (shown ?? inEntity);
}

/** Since 2023. The state after a click would count one more. */
function likeTexts(button: unknown): string[] | undefined {
  const model = at(button, 'segmentedLikeDislikeButtonViewModel', 'likeButtonViewModel');
  if (model === undefined) return undefined;
  const toggle = at(model, 'likeButtonViewModel', 'toggleButtonViewModel', 'toggleButtonViewModel');
  const before = at(toggle, 'defaultButtonViewModel', 'buttonViewModel');
  return [asString(at(before, 'accessibilityText')), asString(at(before, 'title'))].filter(
    (text) => text !== undefined,
  );
}

/** Newer replies have the number in an entity that the button refers to by a key, not by the video id. */
function entityTexts(next: unknown): string[] {
  const mutations = asArray(at(next, 'frameworkUpdates', 'entityBatchUpdate', 'mutations')) ?? [];
  const entities = mutations.map((mutation) => at(mutation, 'payload', 'likeCountEntity')).filter(Boolean);
  // Several entities include those of other videos.
  if (entities.length !== 1) return [];
  const found = findAll(entities[0], (_node, key) => key === 'expandedLikeCountIfIndifferent', { maxNodes: 50 });
  return [asString(at(entities[0], 'likeCountIfIndifferentNumber')), ...found.map(textOf)].filter(
    (text) => text !== undefined,
  );
}

export interface Views {
  total?: Count | undefined;
  watching?: Count | undefined;
  live: boolean;
  /** A stream that has not started, or is off the air. */
  waiting: boolean;
  text: string | undefined;
}

/**
 * During a stream the line counts the viewers, before it those who wait; the player's "live" sign distinguishes the two
 * in every interface language.
 */
export function parseViews(layout: PageLayout | undefined, hasLiveSign: boolean): Views {
  const text = layout?.viewsText;
  const count = text === undefined ? undefined : parseCount(text);
  const watching = /\bwatching\b/i.test(text ?? '');
  const isStream = layout?.isStream ?? (hasLiveSign || watching || /\bwaiting\b/i.test(text ?? ''));
  if (!isStream) return { live: false, waiting: false, text, total: count };
  const live = hasLiveSign || watching;
  return { live, waiting: !live, text, ...(live && { watching: count }) };
}

/** The number of comments, above them, on the card that leads to them, or on their panel. */
export function parseComments(next: unknown, items: readonly unknown[]): ShownCount | undefined {
  const shown = items.flatMap((item) => {
    const teaser = at(item, 'commentsEntryPointHeaderRenderer');
    const carousel = at(item, 'videoMetadataCarouselViewModel');
    return [at(teaser, 'commentCount'), at(teaser, 'headerText'), olderCommentsText(item), ...carouselTexts(carousel)];
  });
  const inPanels = panelsOf(next).flatMap(({ name, renderer }) =>
    name.includes('comment') ? [at(renderer, 'header', 'engagementPanelTitleHeaderRenderer', 'contextualInfo')] : [],
  );
  return countIn([...shown, ...inPanels].map(textOf));
}

/** Since 2024 a carousel below the video has one card for the comments. */
function carouselTexts(carousel: unknown): unknown[] {
  const titles = asArray(at(carousel, 'carouselTitles')) ?? [];
  return (asArray(at(carousel, 'carouselItems')) ?? []).flatMap((item, index) => {
    const model = at(item, 'carouselItemViewModel');
    const names = [asString(at(model, 'itemType')) ?? '', ...Object.keys(asRecord(at(model, 'carouselItem')) ?? {})];
    if (!names.some((name) => /comment/i.test(name))) return [];
    const title = at(titles[index], 'carouselTitleViewModel');
    return [at(title, 'subtitle'), at(title, 'title')];
  });
}
