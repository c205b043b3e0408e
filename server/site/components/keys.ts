/*
 * Parts of keys that the dashboard and the page of keys share: how a key is named, the panel that shows a new key once,
 * the notice after a change, and the form that makes a key. After a key is revoked or saved, the notice gets the focus.
 * Names within sentences have a text direction of their own.
 */

import { type ApiKeyRecord, type KeyState, maskedKey } from '../../keys/index.js';
import type { Locale } from '../language/index.js';
import { badge, copyButton, type Html, html, scriptedButton, type Tone } from '../page.js';

/** A key as its owner sees it: never the secret. */
export interface KeyView extends Pick<ApiKeyRecord, 'id' | 'name' | 'createdAt' | 'lastUsedAt' | 'expiresAt'> {
  state: KeyState;
}

export const MAX_KEY_NAME = 100;
/** Number of displayed invalid keys. */
export const SHOWN_DEAD = 5;

/** A key that was just changed. */
export interface ChangedKey {
  what: 'revoked' | 'saved';
  name: string;
}

/** The focus moves there. */
export function renderChanged(changed: ChangedKey | null, { texts: { keys: t } }: Locale): Html | false {
  if (!changed) return false;
  return html`<p class="notice notice-good" tabindex="-1" autofocus>${t[changed.what](html`<bdi>${changed.name}</bdi>`)}</p>`;
}

/** Shows a new key once. @param path Of the page, which shows it as one of the keys. */
export function renderNewKey(path: string, locale: Locale): Html {
  const t = locale.texts.keys;
  return html`<div class="new-key stack" id="new-key" tabindex="-1" hidden>
<h3>${t.newTitle}</h3>
<p>${t.newWords}</p>
<div class="row new-key-row"><code id="new-key-text"></code>${copyButton('new-key-text', t.newKey, locale)}</div>
<div class="row"><a class="button button-small" href="${path}">${t.stored}</a><a class="button button-quiet button-small" href="/setup">${t.setup}</a></div>
</div>`;
}

/** Makes a key. @param limits Fields of its limits. Default: it has those of the plan. @param isQuiet Its button. */
export function renderKeyCreation({ texts: { keys: t } }: Locale, limits?: Html, isQuiet = false): Html {
  const isLimited = limits && html` data-limits`;
  const create = scriptedButton(t.create, isQuiet ? 'button-quiet' : '');
  const name = html`<div class="field"><label for="key-name">${t.name}</label>
<input class="input" id="key-name" name="name" required maxlength="${MAX_KEY_NAME}" placeholder="${t.purpose}" autocomplete="off"></div>`;
  return html`<form class="stack needs-script" data-api="POST /api/user/keys" data-show="new-key-text" data-key="apiKey" data-problem="problem-new"${isLimited}>
${limits ? html`${name}<details><summary>${t.more}</summary>${limits}</details><div class="row">${create}<div class="key-summary small muted"><p data-summary aria-live="polite"></p><p>${t.once}</p></div></div>` : html`<div class="form-row">${name}${create}</div>`}
<p class="problem" role="alert" id="problem-new"></p>
</form>
<p class="needs-no-script small muted">${t.needsScripts}</p>`;
}

/** Name, state and id of a key, its last use and its end. @param href Where its name leads. Default: nowhere. */
export function renderKeyHead(
  { id, name, state, lastUsedAt, expiresAt }: KeyView,
  locale: Locale,
  href?: string,
): Html {
  const { texts, day } = locale;
  const t = texts.keys;
  const end = keyEnd({ state, expiresAt }, locale);
  const shown = html`<bdi>${name}</bdi>`;
  return html`<div><span class="key-name">${href === undefined ? shown : html`<a href="${href}">${shown}</a>`} ${keyBadge(state, locale)}</span>
<span class="small muted"><code>${maskedKey(id)}</code> · ${lastUsedAt === null ? t.unused : t.lastUsed(day(lastUsedAt))}${end && html` · ${end}`}</span></div>`;
}

/** A name within a sentence, with its own text direction. */
export function isolated(name: string): string {
  return `\u2068${name}\u2069`;
}

const KEY_TONES: Readonly<Record<Exclude<KeyState, 'active'>, Tone>> = {
  rotated: 'warn',
  suspended: 'bad',
  expired: 'plain',
  revoked: 'plain',
};

/**
 * Last day of a key. Ends of keys are midnights (UTC), or the second before: the day that begins then is not part of it.
 */
export function lastDay(expiresAt: number, { day }: Pick<Locale, 'day'>): Html {
  return day(expiresAt - 1);
}

/** When a key ends or ended, in words; nothing if it never does or was revoked. */
export function keyEnd(
  { state, expiresAt }: { state: KeyState; expiresAt: number | null },
  locale: Locale,
): Html | false {
  const { keys: t } = locale.texts;
  if (state === 'revoked' || expiresAt === null) return false;
  return (state === 'expired' ? t.expired : t.expires)(lastDay(expiresAt, locale));
}

export function keyBadge(state: KeyState, { texts }: Locale): Html | false {
  return state !== 'active' && badge(texts.words.keyStates[state], KEY_TONES[state]);
}
