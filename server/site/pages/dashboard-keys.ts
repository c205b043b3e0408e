import { day } from '../formats.js';
import { type Html, html } from '../html.js';
import { badge, copyButton, emptyState } from '../pieces.js';

/** A key as its owner sees it: never the key itself. */
export interface KeyView {
  id: string;
  name: string;
  state: 'good' | 'replaced' | 'ended' | 'revoked';
  /** Milliseconds since 1970. */
  createdAt: number;
  lastUsedAt: number | null;
  expiresAt: number | null;
}

const MAX_NAME = 80;

export function renderKeys(keys: readonly KeyView[]): Html {
  return html`<section class="card stack" aria-labelledby="keys"><h2 id="keys">API keys</h2>
<div class="new-key stack" id="new-key" tabindex="-1" hidden>
<h3>Your new key</h3>
<p>It is shown this once. Put it into an environment variable now; here it cannot be found again.</p>
<div class="row new-key-row"><code id="new-key-text"></code>${copyButton('new-key-text', 'the new key')}</div>
<div class="row"><a class="button button-small" href="/dashboard">I have stored it</a><a class="button button-quiet button-small" href="/setup">Client setup</a></div>
</div>
${
  keys.length === 0
    ? emptyState(
        'No key yet',
        'A key is what your programs send with each request. The first one brings the free plan.',
      )
    : html`<ul class="rows">${keys.map(renderKey)}</ul>`
}
<form class="form-row needs-script" data-api="POST /api/user" data-show="new-key-text" data-key="key" data-problem="problem-new">
<div class="field"><label for="key-name">Name of a new key</label>
<input class="input" id="key-name" name="name" required maxlength="${MAX_NAME}" placeholder="What it is for" autocomplete="off"></div>
<button class="button">Make a key</button>
<p class="problem" role="alert" id="problem-new"></p>
</form>
<p class="needs-no-script small muted">Making, rotating and revoking keys needs scripts, or the API.</p>
</section>`;
}

function renderKey({ id, name, state, createdAt, lastUsedAt, expiresAt }: KeyView): Html {
  return html`<li class="key"><div><span class="key-name">${name} ${stateBadge(state)}</span>
<span class="small"><code>sk-mg-${id}-…</code></span>
<span class="small muted">Made ${day(createdAt)} · ${lastUsedAt === null ? 'Not used yet' : html`Used ${day(lastUsedAt)}`}${
    state !== 'revoked' && expiresAt !== null && html` · ${state === 'ended' ? 'Ended' : 'Ends'} ${day(expiresAt)}`
  }</span></div>
${state === 'good' || state === 'replaced' ? renderActions({ id, name, state }) : false}</li>`;
}

function renderActions({ id, name, state }: Pick<KeyView, 'id' | 'name' | 'state'>): Html {
  return html`<div class="rows-end row needs-script">
${
  state === 'good' &&
  html`<form data-api="POST /api/user/rotate" data-show="new-key-text" data-key="key"
data-confirm="A new key takes over from “${name}”. The old one goes on for 24 hours, so that nothing stops." data-confirm-label="Rotate" data-problem="problem-${id}">
<input type="hidden" name="keyId" value="${id}">
<button class="button button-quiet button-small">Rotate<span class="visually-hidden"> ${name}</span></button></form>`
}
<form data-api="POST /api/user/keys/${id}/revoke" data-then="/dashboard"
data-confirm="Programs that use “${name}” are refused within seconds. This cannot be taken back." data-confirm-label="Revoke" data-confirm-bad data-problem="problem-${id}">
<button class="button button-quiet button-small">Revoke<span class="visually-hidden"> ${name}</span></button></form>
</div>
<p class="problem" role="alert" id="problem-${id}"></p>`;
}

function stateBadge(state: KeyView['state']): Html | false {
  if (state === 'good') return false;
  if (state === 'replaced') return badge('Rotated', 'warn');
  return badge(state === 'revoked' ? 'Revoked' : 'Ended');
}
