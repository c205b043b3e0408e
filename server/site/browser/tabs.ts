/*
 * Tabs as in the ARIA practices: arrow keys move, one panel is visible, and the fragment of the URL may name it. A part
 * that has become a page of its own is a link beside the tabs: its earlier fragment leads there.
 */

/** Tabs as in the ARIA practices: arrow keys move, one panel is visible, the URL fragment may name it. */
function startTabs(tabs: Element): void {
  const buttons = [...tabs.querySelectorAll<HTMLElement>('[role="tab"]')];

  function show(selected: HTMLElement): void {
    for (const button of buttons) {
      const isSelected = button === selected;
      button.setAttribute('aria-selected', String(isSelected));
      button.tabIndex = isSelected ? 0 : -1;
      panelOf(button)?.toggleAttribute('hidden', !isSelected);
    }
    tabs.toggleAttribute('data-ready', true);
  }

  function choose(button: HTMLElement | undefined): void {
    if (!button) return;
    show(button);
    button.focus();
    history.replaceState(null, '', `#${button.getAttribute('aria-controls')}`);
  }

  for (const [index, button] of buttons.entries()) {
    button.addEventListener('click', () => choose(button));
    button.addEventListener('keydown', (event) => {
      const next = nextIndex(event.key, index, buttons.length);
      if (next === undefined) return;
      event.preventDefault();
      choose(buttons[next]);
    });
  }
  const showNamed = () => {
    const moved = [...tabs.querySelectorAll<HTMLAnchorElement>('a[data-also]')].find(isNamed);
    if (moved) return location.replace(moved.href);
    const named = buttons.find(
      (button) => isNamed(button) || `#${button.getAttribute('aria-controls')}` === location.hash,
    );
    const selected = named ?? buttons[0];
    if (selected) show(selected);
  };
  addEventListener('hashchange', showNamed);
  showNamed();
}

/** Whether the fragment is an earlier name of it. */
function isNamed({ dataset: { also } }: HTMLElement): boolean {
  return also !== undefined && `#${also}` === location.hash;
}

function nextIndex(key: string, index: number, count: number): number | undefined {
  if (key === 'ArrowRight') return (index + 1) % count;
  if (key === 'ArrowLeft') return (index + count - 1) % count;
  if (key === 'Home') return 0;
  return key === 'End' ? count - 1 : undefined;
}

function panelOf(button: HTMLElement): HTMLElement | null {
  return document.getElementById(button.getAttribute('aria-controls') ?? '');
}

for (const tabs of document.querySelectorAll('.tabs')) startTabs(tabs);
