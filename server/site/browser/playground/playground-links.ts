/*
 * The link form of the playground: it displays the document, the notes about it, the whole answer, and the curl command
 * of the same request. A background job is polled until it has ended. The card of documents is loaded while the link is
 * read, and an empty card holds its place. A press on an example sends its link. The focus moves to the result only if it is still in the form.
 */

import { byId, codeFigure, element } from '../elements.js';
import {
  brokenOff,
  failureWords,
  listAt,
  loadJob,
  notesOf,
  numberAt,
  pause,
  playJson,
  RequestProblem,
  textAt,
} from '../requests.js';
import { fill, textsOf } from '../texts.js';
import { isStillAt, onSubmit, showWork } from '../work.js';

const t = textsOf('playground-links');
/** The environment variable of the key: the key itself is never here. */
const KEY_VARIABLE = '$MEDIAGATE_API_KEY';
const DEFAULT_POLL_S = 3;

const form = byId('link-form', HTMLFormElement);
const work = byId('link-work', HTMLElement);
const result = byId('link-result', HTMLElement);

onSubmit(form, async (fields) => {
  const body = requestOf(fields);
  result.replaceChildren(emptyCard());
  let done = showWork(work, t.reading);
  const lost = () => {
    done();
    done = showWork(work, t.noConnection);
  };
  // Loaded meanwhile: most visits of the playground show no document.
  const card = import('./document-card.js').catch(() => undefined);
  try {
    const answer = await ended(await playJson('/v1/extract', { method: 'POST', json: body }), lost);
    const loaded = await card;
    if (!loaded) throw brokenOff();
    await showDocument(body, answer, loaded.documentCard);
    done();
    work.replaceChildren(element('span', { class: 'visually-hidden' }, t.done));
  } catch (error) {
    done();
    result.replaceChildren();
    throw error;
  }
});

for (const button of form.querySelectorAll<HTMLElement>('[data-example]')) {
  button.addEventListener('click', () => {
    byId('link-url', HTMLInputElement).value = button.dataset.example ?? '';
    form.requestSubmit();
  });
}

/** As large as the beginning of a document, for people who see. */
function emptyCard(): HTMLElement {
  const lines = element('div', { class: 'document-words' }, ...Array.from({ length: 4 }, () => element('i')));
  const head = element('div', { class: 'media-head media-head-wide' }, element('i'), lines);
  return element('article', { class: 'card document skeleton', 'aria-hidden': 'true' }, head);
}

/** Default values are omitted, so that the curl command is what a person would write. */
function requestOf(fields: FormData): Record<string, unknown> {
  const reviews = Number(fields.get('reviews'));
  return {
    url: String(fields.get('url')).trim(),
    ...(reviews !== 10 && { clip_review_limit: reviews }),
    ...(fields.get('sort') !== 'recommended' && { clip_sort: fields.get('sort') }),
    ...(fields.get('audio') === null && { include_audio_mp3: false }),
    ...(fields.get('background') !== null && { async_mode: true }),
  };
}

/** Polls a background job until it has ended. @param lost Called each time the gateway did not answer. */
async function ended(answer: unknown, lost: () => void): Promise<unknown> {
  let latest = answer;
  for (;;) {
    const status = textAt(latest, 'data.job.status');
    if (status === 'failed' || status === 'cancelled') {
      const code = textAt(latest, 'error.code') ?? status;
      throw new RequestProblem(await failureWords(latest, t.noDocument), code, 200);
    }
    if (status !== 'queued' && status !== 'processing') return latest;
    const seconds = numberAt(latest, 'data.job.poll_after_seconds') ?? DEFAULT_POLL_S;
    await pause(seconds * 1_000);
    latest = await loadJob(textAt(latest, 'data.job.status_url') ?? '', lost);
  }
}

/** Without what the media links of the gateway make good: files that are bound, and separate tracks. */
async function shownNotes(answer: unknown): Promise<string[]> {
  const hasLinks = listAt(answer, 'data.media.entries').some((entry) => textAt(entry, 'proxy_url') !== undefined);
  const hasVideo = textAt(answer, 'data.media.download_links.video') !== undefined;
  const solved = [
    ...(hasLinks ? ['media_ip_bound', 'media_cookie_bound'] : []),
    ...(hasLinks && hasVideo ? ['media_separate_tracks'] : []),
  ];
  const notes = await notesOf(answer);
  return notes.filter(({ code }) => !solved.includes(code)).map(({ message }) => message);
}

/** The name that people know it by. */
function platformName(key: string): string {
  const names: unknown = JSON.parse(document.querySelector<HTMLElement>('[data-platforms]')?.dataset.platforms ?? '{}');
  return textAt(names, key) ?? t.thePlatform;
}

async function showDocument(
  body: Record<string, unknown>,
  answer: unknown,
  documentCard: typeof import('./document-card.js').documentCard,
): Promise<void> {
  const platform = platformName(textAt(answer, 'platform') ?? '');
  const notes = [fill(t.readFrom, { platform }), ...(await shownNotes(answer))];
  result.replaceChildren(
    documentCard(answer, { body, platform }),
    element('p', { class: 'small muted' }, notes.join(' ')),
    element(
      'details',
      {},
      element('summary', {}, 'JSON'),
      codeFigure('link-json', t.answer, JSON.stringify(answer, null, 2)),
    ),
    element(
      'details',
      // A phone shows what was read, and the code on request.
      { open: matchMedia('(min-width: 48rem)').matches },
      element('summary', {}, t.request),
      codeFigure('link-curl', t.shell, curlOf(body)),
    ),
  );
  // The form has options too, where a person may be by now.
  if (!isStillAt(form.querySelector('.form-row'))) return;
  result.focus({ preventScroll: true });
  result.scrollIntoView({ block: 'nearest' });
}

function curlOf(body: Record<string, unknown>): string {
  const { baseUrl = location.origin } = document.querySelector<HTMLElement>('[data-base-url]')?.dataset ?? {};
  // A quote within single quotes ends them, is escaped by itself, and begins them again.
  const data = JSON.stringify(body).replaceAll("'", `'\\''`);
  return `curl ${baseUrl}/v1/extract \\
  -H "Authorization: Bearer ${KEY_VARIABLE}" \\
  -H "Content-Type: application/json" \\
  -d '${data}'`;
}
