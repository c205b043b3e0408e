/*
 * Behaviour of every page: buttons that copy a text and announce it, submit buttons that count a double click once,
 * menus that close, tabs, and times in the zone of the visitor.
 */

import type { ScriptTexts } from '../language/script-texts.js';
import './tabs.js';
import { showLocalTimes } from './times.js';

/** Without `texts.ts`, which is then one file with what all other scripts share. */
const t = (globalThis as unknown as { siteTexts: ScriptTexts }).siteTexts.page;

startCopyButtons(document);
ignoreDoubleClicks(document);
closeMenus(document);
showLocalTimes(document);

const SHOWN_MS = 2_000;
/** An instruction takes longer to read than a confirmation. */
const ADVICE_MS = 8_000;

/**
 * Buttons with `data-copy="id"` copy the text of that element, those without an id that of the element before them, and
 * announce it, also to screen readers.
 */
export function startCopyButtons(root: Document): void {
  root.addEventListener('click', async (event) => {
    const button = event.target instanceof Element ? event.target.closest<HTMLElement>('[data-copy]') : null;
    const source = button?.dataset.copy ? root.getElementById(button.dataset.copy) : button?.previousElementSibling;
    if (!button || !source) return;
    const label = button.querySelector('[aria-live]') ?? button;
    button.dataset.label ??= label.textContent ?? '';
    const before = button.dataset.label;
    const isCopied = await copy((source.textContent ?? '').trimEnd());
    if (!isCopied) getSelection()?.selectAllChildren(source);
    const status = isCopied ? t.copied : t.pressKeys.replace('{keys}', copyKeys());
    label.textContent = status;
    button.toggleAttribute('data-copied', isCopied);
    setTimeout(
      () => {
        button.removeAttribute('data-copied');
        if (label.textContent === status) label.textContent = before;
      },
      isCopied ? SHOWN_MS : ADVICE_MS,
    );
  });
}

async function copy(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    // Without TLS, or without permission, there is no clipboard.
    return false;
  }
}

function copyKeys(): string {
  return /Mac|iPhone|iPad/.test(navigator.userAgent) ? '⌘C' : 'Ctrl+C';
}

/** A menu closes as another part of the page is pressed, after a choice, and by Esc, which returns to its button. */
function closeMenus(root: Document): void {
  const open = () => root.querySelectorAll<HTMLDetailsElement>('details:is(.menu, .console-nav > *)[open]');
  root.addEventListener('click', ({ target }) => {
    const isInside = (menu: Element) => target instanceof Element && menu.querySelector('summary')?.contains(target);
    for (const menu of open()) if (!isInside(menu)) menu.open = false;
  });
  root.addEventListener('keydown', ({ key, target }) => {
    if (key !== 'Escape') return;
    for (const menu of open()) {
      menu.open = false;
      if (target instanceof Node && menu.contains(target)) menu.querySelector('summary')?.focus();
    }
  });
}

/** A double click counts once. A second click later is separate. */
export function ignoreDoubleClicks(root: Document): void {
  root.addEventListener(
    'click',
    (event) => {
      const button = event.target instanceof Element ? event.target.closest('button') : null;
      if (event.detail > 1 && button?.type === 'submit') event.preventDefault();
    },
    { capture: true },
  );
}
