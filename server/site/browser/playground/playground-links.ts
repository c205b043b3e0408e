/*
 * The link form of the playground, which displays the document of a link (`links-later.ts`). A background job is
 * polled until it has ended, or until the work is cancelled. The card of documents is loaded while the link is read, and an
 * empty card holds its place; without a document, what was there before returns. A press on an example sends its link. The
 * focus moves to the result only if it is still in the form.
 */

import { byId, element } from '../elements.js';
import { brokenOff, failureOf, loadJob, numberAt, pause, playJson, textAt } from '../requests.js';
import { fill, textsOf } from '../texts.js';
import { cancellable, isStillAt, onSubmit, showWork } from '../work.js';

const t = textsOf('playground-links');
const DEFAULT_POLL_S = 3;

const form = byId('link-form', HTMLFormElement);
const work = byId('link-work', HTMLElement);
const result = byId('link-result', HTMLElement);
const examples = document.querySelectorAll<HTMLElement>('[data-example]');

onSubmit(form, async (fields) => {
  const body = requestOf(fields);
  const before = [...result.childNodes];
  result.replaceChildren(emptyCard());
  for (const button of examples) button.setAttribute('aria-disabled', 'true');
  // Loaded meanwhile: most visits of the playground show no document.
  const loading = import('./links-later.js').catch(() => undefined);
  let done = (): void => {};
  try {
    const answer = await cancellable(async (signal, cancel) => {
      const stop = () => {
        cancel();
        byId('link-url', HTMLInputElement).focus();
      };
      const lost = () => {
        done();
        if (!signal.aborted) done = showWork(work, t.noConnection, stop);
      };
      done = showWork(work, readingWords(body.url), stop);
      return ended(await playJson('/v1/extract', { method: 'POST', json: body, signal }), lost, signal);
    });
    const loaded = await loading;
    if (!loaded) throw brokenOff();
    await loaded.showDocument(result, body, answer);
    done();
    work.replaceChildren(element('span', { class: 'visually-hidden' }, t.done));
  } catch (error) {
    done();
    result.replaceChildren(...before);
    throw error;
  } finally {
    for (const button of examples) button.removeAttribute('aria-disabled');
  }
  // The form has options too, where a person may be by now.
  if (!isStillAt(form.querySelector('.form-row'))) return;
  result.focus({ preventScroll: true });
  result.scrollIntoView({ block: 'nearest' });
});

for (const button of examples) {
  button.addEventListener('click', () => {
    if (button.hasAttribute('aria-disabled')) return;
    byId('link-url', HTMLInputElement).value = button.dataset.example ?? '';
    form.requestSubmit();
  });
}

/** With the platform, if its name is in the host: `youtu.be` is YouTube, `shop.tiktok.com` TikTok Shop. */
function readingWords(url: string): string {
  const host = /^(?:https?:\/\/)?([^/?#]+)/i.exec(url)?.[1]?.toLowerCase().replaceAll('.', '') ?? '';
  const { platforms = '{}' } = document.querySelector<HTMLElement>('[data-platforms]')?.dataset ?? {};
  const names = Object.values(JSON.parse(platforms) as Record<string, string>);
  const isNamed = (name: string) =>
    name
      .toLowerCase()
      .split(' ')
      .every((word) => host.includes(word));
  const [platform] = names.filter(isNamed).sort((one, other) => other.length - one.length);
  return platform === undefined ? t.reading : fill(t.readingFrom, { platform });
}

/** As large as the beginning of a document, for people who see. */
function emptyCard(): HTMLElement {
  const lines = element('div', { class: 'document-words' }, ...Array.from({ length: 4 }, () => element('i')));
  const head = element('div', { class: 'media-head media-head-wide' }, element('i'), lines);
  return element('article', { class: 'card document skeleton', 'aria-hidden': 'true' }, head);
}

/** Default values are omitted, so that the curl command is what a person would write. */
function requestOf(fields: FormData): { url: string } & Record<string, unknown> {
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
async function ended(answer: unknown, lost: () => void, signal: AbortSignal): Promise<unknown> {
  let latest = answer;
  for (;;) {
    signal.throwIfAborted();
    const status = textAt(latest, 'data.job.status');
    if (status === 'failed' || status === 'cancelled') throw await failureOf(latest, t.noDocument);
    if (status !== 'queued' && status !== 'processing') return latest;
    const seconds = numberAt(latest, 'data.job.poll_after_seconds') ?? DEFAULT_POLL_S;
    await pause(seconds * 1_000);
    latest = await loadJob(textAt(latest, 'data.job.status_url') ?? '', lost);
  }
}
