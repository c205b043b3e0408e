/*
 * The results of a list of links: of each link its picture, title, platform and author, and buttons that show its
 * document above, which is no further request, and save its best file. A link that failed says why, and what can be done.
 */

import { byId, clock, element, problemParts, webLink } from '../elements.js';
import { failureOf, fieldAt, listAt, numberAt, textAt, textsAt } from '../requests.js';
import { fill, textsOf } from '../texts.js';
import { mediaLinksOf, pictureOf, platformName } from './document-parts.js';
import { downloadsOf } from './media-downloads.js';

const t = textsOf('playground-batch');

/** Shows the document of a link. */
type Show = (place: HTMLElement, body: Readonly<Record<string, unknown>>, answer: unknown) => Promise<void>;

/** @param results Lines of the answer with the results. */
export async function resultList(results: readonly unknown[], show: Show): Promise<HTMLElement> {
  const rows = await Promise.all(results.map((line) => rowOf(line, show)));
  const frame = { class: 'batch-results', tabindex: '0', role: 'region', 'aria-label': t.results };
  return element('div', frame, element('ul', { class: 'batch-rows' }, ...rows));
}

async function rowOf(line: unknown, show: Show): Promise<HTMLElement> {
  const url = textAt(line, 'url') ?? '';
  const result = fieldAt(line, 'result');
  const data = fieldAt(result, 'data');
  const title = textAt(data, 'common.title') ?? textAt(data, 'product.name');
  const isRead = textAt(line, 'status') === 'completed';
  const platform = platformName(textAt(line, 'platform') ?? textAt(result, 'platform') ?? '', '');
  const author = textAt(data, 'common.author.name') ?? textAt(data, 'product.shop.name');
  const isLive = fieldAt(data, 'common.is_live') === true && downloadsOf(data).length === 0;
  const facts = [platform, author, isLive && t.live].filter((fact) => !!fact).join(' · ');
  return element(
    'li',
    {},
    pictureFrame(data),
    element(
      'div',
      { class: 'batch-words' },
      element('bdi', {}, webLink(url, title ?? url)),
      facts !== '' && element('p', { class: 'small muted', dir: 'auto' }, facts),
      !isRead && element('p', { class: 'small batch-failed' }, ...problemParts(await failureOf(line, t.states.failed))),
    ),
    isRead && actionsOf({ url, title: title ?? url, result, show }),
  );
}

/** A picture that cannot be loaded leaves an empty frame; the length stands over it. */
function pictureFrame(data: unknown): HTMLElement {
  const links = mediaLinksOf([...listAt(data, 'media.entries'), ...listAt(data, 'product.media')]);
  const pictures = [...textsAt(data, 'media.image_urls'), ...textsAt(data, 'product.image_urls')];
  const url = textAt(data, 'common.thumbnail') ?? pictures[0];
  const seconds = numberAt(data, 'common.duration_seconds');
  return element(
    'div',
    { class: 'batch-picture' },
    url?.startsWith('https:') === true && pictureOf(url, links, undefined, false),
    seconds !== undefined && element('span', { class: 'figures' }, clock(seconds)),
  );
}

interface ReadLink {
  url: string;
  title: string;
  result: unknown;
  show: Show;
}

function actionsOf({ url, title, result, show }: ReadLink): HTMLElement {
  const label = fill(t.openOne, { title });
  const attributes = { type: 'button', class: 'button button-quiet button-small', 'aria-label': label };
  const open = element('button', attributes, t.open);
  open.addEventListener('click', async () => {
    const place = byId('link-result', HTMLElement);
    await show(place, { url }, result);
    place.focus({ preventScroll: true });
    place.scrollIntoView({ block: 'start' });
  });
  const [best] = downloadsOf(fieldAt(result, 'data'));
  return element('div', { class: 'row batch-actions' }, open, best);
}
