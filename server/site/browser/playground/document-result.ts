/*
 * What is shown of a link that was read: its document, the notes about it, the whole answer, and the curl command of the
 * same request.
 */

import { codeFigure, coloured, element } from '../elements.js';
import { listAt, type Note, notesOf, textAt } from '../requests.js';
import { fill, textsOf } from '../texts.js';
import { documentCard } from './document-card.js';
import { platformName } from './document-parts.js';

const t = textsOf('playground-links');
/** The environment variable of the key: the key itself is never here. */
const KEY_VARIABLE = '$MEDIAGATE_API_KEY';

/** Without what the media links of the gateway make good: files that are bound, and separate tracks. */
async function shownNotes(answer: unknown): Promise<Note[]> {
  const hasLinks = listAt(answer, 'data.media.entries').some((entry) => textAt(entry, 'proxy_url') !== undefined);
  const hasVideo = textAt(answer, 'data.media.download_links.video') !== undefined;
  const solved = [
    ...(hasLinks ? ['media_ip_bound', 'media_cookie_bound'] : []),
    ...(hasLinks && hasVideo ? ['media_separate_tracks'] : []),
  ];
  const notes = await notesOf(answer);
  return notes.filter(({ code }) => !solved.includes(code));
}

/** Where notes stand that are about a part of the document. */
const PLACES: Readonly<Record<string, string>> = {
  carousel_truncated: '.carousel',
  reviews_partial: '.opinions > :last-child',
  reviews_from_page: '.opinions > :last-child',
};

/** Shows an answer in place of the one before. */
export async function showDocument(
  result: HTMLElement,
  body: Readonly<Record<string, unknown>>,
  answer: unknown,
): Promise<void> {
  const platform = platformName(textAt(answer, 'platform') ?? '');
  const card = documentCard(answer, { body, platform });
  const words = [fill(t.readFrom, { platform })];
  for (const { code, message } of await shownNotes(answer)) {
    const place = PLACES[code] === undefined ? null : card.querySelector(PLACES[code]);
    if (place) place.append(element('p', { class: 'small muted' }, message));
    else words.push(message);
  }
  result.replaceChildren(
    card,
    element('p', { class: 'small muted' }, words.join(' ')),
    answerCode(answer),
    element(
      'details',
      // A phone shows what was read, and the code on request.
      { open: matchMedia('(min-width: 48rem)').matches },
      element('summary', {}, t.request),
      codeFigure('link-curl', t.shell, curlOf(body), 'sh'),
    ),
  );
}

/** The whole answer. It is long: it has colours once it is looked at. */
function answerCode(answer: unknown): HTMLElement {
  const figure = codeFigure('link-json', t.answer, JSON.stringify(answer, null, 2));
  const part = element('details', {}, element('summary', {}, 'JSON'), figure);
  part.addEventListener('toggle', () => coloured(figure, 'json'), { once: true });
  return part;
}

function curlOf(body: Readonly<Record<string, unknown>>): string {
  const { baseUrl = location.origin } = document.querySelector<HTMLElement>('[data-base-url]')?.dataset ?? {};
  // A quote within single quotes ends them, is escaped by itself, and begins them again.
  const data = JSON.stringify(body).replaceAll("'", `'\\''`);
  return `curl ${baseUrl}/v1/extract \\
  -H "Authorization: Bearer ${KEY_VARIABLE}" \\
  -H "Content-Type: application/json" \\
  -d '${data}'`;
}
