import { asArray, asString, at, findAll, parseCount } from 'mediagate';
import { shownText, spokenLabel } from './text.js';

export interface LikesReading {
  value: number;
  /** False where the page shows a rounded number only. */
  exact: boolean;
  /** As the page has it. */
  text: string;
}

/**
 * The likes on the button under the title, in whatever interface language: the label for screen readers holds the whole
 * number. Undefined where the button bears none, as when the owner hides them.
 */
export function parseLikes(buttons: readonly unknown[], next: unknown): LikesReading | undefined {
  const shown = countIn(buttonTexts(buttons));
  if (shown?.exact) return shown;
  const kept = countIn(entityTexts(next));
  return kept?.exact ? kept : (shown ?? kept);
}

/** The first whole number, or else the first rounded one. */
function countIn(texts: readonly string[]): LikesReading | undefined {
  let rounded: LikesReading | undefined;
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

/** Since 2023. Only the state before a click counts: the other is one higher. */
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
  return [spokenLabel(text), spokenLabel(toggle), shownText(text)].filter((found) => found !== undefined);
}

function likeToggle(toggle: unknown): unknown {
  return at(toggle, 'defaultIcon', 'iconType') === 'LIKE' ? toggle : undefined;
}

/** Newer replies keep the number in an entity that the button refers to; it bears the item's key, not its id. */
function entityTexts(next: unknown): string[] {
  const mutations = asArray(at(next, 'frameworkUpdates', 'entityBatchUpdate', 'mutations')) ?? [];
  const entities = mutations.map((mutation) => at(mutation, 'payload', 'likeCountEntity')).filter(Boolean);
  // Several would be those of other items as well.
  if (entities.length !== 1) return [];
  const found = findAll(entities[0], (_node, key) => key === 'expandedLikeCountIfIndifferent', { maxNodes: 50 });
  return [asString(at(entities[0], 'likeCountIfIndifferentNumber')), ...found.map(shownText)].filter(
    (text) => text !== undefined,
  );
}
