startCopyButtons(document);
ignoreDoubleClicks(document);

const SHOWN_MS = 2_000;
/** What is to be done takes longer to read than what was done. */
const ADVICE_MS = 8_000;

/** Buttons with `data-copy="id"` copy the text of that element; they say so themselves, to screen readers as well. */
export function startCopyButtons(root: Document): void {
  root.addEventListener('click', async (event) => {
    const button = event.target instanceof Element ? event.target.closest<HTMLElement>('[data-copy]') : null;
    const source = button?.dataset.copy && root.getElementById(button.dataset.copy);
    if (!button || !source) return;
    const label = button.querySelector('[aria-live]') ?? button;
    button.dataset.label ??= label.textContent ?? '';
    const before = button.dataset.label;
    const isCopied = await copy((source.textContent ?? '').trimEnd());
    if (!isCopied) getSelection()?.selectAllChildren(source);
    const said = isCopied ? 'Copied' : `Press ${copyKeys()}`;
    label.textContent = said;
    setTimeout(
      () => {
        if (label.textContent === said) label.textContent = before;
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
    // Without TLS, or where the browser does not allow it, there is no clipboard.
    return false;
  }
}

function copyKeys(): string {
  return /Mac|iPhone|iPad/.test(navigator.userAgent) ? '⌘C' : 'Ctrl+C';
}

/** Whoever clicks twice where once is enough means it once. A second that comes later is a click of its own. */
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
