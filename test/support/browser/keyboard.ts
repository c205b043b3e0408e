/** A page that is used by keyboard alone. */

import type { Page } from 'playwright-core';

/** Most presses of Tab until something is reached. */
export const MOST_STOPS = 150;

/** What has the focus, as people are told of it. */
export interface Stop {
  id: string;
  tag: string;
  name: string;
  isMarked: boolean;
  isInView: boolean;
}

export interface Keyboard {
  press(...keys: readonly string[]): Promise<void>;
  type(text: string): Promise<void>;
  focused(): Promise<Stop>;
  /** Presses Tab until something of that name has the focus. @throws Error if nothing has it. */
  tabTo(name: string | RegExp): Promise<void>;
}

export function createKeyboard(page: Page): Keyboard {
  const press = (...keys: readonly string[]): Promise<void> =>
    keys.reduce((before, key) => before.then(() => page.keyboard.press(key)), Promise.resolve());

  const focused = (): Promise<Stop> =>
    page.evaluate(() => {
      const at = document.activeElement ?? document.body;
      const { outlineStyle, outlineWidth } = getComputedStyle(at);
      const { top, bottom, width } = at.getBoundingClientRect();
      const words =
        at.getAttribute('aria-label') ?? (at as HTMLInputElement).labels?.[0]?.textContent ?? at.textContent;
      return {
        id: at.id,
        tag: at.tagName.toLowerCase(),
        name: (words ?? '').replace(/\s+/g, ' ').trim(),
        isMarked: outlineStyle !== 'none' && Number.parseFloat(outlineWidth) >= 1,
        isInView: width > 0 && bottom > 0 && top < innerHeight,
      };
    });

  async function tabTo(name: string | RegExp): Promise<void> {
    for (let stops = 0; stops < MOST_STOPS; stops += 1) {
      await press('Tab');
      const stop = await focused();
      if (typeof name === 'string' ? stop.name === name : name.test(stop.name)) return;
    }
    throw new Error(`nothing named ${name} is reached`);
  }

  return { press, type: (text) => page.keyboard.type(text), focused, tabTo };
}
