import { element, webLink } from './elements.js';

/** Long ones scroll within themselves, also by keyboard. */
export function longText(text: string): HTMLElement {
  return element(
    'div',
    { class: 'document-text small', tabindex: '0', role: 'region', 'aria-label': 'Description' },
    text,
  );
}

export function documentHead(thumbnail: string | undefined, words: readonly HTMLElement[]): HTMLElement {
  const picture = thumbnail?.startsWith('https:') ? remotePicture(thumbnail, 'document-thumbnail') : undefined;
  return element(
    'div',
    { class: picture ? 'document-head document-head-pictured' : 'document-head' },
    picture,
    element('div', { class: 'document-words' }, ...words),
  );
}

/** Of the platform itself: it is not told which page shows it, and one that it keeps back is left out. */
function remotePicture(src: string, className?: string): HTMLElement {
  const image = element('img', { src, alt: '', referrerpolicy: 'no-referrer', loading: 'lazy', class: className });
  image.addEventListener('error', () => (image.closest('li') ?? image).remove());
  return image;
}

/** @param urls The first alone is shown above already. */
export function gallery(urls: readonly string[]): HTMLElement | false {
  const shown = urls.filter((url) => url.startsWith('https:'));
  if (shown.length < 2) return false;
  return element('ul', { class: 'gallery', 'aria-label': 'Pictures' }, ...shown.map(galleryEntry));
}

function galleryEntry(url: string, index: number): HTMLElement {
  const link = webLink(url, '', { 'aria-label': `Picture ${index + 1}` });
  link.replaceChildren(remotePicture(url));
  return element('li', {}, link);
}
