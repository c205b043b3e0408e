import type { ApiKeyRecord } from '../../keys/index.js';
import { isGoodState, type KeyState, maskedKey } from '../../keys/index.js';
import { day } from '../formats.js';
import { type Html, html } from '../html.js';
import { badge, copyButton, emptyState, scriptedButton } from '../pieces.js';

/** A key as its owner sees it: never the key itself. */
export interface KeyView extends Pick<ApiKeyRecord, 'id' | 'name' | 'createdAt' | 'lastUsedAt' | 'expiresAt'> {
  state: KeyState;
}

const MAX_NAME = 100;
/** Of those that open nothing any more. */
const SHOWN_DEAD = 5;

/** @param revoked Name of the key that was revoked just now: whoever did it goes on there. */
export function renderKeys(keys: readonly KeyView[], revoked: string | null): Html {
  return html`<section class="card stack" aria-labelledby="keys"><h2 id="keys">API keys</h2>
${revoked !== null && html`<p class="notice notice-good" tabindex="-1" autofocus>“<bdi>${revoked}</bdi>” is revoked. Programs that send it are refused.</p>`}
<div class="new-key stack" id="new-key" tabindex="-1" hidden>
<h3>Your new key</h3>
<p>It is shown only this once. Store it now, for example in an environment variable.</p>
<div class="row new-key-row"><code id="new-key-text"></code>${copyButton('new-key-text', 'the new key')}</div>
<div class="row"><a class="button button-small" href="/dashboard">I have stored it</a><a class="button button-quiet button-small" href="/setup">Client setup</a></div>
</div>
${
  keys.length === 0
    ? emptyState('No key yet', 'Your programs send a key with each request. The first one comes with the free plan.')
    : renderKeyRows(keys)
}
<form class="form-row needs-script" data-api="POST /api/user/keys" data-show="new-key-text" data-key="apiKey" data-problem="problem-new">
<div class="field"><label for="key-name">Name of the new key</label>
<input class="input" id="key-name" name="name" required maxlength="${MAX_NAME}" placeholder="What is it for?" autocomplete="off"></div>
${scriptedButton('Create a key')}
<p class="problem" role="alert" id="problem-new"></p>
</form>
<p class="needs-no-script small muted">Creating, rotating and revoking keys needs scripts, or the API.</p>
</section>`;
}

/** Those that are good are never among the older ones. */
function renderKeyRows(keys: readonly KeyView[]): Html {
  const dead = keys.filter(({ state }) => !isGoodState(state));
  const older = dead.slice(SHOWN_DEAD);
  const shown = keys.filter((key) => !older.includes(key));
  return html`<ul class="rows">${shown.map(renderKey)}</ul>
${older.length > 0 && html`<details><summary>Older keys (${older.length})</summary><ul class="rows">${older.map(renderKey)}</ul></details>`}`;
}

function renderKey({ id, name, state, createdAt, lastUsedAt, expiresAt }: KeyView): Html {
  return html`<li class="key"><div><span class="key-name"><bdi>${name}</bdi> ${BADGES[state]}</span>
<span class="small"><code>${maskedKey(id)}</code></span>
<span class="small muted">Created ${day(createdAt)} · ${lastUsedAt === null ? 'Not used yet' : html`Last used ${day(lastUsedAt)}`}${
    state !== 'revoked' &&
    expiresAt !== null &&
    html` · ${state === 'expired' ? 'Expired' : 'Expires'} ${day(expiresAt)}`
  }</span></div>
${isGoodState(state) && renderActions({ id, name, state })}</li>`;
}

/** A name in the middle of a sentence that is no markup: its direction stays its own. */
function isolated(name: string): string {
  return `\u2068${name}\u2069`;
}

function renderActions({ id, name, state }: Pick<KeyView, 'id' | 'name' | 'state'>): Html {
  return html`<div class="rows-end row needs-script">
${
  state === 'active' &&
  html`<form data-api="POST /api/user/rotate" data-show="new-key-text" data-key="apiKey"
data-confirm="A new key replaces “${isolated(name)}”. The old one keeps working for 24 hours." data-confirm-label="Rotate" data-problem="problem-${id}">
<input type="hidden" name="keyId" value="${id}">
${scriptedButton(html`Rotate<span class="visually-hidden"> ${name}</span>`, 'button-quiet button-small')}</form>`
}
<form data-api="POST /api/user/keys/${id}/revoke" data-then="/dashboard?revoked={key.id}"
data-confirm="Programs that use “${isolated(name)}” are refused within seconds. This cannot be undone." data-confirm-label="Revoke" data-confirm-bad data-problem="problem-${id}">
${scriptedButton(html`Revoke<span class="visually-hidden"> ${name}</span>`, 'button-quiet button-small')}</form>
</div>
<p class="problem" role="alert" id="problem-${id}"></p>`;
}

const BADGES: Readonly<Record<KeyState, Html | false>> = {
  active: false,
  rotated: badge('Rotated', 'warn'),
  suspended: badge('Suspended', 'bad'),
  expired: badge('Expired'),
  revoked: badge('Revoked'),
};
