/*
 * Reads the counters that pages show as text, such as `1.2M views`, with a mark if they are rounded. Labels for screen
 * readers are preferred, because they have the exact number. The number of viewers of a stream is not taken for views.
 */

import { asArray, asRecord, asString, at, type Count, findAll, parseCount } from 'mediagate/plugin';
import { olderCommentsText, olderLikeTexts } from './older/layouts.js';
import { panelsOf, textOf } from './values.js';

/** A count and the text on the page that it was read from. */
export type ShownCount = Count & { text: string };

/** The counts in texts. Texts without one are left out. */
export function countsIn(texts: readonly (string | undefined)[]): ShownCount[] {
  return texts.flatMap((text = '') => {
    const count = parseCount(text);
    return count ? [{ ...count, text }] : [];
  });
}

/** The first exact count, otherwise the first count. */
export function bestCount(counts: readonly (ShownCount | undefined)[]): ShownCount | undefined {
  return counts.find((count) => count?.exact) ?? counts.find(Boolean);
}

/**
 * The likes on the button under the title, in any interface language: the label for screen readers has the exact
 * number. Undefined if the button has no number, e.g. because the owner hides it.
 */
export function parseLikes(buttons: readonly unknown[], next: unknown): ShownCount | undefined {
  const texts = buttons.map((button) => likeTexts(button) ?? olderLikeTexts(button)).find(Boolean) ?? [];
  return bestCount(countsIn([...texts, ...entityTexts(next)]));
}

/** Since 2023. The state after a click would count one more. */
function likeTexts(button: unknown): (string | undefined)[] | undefined {
  const model = at(button, 'segmentedLikeDislikeButtonViewModel', 'likeButtonViewModel');
  if (model === undefined) return undefined;
  const toggle = at(model, 'likeButtonViewModel', 'toggleButtonViewModel', 'toggleButtonViewModel');
  const before = at(toggle, 'defaultButtonViewModel', 'buttonViewModel');
  return [asString(at(before, 'accessibilityText')), asString(at(before, 'title'))];
}

/** Newer replies have the number in an entity that the button refers to by a key, not by the video id. */
function entityTexts(next: unknown): (string | undefined)[] {
  const mutations = asArray(at(next, 'frameworkUpdates', 'entityBatchUpdate', 'mutations')) ?? [];
  const entities = mutations.map((mutation) => at(mutation, 'payload', 'likeCountEntity')).filter(Boolean);
  // Several entities include those of other videos.
  if (entities.length !== 1) return [];
  const found = findAll(entities[0], (_node, key) => key === 'expandedLikeCountIfIndifferent', { maxNodes: 50 });
  return [asString(at(entities[0], 'likeCountIfIndifferentNumber')), ...found.map(textOf)];
}

/**
 * The line with the views. During a stream it counts the viewers, before it those who wait; the player's "live" sign
 * distinguishes the two in every interface language. `isStream` is undefined if the layout does not tell streams from
 * videos.
 */
export function parseViews(text: string | undefined, isStream: boolean | undefined, hasLiveSign: boolean) {
  const [count] = countsIn([text]);
  const hasViewers = /\bwatching\b/i.test(text ?? '');
  const hasWaiting = /\bwaiting\b/i.test(text ?? '');
  const streams = isStream ?? (hasLiveSign || hasViewers || hasWaiting);
  const live = streams && (hasLiveSign || hasViewers);
  // The stream has not started, or is off the air.
  const waiting = streams && !live;
  return {
    total: streams ? undefined : count,
    watching: live ? count : undefined,
    live,
    waiting,
    announced: waiting && hasWaiting,
  };
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
  return bestCount(countsIn([...shown, ...inPanels].map(textOf)));
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
