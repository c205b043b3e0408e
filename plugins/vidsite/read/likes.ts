import { asArray, asString, at, findAll, parseCount } from 'mediagate';
import { accessibilityLabel, textOf } from './text.js';

export interface Likes {
  value: number;
  /** False if the page shows only a rounded number. */
  exact: boolean;
  /** The text on the page. */
  text: string;
}

/**
 * The likes on the button under the title, in any interface language: the label for screen readers has the exact
 * number. Undefined if the button has no number, e.g. because the owner hides it.
 */
export function parseLikes(buttons: readonly unknown[], next: unknown): Likes | undefined {
  const shown = countIn(buttonTexts(buttons));
  if (shown?.exact) return shown;
  const inEntity = countIn(entityTexts(next));
  return inEntity?.exact ? inEntity : (shown ?? inEntity);
}

/** The first exact number, otherwise the first rounded one. */
function countIn(texts: readonly string[]): Likes | undefined {
  let rounded: Likes | undefined;
  for (const text of texts) {
    const count = parseCount(text);
    if (count?.exact) return { ...count, text };
    if (count) rounded ??= { ...count, text };
  }
  return rounded;
}

function buttonTexts(buttons: readonly unknown[]): string[] {
  for (const button of buttons) {
    const texts =
      modelTexts(at(button, 'segmentedLikeDislikeButtonViewModel', 'likeButtonViewModel')) ??
      toggleTexts(at(button, 'segmentedLikeDislikeButtonRenderer', 'likeButton', 'toggleButtonRenderer')) ??
      toggleTexts(likeToggle(at(button, 'toggleButtonRenderer')));
    if (texts) return texts;
  }
  return [];
}

/** Since 2023. The state after a click would count one more. */
function modelTexts(model: unknown): string[] | undefined {
  if (model === undefined) return undefined;
  const toggle = at(model, 'likeButtonViewModel', 'toggleButtonViewModel', 'toggleButtonViewModel');
  const button = at(toggle, 'defaultButtonViewModel', 'buttonViewModel');
  return [asString(at(button, 'accessibilityText')), asString(at(button, 'title'))].filter(
    (text) => text !== undefined,
  );
}

/** 2020 to 2023. */
function toggleTexts(toggle: unknown): string[] | undefined {
  if (toggle === undefined) return undefined;
  const text = at(toggle, 'defaultText');
  return [accessibilityLabel(text), accessibilityLabel(toggle), textOf(text)].filter((found) => found !== undefined);
}

function likeToggle(toggle: unknown): unknown {
  return at(toggle, 'defaultIcon', 'iconType') === 'LIKE' ? toggle : undefined;
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
