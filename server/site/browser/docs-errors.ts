/* The filter of error codes in the documentation: rows and groups without the words are hidden. */

import { docsTexts } from './docs-texts.js';

const filter = document.getElementById('codes-filter');
filter?.addEventListener('input', () => {
  const wanted = filter instanceof HTMLInputElement ? filter.value.trim().toLowerCase().replaceAll('_', ' ') : '';
  for (const group of document.querySelectorAll<HTMLElement>('.status-group')) {
    const rows = [...group.querySelectorAll<HTMLElement>('.fields > div')];
    for (const row of rows) row.hidden = !row.textContent.toLowerCase().replaceAll('_', ' ').includes(wanted);
    group.hidden = rows.every((row) => row.hidden);
    if (group instanceof HTMLDetailsElement && wanted !== '') group.open = true;
  }
  const first = document.querySelector<HTMLElement>('.docs-part:has(.codes-first)');
  if (first) first.hidden = wanted !== '';
  const none = document.querySelector('#codes-none');
  const isNone = document.querySelector('.status-group:not([hidden])') === null;
  if (none) none.textContent = isNone ? docsTexts().noCode : '';
});
