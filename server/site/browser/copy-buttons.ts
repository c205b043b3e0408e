const SHOWN_MS = 2_000;

/** Buttons with `data-copy="id"` copy the text of that element; they say so themselves, to screen readers as well. */
export function startCopyButtons(root: Document): void {
  root.addEventListener('click', async (event) => {
    const button = event.target instanceof Element ? event.target.closest<HTMLElement>('[data-copy]') : null;
    const source = button?.dataset.copy && root.getElementById(button.dataset.copy);
    if (!button || !source) return;
    const label = button.querySelector('[aria-live]') ?? button;
    button.dataset.label ??= label.textContent ?? '';
    const before = button.dataset.label;
    label.textContent = (await copy(textOf(source))) ? 'Copied' : 'Not copied';
    setTimeout(() => {
      label.textContent = before;
    }, SHOWN_MS);
  });
}

function textOf(source: HTMLElement): string {
  return source instanceof HTMLInputElement ? source.value : (source.textContent ?? '').trimEnd();
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
