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
